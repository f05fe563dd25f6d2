// Continuation counts: the number of different tokens before and after an n-gram, counted as sets over
// all segments. A pair (left, next) belongs to the set when its net count is positive, so the counts are
// exact after deletions and do not depend on where segments begin.
//
// Source of the quantities: Chen & Goodman 1999, section 3; Shareghi et al. 2016, section 3 (from a suffix
// index).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ngramdb/lm/lm_column.hpp"
#include "ngramdb/base/prefetch.hpp"

namespace ngramdb {
namespace lm {

// The symbols that follow a context h. a(hw) stands for the adjusted count of h followed by w.
struct SuccessorCounts {
  int64_t total = 0;   // S(h): the sum of a(hw) over all w
  int64_t pruned = 0;  // of that, what belongs to n-grams below the least count
  std::array<int64_t, 3> n{};  // number of w, not pruned, with a(hw) = 1, 2, at least 3

  void add(int64_t adjusted, bool kept) {
    if (adjusted <= 0) return;
    total += adjusted;
    if (kept) {
      ++n[static_cast<size_t>(std::min<int64_t>(adjusted, 3) - 1)];
    } else {
      pruned += adjusted;
    }
  }
};

// Facts about an n-gram: the number of different tokens before it, and the symbols that follow it.
struct Record {
  int64_t n_left = 0;
  SuccessorCounts next;    // by raw counts if the model uses them
  int64_t n_next = 0;      // different successors
  int64_t n_next_kept = 0;
};

// One successor: its code, net count, and the number of different left neighbours of the context followed by
// it.
struct Successor {
  Code code;
  int64_t count;
  int64_t n_left;
};

// Rows of one segment that one successor follows: their places among those that were read, and the
// segment's sign.
struct Part {
  Code code;
  int32_t sign;
  uint64_t start, stop;
};

// Buffers of one thread.
class Workspace {
 public:
  std::vector<Code> lefts, nexts;
  std::vector<int8_t> signs;
  std::vector<Code> sorted;
  std::vector<Part> parts;
  std::vector<Code> joined;
  std::vector<int8_t> joined_signs;

  // Number of different values.
  int64_t distinct(const Code* values, size_t n) {
    if (n <= 1) return static_cast<int64_t>(n);
    if (n <= kQuadratic) {
      int64_t found = 0;
      for (size_t i = 0; i < n; ++i) found += std::find(values, values + i, values[i]) == values + i;
      return found;
    }
    const Code largest = *std::max_element(values, values + n);
    if (n >= kStampsFrom && largest < kMostStamps) return distinct_by_stamps(values, n, largest);
    sorted.assign(values, values + n);
    std::sort(sorted.begin(), sorted.end());
    return std::unique(sorted.begin(), sorted.end()) - sorted.begin();
  }

  // Number of different values whose signs (1 or -1) have a positive sum.
  int64_t net_distinct(const Code* values, const int8_t* signs, size_t n) {
    const Code largest = n == 0 ? 0 : *std::max_element(values, values + n);
    if (n >= kStampsFrom && largest < kMostStamps) return net_distinct_by_table(values, signs, n, largest);
    signed_values_.resize(n);
    for (size_t i = 0; i < n; ++i) signed_values_[i] = {values[i], signs[i]};
    std::sort(signed_values_.begin(), signed_values_.end());
    int64_t found = 0;
    for (size_t i = 0; i < n;) {
      const Code value = signed_values_[i].first;
      int64_t net = 0;
      for (; i < n && signed_values_[i].first == value; ++i) net += signed_values_[i].second;
      found += net > 0;
    }
    return found;
  }

 private:
  // Comparing all pairs is fastest up to this many values; from kStampsFrom on, stamps are faster than sorting.
  static constexpr size_t kQuadratic = 12;
  static constexpr size_t kStampsFrom = 48;
  static constexpr Code kMostStamps = 1u << 26;

  int64_t net_distinct_by_table(const Code* values, const int8_t* signs, size_t n, Code largest) {
    if (nets_.size() <= largest) nets_.resize(size_t{largest} + 1 + largest / 4, 0);
    for (size_t i = 0; i < n; ++i) nets_[values[i]] += signs[i];
    int64_t found = 0;
    for (size_t i = 0; i < n; ++i) {
      found += nets_[values[i]] > 0;
      nets_[values[i]] = 0;
    }
    return found;
  }

  int64_t distinct_by_stamps(const Code* values, size_t n, Code largest) {
    if (stamps_.size() <= largest) stamps_.resize(size_t{largest} + 1 + largest / 4, 0);
    if (++stamp_ == 0) {
      std::fill(stamps_.begin(), stamps_.end(), 0u);
      stamp_ = 1;
    }
    int64_t found = 0;
    for (size_t i = 0; i < n; ++i) {
      found += stamps_[values[i]] != stamp_;
      stamps_[values[i]] = stamp_;
    }
    return found;
  }

  std::vector<uint32_t> stamps_;
  uint32_t stamp_ = 0;
  std::vector<int32_t> nets_;  // all 0 between calls
  std::vector<std::pair<Code, int8_t>> signed_values_;
};

// Several segments, each with its sign.
class Columns {
 public:
  // The token that separates sentences in every column, or kNoSeparator.
  int64_t separator() const { return separator_; }
  void set_separator(int64_t id) { separator_ = id; }

  // The segment outlives this.
  void add(const Segment& segment, int sign, StopFlag stop = nullptr) {
    columns_.push_back(std::make_unique<Column>(segment, sign, separator_, stop));
    const Column& column = *columns_.back();
    only_added_ = only_added_ && sign > 0;
    in_token_order_ = in_token_order_ && segment.in_token_order();
    is_nested_ = is_nested_ && segment.is_nested();
    n_tokens_ += sign * static_cast<int64_t>(column.n_tokens());
    n_sentences_ += sign * column.n_sentences();
    n_empty_ += sign * column.n_empty();
  }

  // The same for prefixes: 0 without a separator.
  Code separator_code() const {
    const int64_t code = code_of(separator_);
    return code == kNoCode ? kBorder : static_cast<Code>(code);
  }
  // Returns true if a prefix, and with it a sentence, ends with the symbol.
  bool is_end(Code symbol) const { return symbol == kBorder || symbol == separator_code(); }

  // Must be called before starts of sentences are requested.
  void prepare_starts(StopFlag stop) const {
    for (const auto& column : columns_) column->prepare_starts(stop);
  }

  size_t width() const { return columns_.size(); }
  const Column& operator[](size_t s) const { return *columns_[s]; }
  bool only_added() const { return only_added_; }
  // True if, in all segments, the rows of an n-gram are a part of those of its beginnings.
  bool is_nested() const { return is_nested_; }
  int64_t n_tokens() const { return n_tokens_; }
  int64_t n_sentences() const { return n_sentences_; }
  int64_t n_empty() const { return n_empty_; }

  int64_t net(const Range* ranges) const {
    int64_t sum = 0;
    for (size_t s = 0; s < width(); ++s) sum += columns_[s]->sign() * static_cast<int64_t>(ranges[s].size());
    return sum;
  }

  uint64_t n_rows(const Range* ranges) const {
    uint64_t sum = 0;
    for (size_t s = 0; s < width(); ++s) sum += ranges[s].size();
    return sum;
  }

  // Calls visit(Successor) for every successor with a positive net count, ascending by code (the border
  // first); returns the number of different left neighbours. The ranges are those of an n-gram of `depth`
  // tokens.
  template <class Visit>
  int64_t successors(const Range* ranges, uint32_t depth, Workspace& work, StopFlag stop, Visit visit) const {
    const uint64_t n = gather(ranges, depth, work, 0, stop);
    size_t n_used = 0;
    for (size_t s = 0; s < width(); ++s) n_used += ranges[s].size() > 0;
    const bool is_plain = only_added_ && in_token_order_ && separator_ == kNoSeparator;
    if (n_used <= 1 && is_plain) return visit_runs(work, n, visit);
    return visit_parts(ranges, work, n, visit);
  }

  // Number of different left neighbours of the rows.
  int64_t n_left(const Range* ranges, Workspace& work, StopFlag stop) const {
    return distinct_lefts(work, gather(ranges, 0, work, 0, stop));
  }

  // The rows, of an n-gram of `depth` tokens, whose sentences end after it: `out` gets those whose documents
  // end, one range per segment, then those that a separator follows. Returns their net count.
  int64_t ends(const Range* ranges, uint32_t depth, std::vector<Range>& out) const {
    out.assign(2 * width(), Range{});
    for (size_t s = 0; s < width(); ++s) {
      const Ends found = columns_[s]->ends(ranges[s], depth);
      out[s] = found[0];
      out[width() + s] = found[1];
    }
    return net(out.data()) + net(out.data() + width());
  }

  int64_t n_left_of_ends(const std::vector<Range>& ends, Workspace& work, StopFlag stop) const {
    const uint64_t n = gather(ends.data(), 0, work, 0, stop);
    return distinct_lefts(work, gather(ends.data() + width(), 0, work, n, stop));
  }

 private:
  // Rows read between two interrupt checks.
  static constexpr Row kPiece = 1u << 16;

  // Reads the symbols on either side of the rows, after the first `at` that were read before; returns their
  // number.
  uint64_t gather(const Range* ranges, uint32_t depth, Workspace& work, uint64_t at, StopFlag stop) const {
    const uint64_t n = at + n_rows(ranges);
    work.lefts.resize(n);
    work.nexts.resize(n);
    if (!only_added_) work.signs.resize(n);
    for (size_t s = 0; s < width(); ++s) {
      for (Row lo = ranges[s].lo; lo < ranges[s].hi;) {
        const Row hi = lo + std::min(kPiece, ranges[s].hi - lo);
        columns_[s]->read({lo, hi}, depth, work.lefts.data() + at, work.nexts.data() + at);
        if (!only_added_) std::fill_n(work.signs.data() + at, hi - lo, static_cast<int8_t>(columns_[s]->sign()));
        at += hi - lo;
        spend(stop, hi - lo);
        lo = hi;
      }
    }
    return n;
  }

  int64_t distinct_lefts(Workspace& work, uint64_t n) const {
    return only_added_ ? work.distinct(work.lefts.data(), n)
                       : work.net_distinct(work.lefts.data(), work.signs.data(), n);
  }

  // Rows of one segment are in runs by what follows, here ascending.
  template <class Visit>
  static int64_t visit_runs(Workspace& work, uint64_t n, Visit visit) {
    const Code* const nexts = work.nexts.data();
    for (uint64_t i = 0; i < n;) {
      uint64_t stop = i + 1;
      while (stop < n && nexts[stop] == nexts[i]) ++stop;
      visit(Successor{nexts[i], static_cast<int64_t>(stop - i), work.distinct(work.lefts.data() + i, stop - i)});
      i = stop;
    }
    return work.distinct(work.lefts.data(), n);
  }

  // Rows of several segments, each in runs by what follows: their runs are merged. So are, within one
  // segment, the rows whose documents end and those that a separator follows.
  template <class Visit>
  int64_t visit_parts(const Range* ranges, Workspace& work, uint64_t n, Visit visit) const {
    collect_parts(ranges, work);
    const std::vector<Part>& parts = work.parts;
    for (size_t first = 0; first < parts.size();) {
      size_t last = first;
      int64_t count = 0;
      for (; last < parts.size() && parts[last].code == parts[first].code; ++last) {
        count += parts[last].sign * static_cast<int64_t>(parts[last].stop - parts[last].start);
      }
      if (count > 0) visit(Successor{parts[first].code, count, n_left_of_parts(work, first, last)});
      first = last;
    }
    return distinct_lefts(work, n);
  }

  // Runs of rows that one successor follows, ascending by its code.
  void collect_parts(const Range* ranges, Workspace& work) const {
    work.parts.clear();
    uint64_t at = 0;
    for (size_t s = 0; s < width(); ++s) {
      const uint64_t stop = at + ranges[s].size();
      while (at < stop) {
        const uint64_t start = at;
        while (at < stop && work.nexts[at] == work.nexts[start]) ++at;
        work.parts.push_back({work.nexts[start], columns_[s]->sign(), start, at});
      }
    }
    std::sort(work.parts.begin(), work.parts.end(), [](const Part& a, const Part& b) {
      return a.code != b.code ? a.code < b.code : a.start < b.start;
    });
  }

  int64_t n_left_of_parts(Workspace& work, size_t first, size_t last) const {
    if (last - first == 1) {
      const Part& part = work.parts[first];
      return work.distinct(work.lefts.data() + part.start, part.stop - part.start);
    }
    work.joined.clear();
    work.joined_signs.clear();
    for (size_t i = first; i < last; ++i) {
      const Part& part = work.parts[i];
      work.joined.insert(work.joined.end(), work.lefts.data() + part.start, work.lefts.data() + part.stop);
      work.joined_signs.resize(work.joined.size(), static_cast<int8_t>(part.sign));
    }
    return only_added_ ? work.distinct(work.joined.data(), work.joined.size())
                       : work.net_distinct(work.joined.data(), work.joined_signs.data(), work.joined.size());
  }

  std::vector<std::unique_ptr<Column>> columns_;
  int64_t separator_ = kNoSeparator;
  bool only_added_ = true;
  bool in_token_order_ = true;
  bool is_nested_ = true;
  int64_t n_tokens_ = 0;
  int64_t n_sentences_ = 0;
  int64_t n_empty_ = 0;
};

// All successors of an n-gram, ascending by code; running sums of their weights in a model, for drawing by
// binary search; if the model uses it, how often those that count follow the next shorter context.
struct SuccessorList {
  std::vector<Successor> list;
  std::vector<double> sums;
  double n_in_shorter = 0.0;
};

// Successors of frequent n-grams, for distributions: they take a pass over all occurrences. Shared by threads; a full
// cache is cleared.
class SuccessorCache {
 public:
  using Entry = std::shared_ptr<const SuccessorList>;

  Entry get(uint64_t row, uint64_t depth) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = lists_.find({row, depth});
    return found == lists_.end() ? nullptr : found->second;
  }

  void put(uint64_t row, uint64_t depth, const Entry& successors) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (n_entries_ + successors->list.size() > kMostEntries) {
      lists_.clear();
      n_entries_ = 0;
    }
    n_entries_ += successors->list.size();
    lists_[{row, depth}] = successors;
  }

 private:
  // 32 bytes each: 128 MB.
  static constexpr size_t kMostEntries = size_t{1} << 22;

  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, Entry> lists_;
  size_t n_entries_ = 0;
};

// Records of frequent n-grams, shared by threads; bounded: a full shard is cleared. Open addressing,
// since a look-up should cost one miss.
class RecordCache {
 public:
  struct Key {
    uint64_t row = 0;    // segment and first row: with the length they identify the n-gram
    uint64_t depth = 0;  // never 0: marks a slot as used
    bool operator==(const Key& other) const { return row == other.row && depth == other.depth; }
  };

  bool get(const Key& key, Record* out) {
    const uint64_t hash = hash_of(key);
    Shard& shard = shards_[hash >> 58];
    const std::lock_guard<std::mutex> lock(shard.mutex);
    if (shard.slots.empty()) return false;
    const Slot& slot = shard.slots[shard.place(key, hash)];
    if (slot.key.depth == 0) return false;
    *out = slot.record;
    return true;
  }

  // Fetches the slot where `get` will look first.
  void prefetch(const Key& key) const {
    const uint64_t hash = hash_of(key);
    const Shard& shard = shards_[hash >> 58];
    // Not under the lock, and so perhaps those of a moment ago; nothing is read.
    const size_t mask = shard.mask.load(std::memory_order_relaxed);
    const uintptr_t slot = shard.first.load(std::memory_order_relaxed) + sizeof(Slot) * (hash & mask);
    prefetch_line(reinterpret_cast<const void*>(slot));
    prefetch_line(reinterpret_cast<const void*>(slot + sizeof(Slot) - 1));
  }

  void put(const Key& key, const Record& record) {
    const uint64_t hash = hash_of(key);
    Shard& shard = shards_[hash >> 58];
    const std::lock_guard<std::mutex> lock(shard.mutex);
    if (3 * shard.n_used >= 2 * shard.slots.size()) shard.make_room();
    Slot& slot = shard.slots[shard.place(key, hash)];
    shard.n_used += slot.key.depth == 0;
    slot = {key, record};
  }

 private:
  static constexpr size_t kShards = 64;  // by the hash's first 6 bits
  // 80 bytes each: 168 MB when every shard is at its largest.
  static constexpr size_t kMostSlots = (size_t{1} << 21) / kShards;

  struct Slot {
    Key key;
    Record record;
  };

  static uint64_t hash_of(const Key& key) {
    uint64_t x = (key.row + 0x9e3779b97f4a7c15u * key.depth) * 0xbf58476d1ce4e5b9u;
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 29);
  }

  struct Shard {
    std::mutex mutex;
    std::vector<Slot> slots;  // a power of two of them, or none
    size_t n_used = 0;
    // The address of the slots, and their number minus one, for `prefetch`.
    std::atomic<uintptr_t> first{0};
    std::atomic<size_t> mask{0};

    size_t place(const Key& key, uint64_t hash) const {
      size_t i = hash & (slots.size() - 1);
      while (slots[i].key.depth != 0 && !(slots[i].key == key)) i = (i + 1) & (slots.size() - 1);
      return i;
    }

    void make_room() {
      std::vector<Slot> old(slots.size() >= kMostSlots ? slots.size() : std::max<size_t>(64, 2 * slots.size()));
      old.swap(slots);
      n_used = 0;
      first.store(reinterpret_cast<uintptr_t>(slots.data()), std::memory_order_relaxed);
      mask.store(slots.size() - 1, std::memory_order_relaxed);
      if (old.size() == slots.size()) return;
      for (const Slot& slot : old) {
        if (slot.key.depth == 0) continue;
        slots[place(slot.key, hash_of(slot.key))] = slot;
        ++n_used;
      }
    }
  };

  std::array<Shard, kShards> shards_;
};

}  // namespace lm
}  // namespace ngramdb
