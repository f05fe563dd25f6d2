// Drafts: trees of the most probable continuations of a text, from a corpus and from the text itself.
//
// A token that follows c of n occurrences of a suffix of k tokens is expected with the probability c / (n + 8 / 2^(k/3)):
// few occurrences and short suffixes promise too much. (Measured on held-out documents of 25 M GPT-2 tokens: after a suffix
// that occurs once, its next token is right in 16, 21, 24, 30, 31, 43 % of all cases for k = 2 … 7, for which the formula
// has 17, 20, 24, 29, 33, 39 %.) Of the two sources the more confident one counts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

#include "ngramdb/corpus/corpus_index.hpp"

namespace ngramdb {

// The earlier occurrences of a growing text's last tokens, found by chains of equal n-grams.
class OwnText {
 public:
  void append(int64_t token) {
    ids_.push_back(token);
    link(0, 1);
    if (ids_.size() >= kLong) link(1, kLong);
  }

  size_t size() const { return ids_.size(); }
  int64_t operator[](size_t i) const { return ids_[i]; }

  // The places after the longest suffix that occurs earlier, the latest first; among the latest kTried that share the
  // last tokens. Returns the length of the suffix.
  uint32_t longest(std::vector<uint32_t>& ends) const {
    ends.clear();
    uint32_t best = 0;
    for (const int chain : {1, 0}) {
      if (previous_[chain].empty() || best > 0) continue;
      uint32_t end = previous_[chain].back();
      for (size_t i = 0; i < kTried && end != 0; ++i, end = previous_[chain][end - 1]) {
        const uint32_t length = shared(end);
        if (length < best || length == 0) continue;
        if (length > best) ends.clear();
        best = length;
        ends.push_back(end);
      }
    }
    return best;
  }

 private:
  static constexpr size_t kLong = 3;      // tokens of the n-grams that are tried first
  static constexpr size_t kTried = 64;
  static constexpr uint32_t kMost = 256;  // tokens of a suffix: longer ones are not worth comparing

  // Notes that an n-gram of n tokens ends here. Ends are one larger than the place of the last token, 0: none.
  void link(int chain, size_t n) {
    uint64_t hash = 0;
    for (size_t i = ids_.size() - n; i < ids_.size(); ++i) {
      hash = (hash ^ static_cast<uint64_t>(ids_[i])) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    uint32_t& last = last_[chain][hash];
    previous_[chain].resize(ids_.size());
    previous_[chain].back() = last;
    last = static_cast<uint32_t>(ids_.size());
  }

  // Tokens before the end that are the text's last ones.
  uint32_t shared(uint32_t end) const {
    uint32_t n = 0;
    while (n < end && n < kMost && ids_[end - 1 - n] == ids_[ids_.size() - 1 - n]) ++n;
    return n;
  }

  std::vector<int64_t> ids_;
  std::vector<uint32_t> previous_[2];
  std::unordered_map<uint64_t, uint32_t> last_[2];
};

struct DraftOptions {
  size_t n = 16;            // tokens of the tree
  double least_prob = 0.02; // of a token and all before it
  int64_t least_count = 1;  // of an n-gram in the corpus
};

// A tree: parents come before their children; a parent of -1 is the text's end.
struct Draft {
  std::vector<int64_t> ids, parents;
  std::vector<double> probs;  // of the token and all before it
};

class Drafting {
 public:
  // own may be null. Both outlive this.
  Drafting(const CorpusIndex& index, const OwnText* own, const DraftOptions& options, StopFlag stop)
      : index_(index), own_(own), options_(options), stop_(stop) {}

  // Cost: per token of the draft a search among the rows of its parent, of each likely next token.
  Draft draft(const Match& match, const std::vector<uint32_t>& ends, uint32_t own_length) {
    Node root;
    root.length = match.length;
    if (match.length > 0) {
      root.count = match.count;
      root.ranges = match.ranges;
    }
    root.ends = ends;
    root.own_length = own_length;
    nodes_.push_back(std::move(root));
    if (options_.n > 0) expand(0);
    while (draft_.ids.size() < options_.n && !heap_.empty()) {
      const size_t best = heap_.top().second;
      heap_.pop();
      Node& node = nodes_[best];
      node.place = static_cast<int64_t>(draft_.ids.size());
      draft_.ids.push_back(node.id);
      draft_.parents.push_back(nodes_[node.parent].place);
      draft_.probs.push_back(node.prob);
      if (draft_.ids.size() < options_.n) expand(best);
    }
    return std::move(draft_);
  }

 private:
  // Rows of a context that are looked at; fewer than the other number are looked at one by one.
  static constexpr size_t kProbed = 64;
  static constexpr size_t kScanned = 24;
  static constexpr uint64_t kNeeded = 3;

  // Rows of a context that a token follows.
  struct Scanned {
    size_t segment;
    int64_t id;
    Range rows;
  };

  struct Node {
    size_t parent = 0;
    int64_t place = -1;  // in the draft
    int64_t id = 0;
    double prob = 1.0;
    int64_t count = 0;  // in the corpus; 0: it is not known there
    uint32_t length = 0, own_length = 0;
    std::vector<Range> ranges;
    std::vector<uint32_t> ends;  // of its occurrences in the text
  };

  struct Sooner {
    bool operator()(const std::pair<double, size_t>& a, const std::pair<double, size_t>& b) const {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    }
  };

  // The number of occurrences of other tokens that a suffix of this length has yet to show.
  static double unseen(uint32_t length) { return 8.0 * std::exp2(static_cast<double>(length) / -3.0); }

  void expand(size_t at) {
    spend(stop_, 64);
    candidates_.clear();
    scanned_.clear();
    is_scanned_.assign(index_.n_segments(), false);
    likely_in_corpus(nodes_[at]);
    likely_in_text(nodes_[at]);
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    const size_t first = nodes_.size();
    for (const int64_t id : candidates_) {
      Node child = child_of(nodes_[at], id);
      if (child.prob <= 0.0 || child.prob < options_.least_prob) continue;
      child.parent = at;
      nodes_.push_back(std::move(child));
    }
    std::stable_sort(nodes_.begin() + static_cast<std::ptrdiff_t>(first), nodes_.end(),
                     [](const Node& a, const Node& b) { return a.prob > b.prob; });
    for (size_t i = first; i < nodes_.size(); ++i) heap_.push({nodes_[i].prob, i});
  }

  // Next tokens that may be frequent enough: in some segment they have their share of what is needed.
  void likely_in_corpus(const Node& node) {
    if (node.count <= 0) return;
    double n_added = 0.0;
    for (size_t s = 0; s < node.ranges.size(); ++s) {
      if (index_.sign(s) > 0) n_added += static_cast<double>(node.ranges[s].size());
    }
    const double needed = options_.least_prob / node.prob * (static_cast<double>(node.count) + unseen(node.length));
    const double least = std::max(needed, static_cast<double>(options_.least_count));
    for (size_t s = 0; s < node.ranges.size(); ++s) {
      const Range rows = node.ranges[s];
      if (index_.sign(s) < 0 || rows.size() == 0) continue;
      const Segment& segment = *index_.segment(s);
      if (!segment.is_nested()) {
        runs_.clear();
        segment.successors(rows, node.length, runs_, stop_);
        for (const Run& run : runs_) candidates_.push_back(run.id);
        continue;
      }
      if (rows.size() <= kScanned) {
        scan(segment, s, node);
        continue;
      }
      look(segment, rows, node.length, least * static_cast<double>(rows.size()) / n_added);
    }
  }

  // Next tokens that may have `least` of the rows. These are adjacent, so that several of the rows at equal distances are
  // among them: to look at more rows side by side is cheaper than to search those of a token in vain.
  void look(const Segment& segment, Range rows, uint32_t depth, double least) {
    const double affordable = least * kProbed / static_cast<double>(rows.size());
    const uint64_t needed = std::max<uint64_t>(1, std::min<uint64_t>(kNeeded, static_cast<uint64_t>(affordable)));
    const uint64_t most = (rows.size() + kProbed - 1) / kProbed;
    const uint64_t step = std::max<uint64_t>({1, most, static_cast<uint64_t>(least) / needed});
    for (Row row = rows.lo; row < rows.hi; row += step) segment.prefetch_row(row);
    Code last = kBorder;
    uint64_t n_met = 0;
    for (Row row = rows.lo; row < rows.hi; row += step) {
      const Code code = segment.code_at(segment.position(row) + depth);
      n_met = code == last ? n_met + 1 : 1;
      last = code;
      if (code != kBorder && (n_met == needed || needed * step > least)) candidates_.push_back(int64_t{code} - 1);
    }
  }

  // All next tokens of few rows, with the rows of each.
  void scan(const Segment& segment, size_t s, const Node& node) {
    const Range rows = node.ranges[s];
    if (rows.size() > 1) segment.prefetch_rows(rows);
    is_scanned_[s] = true;
    for (Row row = rows.lo; row < rows.hi; ++row) {
      const Code code = segment.code_at(segment.position(row) + node.length);
      if (code == kBorder) continue;
      const int64_t id = int64_t{code} - 1;
      if (scanned_.empty() || scanned_.back().segment != s || scanned_.back().id != id) {
        scanned_.push_back({s, id, Range{row, row}});
        candidates_.push_back(id);
      }
      scanned_.back().rows.hi = row + 1;
    }
  }

  Range rows_after(const Node& node, size_t s, int64_t id) const {
    if (!is_scanned_[s]) return index_.segment(s)->narrow(node.ranges[s], node.length, id);
    for (const Scanned& known : scanned_) {
      if (known.segment == s && known.id == id) return known.rows;
    }
    return {};
  }

  void likely_in_text(const Node& node) {
    for (const uint32_t end : node.ends) {
      if (end < own_->size() && (*own_)[end] >= 0) candidates_.push_back((*own_)[end]);
    }
  }

  Node child_of(const Node& node, int64_t id) {
    Node child;
    child.id = id;
    double prob = 0.0;
    if (node.count > 0) {
      child.ranges.resize(node.ranges.size());
      for (size_t s = 0; s < node.ranges.size(); ++s) {
        if (node.ranges[s].size() == 0) continue;
        child.ranges[s] = rows_after(node, s, id);
        child.count += index_.sign(s) * static_cast<int64_t>(child.ranges[s].size());
      }
      child.length = node.length + 1;
      if (child.count < options_.least_count) child.count = 0;
      prob = static_cast<double>(child.count) / (static_cast<double>(node.count) + unseen(node.length));
    }
    for (const uint32_t end : node.ends) {
      if (end < own_->size() && (*own_)[end] == id) child.ends.push_back(end + 1);
    }
    if (!child.ends.empty()) {
      child.own_length = node.own_length + 1;
      const double n = static_cast<double>(node.ends.size()) + unseen(node.own_length);
      prob = std::max(prob, static_cast<double>(child.ends.size()) / n);
    }
    child.prob = node.prob * prob;
    return child;
  }

  const CorpusIndex& index_;
  const OwnText* own_;
  DraftOptions options_;
  StopFlag stop_;
  Draft draft_;
  std::vector<Node> nodes_;
  std::priority_queue<std::pair<double, size_t>, std::vector<std::pair<double, size_t>>, Sooner> heap_;
  std::vector<int64_t> candidates_;
  std::vector<Scanned> scanned_;
  std::vector<bool> is_scanned_;
  std::vector<Run> runs_;
};

}  // namespace ngramdb
