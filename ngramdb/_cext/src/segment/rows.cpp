// Blind searches and comparisons of LCPs: plain, and with vectors as wide as the machine at hand has.
#include "ngramdb/segment/rows.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ngramdb {

inline bool has_bit(const Key& key, uint32_t bit) {
  return ((bit < 64 ? key.first : key.rest) >> (63 - bit % 64) & 1) != 0;
}
inline bool has_bit(const LongKey& key, uint32_t bit) { return key.has_bit(bit); }

template <class AnyKey>
BlindEnd blind_search_plain(const Rows& rows, uint64_t start, uint32_t n, const AnyKey& key, uint32_t bits,
                            uint32_t known) {
  uint32_t first = BlindEnd::kBefore, i = 0;
  while (i < n && rows.lcp(start + i) > known) ++i;
  while (i < n) {
    const uint32_t bit = rows.lcp(start + i);
    if (has_bit(key, bit)) {
      first = i++;
    } else {
      do ++i;
      while (i < n && rows.lcp(start + i) >= bit);
    }
  }
  uint32_t last = first + 1;  // 0 after kBefore
  while (last < n && rows.lcp(start + last) >= bits) ++last;
  return {first, last};
}

// Bit i: the LCP of row start + i is below `bits`. For n <= 64 rows.
inline uint64_t lcps_below_plain(const Rows& rows, uint64_t start, uint32_t n, uint32_t bits) {
  uint64_t below = 0;
  for (uint32_t i = 0; i < n; ++i) below |= uint64_t{rows.lcp(start + i) < bits} << i;
  return below;
}

#if defined(__x86_64__)
inline uint64_t ones_below(uint32_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// All bits from the lowest one of `mask` on; 0 if `mask` is 0.
inline uint64_t first_on(uint64_t mask) { return 0 - (mask & (0 - mask)); }

// The end of the rows that agree with row `first` of a piece of n (kBefore: the row before it), by the rows that do not
// agree with the one before them.
inline uint32_t end_behind(uint32_t first, uint64_t changes, uint32_t n) {
  if (first != BlindEnd::kBefore) changes &= ~ones_below(first + 1);
  return changes == 0 ? n : static_cast<uint32_t>(__builtin_ctzll(changes));
}

// The LCPs of a piece as bytes, padded with the largest value to 64. Two kinds of vectors have the same functions: below()
// marks the LCPs below a number, below_known() those up to `known`, or row 0 if it is kUnknown; branches() those that
// name a bit of the key that is one.
inline __m128i key_bytes(uint64_t first, uint64_t rest) {
  return _mm_set_epi64x(static_cast<int64_t>(__builtin_bswap64(rest)), static_cast<int64_t>(__builtin_bswap64(first)));
}

struct LcpsAvx2 {
  __m256i half[2];

#define NGRAMDB_TARGET __attribute__((target("avx2,bmi,popcnt"), always_inline)) inline
  NGRAMDB_TARGET static __m256i eight(const uint32_t* words, uint32_t i, uint32_t n) {
    if (i + 8 <= n) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
    if (i >= n) return _mm256_set1_epi32(-1);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i here = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n - i)), lanes);
    const __m256i found = _mm256_maskload_epi32(reinterpret_cast<const int*>(words + i), here);
    return _mm256_or_si256(found, _mm256_xor_si256(here, _mm256_set1_epi32(-1)));
  }
  NGRAMDB_TARGET void load_bytes(const uint8_t* bytes, uint32_t n) {
    const __m256i most = _mm256_set1_epi8(static_cast<char>(kMostLcpBeside));
    alignas(32) uint8_t padded[64];
    if (n < 64) {
      std::memset(padded, kMostLcpBeside, sizeof(padded));
      std::memcpy(padded, bytes, n);
      bytes = padded;
    }
    half[0] = _mm256_min_epu8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)), most);
    half[1] = _mm256_min_epu8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32)), most);
  }
  NGRAMDB_TARGET void load_words(const Rows& rows, uint64_t start, uint32_t n) {
    const uint32_t* const words = rows.word(start);
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(32 - rows.lcp_width()));
    // Packing works within halves of 128 bits: four times two words each are put in order again.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t i = 32 * k;
      const __m256i low = _mm256_packs_epi32(_mm256_srl_epi32(eight(words, i, n), shift),
                                             _mm256_srl_epi32(eight(words, i + 8, n), shift));
      const __m256i high = _mm256_packs_epi32(_mm256_srl_epi32(eight(words, i + 16, n), shift),
                                              _mm256_srl_epi32(eight(words, i + 24, n), shift));
      half[k] = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    }
  }
  NGRAMDB_TARGET static uint64_t bits_of(__m256i low, __m256i high) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
           uint64_t{static_cast<uint32_t>(_mm256_movemask_epi8(high))} << 32;
  }
  NGRAMDB_TARGET uint64_t below(uint32_t bits) const {
    const __m256i limit = _mm256_set1_epi8(static_cast<char>(bits));
    return ~bits_of(_mm256_cmpeq_epi8(_mm256_max_epu8(limit, half[0]), half[0]),
                    _mm256_cmpeq_epi8(_mm256_max_epu8(limit, half[1]), half[1]));
  }
  NGRAMDB_TARGET uint64_t below_known(uint32_t known) const { return known == kUnknown ? 1 : below(known + 1); }
  NGRAMDB_TARGET uint64_t branches(const Key& key) const {
    const __m256i bytes = _mm256_broadcastsi128_si256(key_bytes(key.first, key.rest));
    return bits_of(named(0, _mm256_shuffle_epi8(bytes, places(0))), named(1, _mm256_shuffle_epi8(bytes, places(1))));
  }
  NGRAMDB_TARGET uint64_t branches(const LongKey& key) const {
    const __m256i low = _mm256_broadcastsi128_si256(key_bytes(key.word[0], key.word[1]));
    const __m256i high = _mm256_broadcastsi128_si256(key_bytes(key.word[2], key.word[3]));
    __m256i found[2];
    for (uint32_t k = 0; k < 2; ++k) {
      // For bits from 128 on: by the highest bit of each LCP.
      found[k] = named(
          k, _mm256_blendv_epi8(_mm256_shuffle_epi8(low, places(k)), _mm256_shuffle_epi8(high, places(k)), half[k]));
    }
    return bits_of(found[0], found[1]);
  }

 private:
  // Which byte of 16 an LCP's bit is in; and whether it is one, given that byte.
  NGRAMDB_TARGET __m256i places(uint32_t k) const {
    return _mm256_and_si256(_mm256_srli_epi16(half[k], 3), _mm256_set1_epi8(15));
  }
  NGRAMDB_TARGET __m256i named(uint32_t k, __m256i bytes) const {
    const __m256i masks = _mm256_set1_epi64x(0x0102040810204080);  // of bit 0 (the first) in the lowest byte
    const __m256i mask = _mm256_shuffle_epi8(masks, _mm256_and_si256(half[k], _mm256_set1_epi8(7)));
    return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, mask), mask);
  }
#undef NGRAMDB_TARGET
};

struct LcpsAvx512 {
  __m512i all;

#define NGRAMDB_TARGET __attribute__((target("avx512f,avx512bw,bmi,popcnt"), always_inline)) inline
  NGRAMDB_TARGET void load_bytes(const uint8_t* bytes, uint32_t n) {
    const uint64_t here = ones_below(n);
    const __m512i most = _mm512_set1_epi8(static_cast<char>(kMostLcpBeside));
    all = _mm512_mask_min_epu8(most, here, _mm512_mask_loadu_epi8(most, here, bytes), most);
  }
  NGRAMDB_TARGET void load_words(const Rows& rows, uint64_t start, uint32_t n) {
    const uint64_t here = ones_below(n);
    const uint32_t* const words = rows.word(start);
    const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(32 - rows.lcp_width()));
    const __m512i none = _mm512_set1_epi32(-1);
    __m128i quarters[4];
    for (uint32_t k = 0; k < 4; ++k) {
      const __mmask16 these = static_cast<__mmask16>(here >> (16 * k));
      const __m512i found = _mm512_mask_loadu_epi32(none, these, words + 16 * k);
      quarters[k] = _mm512_cvtepi32_epi8(_mm512_srl_epi32(found, shift));
    }
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarters[0]), quarters[1], 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarters[2]), quarters[3], 1);
    all = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  NGRAMDB_TARGET uint64_t below(uint32_t bits) const {
    return _mm512_cmplt_epu8_mask(all, _mm512_set1_epi8(static_cast<char>(bits)));
  }
  NGRAMDB_TARGET uint64_t below_known(uint32_t known) const { return known == kUnknown ? 1 : below(known + 1); }
  NGRAMDB_TARGET uint64_t branches(const Key& key) const {
    const __m512i bytes = _mm512_broadcast_i32x4(key_bytes(key.first, key.rest));
    return named(_mm512_shuffle_epi8(bytes, places()));
  }
  NGRAMDB_TARGET uint64_t branches(const LongKey& key) const {
    const __m512i low = _mm512_broadcast_i32x4(key_bytes(key.word[0], key.word[1]));
    const __m512i high = _mm512_broadcast_i32x4(key_bytes(key.word[2], key.word[3]));
    const __mmask64 beyond = _mm512_movepi8_mask(all);  // of bits from 128 on
    return named(_mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(low, places()), beyond, high, places()));
  }

  // The rows that none of `zeros` leaves out. Row z of these leaves out itself and what follows, up to the next LCP below
  // its own.
  //
  // Going through the rows, one keeps the LCP of the outermost row that excludes them, or "none": a row with LCP l maps the
  // kept value m to m if l >= m, else to l if it is one of `zeros`, else to "none". Such
  // functions, "beyond `least` it is `state`, else as it was", can be joined two by two, so six steps join them all (a
  // prefix scan). Numbers are turned round, 255 - l, none being 0: then zeros that are shifted in change nothing.
  NGRAMDB_TARGET uint64_t taken(uint64_t zeros) const {
    __m512i least = _mm512_xor_si512(all, _mm512_set1_epi32(-1));
    __m512i state = _mm512_maskz_mov_epi8(zeros, least);
    join_before<1>(least, state);
    join_before<2>(least, state);
    join_before<4>(least, state);
    join_before<8>(least, state);
    join_before<16>(least, state);
    join_before<32>(least, state);
    return _mm512_testn_epi8_mask(state, state);
  }

 private:
  NGRAMDB_TARGET __m512i places() const { return _mm512_and_si512(_mm512_srli_epi16(all, 3), _mm512_set1_epi8(15)); }
  NGRAMDB_TARGET uint64_t named(__m512i bytes) const {
    const __m512i masks = _mm512_set1_epi64(0x0102040810204080);
    return _mm512_test_epi8_mask(bytes, _mm512_shuffle_epi8(masks, _mm512_and_si512(all, _mm512_set1_epi8(7))));
  }
  // Shifts by kBytes; zeros come in.
  template <int kBytes>
  NGRAMDB_TARGET static __m512i before(__m512i bytes) {
    const __m512i none = _mm512_setzero_si512();
    if constexpr (kBytes == 32) return _mm512_alignr_epi64(bytes, none, 4);
    const __m512i lane_before = _mm512_alignr_epi64(bytes, none, 6);
    if constexpr (kBytes == 16) return lane_before;
    return _mm512_alignr_epi8(bytes, lane_before, 16 - kBytes % 16);
  }
  template <int kBytes>
  NGRAMDB_TARGET static void join_before(__m512i& least, __m512i& state) {
    const __m512i state_before = before<kBytes>(state);
    state = _mm512_mask_mov_epi8(state_before, _mm512_cmplt_epu8_mask(state_before, least), state);
    least = _mm512_max_epu8(least, before<kBytes>(least));
  }
#undef NGRAMDB_TARGET
};

// Words compare as their LCPs do; `bits` is at most most_lcp().
__attribute__((target("avx2"))) inline uint64_t lcps_below_avx2(const Rows& rows, uint64_t start, uint32_t n,
                                                                uint32_t bits) {
  const uint32_t* const words = rows.word(start);
  // Signed comparisons: the sign bit is flipped on both sides.
  const __m256i flip = _mm256_set1_epi32(INT32_MIN);
  const uint32_t limit = bits << (32 - rows.lcp_width());
  const __m256i bound = _mm256_xor_si256(_mm256_set1_epi32(static_cast<int>(limit)), flip);
  uint64_t below = 0;
  uint32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i found = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
    const __m256i is_below = _mm256_cmpgt_epi32(bound, _mm256_xor_si256(found, flip));
    below |= uint64_t{static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_below)))} << i;
  }
  for (; i < n; ++i) below |= uint64_t{words[i] < limit} << i;
  return below;
}

__attribute__((target("avx512f,avx512bw"))) inline uint64_t lcps_below_avx512(const Rows& rows, uint64_t start,
                                                                              uint32_t n, uint32_t bits) {
  const uint64_t here = ones_below(n);
  const uint32_t* const words = rows.word(start);
  const __m512i bound = _mm512_set1_epi32(static_cast<int>(bits << (32 - rows.lcp_width())));
  uint64_t below = 0;
  for (uint32_t i = 0; i < 64; i += 16) {
    const __mmask16 these = static_cast<__mmask16>(here >> i);
    below |= uint64_t{_mm512_mask_cmplt_epu32_mask(these, _mm512_maskz_loadu_epi32(these, words + i), bound)} << i;
  }
  return below;
}

// The same of LCPs beside rows.
__attribute__((target("avx2,bmi,popcnt"))) inline uint64_t lcps_below_beside_avx2(const Rows& rows, uint64_t start,
                                                                                  uint32_t n, uint32_t bits) {
  LcpsAvx2 lcps;
  lcps.load_bytes(rows.lcp_bytes(start), n);
  return lcps.below(bits) & ones_below(n);
}

__attribute__((target("avx512f,avx512bw"))) inline uint64_t lcps_below_beside_avx512(const Rows& rows, uint64_t start,
                                                                                     uint32_t n, uint32_t bits) {
  const uint64_t here = ones_below(n);
  return _mm512_mask_cmplt_epu8_mask(here, _mm512_maskz_loadu_epi8(here, rows.lcp_bytes(start)),
                                     _mm512_set1_epi8(static_cast<char>(bits)));
}

// The same as the plain one; `zeros` marks the zero bits of the key.
template <class AnyKey>
__attribute__((target("avx2,bmi,popcnt"))) BlindEnd blind_search_avx2(const Rows& rows, uint64_t start, uint32_t n,
                                                                      const AnyKey& key, uint32_t bits,
                                                                      uint32_t known) {
  LcpsAvx2 lcps;
  if constexpr (std::is_same_v<AnyKey, LongKey>) {
    lcps.load_bytes(rows.lcp_bytes(start), n);
  } else {
    lcps.load_words(rows, start, n);
  }
  const uint64_t all = ones_below(n), zeros = ~lcps.branches(key) & all;
  uint32_t first = BlindEnd::kBefore;
  for (uint64_t left = first_on(lcps.below_known(known)) & all; left != 0;) {
    const uint64_t zero = left & zeros & (~(left & zeros) + 1);  // the next one, if any
    const uint64_t taken = left & (zero - 1);
    first = taken != 0 ? 63 - static_cast<uint32_t>(__builtin_clzll(taken)) : first;
    if (zero == 0) break;
    const uint32_t bit = rows.lcp(start + static_cast<uint32_t>(__builtin_ctzll(zero)));
    left &= first_on(lcps.below(bit) & ~(zero | (zero - 1)));
  }
  return {first, end_behind(first, lcps.below(bits) & all, n)};
}

// Without a branch: all rows that are left out are found at once.
template <class AnyKey>
__attribute__((target("avx512f,avx512bw,bmi,popcnt"))) BlindEnd blind_search_avx512(const Rows& rows, uint64_t start,
                                                                                    uint32_t n, const AnyKey& key,
                                                                                    uint32_t bits, uint32_t known) {
  LcpsAvx512 lcps;
  if constexpr (std::is_same_v<AnyKey, LongKey>) {
    lcps.load_bytes(rows.lcp_bytes(start), n);
  } else {
    lcps.load_words(rows, start, n);
  }
  const uint64_t all = ones_below(n), left = first_on(lcps.below_known(known)) & all;
  const uint64_t taken = left & lcps.taken(left & ~lcps.branches(key));
  const uint32_t first = taken != 0 ? 63 - static_cast<uint32_t>(__builtin_clzll(taken)) : BlindEnd::kBefore;
  return {first, end_behind(first, lcps.below(bits) & all, n)};
}
#endif

inline RowKernels choose_row_kernels() {
#if defined(__x86_64__)
  const bool has_common = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
  if (has_common && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
    return {lcps_below_avx512, lcps_below_beside_avx512, blind_search_avx512<Key>, blind_search_avx512<LongKey>};
  }
  if (has_common && __builtin_cpu_supports("avx2")) {
    return {lcps_below_avx2, lcps_below_beside_avx2, blind_search_avx2<Key>, blind_search_avx2<LongKey>};
  }
#endif
  return {lcps_below_plain, lcps_below_plain, blind_search_plain<Key>, blind_search_plain<LongKey>};
}

const RowKernels row_kernels = choose_row_kernels();

}  // namespace ngramdb
