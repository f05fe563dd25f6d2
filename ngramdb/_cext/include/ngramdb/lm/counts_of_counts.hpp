// How many n-grams of each length have an adjusted count of 1, 2, 3 and 4: what discounts are estimated from.
//
// One pass over the suffix arrays, merged, with the lengths of common prefixes cut at the greatest length of
// interest: the n-grams are the nodes of the suffix tree that this spans, and each node is seen whole when
// the pass leaves it. The number of different left neighbours of a node is the number of its rows less the
// pairs of successive rows with equal left neighbour whose lowest common node lies within it (Hui 1992,
// "Color set size problem"). The n-grams that end a sentence are no nodes: rows whose documents end and rows
// that a separator follows lie apart, so what stands before them is kept with the node that they end, until
// the pass leaves it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "ngramdb/lm/suffix_chains.hpp"

namespace ngramdb {
namespace lm {

struct CountsOfCounts {
  // By length, from 1 on (entry 0 stays empty): n-grams with adjusted count 1 … 4, and with so many
  // occurrences.
  std::vector<std::array<int64_t, 4>> continuation, raw;
  std::vector<int64_t> n_types;
  int64_t n_left_of_end = 0;  // different tokens before `</s>`
};

// Passes over the rows of all segments in order, what is subtracted taken from what is added, and calls
//     see(prefix, length, lcp, left, count)
// for each unit: `count` rows that share their first `length` symbols (at most max_length, or up to and with
// the border or separator) and their left neighbour, and share `lcp` of them with the unit before.
template <class See>
class UnitPass {
 public:
  UnitPass(const Columns& columns, uint32_t max_length, See see)
      : columns_(columns), max_length_(max_length), see_(std::move(see)) {}

  void run(StopFlag stop) {
    if (columns_.width() == 1 && columns_.only_added()) {
      take_one(columns_[0], stop);
    } else {
      take_merged(stop);
    }
  }

 private:
  static constexpr uint32_t kAhead = 24;

  // Reads a segment's rows in order, those of the separator left out.
  struct Cursor {
    const Column* column;
    Code separator;  // or kBorder, with which no row begins
    Row row = 0;
    uint32_t length = 0;
    Code left = 0;
    std::vector<Code> prefix;

    bool read(uint32_t most) {
      for (; row < column->n_rows(); ++row) {
        column->segment().prefetch_row(row + kAhead);
        length = column->prefix(row, most, prefix.data(), &left);
        if (prefix[0] != separator) return true;
      }
      return false;
    }
  };

  Cursor cursor_of(const Column& column) const {
    return {&column, columns_.separator_code(), 0, 0, 0, std::vector<Code>(max_length_)};
  }

  static uint32_t common(const Code* a, uint32_t n_a, const Code* b, uint32_t n_b) {
    const uint32_t most = std::min(n_a, n_b);
    uint32_t n = 0;
    while (n < most && a[n] == b[n]) ++n;
    return n;
  }

  void take_one(const Column& column, StopFlag stop) {
    Cursor now = cursor_of(column), last = now;
    for (uint64_t n_done = 0; now.read(max_length_); ++n_done) {
      const uint32_t lcp = common(now.prefix.data(), now.length, last.prefix.data(), last.length);
      see_(now.prefix.data(), now.length, lcp, now.left, int64_t{1});
      if (n_done % kStopInterval == 0) check_stop(stop, now.row, column.n_rows());
      const Row next = now.row + 1;
      std::swap(now, last);
      now.row = next;
    }
  }

  void take_merged(StopFlag stop) {
    std::vector<Cursor> heap;
    uint64_t n_rows = 0, n_done = 0;
    for (size_t s = 0; s < columns_.width(); ++s) {
      n_rows += columns_[s].n_rows();
      Cursor cursor = cursor_of(columns_[s]);
      if (cursor.read(max_length_)) heap.push_back(std::move(cursor));
    }
    const auto later = [](const Cursor& a, const Cursor& b) {
      return std::lexicographical_compare(b.prefix.begin(), b.prefix.begin() + b.length, a.prefix.begin(),
                                          a.prefix.begin() + a.length);
    };
    std::make_heap(heap.begin(), heap.end(), later);
    block_prefix_.assign(max_length_, 0);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), later);
      Cursor& cursor = heap.back();
      const uint32_t lcp = common(cursor.prefix.data(), cursor.length, block_prefix_.data(), block_length_);
      if (lcp < cursor.length || lcp < block_length_) {
        flush_block();
        pending_lcp_ = std::min(pending_lcp_, lcp);
        std::copy_n(cursor.prefix.data(), cursor.length, block_prefix_.data());
        block_length_ = cursor.length;
      }
      block_.emplace_back(cursor.left, cursor.column->sign());
      ++cursor.row;
      if (cursor.read(max_length_)) {
        std::push_heap(heap.begin(), heap.end(), later);
      } else {
        heap.pop_back();
      }
      if (++n_done % kStopInterval == 0) check_stop(stop, n_done, n_rows);
    }
    flush_block();
  }

  // Rows that are alike up to the greatest length: what is subtracted cancels what was added, by left
  // neighbour.
  void flush_block() {
    if (block_.size() > 1) std::sort(block_.begin(), block_.end());
    for (size_t i = 0; i < block_.size();) {
      const Code left = block_[i].first;
      int64_t net = 0;
      for (; i < block_.size() && block_[i].first == left; ++i) net += block_[i].second;
      if (net <= 0) continue;
      see_(block_prefix_.data(), block_length_, pending_lcp_, left, net);
      pending_lcp_ = block_length_;
    }
    block_.clear();
  }

  const Columns& columns_;
  const uint32_t max_length_;
  See see_;
  std::vector<Code> block_prefix_;
  uint32_t block_length_ = 0;
  uint32_t pending_lcp_ = 0;  // with the last unit that was seen
  std::vector<std::pair<Code, int32_t>> block_;
};

class CountsOfCountsPass {
 public:
  CountsOfCountsPass(const Columns& columns, const Vocabulary& vocabulary, uint32_t max_length)
      : columns_(columns),
        vocabulary_(vocabulary),
        max_length_(max_length),
        last_with_left_(vocabulary.size() + 1, kNone) {
    counts_.continuation.resize(max_length_ + 2);
    counts_.raw.resize(max_length_ + 2);
    counts_.n_types.resize(max_length_ + 2);
  }

  CountsOfCounts take(StopFlag stop) {
    const auto see_unit = [this](const Code* prefix, uint32_t length, uint32_t lcp, Code left, int64_t count) {
      see(prefix, length, lcp, left, count);
    };
    UnitPass<decltype(see_unit)>(columns_, max_length_, see_unit).run(stop);
    leave(nodes_, 0, true);
    leave(start_nodes_, 0, false);
    count_borders();
    sum_up();
    return counts_;
  }

 private:
  // A node that the pass is in: n-grams that begin alike, up to `depth` symbols.
  struct Node {
    uint32_t depth;
    uint64_t first;  // number of its first unit
    int64_t count;
    int64_t n_left;
    int64_t n_ends;    // rows whose sentences end after it
    size_t ends_from;  // what stands before those, in end_lefts_
  };
  static constexpr uint64_t kNone = UINT64_MAX;

  // The next unit in order: `count` rows with one prefix and left neighbour, lcp symbols like the unit
  // before.
  void see(const Code* prefix, uint32_t length, uint32_t lcp, Code left, int64_t count) {
    const bool ends = columns_.is_end(prefix[length - 1]);
    leave(nodes_, lcp, true);
    uint64_t& last = last_with_left_[static_cast<size_t>(left == kBorder ? 0 : vocabulary_.find(left) + 1)];
    const uint64_t before = last;
    if (before != kNone) {
      size_t i = nodes_.size() - 1;
      while (nodes_[i].first > before) --i;
      --nodes_[i].n_left;
    }
    last = n_units_;
    enter(nodes_, length - ends, count, ends);
    if (ends) end_lefts_.push_back(left);

    start_lcp_ = std::min(start_lcp_, lcp);
    if (left == kBorder) {
      leave(start_nodes_, std::min(start_lcp_, max_length_ - 1), false);
      const bool is_seen_whole = ends && length < max_length_;
      enter(start_nodes_, std::min(length, max_length_ - 1) - is_seen_whole, count, is_seen_whole);
      start_lcp_ = UINT32_MAX;
    }
    if (length == 2 && ends && prefix[0] != last_before_end_) {
      last_before_end_ = prefix[0];
      ++counts_.n_left_of_end;
    }
    ++n_units_;
  }

  void enter(std::vector<Node>& nodes, uint32_t depth, int64_t count, bool ends) {
    if (nodes.empty()) nodes.push_back({0, n_units_, 0, 0, 0, 0});
    if (nodes.back().depth != depth) nodes.push_back({depth, n_units_, 0, 0, 0, end_lefts_.size()});
    nodes.back().count += count;
    nodes.back().n_left += 1;
    if (ends) nodes.back().n_ends += count;
  }

  // Leaves all nodes deeper than `depth`.
  void leave(std::vector<Node>& nodes, uint32_t depth, bool within) {
    while (!nodes.empty() && nodes.back().depth > depth) {
      const Node node = nodes.back();
      nodes.pop_back();
      const uint32_t parent = std::max(depth, nodes.empty() ? 0 : nodes.back().depth);
      if (within) {
        record(parent + 1, node.depth, node.n_left, node.count);
        const Code* const lefts = end_lefts_.data() + node.ends_from;
        const int64_t n_left_of_ends = work_.distinct(lefts, end_lefts_.size() - node.ends_from);
        if (node.n_ends > 0) record(node.depth + 1, node.depth + 1, n_left_of_ends, node.n_ends);
        end_lefts_.resize(node.ends_from);
      } else {
        record(parent + 2, node.depth + 1, node.count, node.count);
        if (node.n_ends > 0) record(node.depth + 2, node.depth + 2, node.n_ends, node.n_ends);
      }
      if (nodes.empty() || nodes.back().depth < parent) {
        nodes.push_back({parent, node.first, node.count, node.n_left, 0, node.ends_from});
      } else {
        nodes.back().count += node.count;
        nodes.back().n_left += node.n_left;
      }
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

  // `</s>` alone, and `<s> </s>`.
  void count_borders() {
    if (columns_.n_empty() > 0) {
      ++counts_.n_left_of_end;
      record(2, 2, columns_.n_empty(), columns_.n_empty());
    }
    if (columns_.n_sentences() > 0) record(1, 1, counts_.n_left_of_end, columns_.n_sentences());
  }

  void sum_up() {
    for (uint32_t n = 1; n <= max_length_; ++n) {
      counts_.n_types[n] += counts_.n_types[n - 1];
      for (size_t k = 0; k < 4; ++k) {
        counts_.continuation[n][k] += counts_.continuation[n - 1][k];
        counts_.raw[n][k] += counts_.raw[n - 1][k];
      }
    }
  }

  const Columns& columns_;
  const Vocabulary& vocabulary_;
  const uint32_t max_length_;
  std::vector<uint64_t> last_with_left_;  // last unit with a left neighbour, by its type; 0: the border
  CountsOfCounts counts_;
  uint64_t n_units_ = 0;
  std::vector<Node> nodes_, start_nodes_;
  std::vector<Code> end_lefts_;
  Workspace work_;
  uint32_t start_lcp_ = 0;
  Code last_before_end_ = kBorder;
};

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
  // n_expected: about how many n-grams there are, or 0; space is taken for so many at once.
  NgramLister(const Columns& columns, uint32_t n, size_t n_expected) : columns_(columns), n_(n) {
    within_.level.reserve(n_expected);
  }

  NgramLevel list(StopFlag stop) {
    const auto see = [this](const Code* prefix, uint32_t length, uint32_t lcp, Code left, int64_t count) {
      within_.see(*this, prefix, length, lcp, n_, count);
      start_lcp_ = std::min(start_lcp_, lcp);
      if (left != kBorder || n_ < 2) return;
      beginning_.see(*this, prefix, length, start_lcp_, n_ - 1, count);
      start_lcp_ = UINT32_MAX;
    };
    UnitPass<decltype(see)>(columns_, n_, see).run(stop);
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
  // Those that begin with `<s>`, or the others. What is told of prefixes is of n tokens, `<s>` not among them.
  struct Part {
    NgramLevel level;
    size_t now = 0;          // the n-gram that the last unit belongs to
    uint32_t fresh_lcp = 0;  // with the last n-gram
    bool has_end = false;
    size_t last_end = 0;   // the last n-gram that ends a sentence
    uint32_t end_lcp = 0;  // with it

    void see(const NgramLister& lister, const Code* prefix, uint32_t length, uint32_t lcp, uint32_t n, int64_t count) {
      fresh_lcp = std::min(fresh_lcp, lcp);
      end_lcp = std::min(end_lcp, lcp);
      if (length < n) return;
      if (lcp >= n && !level.last.empty()) {
        level.counts[now] += count;
        return;
      }
      const int64_t id = lister.id_of(prefix[n - 1]);
      // An n-gram that ends a sentence may come twice, with no other such n-gram between.
      if (id == kEnd && end_lcp + 1 >= n && has_end) {
        now = last_end;
        level.counts[now] += count;
        return;
      }
      now = level.last.size();
      level.append(id, count, now == 0 || fresh_lcp + 1 < n);
      fresh_lcp = UINT32_MAX;
      if (id != kEnd) return;
      has_end = true;
      last_end = now;
      end_lcp = UINT32_MAX;
    }
  };

  int64_t id_of(Code code) const { return columns_.is_end(code) ? kEnd : int64_t{code} - 1; }

  const Columns& columns_;
  const uint32_t n_;
  Part within_, beginning_;
  uint32_t start_lcp_ = 0;
};

inline NgramLevel list_ngrams(const Columns& columns, uint32_t n, size_t n_expected, StopFlag stop) {
  return NgramLister(columns, n, n_expected).list(stop);
}

}  // namespace lm
}  // namespace ngramdb
