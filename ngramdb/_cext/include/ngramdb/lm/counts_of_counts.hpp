// The number of n-grams of each length with an adjusted count of 1, 2, 3 and 4, from which discounts are estimated.
//
// One pass over the suffix arrays, merged, with the lengths of common prefixes cut at the greatest length of
// interest: the n-grams are the nodes of the suffix tree that this spans, and each node is seen whole when
// the pass leaves it. The number of different left neighbours of a node is the number of its rows less the
// pairs of successive rows with equal left neighbour whose lowest common node lies within it (Hui 1992,
// "Color set size problem"). The n-grams that end a sentence are not nodes: rows whose documents end and rows
// that a separator follows are not adjacent, so their left neighbours are kept with the node that they end, until
// the pass leaves it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/lm/suffix_walk.hpp"
#include "ngramdb/lm/unit_pass.hpp"

namespace ngramdb {
namespace lm {

// Facts about the symbols that follow an n-gram, by left neighbours and by occurrences: see SuccessorCounts.
struct FollowedBy {
  SuccessorCounts by_left, by_count;
};

// The same in little space, while it is counted.
struct Tally {
  int64_t total = 0;  // of left neighbours
  std::array<uint32_t, 3> by_left{}, by_count{};

  void add(int64_t n_left, int64_t count) {
    total += n_left;
    ++by_left[static_cast<size_t>(std::min<int64_t>(n_left, 3) - 1)];
    ++by_count[static_cast<size_t>(std::min<int64_t>(count, 3) - 1)];
  }

  FollowedBy of(int64_t count) const {
    FollowedBy found{{total, 0, {}}, {count, 0, {}}};
    std::copy(by_left.begin(), by_left.end(), found.by_left.n.begin());
    std::copy(by_count.begin(), by_count.end(), found.by_count.n.begin());
    return found;
  }
};

// An n-gram that occurs often, and what models would otherwise have to pass over all of its rows for.
struct FrequentNgram {
  std::vector<Code> symbols;
  int64_t count;
  int64_t n_left;
  FollowedBy next;

  // Descending by count, then ascending by symbols.
  bool operator<(const FrequentNgram& other) const {
    return count != other.count ? count > other.count : symbols < other.symbols;
  }
};

// Limits on those that are kept: this many, with this many symbols.
constexpr size_t kMostFrequent = 2048;
constexpr uint32_t kLongestFrequent = 8;
// By the number of tokens: from how many occurrences on. Passing over fewer rows takes less than a millisecond.
inline int64_t frequent_from(int64_t n_tokens) { return std::max<int64_t>(int64_t{1} << 14, n_tokens >> 14); }

struct CountsOfCounts {
  // By length, from 1 on (entry 0 stays empty): n-grams with adjusted count 1 … 4, and with that many
  // occurrences.
  std::vector<std::array<int64_t, 4>> continuation, raw;
  std::vector<int64_t> n_types;
  int64_t n_left_of_end = 0;  // different tokens before `</s>`
  std::vector<FrequentNgram> frequent;

  explicit CountsOfCounts(uint32_t max_length = 0)
      : continuation(max_length + 2), raw(max_length + 2), n_types(max_length + 2) {}

  void add(const CountsOfCounts& other) {
    for (size_t n = 0; n < n_types.size(); ++n) {
      n_types[n] += other.n_types[n];
      for (size_t k = 0; k < 4; ++k) {
        continuation[n][k] += other.continuation[n][k];
        raw[n][k] += other.raw[n][k];
      }
    }
    n_left_of_end += other.n_left_of_end;
    frequent.insert(frequent.end(), other.frequent.begin(), other.frequent.end());
  }

  // From differences between one length and the next.
  void sum_up() {
    for (size_t n = 1; n < n_types.size(); ++n) {
      n_types[n] += n_types[n - 1];
      for (size_t k = 0; k < 4; ++k) {
        continuation[n][k] += continuation[n - 1][k];
        raw[n][k] += raw[n - 1][k];
      }
    }
  }
};

// Counts in shares of the rows, one after the other; only the empty n-gram may be in two shares.
class CountsOfCountsPass {
 public:
  // frequent_from: n-grams that occur so often are kept.
  CountsOfCountsPass(const Columns& columns, const Vocabulary& vocabulary, uint32_t max_length, int64_t frequent_from)
      : columns_(columns), vocabulary_(vocabulary), max_length_(max_length), frequent_from_(frequent_from),
        counts_(max_length), is_dense_(!vocabulary.codes.empty() && vocabulary.codes.back() < kDense),
        last_with_left_(is_dense_ ? size_t{vocabulary.codes.back()} + 1 : vocabulary.size() + 1, kNone),
        pass_(columns, max_length, See{this}) {
    nodes_.push_back(Node{});
  }

  template <class Look>
  void take(const Share& share, Look look) {
    pass_.run(share, look);
    settle_leaf(0);
    leave(nodes_, 0, true);
    leave(start_nodes_, 0, false);
  }

  // `</s>` alone, and `<s> </s>`: once, when all shares have been taken.
  void count_borders() {
    if (columns_.n_empty() > 0) {
      ++counts_.n_left_of_end;
      record(2, 2, columns_.n_empty(), columns_.n_empty());
    }
    if (columns_.n_sentences() > 0) record(1, 1, counts_.n_left_of_end, columns_.n_sentences());
  }

  // Differences between one length and the next.
  CountsOfCounts& counts() { return counts_; }

 private:
  struct See {
    CountsOfCountsPass* pass;
    void operator()(const Unit& unit) const { pass->see(unit); }
  };

  // A node that the pass is in: n-grams that begin alike, up to `depth` symbols.
  struct Node {
    uint32_t depth;
    uint64_t first;  // number of its first unit
    int64_t count;
    int64_t n_left;
    int64_t n_ends;    // rows whose sentences end after it
    size_t ends_from;  // the first of their left neighbours, in end_lefts_
    Tally next;        // of its longest n-gram
  };
  // The last unit, where its n-grams of this length are not yet among the nodes; 0 if they are.
  struct Leaf {
    uint32_t depth;
    int64_t count;
  };
  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr Code kDense = 1u << 22;

  size_t place_of(Code left) const {
    if (is_dense_) return left < last_with_left_.size() ? left : 0;
    return static_cast<size_t>(left == kBorder ? 0 : vocabulary_.find(left) + 1);
  }

  void see(const Unit& unit) {
    const uint32_t length = unit.length;
    settle_leaf(unit.lcp);
    leave(nodes_, unit.lcp, true);
    uint64_t& last = last_with_left_[place_of(unit.left)];
    const uint64_t before = last;
    if (before != kNone) {
      size_t i = nodes_.size() - 1;
      while (nodes_[i].first > before) --i;
      --nodes_[i].n_left;
    }
    last = n_units_;
    if (unit.ends || nodes_.back().depth == length) {
      enter(nodes_, length - unit.ends, unit.count, unit.ends);
      if (unit.ends) end_lefts_.push_back(unit.left);
    } else {
      leaf_ = {length, unit.count};
    }

    start_lcp_ = std::min(start_lcp_, unit.lcp);
    if (unit.left == kBorder) {
      leave(start_nodes_, std::min(start_lcp_, max_length_ - 1), false);
      const bool is_seen_whole = unit.ends && length < max_length_;
      enter(start_nodes_, std::min(length, max_length_ - 1) - is_seen_whole, unit.count, is_seen_whole);
      start_lcp_ = UINT32_MAX;
    }
    has_end_ = has_end_ && unit.lcp > 0;
    if (length == 2 && unit.ends && !has_end_) {
      has_end_ = true;
      ++counts_.n_left_of_end;
    }
    ++n_units_;
    column_ = unit.column;
    row_ = unit.row;
  }

  void enter(std::vector<Node>& nodes, uint32_t depth, int64_t count, bool ends) {
    if (nodes.empty()) nodes.push_back({0, n_units_, 0, 0, 0, 0, {}});
    if (nodes.back().depth != depth) nodes.push_back({depth, n_units_, 0, 0, 0, end_lefts_.size(), {}});
    nodes.back().count += count;
    nodes.back().n_left += 1;
    if (ends) nodes.back().n_ends += count;
  }

  // For most units, no other unit has the longest n-gram: its node is left as soon as the next unit is seen, which shares
  // `depth` symbols, and need not be made.
  void settle_leaf(uint32_t depth) {
    const Leaf leaf = leaf_;
    if (leaf.depth == 0) return;
    leaf_ = {};
    Node node{leaf.depth, n_units_ - 1, leaf.count, 1, 0, end_lefts_.size(), {}};
    if (depth >= leaf.depth) {
      nodes_.push_back(node);
      return;
    }
    const uint32_t parent = std::max(depth, nodes_.back().depth);
    record(parent + 1, leaf.depth, 1, leaf.count);
    if (leaf.count >= frequent_from_) keep(node, parent + 1);
    if (nodes_.back().depth < parent) {
      node.depth = parent;
      nodes_.push_back(node);
    } else {
      nodes_.back().count += leaf.count;
      nodes_.back().n_left += 1;
    }
    nodes_.back().next.add(1, leaf.count);
  }

  // Leaves all nodes deeper than `depth`.
  void leave(std::vector<Node>& nodes, uint32_t depth, bool within) {
    while (!nodes.empty() && nodes.back().depth > depth) {
      Node node = nodes.back();
      nodes.pop_back();
      const uint32_t parent = std::max(depth, nodes.empty() ? 0 : nodes.back().depth);
      if (within) {
        record(parent + 1, node.depth, node.n_left, node.count);
        const Code* const lefts = end_lefts_.data() + node.ends_from;
        const int64_t n_left_of_ends = work_.distinct(lefts, end_lefts_.size() - node.ends_from);
        if (node.n_ends > 0) {
          record(node.depth + 1, node.depth + 1, n_left_of_ends, node.n_ends);
          node.next.add(n_left_of_ends, node.n_ends);
        }
        end_lefts_.resize(node.ends_from);
        if (node.count >= frequent_from_) keep(node, parent + 1);
      } else {
        record(parent + 2, node.depth + 1, node.count, node.count);
        if (node.n_ends > 0) record(node.depth + 2, node.depth + 2, node.n_ends, node.n_ends);
      }
      if (nodes.empty() || nodes.back().depth < parent) {
        nodes.push_back({parent, node.first, node.count, node.n_left, 0, node.ends_from, {}});
      } else {
        nodes.back().count += node.count;
        nodes.back().n_left += node.n_left;
      }
      nodes.back().next.add(node.n_left, node.count);
    }
  }

  // The n-grams of a node, from `shortest` on, with all that follows them. But for the longest that is one token, and what
  // follows an n-gram of the greatest length is not known.
  void keep(const Node& node, uint32_t shortest) {
    const uint32_t longest = std::min({node.depth, max_length_ - 1, kLongestFrequent});
    std::vector<Code> symbols(longest);
    Code left;
    if (shortest <= longest) column_->prefix(row_, longest, symbols.data(), &left);
    for (uint32_t n = shortest; n <= longest; ++n) {
      Tally one;
      one.add(node.n_left, node.count);
      const Tally& next = n == node.depth ? node.next : one;
      counts_.frequent.push_back(
          {{symbols.begin(), symbols.begin() + n}, node.count, node.n_left, next.of(node.count)});
    }
  }

  // One n-gram of every length from `shortest` to `longest`; sums are made at the end.
  void record(uint32_t shortest, uint32_t longest, int64_t adjusted, int64_t count) {
    add(counts_.n_types, shortest, longest, [](int64_t& entry) -> int64_t& { return entry; });
    if (adjusted >= 1 && adjusted <= 4) {
      add(counts_.continuation, shortest, longest,
          [=](auto& entry) -> int64_t& { return entry[static_cast<size_t>(adjusted - 1)]; });
    }
    if (count >= 1 && count <= 4) {
      add(counts_.raw, shortest, longest,
          [=](auto& entry) -> int64_t& { return entry[static_cast<size_t>(count - 1)]; });
    }
  }

  template <class Table, class Entry>
  static void add(Table& table, uint32_t shortest, uint32_t longest, Entry entry) {
    ++entry(table[shortest]);
    --entry(table[longest + 1]);
  }

  const Columns& columns_;
  const Vocabulary& vocabulary_;
  const uint32_t max_length_;
  const int64_t frequent_from_;
  CountsOfCounts counts_;
  const bool is_dense_;
  std::vector<uint64_t> last_with_left_;  // last unit with a left neighbour, by its code, or by its type; 0: the border
  UnitPass<See> pass_;
  uint64_t n_units_ = 0;
  const Column* column_ = nullptr;  // the column with a row of the last unit
  Row row_ = 0;
  std::vector<Node> nodes_, start_nodes_;
  Leaf leaf_{};
  std::vector<Code> end_lefts_;
  Workspace work_;
  uint32_t start_lcp_ = 0;
  bool has_end_ = false;  // whether the first symbol of the last unit has been seen to end a sentence
};

// Options of counting; tests make shares small and call rare n-grams frequent.
struct CountingOptions {
  uint32_t max_length = 0;
  uint64_t share_rows = uint64_t{1} << 19;
  int64_t frequent_from = INT64_MAX;
};

// Shares are divided among the cores that are free. Memory: 8 bytes per type and thread.
inline CountsOfCounts count_counts(const Columns& columns, const Vocabulary& vocabulary, const CountingOptions& options,
                                   StopFlag stop) {
  const std::vector<Share> shares = shares_of(columns, vocabulary, options.share_rows);
  uint64_t n_rows = 0;
  for (const Share& share : shares) n_rows += columns.n_rows(share.data());
  std::array<std::unique_ptr<CountsOfCountsPass>, ThreadTeam::kMostThreads> passes;
  const auto new_pass = [&] {
    return std::make_unique<CountsOfCountsPass>(columns, vocabulary, options.max_length, options.frequent_from);
  };
  passes[0] = new_pass();
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> n_done{0};
  ThreadTeam team(shares.size() > 1 ? &CoreBudget::of_machine() : nullptr, stop);
  team.share([&](uint32_t i) {
    const size_t number = next++;
    if (number >= shares.size()) return false;
    if (passes[i] == nullptr) passes[i] = new_pass();
    Poll poll = team.poll_of(i);
    passes[i]->take(shares[number], [&](uint64_t n) { poll.check(n_done += n, n_rows); });
    return true;
  });
  CountsOfCounts& counts = passes[0]->counts();
  for (size_t i = 1; i < passes.size(); ++i) {
    if (passes[i] != nullptr) counts.add(passes[i]->counts());
  }
  passes[0]->count_borders();
  counts.sum_up();
  std::sort(counts.frequent.begin(), counts.frequent.end());
  if (counts.frequent.size() > kMostFrequent) counts.frequent.resize(kMostFrequent, counts.frequent.front());
  return std::move(counts);
}

// The n-grams of one length, each once, in the order of their tokens (a sentence's end anywhere among them), those that
// begin with `<s>` last.
struct NgramLevel {
  std::vector<int64_t> last;    // token ids
  std::vector<int64_t> counts;  // occurrences
  std::vector<uint8_t> fresh;   // whether the tokens before the last one differ from those of the n-gram before
  size_t n_within = 0;          // n-grams that do not begin with `<s>`

  void append(int64_t id, int64_t count, bool is_fresh) {
    last.push_back(id);
    counts.push_back(count);
    fresh.push_back(is_fresh);
  }
  void reserve(size_t size) {
    last.reserve(size);
    counts.reserve(size);
    fresh.reserve(size);
  }
  void extend(const NgramLevel& more) {
    last.insert(last.end(), more.last.begin(), more.last.end());
    counts.insert(counts.end(), more.counts.begin(), more.counts.end());
    fresh.insert(fresh.end(), more.fresh.begin(), more.fresh.end());
  }
};

class NgramLister {
 public:
  // n_expected: approximate number of n-grams, or 0; memory is reserved for that many.
  NgramLister(const Columns& columns, const Vocabulary& vocabulary, uint32_t n, size_t n_expected)
      : columns_(columns), vocabulary_(vocabulary), n_(n) {
    within_.level.reserve(n_expected);
  }

  NgramLevel list(StopFlag stop) {
    const auto see = [this](const Unit& unit) {
      within_.see(*this, unit, unit.lcp, n_);
      start_lcp_ = std::min(start_lcp_, unit.lcp);
      if (unit.left != kBorder || n_ < 2) return;
      beginning_.see(*this, unit, start_lcp_, n_ - 1);
      start_lcp_ = UINT32_MAX;
    };
    const std::vector<Share> shares = shares_of(columns_, vocabulary_, uint64_t{1} << 19);
    uint64_t n_rows = 0, n_done = 0;
    for (const Share& share : shares) n_rows += columns_.n_rows(share.data());
    UnitPass<decltype(see)> pass(columns_, n_, see);
    for (const Share& share : shares) {
      pass.run(share, [&](uint64_t n) { check_stop(stop, n_done += n, n_rows); });
    }
    NgramLevel& level = within_.level;
    if (n_ == 1 && columns_.n_sentences() > 0) level.append(kEnd, columns_.n_sentences(), level.last.empty());
    level.n_within = level.last.size();
    NgramLevel& beginning = beginning_.level;
    if (n_ == 2 && columns_.n_empty() > 0) {
      level.append(kEnd, columns_.n_empty(), true);
      if (!beginning.fresh.empty()) beginning.fresh[0] = 0;
    }
    level.extend(beginning);
    return std::move(level);
  }

 private:
  // Those that begin with `<s>`, or the others. Facts about prefixes concern n tokens, not including `<s>`.
  struct Part {
    NgramLevel level;
    size_t now = 0;          // the n-gram that the last unit belongs to
    uint32_t fresh_lcp = 0;  // with the last n-gram
    bool has_end = false;
    size_t last_end = 0;   // the last n-gram that ends a sentence
    uint32_t end_lcp = 0;  // with it

    void see(const NgramLister& lister, const Unit& unit, uint32_t lcp, uint32_t n) {
      fresh_lcp = std::min(fresh_lcp, lcp);
      end_lcp = std::min(end_lcp, lcp);
      if (unit.length < n) return;
      if (lcp >= n && !level.last.empty()) {
        level.counts[now] += unit.count;
        return;
      }
      const int64_t id = lister.id_of(unit.column->code_at(unit.column->position(unit.row) + n - 1));
      // An n-gram that ends a sentence may come twice, with no other such n-gram between.
      if (id == kEnd && end_lcp + 1 >= n && has_end) {
        now = last_end;
        level.counts[now] += unit.count;
        return;
      }
      now = level.last.size();
      level.append(id, unit.count, now == 0 || fresh_lcp + 1 < n);
      fresh_lcp = UINT32_MAX;
      if (id != kEnd) return;
      has_end = true;
      last_end = now;
      end_lcp = UINT32_MAX;
    }
  };

  int64_t id_of(Code code) const { return columns_.is_end(code) ? kEnd : int64_t{code} - 1; }

  const Columns& columns_;
  const Vocabulary& vocabulary_;
  const uint32_t n_;
  Part within_, beginning_;
  uint32_t start_lcp_ = 0;
};

inline NgramLevel list_ngrams(const Columns& columns, const Vocabulary& vocabulary, uint32_t n, size_t n_expected,
                              StopFlag stop) {
  return NgramLister(columns, vocabulary, n, n_expected).list(stop);
}

}  // namespace lm
}  // namespace ngramdb
