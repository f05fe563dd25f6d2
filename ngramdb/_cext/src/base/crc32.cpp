// CRC-32 as in zlib and gzip (polynomial 0xEDB88320): eight bytes at a time by tables, or by carry-less multiplication
// if the processor supports it, about ten times faster.
#include "ngramdb/base/crc32.hpp"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ngramdb {

using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

// Table k: the CRC of a byte that k zero bytes follow.
CrcTables make_crc_tables() {
  CrcTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < tables.size(); ++k) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

// Goes on from a CRC over `n` bytes; both numbers are inverted, as between the steps of every CRC-32.
uint32_t crc32_plain(uint32_t crc, const uint8_t* data, size_t n) {
  static const CrcTables tables = make_crc_tables();
  for (; n >= 8; data += 8, n -= 8) {
    uint32_t next = 0;
    for (size_t k = 0; k < 4; ++k) next ^= tables[7 - k][data[k] ^ (crc >> (8 * k) & 0xFF)];
    for (size_t k = 4; k < 8; ++k) next ^= tables[7 - k][data[k]];
    crc = next;
  }
  for (; n > 0; ++data, --n) crc = crc >> 8 ^ tables[0][(crc ^ *data) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
// Folding by four vectors, then by one, then Barrett's reduction: Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel, 2009; the constants are those of its section for this polynomial with
// reflected bits. For n >= 64, a multiple of 16.
__attribute__((target("pclmul,sse4.1"))) uint32_t crc32_pclmul(uint32_t crc, const uint8_t* data, size_t n) {
  const auto load = [](const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  const __m128i by_four = _mm_set_epi64x(0x1C6E41596, 0x154442BD4);
  const __m128i by_one = _mm_set_epi64x(0x0CCAA009E, 0x1751997D0);
  __m128i sums[4];
  for (int k = 0; k < 4; ++k) sums[k] = load(data + 16 * k);
  sums[0] = _mm_xor_si128(sums[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  data += 64;
  n -= 64;
#define NGRAMDB_FOLD(SUM, FACTOR, NEXT)                                       \
  _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(SUM, FACTOR, 0x00), _mm_clmulepi64_si128(SUM, FACTOR, 0x11)), NEXT)
  for (; n >= 64; data += 64, n -= 64) {
    for (int k = 0; k < 4; ++k) sums[k] = NGRAMDB_FOLD(sums[k], by_four, load(data + 16 * k));
  }
  __m128i sum = sums[0];
  for (int k = 1; k < 4; ++k) sum = NGRAMDB_FOLD(sum, by_one, sums[k]);
  for (; n >= 16; data += 16, n -= 16) sum = NGRAMDB_FOLD(sum, by_one, load(data));
#undef NGRAMDB_FOLD
  const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);
  sum = _mm_xor_si128(_mm_srli_si128(sum, 8), _mm_clmulepi64_si128(sum, by_one, 0x10));
  const __m128i by_half = _mm_set_epi64x(0, 0x163CD6124);
  sum = _mm_xor_si128(_mm_srli_si128(sum, 4), _mm_clmulepi64_si128(_mm_and_si128(sum, low_words), by_half, 0x00));
  const __m128i polynomial = _mm_set_epi64x(0x1F7011641, 0x1DB710641);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, low_words), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), polynomial, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, quotient), 1));
}
#endif

uint32_t crc32(uint32_t before, const uint8_t* data, size_t n) {
  uint32_t crc = ~before;
#if defined(__x86_64__)
  static const bool has_pclmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (has_pclmul && n >= 64) {
    const size_t n_vectors = n / 16 * 16;
    crc = crc32_pclmul(crc, data, n_vectors);
    data += n_vectors;
    n -= n_vectors;
  }
#endif
  return ~crc32_plain(crc, data, n);
}

}  // namespace ngramdb
