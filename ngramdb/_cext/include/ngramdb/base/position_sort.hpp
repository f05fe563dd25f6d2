// Sorting positions: linear, and stopped on the way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

// Sorts by three rounds over 11 bits each: linear time, whatever the order.
inline void sort_positions(uint32_t* values, size_t n, StopFlag stop) {
  constexpr size_t kSmall = 4096;  // below this a comparison sort is faster
  if (n < kSmall) {
    std::sort(values, values + n);
    return;
  }
  constexpr uint32_t kBits = 11, kBuckets = 1u << kBits;
  std::vector<uint32_t> spare(n);
  uint32_t* from = values;
  uint32_t* to = spare.data();
  for (uint32_t shift = 0; shift < 32; shift += kBits) {
    std::vector<size_t> next(kBuckets + 1);
    for (size_t i = 0; i < n; ++i) {
      if (i % (16 * kStopInterval) == 0) check_stop(stop);
      ++next[((from[i] >> shift) & (kBuckets - 1)) + 1];
    }
    for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) next[bucket + 1] += next[bucket];
    for (size_t i = 0; i < n; ++i) {
      if (i % (4 * kStopInterval) == 0) check_stop(stop);
      to[next[(from[i] >> shift) & (kBuckets - 1)]++] = from[i];
    }
    std::swap(from, to);
  }
  // Three rounds: the result is in the spare array.
  std::copy(from, from + n, values);
}

}  // namespace ngramdb
