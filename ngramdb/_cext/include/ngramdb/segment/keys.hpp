// Keys of suffixes: their first 16 / sizeof(Sym) symbols, packed so that keys compare as the suffixes do.
//
// The first 8 bytes of symbols are one big-endian word, the next 8 bytes another; nothing but zeros from the separator
// on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ngramdb/base/byte_order.hpp"

namespace ngramdb {

struct Key {
  uint64_t first;
  uint64_t rest;
};

template <class Sym>
constexpr uint32_t key_symbols() {
  return 16 / sizeof(Sym);
}

template <class Sym>
constexpr uint32_t symbols_per_word() {
  return 8 / sizeof(Sym);
}

// Key of the suffix at `symbols`, of which at most n may be read.
template <class Sym>
inline Key pack_suffix(const Sym* symbols, uint64_t n) {
  constexpr uint32_t per_word = symbols_per_word<Sym>();
  constexpr int bits = 8 * sizeof(Sym);
  uint64_t word[2] = {0, 0};
  bool ended = false;
  for (uint32_t i = 0; i < 2 * per_word; ++i) {
    uint64_t symbol = ended || i >= n ? 0 : symbols[i];
    ended = ended || symbol == 0;
    word[i / per_word] |= symbol << (64 - bits * (1 + i % per_word));
  }
  return {word[0], word[1]};
}

// The highest bits of the symbols of a word that are 0; above the lowest of these, possibly of others.
template <class Sym>
inline uint64_t zeros_in(uint64_t word) {
  constexpr uint64_t kOnes = ~uint64_t{0} / static_cast<uint64_t>(static_cast<Sym>(~Sym{0}));
  constexpr uint64_t kHighs = kOnes << (8 * sizeof(Sym) - 1);
  return (word - kOnes) & ~word & kHighs;
}

// The symbols at `symbols` as one word that compares as they do: the first one in the highest bits.
template <class Sym>
inline uint64_t load_word(const Sym* symbols) {
  constexpr uint32_t per_word = symbols_per_word<Sym>();
  constexpr int bits = 8 * sizeof(Sym);
  uint64_t word = 0;
  for (uint32_t i = 0; i < per_word; ++i) word |= static_cast<uint64_t>(symbols[i]) << (64 - bits * (1 + i));
  return word;
}

// Keys of the smallest and the largest suffix that begin with the n symbols of a query (n >= 1), which has
// room for key_symbols() of them; everything after the n-th is ignored.
template <class Sym>
inline void pack_query(const Sym* symbols, uint64_t n, Key* low, Key* high) {
  constexpr uint32_t per_word = symbols_per_word<Sym>();
  constexpr int bits = 8 * sizeof(Sym);
  const uint64_t n_first = n < per_word ? n : per_word;
  const uint64_t n_rest = n - n_first < per_word ? n - n_first : per_word;
  // Bits after the query's end.
  const uint64_t first_free = n_first == per_word ? 0 : ~uint64_t{0} >> (bits * n_first);
  const uint64_t rest_free = n_rest == per_word ? 0 : ~uint64_t{0} >> (bits * n_rest);
  const uint64_t first = load_word(symbols), rest = load_word(symbols + per_word);
  *low = {first & ~first_free, rest & ~rest_free};
  *high = {first | first_free, rest | rest_free};
}

// The number of leading bits that two keys have in common: 128 if they are equal.
inline uint32_t common_bits(const Key& a, const Key& b) {
  if (a.first != b.first) return static_cast<uint32_t>(__builtin_clzll(a.first ^ b.first));
  if (a.rest != b.rest) return 64 + static_cast<uint32_t>(__builtin_clzll(a.rest ^ b.rest));
  return 128;
}

// A key's first n bits (n <= 128), followed by zeros.
inline Key first_bits(const Key& key, uint32_t n) {
  if (n >= 128) return key;
  if (n >= 64) return {key.first, n == 64 ? 0 : key.rest & ~(~uint64_t{0} >> (n - 64))};
  return {n == 0 ? 0 : key.first & ~(~uint64_t{0} >> n), 0};
}

// Long keys: the same with four words. The far LCP of two consecutive ones is the number of leading bits in common, at
// most kMostFarLcp.
constexpr uint32_t kLongWords = 4, kLongBits = 64 * kLongWords;
constexpr uint32_t kMostFarLcp = 255;

struct LongKey {
  uint64_t word[kLongWords];

  bool has_bit(uint32_t bit) const { return (word[bit / 64] >> (63 - bit % 64) & 1) != 0; }
};

inline bool operator<(const LongKey& a, const LongKey& b) {
  return std::lexicographical_compare(a.word, a.word + kLongWords, b.word, b.word + kLongWords);
}

inline uint32_t common_bits(const LongKey& a, const LongKey& b) {
  for (uint32_t k = 0; k < kLongWords; ++k) {
    if (a.word[k] != b.word[k]) return 64 * k + static_cast<uint32_t>(__builtin_clzll(a.word[k] ^ b.word[k]));
  }
  return kLongBits;
}

// The long key of the suffix at `symbols`, of which at most n may be read.
template <class Sym>
inline LongKey long_key(const Sym* symbols, uint64_t n) {
  constexpr uint32_t per_word = symbols_per_word<Sym>();
  constexpr int bits = 8 * sizeof(Sym);
  LongKey key{};
  for (uint32_t i = 0; i < kLongWords * per_word && i < n && symbols[i] != 0; ++i) {
    key.word[i / per_word] |= static_cast<uint64_t>(symbols[i]) << (64 - bits * (1 + i % per_word));
  }
  return key;
}

}  // namespace ngramdb
