// Searching the directory of a segment (key_tree.hpp), and building it.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/key_tree.hpp"
#include "ngramdb/segment/keys.hpp"
#include "ngramdb/segment/rows.hpp"

namespace ngramdb {

// ---- search in the tree ---------------------------------------------------------------------------------

// Words of one node (8 of them) below a key, and not above it: plain, and with vectors.
inline uint32_t words_below(const uint64_t* node, uint64_t key) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < kFanOut; ++i) rank += node[i] < key;
  return rank;
}
inline uint32_t words_upto(const uint64_t* node, uint64_t key) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < kFanOut; ++i) rank += node[i] <= key;
  return rank;
}

#if defined(__x86_64__)
// AVX2 compares signed words: the sign bit is flipped on both sides.
__attribute__((target("avx2,popcnt"))) inline uint32_t words_above_avx2(__m256i low, __m256i high, __m256i key) {
  const int above_low = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(low, key)));
  const int above_high = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(high, key)));
  return static_cast<uint32_t>(__builtin_popcount(static_cast<unsigned>(above_low | above_high << 4)));
}
__attribute__((target("avx2,popcnt"))) inline uint32_t words_below_avx2(const uint64_t* node, uint64_t key) {
  const __m256i flip = _mm256_set1_epi64x(INT64_MIN);
  const __m256i* const words = reinterpret_cast<const __m256i*>(node);
  const __m256i low = _mm256_xor_si256(_mm256_loadu_si256(words), flip);
  const __m256i high = _mm256_xor_si256(_mm256_loadu_si256(words + 1), flip);
  const __m256i pivot = _mm256_xor_si256(_mm256_set1_epi64x(static_cast<int64_t>(key)), flip);
  const int below_low = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(pivot, low)));
  const int below_high = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(pivot, high)));
  return static_cast<uint32_t>(__builtin_popcount(static_cast<unsigned>(below_low | below_high << 4)));
}
__attribute__((target("avx2,popcnt"))) inline uint32_t words_upto_avx2(const uint64_t* node, uint64_t key) {
  const __m256i flip = _mm256_set1_epi64x(INT64_MIN);
  const __m256i* const words = reinterpret_cast<const __m256i*>(node);
  const __m256i low = _mm256_xor_si256(_mm256_loadu_si256(words), flip);
  const __m256i high = _mm256_xor_si256(_mm256_loadu_si256(words + 1), flip);
  return kFanOut - words_above_avx2(low, high, _mm256_xor_si256(_mm256_set1_epi64x(static_cast<int64_t>(key)), flip));
}
__attribute__((target("avx512f,popcnt"))) inline uint32_t words_below_avx512(const uint64_t* node, uint64_t key) {
  const __m512i words = _mm512_loadu_si512(node);
  const unsigned below = _mm512_cmplt_epu64_mask(words, _mm512_set1_epi64(static_cast<int64_t>(key)));
  return static_cast<uint32_t>(__builtin_popcount(below));
}
__attribute__((target("avx512f,popcnt"))) inline uint32_t words_upto_avx512(const uint64_t* node, uint64_t key) {
  const __m512i words = _mm512_loadu_si512(node);
  const unsigned upto = _mm512_cmple_epu64_mask(words, _mm512_set1_epi64(static_cast<int64_t>(key)));
  return static_cast<uint32_t>(__builtin_popcount(upto));
}
#endif

// Fetches all words of the two lowest levels below one word of the level above them, and `with_rest` their second words:
// for a query that waits alone, nine or seventeen lines at once take less long than two or three after each other.
inline void fetch_below(const KeyTree& tree, uint64_t word, bool with_rest) {
  prefetch_line(tree.level[1] + word * kFanOut);
  for (uint32_t k = 0; k < kFanOut; ++k) prefetch_line(tree.level[0] + (word * kFanOut + k) * kFanOut);
  if (!with_rest) return;
  for (uint32_t k = 0; k < kFanOut; ++k) prefetch_line(tree.rest + (word * kFanOut + k) * kFanOut);
}

// Searches levels `from` … `to` for `count` queries at once, level by level, so that the nodes of all of them are fetched
// together. low, high: first words of the queries' smallest and largest keys. Out, and from below the top also in: how
// many first words are below the low key, and how many are not above the high key.
//
// At the first level all words are compared. At every other one the rank in the level above, less one, is the node to
// search; rank 0 stays 0. Padding counts as "not above" an all-ones key, so ranks are cut at the level's size; that also
// keeps a damaged tree from leading out of it. `verify` is called with words before they are compared. Defined once per
// instruction set: a macro, since inlining needs equal targets.
#define NGRAMDB_SEARCH_TREE(NAME, TARGET, BELOW, UPTO)                                                    \
  template <class Verify>                                                                                 \
  TARGET inline void NAME(const KeyTree& tree, uint32_t from, uint32_t to, const uint64_t* low,           \
                          const uint64_t* high, uint32_t count, uint64_t* below, uint64_t* upto,          \
                          Verify& verify) {                                                               \
    const uint64_t* const top_words = tree.level[tree.top];                                               \
    const uint64_t top_size = tree.size[tree.top];                                                        \
    if (from == tree.top) verify(top_words, padded_level(top_size));                                      \
    for (uint32_t i = 0; i < count && from == tree.top; ++i) {                                            \
      uint64_t n_below = 0, n_upto = 0;                                                                   \
      for (uint64_t word = 0; word < top_size; word += kFanOut) {                                         \
        n_below += BELOW(top_words + word, low[i]);                                                       \
        n_upto += UPTO(top_words + word, high[i]);                                                        \
      }                                                                                                   \
      below[i] = n_below < top_size ? n_below : top_size;                                                 \
      upto[i] = n_upto < top_size ? n_upto : top_size;                                                    \
      if (count == 1 && tree.top == 2) fetch_below(tree, below[i] - (below[i] != 0), verify.wants_rest);  \
    }                                                                                                     \
    for (uint32_t depth = from == tree.top ? from : from + 1; depth-- > to;) {                            \
      const uint64_t* const words = tree.level[depth];                                                    \
      const uint64_t size = tree.size[depth];                                                             \
      const uint64_t* const next =                                                                        \
          depth > 0 && depth <= kFetchedLevels && count > 1 ? tree.level[depth - 1] : nullptr;            \
      for (uint32_t i = 0; i < count; ++i) {                                                              \
        if (below[i] != 0) {                                                                              \
          const uint64_t first = (below[i] - 1) * kFanOut;                                                \
          verify(words + first, kFanOut);                                                                 \
          const uint64_t rank = first + BELOW(words + first, low[i]);                                     \
          below[i] = rank < size ? rank : size;                                                           \
        }                                                                                                 \
        if (upto[i] != 0) {                                                                               \
          const uint64_t first = (upto[i] - 1) * kFanOut;                                                 \
          verify(words + first, kFanOut);                                                                 \
          const uint64_t rank = first + UPTO(words + first, high[i]);                                     \
          upto[i] = rank < size ? rank : size;                                                            \
        }                                                                                                 \
        if (count == 1 && depth == 2) fetch_below(tree, below[i] - (below[i] != 0), verify.wants_rest);   \
        if (next != nullptr) {                                                                            \
          prefetch_line(next + (below[i] - (below[i] != 0)) * kFanOut);                                   \
          prefetch_line(next + (upto[i] - (upto[i] != 0)) * kFanOut);                                     \
        }                                                                                                 \
      }                                                                                                   \
    }                                                                                                     \
  }

// Upper levels stay in the cache by themselves: 8^4 nodes of 64 bytes above the third.
constexpr uint32_t kFetchedLevels = 3;

NGRAMDB_SEARCH_TREE(search_tree_plain, , words_below, words_upto)
#if defined(__x86_64__)
NGRAMDB_SEARCH_TREE(search_tree_avx2, __attribute__((target("avx2,popcnt"))), words_below_avx2, words_upto_avx2)
NGRAMDB_SEARCH_TREE(search_tree_avx512, __attribute__((target("avx512f,popcnt"))), words_below_avx512,
                    words_upto_avx512)
#endif
#undef NGRAMDB_SEARCH_TREE

template <class Verify>
using SearchTree = void (*)(const KeyTree&, uint32_t, uint32_t, const uint64_t*, const uint64_t*, uint32_t, uint64_t*,
                            uint64_t*, Verify&);

template <class Verify>
SearchTree<Verify> choose_search_tree() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt")) return search_tree_avx512<Verify>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) return search_tree_avx2<Verify>;
#endif
  return search_tree_plain<Verify>;
}

template <class Verify>
inline const SearchTree<Verify> search_tree = choose_search_tree<Verify>();

// Fills tree (tree_words(n_rows) words) and rest (n_samples_of(n_rows) words).
template <class Sym>
void build_key_tree(const Sym* text, uint64_t n_text, Rows rows, uint64_t n_rows, uint64_t* tree, uint64_t* rest,
                    StopFlag stop = nullptr) {
  const uint64_t n = n_samples_of(n_rows);
  constexpr uint64_t kAhead = 16;
  for (uint64_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop);
    if (i + kAhead < n) prefetch_line(text + rows[(i + kAhead) * kRowsPerSample]);
    const uint32_t position = rows[i * kRowsPerSample];
    const Key key = pack_suffix(text + position, n_text - position);
    tree[i] = key.first;
    rest[i] = key.rest;
  }
  build_upper_levels(tree, n);
}

}  // namespace ngramdb
