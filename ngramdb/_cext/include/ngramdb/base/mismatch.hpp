// First difference between two byte strings, with vectors as wide as the machine at hand has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ngramdb/base/byte_order.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ngramdb {

// Index of the first byte in which a[0, n) and b[0, n) differ, or n. Reads nothing beyond them.
inline size_t mismatch_words(const uint8_t* a, const uint8_t* b, size_t n) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t x, y;
    std::memcpy(&x, a + i, 8);
    std::memcpy(&y, b + i, 8);
    if (x != y) {
      return i + static_cast<size_t>(__builtin_ctzll(x ^ y)) / 8;
    }
  }
  for (; i < n; ++i) {
    if (a[i] != b[i]) return i;
  }
  return n;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) inline size_t mismatch_avx2(const uint8_t* a, const uint8_t* b, size_t n) {
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + i));
    const uint32_t equal = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y)));
    if (equal != 0xffffffffu) return i + static_cast<size_t>(__builtin_ctz(~equal));
  }
  return i + mismatch_words(a + i, b + i, n - i);
}
#endif

using MismatchFunction = size_t (*)(const uint8_t*, const uint8_t*, size_t);

inline MismatchFunction choose_mismatch() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return mismatch_avx2;
#endif
  return mismatch_words;
}

inline const MismatchFunction mismatch_wide = choose_mismatch();

// Most comparisons end within the first words: those stay inline, longer ones go wide.
inline size_t mismatch(const uint8_t* a, const uint8_t* b, size_t n) {
  constexpr size_t kInline = 16;
  if (n <= kInline) return mismatch_words(a, b, n);
  const size_t head = mismatch_words(a, b, kInline);
  return head < kInline ? head : kInline + mismatch_wide(a + kInline, b + kInline, n - kInline);
}

}  // namespace ngramdb
