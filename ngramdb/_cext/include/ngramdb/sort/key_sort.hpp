// Suffix sorting by keys, on several threads: the fast path for texts whose suffixes differ soon, such as natural
// language and code. Gives up early for other texts; suffix_sort.hpp then sorts by induction.
//
// 1. Rows are distributed by their first symbol (the first two where symbols are bytes).
// 2. Rows that agree so far are sorted by the key of the next symbols: 64 bits, as many symbols as fit. Again for what
//    is still equal, some rounds; everything is stable, so that suffixes which end together stay in position order.
// 3. What is still unresolved shares at least `step` symbols with its neighbours. Every position p of these, and
//    p + step, gets its row, or that of the first of its equals, as a name. The names of p, p + step, p + 2 step, … up
//    to the first unique one determine the suffix's place, so induced sorting of the strings of names (few: 1 % of the rows,
//    for web text) finishes the order. This is prefix doubling's idea (Manber & Myers, "Suffix Arrays: A New Method for
//    On-Line String Searches", 1993), with linear time instead of rounds.
//
// Cost: about 50 ns of CPU time per symbol for 26 M tokens of web text, half as much as inducing, and all but the end of
// step 3 shared by the threads. Memory besides the rows: counters, a chunk of keys per thread, and about 20 bytes for each
// unresolved row, of which it bears 1 in Limits::most_unresolved.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/base/memory.hpp"
#include "ngramdb/sort/pair_sort.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/row_lcps.hpp"
#include "ngramdb/sort/sais.hpp"

namespace ngramdb {
namespace keysort {

// Tests make the numbers small, to reach every path with short texts.
struct Limits {
  // Rows whose keys are sorted at a time, 24 bytes each: what the second-level cache holds.
  uint32_t chunk_rows = 1u << 15;
  // Larger groups are split by one symbol first, without keys.
  uint32_t split_rows = 1u << 16;
  // Symbols to compare before the rest is left to names; fewer if a round resolves less than 1 in `least_resolved` rows.
  uint32_t least_depth = 8;
  uint32_t most_depth = 64;
  uint32_t least_resolved = 16;
  // … in 4, if rounds beyond the least depth have read that many keys per row of the text: the work lost if it
  // gives up in the end.
  uint32_t most_read = 4;
  // A first bucket with more than 1 in this many rows implies long repeats; sorting by keys is not tried.
  uint32_t largest_bucket = 3;
  // Unresolved rows cost memory: it gives up at more than 1 in this many.
  uint32_t most_unresolved = 8;
  // For the induced sorting of names.
  uint32_t max_marked = sais::kMaxMarked;
};

// Rows lo … lo + size - 1, whose suffixes agree in their first symbols.
struct Group {
  uint32_t lo;
  uint32_t size;
};

// Keys: the next symbols of a suffix as one number that compares as they do, nothing but zeros from the separator on.
template <class Sym>
struct KeyReader {
  const Sym* text;
  uint64_t n;
  uint32_t bits;     // a symbol's
  uint32_t per_key;  // symbols

  KeyReader(const Sym* text, uint64_t n, uint32_t n_symbols) : text(text), n(n), bits(8 * sizeof(Sym)) {
    if (sizeof(Sym) == 4) {
      bits = 1;
      while (bits < 32 && (uint64_t{1} << bits) < n_symbols) ++bits;
    }
    per_key = 64 / bits;
  }

  bool ended(uint64_t key) const { return (key >> (64 - bits * per_key) & ((uint64_t{1} << bits) - 1)) == 0; }

  uint64_t key(uint64_t position) const {
    if (sizeof(Sym) < 4 && position + 8 / sizeof(Sym) <= n) {
      constexpr uint64_t ones = sizeof(Sym) == 1 ? 0x0101010101010101u : 0x0001000100010001u;
      uint64_t word;
      std::memcpy(&word, text + position, sizeof(word));
      // The lowest symbol that is zero (the bits above it are ignored).
      const uint64_t zeros = (word - ones) & ~word & (ones << (8 * sizeof(Sym) - 1));
      if (zeros != 0) {
        const uint32_t n_before = static_cast<uint32_t>(__builtin_ctzll(zeros)) & ~(8 * uint32_t{sizeof(Sym)} - 1);
        word &= (uint64_t{1} << n_before) - 1;
      }
      word = __builtin_bswap64(word);
      if (sizeof(Sym) == 1) return word;
      return (word & 0x00ff00ff00ff00ffu) << 8 | (word >> 8 & 0x00ff00ff00ff00ffu);
    }
    uint64_t word = 0;
    // A text ends in a separator, so nothing after it is read.
    for (uint32_t i = 0; i < per_key; ++i) {
      const uint64_t symbol = text[position + i];
      if (symbol == 0) break;
      word |= symbol << (64 - bits * (1 + i));
    }
    return word;
  }
};

template <class Sym>
class Sorter {
 public:
  // With an lcp_width, rows come out with LCPs (rows.hpp); not where symbols have 32 bits.
  Sorter(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_symbols, uint32_t lcp_width, CoreBudget* cores,
         const Limits& limits, StopFlag stop)
      : text_(text), sa_(sa), n_(n), n_symbols_(n_symbols), lcp_width_(lcp_width),
        position_mask_(~uint32_t{0} >> lcp_width), cores_(cores), limits_(limits), stop_(stop),
        keys_(text, n, n_symbols) {}

  // False when the text is not for this kernel; rows are undefined then.
  bool sort() {
    std::vector<uint32_t> starts;  // of the buckets, and the end
    if (!distribute(starts)) return false;
    if (lcp_width_ != 0) mark_buckets(starts);
    if (!refine(starts)) return false;
    if (!unresolved_.empty()) resolve();
    return true;
  }

 private:
  // Bytes are few: buckets by two of them.
  static constexpr bool kTwoFirst = sizeof(Sym) == 1;
  static constexpr uint32_t kFirstDepth = kTwoFirst ? 2 : 1;
  static constexpr uint32_t kSymbolBits = 8 * sizeof(Sym);

  struct Part {
    Group rows;
    uint32_t depth;
  };

  // Room for pairs.
  struct PairPages {
    Pages<uint64_t> keys;
    Pages<uint32_t> positions;

    void reserve(size_t n) {
      keys.reserve(n + kKeysReadBehind);
      positions.reserve(n);
    }
    Pairs pairs() { return {keys.data(), positions.data()}; }
  };

  // The buffers of one thread.
  struct Work {
    PairPages pairs, sorted;
    std::vector<Group> open, next;  // groups of a round, and of the one after it
    std::vector<Part> parts;        // to be done, last one first
    Pages<uint32_t> counts, positions;
    Pages<Sym> symbols;
    std::vector<Group> unresolved;
    uint32_t least_depth = ~uint32_t{0};
  };

  // ---- LCPs. They belong to rows, not to positions: a row that another position moves to keeps its own. What is not
  // known yet is zero.

  uint32_t position_at(uint32_t row) const { return sa_[row] & position_mask_; }
  void put(uint32_t row, uint32_t position) { sa_[row] = (sa_[row] & ~position_mask_) | position; }
  void put_with_lcp(uint32_t row, uint32_t position, uint64_t lcp) {
    if (lcp_width_ == 0) {
      sa_[row] = position;
    } else {
      sa_[row] = position | static_cast<uint32_t>(std::min<uint64_t>(lcp, most_lcp(lcp_width_))) << (32 - lcp_width_);
    }
  }

  // LCPs of the buckets' first rows, and of those that end within their bucket's symbols.
  void mark_buckets(const std::vector<uint32_t>& starts) {
    constexpr uint32_t kUnused = 32 - kFirstDepth * kSymbolBits;  // of a bucket's number
    uint32_t before = 0;
    for (uint32_t c = 1; c + 1 < starts.size(); ++c) {
      if (starts[c] == starts[c + 1]) continue;
      const uint32_t lcp = before == 0 ? 0 : static_cast<uint32_t>(__builtin_clz(before ^ c)) - kUnused;
      put_with_lcp(starts[c], sa_[starts[c]], lcp);
      before = c;
      if (!kTwoFirst || (c & 255) != 0) continue;
      for (uint32_t row = starts[c] + 1; row < starts[c + 1]; ++row) put_with_lcp(row, sa_[row], kWholeKey);
    }
  }
  static constexpr uint32_t kWholeKey = 128;

  uint32_t bucket_of(uint32_t p) const {
    const uint32_t first = text_[p];
    if (!kTwoFirst || first == 0) return first;
    return first << 8 | text_[p + 1];
  }

  // Calls visit(p) for the thread's share of 0 … n - 1.
  template <class Visit>
  void for_share(ThreadTeam& team, uint32_t thread, Visit visit) const {
    const uint64_t start = uint64_t{n_} * thread / team.size(), stop = uint64_t{n_} * (thread + 1) / team.size();
    for (uint64_t base = start; base < stop; base += kStopInterval) {
      team.look(thread);
      const uint64_t end = std::min<uint64_t>(base + kStopInterval, stop);
      for (uint64_t p = base; p < end; ++p) visit(static_cast<uint32_t>(p));
    }
  }

  // Rows are first written to all over: into the buckets.
  void touch_rows(ThreadTeam& team, uint32_t thread) const {
    const uint64_t start = uint64_t{n_} * thread / team.size(), stop = uint64_t{n_} * (thread + 1) / team.size();
    touch_pages(sa_ + start, sizeof(uint32_t) * (stop - start), [&] { team.look(thread); });
  }

  // Puts all positions into their buckets, in order; the separators, bucket 0, are done by that.
  bool distribute(std::vector<uint32_t>& starts) {
    const uint32_t n_buckets = kTwoFirst ? 1u << 16 : n_symbols_;
    ThreadTeam team(cores_, stop_);
    std::vector<std::vector<uint32_t>> heads(team.size());
    team.run([&](uint32_t t) {
      heads[t].assign(n_buckets, 0);
      uint32_t* const counts = heads[t].data();
      for_share(team, t, [&](uint32_t p) { ++counts[bucket_of(p)]; });
    });
    starts.resize(size_t{n_buckets} + 1);
    uint32_t sum = 0, largest = 0;
    for (uint32_t c = 0; c < n_buckets; ++c) {
      starts[c] = sum;
      for (auto& head : heads) {
        const uint32_t count = head[c];
        head[c] = sum;
        sum += count;
      }
      if (c > 0) largest = std::max(largest, sum - starts[c]);
    }
    starts[n_buckets] = sum;
    if (largest > n_ / limits_.largest_bucket) return false;
    team.run([&](uint32_t t) { touch_rows(team, t); });
    team.run([&](uint32_t t) {
      uint32_t* const head = heads[t].data();
      for_share(team, t, [&](uint32_t p) { sa_[head[bucket_of(p)]++] = p; });
    });
    return true;
  }

  // Sorts every bucket, save for the rows that it leaves in unresolved_.
  bool refine(const std::vector<uint32_t>& starts) {
    // Tasks are runs of buckets, [first, second) by number, or single large ones. The calling thread takes the
    // largest first, the others the smallest: large ones need memory, and seldom coincide that way.
    std::vector<std::pair<uint32_t, uint32_t>> tasks;
    for (uint32_t c = 1; c + 1 < starts.size();) {
      uint32_t stop = c + 1;
      while (stop + 1 < starts.size() && starts[stop + 1] - starts[c] <= limits_.chunk_rows) ++stop;
      if (starts[stop] > starts[c]) tasks.push_back({c, stop});
      c = stop;
    }
    const auto rows_of = [&](const auto& task) { return starts[task.second] - starts[task.first]; };
    std::sort(tasks.begin(), tasks.end(), [&](const auto& a, const auto& b) {
      return rows_of(a) != rows_of(b) ? rows_of(a) > rows_of(b) : a < b;
    });
    ThreadTeam team(cores_, stop_);
    std::vector<Work> works(ThreadTeam::kMostThreads);
    std::atomic<size_t> n_taken{0}, n_large{0}, n_small{0};
    team.share([&](uint32_t t) {
      if (too_many_ || n_taken++ >= tasks.size()) return false;
      queue_task(works[t], starts, tasks[t == 0 ? n_large++ : tasks.size() - 1 - n_small++]);
      sort_parts(works[t], team, t);
      return true;
    });
    if (too_many_) return false;
    for (Work& work : works) {
      unresolved_.insert(unresolved_.end(), work.unresolved.begin(), work.unresolved.end());
      least_depth_ = std::min(least_depth_, work.least_depth);
    }
    std::sort(unresolved_.begin(), unresolved_.end(), [](const Group& a, const Group& b) { return a.lo < b.lo; });
    return true;
  }

  void queue_task(Work& work, const std::vector<uint32_t>& starts, const std::pair<uint32_t, uint32_t>& task) {
    work.parts.clear();
    for (uint32_t c = task.first; c < task.second; ++c) {
      const uint32_t size = starts[c + 1] - starts[c];
      if (size > 1 && !(kTwoFirst && (c & 255) == 0)) work.parts.push_back({{starts[c], size}, kFirstDepth});
    }
  }

  void sort_parts(Work& work, ThreadTeam& team, uint32_t thread) {
    while (!work.parts.empty() && !too_many_) {
      team.look(thread);
      if (is_large(work.parts.back().rows.size)) {
        split(work, team, thread);
      } else {
        sort_chunk(work);
      }
    }
  }

  // Counters of all symbols must pay, and keys must fit.
  bool is_large(uint32_t size) const { return size > limits_.split_rows && size > n_symbols_ / 4; }

  // Splits the last part by its next symbol.
  void split(Work& work, ThreadTeam& team, uint32_t thread) {
    const Part part = work.parts.back();
    work.parts.pop_back();
    if (part.depth >= limits_.most_depth) {
      give_up_on(work, part.rows, part.depth);
      return;
    }
    const uint32_t lo = part.rows.lo, size = part.rows.size;
    work.counts.reserve(n_symbols_);
    std::fill_n(work.counts.data(), n_symbols_, 0);
    work.symbols.reserve(size);
    work.positions.reserve(size);
    for (uint32_t i = 0; i < size; ++i) work.positions[i] = position_at(lo + i);
    for (uint32_t i = 0; i < size; ++i) {
      if (i % kStopInterval == 0) team.look(thread);
      if (i + sais::kTextAhead < size) {
        prefetch_line(text_ + (uint64_t{work.positions[i + sais::kTextAhead]} + part.depth));
      }
      const Sym symbol = text_[uint64_t{work.positions[i]} + part.depth];
      work.symbols[i] = symbol;
      ++work.counts[symbol];
    }
    uint32_t sum = 0, before = 0;
    for (uint32_t c = 0; c < n_symbols_; ++c) {
      const uint32_t count = work.counts[c];
      work.counts[c] = sum;
      if (count == 0) continue;
      // The row's position comes below.
      if (sum > 0) {
        const int unused = 32 - static_cast<int>(kSymbolBits);
        put_with_lcp(lo + sum, 0, uint64_t{kSymbolBits} * part.depth + (__builtin_clz(before ^ c) - unused));
      }
      // After a separator nothing is compared.
      if (c == 0) {
        for (uint32_t i = 1; i < count; ++i) put_with_lcp(lo + sum + i, 0, kWholeKey);
      } else if (count > 1) {
        work.parts.push_back({{lo + sum, count}, part.depth + 1});
      }
      before = c;
      sum += count;
    }
    for (uint32_t i = 0; i < size; ++i) put(lo + work.counts[work.symbols[i]]++, work.positions[i]);
  }

  // Sorts the last parts, as many of one depth as make a chunk, by keys, in rounds.
  void sort_chunk(Work& work) {
    const uint32_t first_depth = work.parts.back().depth;
    uint64_t n_rows = 0;
    work.open.clear();
    while (!work.parts.empty()) {
      const Part& part = work.parts.back();
      if (part.depth != first_depth || is_large(part.rows.size)) break;
      if (n_rows > 0 && n_rows + part.rows.size > limits_.chunk_rows) break;
      n_rows += part.rows.size;
      work.open.push_back(part.rows);
      work.parts.pop_back();
    }
    const uint64_t few = n_rows / 64;
    for (uint64_t depth = first_depth; n_rows > 0; depth += keys_.per_key) {
      const uint64_t n_left = sort_round(work, n_rows, depth);
      const uint64_t reached = depth + keys_.per_key;
      if (depth >= limits_.least_depth) n_read_ += n_rows;
      const bool is_dear = n_read_ > uint64_t{limits_.most_read} * n_;
      const bool shrinks = n_left <= n_rows - n_rows / (is_dear ? 4 : limits_.least_resolved);
      work.open.swap(work.next);
      n_rows = n_left;
      if (reached >= limits_.least_depth && (n_left <= few || !shrinks || reached >= limits_.most_depth)) {
        for (const Group& group : work.open) give_up_on(work, group, static_cast<uint32_t>(reached));
        return;
      }
    }
  }

  // Sorts the rows of work.open, which agree in `depth` symbols, by the key after these; groups that are still equal
  // go to work.next. Returns how many rows they have.
  uint64_t sort_round(Work& work, uint64_t n_rows, uint64_t depth) {
    work.pairs.reserve(n_rows);
    work.sorted.reserve(n_rows);
    Pairs pairs = work.pairs.pairs();
    for (const Group& group : work.open) {
      for (uint32_t i = 0; i < group.size; ++i) pairs.positions[i] = position_at(group.lo + i);
      pairs = pairs.from(group.size);
    }
    pairs = work.pairs.pairs();
    for (uint64_t i = 0; i < n_rows; ++i) {
      if (i + sais::kTextAhead < n_rows) prefetch_line(text_ + (pairs.positions[i + sais::kTextAhead] + depth));
      pairs.keys[i] = keys_.key(pairs.positions[i] + depth);
    }
    work.next.clear();
    uint64_t n_left = 0;
    Pairs sorted = work.sorted.pairs();
    for (const Group& group : work.open) {
      sort_pairs(pairs, sorted, group.size);
      for (uint32_t i = 0; i < group.size;) {
        const uint64_t key = sorted.keys[i];
        if (i == 0) {
          put(group.lo, sorted.positions[0]);
        } else {
          put_with_lcp(group.lo + i, sorted.positions[i],
                       kSymbolBits * depth + static_cast<uint32_t>(__builtin_clzll(sorted.keys[i - 1] ^ key)));
        }
        const bool ended = keys_.ended(key);
        uint32_t stop = i + 1;
        for (; stop < group.size && sorted.keys[stop] == key; ++stop) {
          put_with_lcp(group.lo + stop, sorted.positions[stop], ended ? kWholeKey : 0);
        }
        if (stop - i > 1 && !ended) {
          work.next.push_back({group.lo + i, stop - i});
          n_left += stop - i;
        }
        i = stop;
      }
      pairs = pairs.from(group.size);
      sorted = sorted.from(group.size);
    }
    return n_left;
  }

  void give_up_on(Work& work, const Group& group, uint32_t depth) {
    work.unresolved.push_back(group);
    work.least_depth = std::min(work.least_depth, depth);
    if (n_unresolved_ += group.size; n_unresolved_ > n_ / limits_.most_unresolved) too_many_ = true;
  }

  // ---- names -------------------------------------------------------------------------------------------------

  // A set of positions, numbered so that p and p + step are neighbours: by p modulo step, then by p.
  struct Strides {
    uint32_t shift;  // step is 1 << shift
    uint64_t stride;
    Pages<uint64_t> members;
    Pages<uint32_t> before;  // members in earlier words
    // Eight positions per bit, in order: an eighth of the memory to read, since most positions are not members.
    // Members are adjacent in repeated passages.
    Pages<uint64_t> near;

    Strides(uint32_t n, uint32_t shift)
        : shift(shift),
          stride((uint64_t{n} >> shift) + 1),
          members((stride << shift) / 64 + 1),
          before(members.size()),
          near(n / 512 + 1) {}
    uint64_t step() const { return uint64_t{1} << shift; }
    uint64_t number(uint64_t p) const { return (p & (step() - 1)) * stride + (p >> shift); }
    void add(uint64_t p) {
      members[number(p) / 64] |= uint64_t{1} << (number(p) % 64);
      near[p / 512] |= uint64_t{1} << (p / 8 % 64);
    }
    bool has(uint64_t p) const {
      return (near[p / 512] >> (p / 8 % 64) & 1) != 0 && (members[number(p) / 64] >> (number(p) % 64) & 1) != 0;
    }
    uint32_t count() {
      uint32_t sum = 0;
      for (size_t i = 0; i < members.size(); ++i) {
        before[i] = sum;
        sum += static_cast<uint32_t>(__builtin_popcountll(members[i]));
      }
      return sum;
    }
    uint32_t rank(uint64_t p) const {
      const uint64_t i = number(p), below = (uint64_t{1} << (i % 64)) - 1;
      return before[i / 64] + static_cast<uint32_t>(__builtin_popcountll(members[i / 64] & below));
    }
  };

  // Sorts the unresolved rows by the strings of names of their suffixes.
  void resolve() {
    uint32_t shift = 0;
    while (uint64_t{2} << shift <= least_depth_) ++shift;
    Strides named(n_, shift);
    for (const Group& group : unresolved_) {
      for (uint32_t i = 0; i < group.size; ++i) {
        const uint64_t p = position_at(group.lo + i);
        named.add(p);
        named.add(p + named.step());  // the same document's, or its separator: the row shares that many tokens
      }
    }
    const uint32_t n_named = named.count();
    Pages<uint32_t> names(n_named), positions(n_named), order(n_named);
    name_rows(named, names, positions);
    const uint32_t n_names = sais::renumber(names.data(), n_named, n_);
    sais::solve<false>(names.data(), order.data(), n_named, 0, n_names, nullptr, 0, limits_.max_marked, stop_);
    uint32_t next = 0;
    for (const Group& group : unresolved_) {
      const uint32_t name = names[named.rank(position_at(group.lo))];
      while (names[order[next]] != name) ++next;
      Key before{};
      for (uint32_t i = 0; i < group.size; ++i) {
        const uint32_t p = positions[order[next++]];
        const Key key = lcp_width_ == 0 ? Key{} : key_at(text_, n_, p);
        if (i == 0) {
          put(group.lo, p);
        } else {
          put_with_lcp(group.lo + i, p, common_bits(before, key));
        }
        before = key;
      }
    }
  }

  // Names of the members of `named`, by rank: their row, or the first row of their group.
  void name_rows(const Strides& named, Pages<uint32_t>& names, Pages<uint32_t>& positions) const {
    ThreadTeam team(cores_, stop_);
    team.run([&](uint32_t t) {
      auto group = unresolved_.begin();
      bool is_first = true;
      for_share(team, t, [&](uint32_t row) {
        if (is_first) {
          group = std::upper_bound(unresolved_.begin(), unresolved_.end(), row,
                                   [](uint32_t r, const Group& g) { return r < g.lo; });
          if (group != unresolved_.begin()) --group;
          is_first = false;
        }
        const uint32_t p = position_at(row);
        if (!named.has(p)) return;
        while (group != unresolved_.end() && row - group->lo >= group->size && group->lo <= row) ++group;
        const uint32_t rank = named.rank(p);
        names[rank] = group != unresolved_.end() && group->lo <= row ? group->lo : row;
        positions[rank] = p;
      });
    });
  }

  const Sym* const text_;
  uint32_t* const sa_;
  const uint32_t n_, n_symbols_;
  const uint32_t lcp_width_, position_mask_;
  CoreBudget* const cores_;
  const Limits limits_;
  const StopFlag stop_;
  const KeyReader<Sym> keys_;
  std::atomic<bool> too_many_{false};
  std::atomic<uint64_t> n_unresolved_{0};
  std::atomic<uint64_t> n_read_{0};  // keys, beyond the least depth
  std::vector<Group> unresolved_;
  uint32_t least_depth_ = ~uint32_t{0};
};

}  // namespace keysort
}  // namespace ngramdb
