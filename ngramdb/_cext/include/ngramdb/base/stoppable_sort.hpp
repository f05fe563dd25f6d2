// std::sort, with interrupt checks in between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

template <class Iterator, class Less>
void sort_stoppably(Iterator first, Iterator last, Less less, StopFlag stop) {
  if (last - first <= static_cast<std::ptrdiff_t>(kStopInterval)) {
    std::sort(first, last, less);
    return;
  }
  // A comparison takes a few nanoseconds.
  uint32_t n_compared = 0;
  std::sort(first, last, [&](const auto& a, const auto& b) {
    if (++n_compared % (8 * kStopInterval) == 0) check_stop(stop);
    return less(a, b);
  });
}

template <class Iterator>
void sort_stoppably(Iterator first, Iterator last, StopFlag stop) {
  sort_stoppably(first, last, std::less<>{}, stop);
}

}  // namespace ngramdb
