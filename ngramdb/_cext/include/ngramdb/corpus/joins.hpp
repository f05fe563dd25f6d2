// Joins of ascending token positions with windows of the text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ngramdb/corpus/docsets.hpp"
#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

// First index in [0, n) whose value is not below `value`, searched for from `from` in doubling steps (or in all of the
// values if the window before began further on).
inline size_t seek(const uint32_t* values, size_t n, size_t from, uint32_t value) {
  if (from > 0 && values[from - 1] >= value) return static_cast<size_t>(std::lower_bound(values, values + from, value) - values);
  return gallop(values, n, from, value);
}

// Returns whether some value (ascending) is in [lo[i], hi[i]). Ascending windows cost O(n + m), or O(n log(m / n)) if
// there are many more values than windows.
inline void windows_with(const uint32_t* values, size_t m, const uint32_t* lo, const uint32_t* hi, size_t n,
                         uint8_t* out, StopFlag stop) {
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    at = seek(values, m, at, lo[i]);
    out[i] = at < m && values[at] < hi[i];
  }
}

// Returns whether each of n ascending values is in some window [lo, hi); windows ascend and don't overlap.
inline void values_within(const uint32_t* values, size_t n, const uint32_t* lo, const uint32_t* hi, size_t m,
                          uint8_t* out, StopFlag stop) {
  size_t at = 0;  // the first window that begins after the value
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    at = seek(lo, m, at, values[i]);
    if (at < m && lo[at] == values[i]) {
      out[i] = values[i] < hi[at];
    } else {
      out[i] = at > 0 && values[i] < hi[at - 1];
    }
  }
}

// The least end of the matches that start in [lo[i], hi[i]), or 0 without matches. Starts ascend and precede their ends,
// so a match that starts at or after the least end so far cannot end before it.
inline void least_ends(const uint32_t* starts, const uint32_t* ends, size_t m, const uint32_t* lo, const uint32_t* hi,
                       size_t n, uint32_t* out, StopFlag stop) {
  size_t at = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    at = seek(starts, m, at, lo[i]);
    uint32_t least = 0;
    for (size_t j = at; j < m && starts[j] < hi[i] && (least == 0 || starts[j] < least); ++j) {
      if (least == 0 || ends[j] < least) least = ends[j];
    }
    out[i] = least;
  }
}

// Documents that have, within a window of `distance` + 1 tokens, a value of each of n_lists lists. The values of all
// lists come together, ascending; list[i] and document[i] belong to value i. Each document once.
inline void documents_covered(const uint32_t* values, const uint32_t* list, const uint32_t* document, size_t n,
                              uint32_t n_lists, uint64_t distance, std::vector<uint32_t>& out, StopFlag stop) {
  constexpr uint64_t kNone = ~uint64_t{0};
  std::vector<uint64_t> last(n_lists, kNone);
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    if (i > 0 && document[i] != document[i - 1]) std::fill(last.begin(), last.end(), kNone);
    last[list[i]] = values[i];
    if (!out.empty() && out.back() == document[i]) continue;
    bool covered = true;
    for (const uint64_t before : last) covered = covered && before != kNone && before + distance >= values[i];
    if (covered) out.push_back(document[i]);
  }
}

}  // namespace ngramdb
