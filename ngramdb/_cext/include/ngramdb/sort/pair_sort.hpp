// Sorting pairs of a 64-bit key and a position by their keys, stably.
//
// A few pairs go to the place given by the number of smaller keys, which vectors find without a branch. More are
// distributed by some bits of their keys, from one array into another and, the next time, back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ngramdb {

// Pairs, each array by itself.
struct Pairs {
  uint64_t* keys;
  uint32_t* positions;

  Pairs from(size_t i) const { return {keys + i, positions + i}; }
};

// Keys after the last pair that may be read, though they are ignored.
constexpr size_t kKeysReadBehind = 7;

inline void copy_pairs(const Pairs& from, const Pairs& to, size_t n) {
  std::memcpy(to.keys, from.keys, n * sizeof(*to.keys));
  std::memcpy(to.positions, from.positions, n * sizeof(*to.positions));
}

// ---- a few pairs ------------------------------------------------------------------------------------------------

inline void insertion_sort(const Pairs& from, const Pairs& to, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t key = from.keys[i];
    uint32_t k = i;
    for (; k > 0 && to.keys[k - 1] > key; --k) {
      to.keys[k] = to.keys[k - 1];
      to.positions[k] = to.positions[k - 1];
    }
    to.keys[k] = key;
    to.positions[k] = from.positions[i];
  }
}

#if defined(__x86_64__)
// n pairs whose keys fit kVectors vectors, which stay in registers. Defined once per instruction set: a macro, since
// inlining needs equal targets.
#define NGRAMDB_RANK_SORT(SUFFIX, TARGET, LANES)                                                      \
  template <uint32_t kVectors>                                                                        \
  TARGET inline void rank_sort_##SUFFIX(const Pairs& from, const Pairs& to, uint32_t n) {             \
    typedef uint64_t Lanes __attribute__((vector_size(8 * LANES)));                                   \
    Lanes keys[kVectors], n_smaller[kVectors];                                                        \
    std::memcpy(keys, from.keys, sizeof(keys));                                                       \
    for (uint32_t v = 0; v < kVectors; ++v) n_smaller[v] = Lanes{};                                   \
    for (uint32_t i = 0; i < n; ++i) {                                                                \
      const uint64_t key = from.keys[i];                                                              \
      for (uint32_t v = 0; v < kVectors; ++v) n_smaller[v] -= reinterpret_cast<Lanes>(keys[v] > key); \
    }                                                                                                 \
    uint64_t ranks[kVectors * LANES];                                                                 \
    std::memcpy(ranks, n_smaller, sizeof(ranks));                                                     \
    uint8_t n_equal[kVectors * LANES] = {}; /* keys of a rank so far */                               \
    for (uint32_t i = 0; i < n; ++i) {                                                                \
      const uint64_t place = ranks[i] + n_equal[ranks[i]]++;                                          \
      to.keys[place] = from.keys[i];                                                                  \
      to.positions[place] = from.positions[i];                                                        \
    }                                                                                                 \
  }                                                                                                   \
  TARGET inline void sort_few_##SUFFIX(const Pairs& from, const Pairs& to, uint32_t n) {              \
    switch ((n + LANES - 1) / LANES) {                                                                \
      case 0: return;                                                                                 \
      case 1: return rank_sort_##SUFFIX<1>(from, to, n);                                              \
      case 2: return rank_sort_##SUFFIX<2>(from, to, n);                                              \
      case 3: return rank_sort_##SUFFIX<3>(from, to, n);                                              \
      case 4: return rank_sort_##SUFFIX<4>(from, to, n);                                              \
      case 5: return rank_sort_##SUFFIX<5>(from, to, n);                                              \
      case 6: return rank_sort_##SUFFIX<6>(from, to, n);                                              \
      case 7: return rank_sort_##SUFFIX<7>(from, to, n);                                              \
      default: return rank_sort_##SUFFIX<8>(from, to, n);                                             \
    }                                                                                                 \
  }

NGRAMDB_RANK_SORT(avx2, __attribute__((target("avx2"))), 4)
NGRAMDB_RANK_SORT(avx512, __attribute__((target("avx512f,avx512dq"))), 8)
#undef NGRAMDB_RANK_SORT
#endif

// A function for at most `most` pairs.
struct SortFew {
  void (*sort)(const Pairs& from, const Pairs& to, uint32_t n);
  uint32_t most;
};

inline SortFew choose_sort_few() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return {sort_few_avx512, 64};
  if (__builtin_cpu_supports("avx2")) return {sort_few_avx2, 32};
#endif
  return {insertion_sort, 32};
}

inline const SortFew sort_few = choose_sort_few();

// ---- any number of them -----------------------------------------------------------------------------------------

inline void sort_pairs(const Pairs& from, const Pairs& to, size_t n, bool back = false, const SortFew& few = sort_few);

// Distributes pairs by kBits bits from the highest one on in which keys differ, and sorts those that agree in them.
template <int kBits>
void distribute_pairs(const Pairs& from, const Pairs& to, size_t n, bool back, uint64_t differs, const SortFew& few) {
  constexpr uint32_t kDigits = 1u << kBits;
  const int n_bits = 64 - __builtin_clzll(differs), shift = n_bits < kBits ? 0 : n_bits - kBits;
  uint32_t ends[kDigits] = {};
  for (size_t i = 0; i < n; ++i) ++ends[from.keys[i] >> shift & (kDigits - 1)];
  uint32_t sum = 0;
  for (uint32_t& end : ends) {
    const uint32_t size = end;
    end = sum;
    sum += size;
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t place = ends[from.keys[i] >> shift & (kDigits - 1)]++;
    to.keys[place] = from.keys[i];
    to.positions[place] = from.positions[i];
  }
  uint32_t start = 0;
  for (const uint32_t end : ends) {
    if (end - start > 1 && shift > 0) {
      sort_pairs(to.from(start), from.from(start), end - start, !back, few);
    } else if (back) {
      copy_pairs(to.from(start), from.from(start), end - start);
    }
    start = end;
  }
}

// Sorts n pairs by key, those of one key in the order in which they come: from one array into another of the same size,
// or back into the first. The other one's content is lost. Keys after the last pair are read (kKeysReadBehind).
inline void sort_pairs(const Pairs& from, const Pairs& to, size_t n, bool back, const SortFew& few) {
  constexpr size_t kMany = 2048;  // pay for counters of more bits
  if (n <= few.most) {
    few.sort(from, to, static_cast<uint32_t>(n));
    if (back) copy_pairs(to, from, n);
    return;
  }
  uint64_t differs = 0;
  for (size_t i = 1; i < n; ++i) differs |= from.keys[i] ^ from.keys[0];
  if (differs == 0) {
    if (!back) copy_pairs(from, to, n);
  } else if (n > kMany) {
    distribute_pairs<11>(from, to, n, back, differs, few);
  } else {
    distribute_pairs<8>(from, to, n, back, differs, few);
  }
}

}  // namespace ngramdb
