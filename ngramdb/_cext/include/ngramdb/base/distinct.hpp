// Which values of an array are distinct: by sorting them with their places, linear and stopped on the way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

// A value, with the sign bit flipped so that it compares as an unsigned number, and its place.
struct PlacedValue {
  uint64_t value;
  uint32_t place;
};

// The values of an array with their places, fewer than 2^32, sorted by value and then by place: in rounds over
// 11 bits each, skipping bits in which no two values differ.
class PlacedInOrder {
 public:
  PlacedInOrder(const int64_t* values, size_t n, StopFlag stop) : sorted_(new PlacedValue[n]) {
    constexpr size_t kSmall = 1024;  // below this a comparison sort is faster
    uint64_t differ = 0;
    for (size_t i = 0; i < n; ++i) {
      if (i % kPoll == 0) check_stop(stop);
      sorted_[i] = {static_cast<uint64_t>(values[i]) ^ uint64_t{1} << 63, static_cast<uint32_t>(i)};
      differ |= sorted_[i].value ^ sorted_[0].value;
    }
    if (n < kSmall) {
      std::sort(sorted_.get(), sorted_.get() + n, [](const PlacedValue& a, const PlacedValue& b) {
        return a.value != b.value ? a.value < b.value : a.place < b.place;
      });
      return;
    }
    std::unique_ptr<PlacedValue[]> spare(new PlacedValue[n]);
    for (uint32_t shift = 0; shift < 64; shift += kBits) {
      if ((differ >> shift & (kBuckets - 1)) == 0) continue;
      std::vector<size_t> next(kBuckets + 1);
      for (size_t i = 0; i < n; ++i) {
        if (i % kPoll == 0) check_stop(stop);
        ++next[(sorted_[i].value >> shift & (kBuckets - 1)) + 1];
      }
      for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) next[bucket + 1] += next[bucket];
      for (size_t i = 0; i < n; ++i) {
        if (i % kPoll == 0) check_stop(stop);
        spare[next[sorted_[i].value >> shift & (kBuckets - 1)]++] = sorted_[i];
      }
      sorted_.swap(spare);
    }
  }

  static constexpr size_t kPoll = 4 * kStopInterval;
  const PlacedValue& operator[](size_t i) const { return sorted_[i]; }

 private:
  static constexpr uint32_t kBits = 11, kBuckets = 1u << kBits;
  std::unique_ptr<PlacedValue[]> sorted_;
};

// The places of values in ascending order, those of equal ones ascending.
inline void order_values(const int64_t* values, size_t n, int64_t* places, StopFlag stop) {
  const PlacedInOrder sorted(values, n, stop);
  for (size_t i = 0; i < n; ++i) {
    if (i % PlacedInOrder::kPoll == 0) check_stop(stop);
    places[i] = sorted[i].place;
  }
}

// Numbers values in ascending order of the distinct ones, and appends the first place of each distinct value.
inline void number_values(const int64_t* values, size_t n, int64_t* numbers, std::vector<int64_t>& first,
                          StopFlag stop) {
  const PlacedInOrder sorted(values, n, stop);
  for (size_t i = 0; i < n; ++i) {
    if (i % PlacedInOrder::kPoll == 0) check_stop(stop);
    if (i == 0 || sorted[i].value != sorted[i - 1].value) first.push_back(sorted[i].place);
    numbers[sorted[i].place] = static_cast<int64_t>(first.size()) - 1;
  }
}

}  // namespace ngramdb
