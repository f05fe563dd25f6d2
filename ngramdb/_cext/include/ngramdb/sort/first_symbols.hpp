// The first symbols of a suffix, copied from its text: what most comparisons of a merge need, side by side.
//
// 64 bytes, nothing but zeros from the separator on. Words of 8 bytes compare as keys do (keys.hpp): the first two are
// the suffix's key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/keys.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ngramdb {

template <class Sym>
class FirstSymbols {
 public:
  static constexpr uint32_t kWords = 8;
  static constexpr uint32_t kSymbols = kWords * symbols_per_word<Sym>();

  static void prefetch(const Sym* text, uint64_t n_text, uint64_t position) {
    prefetch_line(text + position);
    prefetch_line(text + std::min(position + kSymbols, n_text) - 1);
  }

  // Of the suffix at a position of a text that ends in a separator.
  void read(const Sym* text, uint64_t n_text, uint64_t position) {
    if (__builtin_expect(position + kSymbols <= n_text, 1)) {
      std::memcpy(words_, text + position, sizeof(words_));
      uint64_t zeros = 0;
      for (const uint64_t word : words_) zeros |= zeros_in<Sym>(word);
      if (__builtin_expect(zeros == 0, 1)) return;
    }
    Sym symbols[kSymbols] = {};
    const uint64_t n = std::min<uint64_t>(kSymbols, n_text - position);
    for (uint64_t i = 0; i < n && text[position + i] != 0; ++i) symbols[i] = text[position + i];
    std::memcpy(words_, symbols, sizeof(words_));
  }

  // A word as a number that compares as its symbols do.
  uint64_t word(uint32_t i) const {
    Sym symbols[symbols_per_word<Sym>()];
    std::memcpy(symbols, &words_[i], sizeof(symbols));
    return load_word(symbols);
  }

  // Whether the suffix's separator is among them, or next.
  bool has_end() const {
    Sym symbols[symbols_per_word<Sym>()];
    std::memcpy(symbols, &words_[kWords - 1], sizeof(symbols));
    return symbols[symbols_per_word<Sym>() - 1] == 0;
  }

  // How many of the first words are equal: without branches, since the number could not be predicted.
  static uint32_t common_words(const FirstSymbols& a, const FirstSymbols& b) {
#if defined(__SSE2__)
    const auto same = [&](uint32_t i) {
      return _mm_cmpeq_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a.words_ + i)),
                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(b.words_ + i)));
    };
    static_assert(kWords == 8, "two bits for each word, in a mask of 16");
    const __m128i all = _mm_packs_epi16(_mm_packs_epi32(same(0), same(2)), _mm_packs_epi32(same(4), same(6)));
    const uint32_t differ = ~static_cast<uint32_t>(_mm_movemask_epi8(all)) | 1u << (2 * kWords);
    return static_cast<uint32_t>(__builtin_ctz(differ)) / 2;
#else
    uint32_t differ = 1u << kWords;
    for (uint32_t i = 0; i < kWords; ++i) differ |= uint32_t{a.words_[i] != b.words_[i]} << i;
    return static_cast<uint32_t>(__builtin_ctz(differ));
#endif
  }

 private:
  uint64_t words_[kWords];
};

}  // namespace ngramdb
