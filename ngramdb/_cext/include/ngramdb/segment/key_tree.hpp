// The directory of a segment: the keys (keys.hpp) of every 64th row of the suffix array.
//
// Their first words form an implicit tree (each node 8 words, one cache line): level 0 has one word per sampled
// row, level k+1 every eighth word of level k, the top level at most 8 words. Levels are padded to whole nodes
// with all-ones words and stored one after the other, level 0 first. The second words have an array of their own.
#pragma once

#include <cstdint>

namespace ngramdb {

constexpr uint32_t kRowsPerSample = 64;
constexpr uint32_t kFanOut = 8;
constexpr int kMaxLevels = 12;  // 8^12 samples are more than 2^32 rows have

inline uint64_t n_samples_of(uint64_t n_rows) { return (n_rows + kRowsPerSample - 1) / kRowsPerSample; }

inline uint64_t padded_level(uint64_t n) { return (n + kFanOut - 1) / kFanOut * kFanOut; }

// Number of words of the tree over n_rows rows, with padding.
inline uint64_t tree_words(uint64_t n_rows) {
  uint64_t n = n_samples_of(n_rows), sum = padded_level(n);
  while (n > kFanOut) {
    n = (n + kFanOut - 1) / kFanOut;
    sum += padded_level(n);
  }
  return sum;
}

struct KeyTree {
  const uint64_t* level[kMaxLevels];
  uint64_t size[kMaxLevels];  // words without padding
  uint32_t n_levels = 0;
  uint32_t top = 0;  // the level that is searched first, all of it
  uint64_t n_samples = 0;
  const uint64_t* rest = nullptr;

  void attach(const uint64_t* words, const uint64_t* rest_words, uint64_t n_rows) {
    n_samples = n_samples_of(n_rows);
    rest = rest_words;
    uint64_t n = n_samples;
    level[0] = words;
    size[0] = n;
    n_levels = 1;
    while (n > kFanOut) {
      level[n_levels] = level[n_levels - 1] + padded_level(n);
      n = (n + kFanOut - 1) / kFanOut;
      size[n_levels] = n;
      ++n_levels;
    }
    // To look through some vectors takes less long than three levels, one after the other.
    constexpr uint64_t kMostAtTop = 128;
    top = 0;
    while (size[top] > kMostAtTop) ++top;
  }
};

// Fills all levels above level 0, which has n words, and the padding.
inline void build_upper_levels(uint64_t* level, uint64_t n) {
  for (;;) {
    const uint64_t padded = padded_level(n);
    for (uint64_t i = n; i < padded; ++i) level[i] = ~uint64_t{0};
    if (n <= kFanOut) return;
    uint64_t* const above = level + padded;
    const uint64_t n_above = (n + kFanOut - 1) / kFanOut;
    for (uint64_t i = 0; i < n_above; ++i) above[i] = level[i * kFanOut];
    level = above;
    n = n_above;
  }
}

}  // namespace ngramdb
