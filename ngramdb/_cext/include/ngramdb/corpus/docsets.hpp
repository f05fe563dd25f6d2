// Set algebra on ascending arrays of document numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ngramdb {

// First index at or after `from` whose value is not below `value`: doubling steps, then bisection, so that a
// short list costs O(log) of a long one per element.
inline size_t gallop(const uint32_t* values, size_t n, size_t from, uint32_t value) {
  size_t step = 1, lo = from;
  while (from < n && values[from] < value) {
    lo = from + 1;
    from += step;
    step *= 2;
  }
  return static_cast<size_t>(std::lower_bound(values + lo, values + std::min(from, n), value) - values);
}

// Values of a that are (keep_common) or are not in b. `out` has room for n_a; returns how many there are.
// Cost: O(n_a log(n_b / n_a + 1)).
inline size_t select_common(const uint32_t* a, size_t n_a, const uint32_t* b, size_t n_b, bool keep_common,
                            uint32_t* out) {
  size_t j = 0, n = 0;
  for (size_t i = 0; i < n_a; ++i) {
    j = gallop(b, n_b, j, a[i]);
    const bool common = j < n_b && b[j] == a[i];
    out[n] = a[i];
    n += common == keep_common;
  }
  return n;
}

// Values of a or b, each once. `out` has room for n_a + n_b.
inline size_t unite_sorted(const uint32_t* a, size_t n_a, const uint32_t* b, size_t n_b, uint32_t* out) {
  return static_cast<size_t>(std::set_union(a, a + n_a, b, b + n_b, out) - out);
}

}  // namespace ngramdb
