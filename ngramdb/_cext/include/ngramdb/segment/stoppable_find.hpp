// Many searches in one segment, in batches between which the work can be stopped.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// A match of at least this many tokens is extended by comparing one symbol per row: a search would encode all of them.
constexpr uint32_t kLongMatch = 256;

inline bool extends_long_match(const Request& request) {
  return request.narrow && request.depth >= kLongMatch && request.n == request.depth + 1;
}

// Segment::find with interrupt checks.
inline void find_stoppably(const Segment& segment, const Request* requests, Range* answers, size_t n, StopFlag stop) {
  for (size_t base = 0, m; base < n; base += m) {
    const Request* const first = requests + base;
    const Request* const last = first + n_searched_together(first, n - base);
    m = static_cast<size_t>(std::find_if(first, last, extends_long_match) - first);
    if (m > 0) {
      spend(stop, work_of(first, m));
      segment.find(first, answers + base, m);
      continue;
    }
    m = 1;
    spend(stop, 32);
    const TokenId next = first->ids[first->depth];
    answers[base] = next < 0 ? Range{} : segment.narrow(first->within, first->depth, next);
  }
}

}  // namespace ngramdb
