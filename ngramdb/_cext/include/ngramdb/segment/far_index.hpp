// The far index of a segment: what a search reads of a file that lies elsewhere, so that it need not wait often.
//
// It has the long keys (32 bytes) of every stride-th row, few enough to be fetched with the file's end, and for each row
// one byte, its far LCP: how many bits its long key has in common with that of the row before, at most 255; 0 for row 0.
//
// The long keys lead to one run of rows between two of them, or two if some begin with the query; the far LCPs of
// these lead to the first and the last row that can begin with it (blind search, rows.hpp), so that the text of one row
// at most has to be read for a query of up to 255 bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/segment/far_keys.hpp"
#include "ngramdb/segment/keys.hpp"
#include "ngramdb/segment/rows.hpp"

namespace ngramdb {

// The largest long key that has the first n bits of another one.
inline LongKey ones_after(LongKey key, uint32_t n) {
  for (uint32_t k = 0; k < kLongWords; ++k) {
    if (n >= 64 * (k + 1)) continue;
    key.word[k] |= n <= 64 * k ? ~uint64_t{0} : ~uint64_t{0} >> (n - 64 * k);
  }
  return key;
}

// The rows that may begin with a query, and what is left to be seen.
struct FarRows {
  enum Left {
    kNothing,  // they do, all of them
    kOne,  // all do, or none: the first row decides
    kEach,  // they share 255 bits with it, and each has to be compared
  };
  uint64_t lo, hi;
  Left left;
};

// Searches for the n_bits bits (at least 1; of queries longer than long keys, more than kLongBits) of a query.
// `need(first, n)` is called before far LCPs of n rows are read. Whatever the arrays hold, lo <= hi <= n_rows.
template <class Need>
FarRows search_far(const FarIndex& far, uint64_t n_rows, const LongKey& query, uint32_t n_bits, Need need) {
  const LongKey* const end = far.keys + n_far_keys(n_rows, far.stride);
  const LongKey last_key = ones_after(query, std::min(n_bits, kLongBits));
  const uint32_t bits = std::min(n_bits, kMostFarLcp);
  const LongKey* const first_key = std::lower_bound(far.keys, end, query);
  const uint64_t below = static_cast<uint64_t>(first_key - far.keys);
  const uint64_t upto = static_cast<uint64_t>(std::upper_bound(first_key, end, last_key) - far.keys);
  const auto end_of_run = [&](uint64_t row, uint64_t stop) {
    while (row < stop && far.lcps[row] >= bits) ++row;
    return row;
  };
  if (below < upto) {  // rows below * stride … (upto - 1) * stride begin with it, as far as long keys reach
    const uint64_t start = below == 0 ? 0 : (below - 1) * far.stride + 1;
    uint64_t lo = below * far.stride;
    need(start, lo + 1 - start);
    while (lo > start && far.lcps[lo] >= bits) --lo;
    const uint64_t next = (upto - 1) * far.stride + 1, stop = std::max(next, std::min(upto * far.stride, n_rows));
    need(next, stop - next);
    return {lo, end_of_run(next, stop), n_bits <= bits ? FarRows::kNothing : FarRows::kEach};
  }
  if (below == 0) return {0, 0, FarRows::kNothing};  // row 0 is above it
  const uint64_t start = (below - 1) * far.stride + 1, stop = std::max(start, std::min(below * far.stride, n_rows));
  need(start, stop - start);
  // The row before is below the query, and how much they share is known.
  const uint32_t known = common_bits(far.keys[below - 1], query);
  if (known >= bits) return {start, end_of_run(start, stop), FarRows::kEach};
  uint64_t row = start, first = stop;
  while (row < stop && far.lcps[row] > known) ++row;
  while (row < stop) {
    const uint32_t bit = far.lcps[row];
    if (bit < bits && query.has_bit(bit)) {
      first = row++;
    } else {
      do ++row;
      while (row < stop && far.lcps[row] >= bit);
    }
  }
  if (first == stop) return {start, start, FarRows::kNothing};
  return {first, end_of_run(first + 1, stop), n_bits <= bits ? FarRows::kOne : FarRows::kEach};
}

// Fills keys (n_far_keys(n_rows, stride) of them) and lcps (n_rows). Every position must be below n_text.
//
// Cost: an independent random read per row, shared by as many threads as there are free cores.
template <class Sym>
void build_far_index(const Sym* text, uint64_t n_text, Rows rows, uint64_t n_rows, uint64_t stride, LongKey* keys,
                     uint8_t* lcps, CoreBudget* cores, StopFlag stop) {
  constexpr uint64_t kAhead = 32;
  if (n_rows == 0) return;
  ThreadTeam team(cores, stop);
  const auto key_of = [&](uint64_t row) { return long_key(text + rows[row], n_text - rows[row]); };
  team.run([&](uint32_t t) {
    const uint64_t start = n_rows * t / team.size(), end = n_rows * (t + 1) / team.size();
    LongKey last = start == 0 ? LongKey{} : key_of(start - 1);
    for (uint64_t row = start; row < end; ++row) {
      if ((row - start) % kStopInterval == 0) team.look(t);
      if (row + kAhead < end) prefetch_line(text + rows[row + kAhead]);
      const LongKey key = key_of(row);
      lcps[row] = row == 0 ? 0 : static_cast<uint8_t>(std::min(common_bits(last, key), kMostFarLcp));
      if (row % stride == 0) keys[row / stride] = key;
      last = key;
    }
  });
}

}  // namespace ngramdb
