// The length of the common prefix of two suffixes, which may be long: copied documents, runs of one token.
//
// Suffixes end with their documents (segment.hpp): symbol 0 is the separator. What two suffixes have in common is counted
// in bits, the first symbol's highest bit first, as in keys (keys.hpp), but beyond 128 bits as well.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "ngramdb/base/byte_order.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ngramdb {

// Index of the first of n symbols at which a and b differ, or both have a separator; n if they agree throughout.
template <class Sym>
inline uint64_t first_stop_words(const Sym* a, const Sym* b, uint64_t n) {
  constexpr uint64_t kPerWord = 8 / sizeof(Sym);
  constexpr uint64_t kOnes = ~uint64_t{0} / static_cast<uint64_t>(static_cast<Sym>(~Sym{0}));
  constexpr uint64_t kHighs = kOnes << (8 * sizeof(Sym) - 1);
  uint64_t i = 0;
  for (; i + kPerWord <= n; i += kPerWord) {
    uint64_t x, y;
    std::memcpy(&x, a + i, 8);
    std::memcpy(&y, b + i, 8);
    // The lowest of the marks of zeros is correct; higher ones may be wrong.
    const uint64_t stops = (x ^ y) | ((x - kOnes) & ~x & kHighs);
    if (stops != 0) return i + static_cast<uint64_t>(__builtin_ctzll(stops)) / (8 * sizeof(Sym));
  }
  for (; i < n; ++i) {
    if (a[i] != b[i] || a[i] == 0) return i;
  }
  return n;
}

#if defined(__x86_64__)
template <class Sym>
inline __m128i same_lanes(__m128i x, __m128i y) {
  if constexpr (sizeof(Sym) == 1) return _mm_cmpeq_epi8(x, y);
  if constexpr (sizeof(Sym) == 2) return _mm_cmpeq_epi16(x, y);
  return _mm_cmpeq_epi32(x, y);
}

template <class Sym>
__attribute__((target("avx2"))) inline __m256i same_symbols(__m256i x, __m256i y) {
  if constexpr (sizeof(Sym) == 1) return _mm256_cmpeq_epi8(x, y);
  if constexpr (sizeof(Sym) == 2) return _mm256_cmpeq_epi16(x, y);
  return _mm256_cmpeq_epi32(x, y);
}

template <class Sym>
__attribute__((target("avx2"))) inline uint64_t first_stop_avx2(const Sym* a, const Sym* b, uint64_t n) {
  constexpr uint64_t kPerVector = 32 / sizeof(Sym);
  uint64_t i = 0;
  for (; i + kPerVector <= n; i += kPerVector) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + i));
    const __m256i goes_on = _mm256_andnot_si256(same_symbols<Sym>(x, _mm256_setzero_si256()), same_symbols<Sym>(x, y));
    const uint32_t stops = ~static_cast<uint32_t>(_mm256_movemask_epi8(goes_on));
    if (stops != 0) return i + static_cast<uint64_t>(__builtin_ctz(stops)) / sizeof(Sym);
  }
  return i + first_stop_words(a + i, b + i, n - i);
}
#endif

template <class Sym>
using FirstStop = uint64_t (*)(const Sym*, const Sym*, uint64_t);

template <class Sym>
inline FirstStop<Sym> choose_first_stop() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return first_stop_avx2<Sym>;
#endif
  return first_stop_words<Sym>;
}

template <class Sym>
inline const FirstStop<Sym> first_stop_wide = choose_first_stop<Sym>();

// Most comparisons end within the first words: those stay inline.
template <class Sym>
inline uint64_t first_stop(const Sym* a, const Sym* b, uint64_t n) {
  constexpr uint64_t kInline = 16 / sizeof(Sym);
  if (n <= kInline) return first_stop_words(a, b, n);
  const uint64_t head = first_stop_words(a, b, kInline);
  return head < kInline ? head : kInline + first_stop_wide<Sym>(a + kInline, b + kInline, n - kInline);
}

// The first symbols of a suffix, 64 bytes of them; zeros after the text's end.
template <class Sym>
constexpr uint32_t kWindow = 64 / sizeof(Sym);

// The same for two windows, without a branch; kWindow if they agree throughout.
template <class Sym>
inline uint32_t first_stop_window(const Sym* a, const Sym* b) {
#if defined(__x86_64__)
  uint64_t goes_on = 0;  // a bit a byte
  for (int i = 0; i < 4; ++i) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a) + i);
    const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b) + i);
    const __m128i both = _mm_andnot_si128(same_lanes<Sym>(x, _mm_setzero_si128()), same_lanes<Sym>(x, y));
    goes_on |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(both))} << (16 * i);
  }
  return goes_on == ~uint64_t{0} ? kWindow<Sym> : static_cast<uint32_t>(__builtin_ctzll(~goes_on)) / sizeof(Sym);
#else
  return static_cast<uint32_t>(first_stop_words(a, b, kWindow<Sym>));
#endif
}

// A text of documents that ends in a separator.
template <class Sym>
struct DocumentText {
  const Sym* symbols = nullptr;
  uint64_t size = 0;

  // The symbols from a position on; there is one at least.
  void copy_window(uint64_t position, Sym* window) const {
    if (__builtin_expect(position + kWindow<Sym> <= size, 1)) {
      std::memcpy(window, symbols + position, sizeof(Sym) * kWindow<Sym>);
    } else {
      std::memset(window, 0, sizeof(Sym) * kWindow<Sym>);
      std::memcpy(window, symbols + position, sizeof(Sym) * (size - position));
    }
  }
};

// A suffix: `text` numbers a text.
struct SuffixPlace {
  uint32_t text;
  uint32_t position;
};

// Compares suffixes, and remembers where long matches ended.
//
// Two passages that are equal are met again and again, shifted: if a[p …] and b[q …] agree up to p + n, then a[p + 1 …] and
// b[q + 1 …] do, too. So findings are kept per *diagonal* (two texts and q - p): a passage that is known to be equal,
// and its end. A comparison that reaches one is done. Each symbol of an equal passage is then compared once, instead of
// once for each suffix that begins in it; the sum of the rest is that of the irreducible LCPs, at most n log n
// (Kärkkäinen, Kempa, Piątkowski: "Tighter bounds for the sum of irreducible LCP values", 2016).
//
// Nothing is guessed, as hashes would. Diagonals are cut into cells of kCell symbols, which are found in a table; what is
// overwritten there is only compared once more.
template <class Sym>
class SuffixMatches {
 public:
  // Shorter matches are compared directly: some dozen nanoseconds.
  static constexpr uint32_t kDirect = 512;
  static constexpr uint32_t kCell = 4096;

  explicit SuffixMatches(const std::vector<DocumentText<Sym>>& texts) : texts_(texts) {}

  // The number of symbols that two suffixes share, given that they share `known`; the separator at which both end is not
  // counted. At that distance both texts have a symbol. False when a text ends before that: damage.
  bool common(SuffixPlace a, SuffixPlace b, uint64_t known, uint64_t* n_common) {
    const DocumentText<Sym>&text_a = texts_[a.text], &text_b = texts_[b.text];
    const uint64_t start_a = a.position + known, start_b = b.position + known;
    if (start_a >= text_a.size || start_b >= text_b.size) return false;
    const uint64_t n = std::min(text_a.size - start_a, text_b.size - start_b),
                   n_direct = std::min<uint64_t>(n, kDirect);
    uint64_t found = first_stop(text_a.symbols + start_a, text_b.symbols + start_b, n_direct);
    n_compared_ += found;
    if (found == n_direct) {
      // Both texts end in separators, so at n at the latest something stops.
      if (n == n_direct) return false;
      found = beyond(a, b, known, n);
      if (found == n) return false;
    }
    *n_common = known + found;
    return true;
  }

  // Symbols that were compared since the beginning.
  uint64_t n_compared() const { return n_compared_; }

 private:
  struct Entry {
    int64_t diagonal;
    uint32_t first = ~uint32_t{0};  // text; none has this number
    uint32_t second;
    uint32_t cell;  // of positions in the first text
    uint32_t start;  // positions [start, stop) of the first text are known to be equal, start being in the cell
    uint32_t stop;
  };
  static constexpr uint32_t kEntries = 1u << 15;

  // Returns the end of the match from `known` symbols on, of which kDirect are equal; n are left.
  uint64_t beyond(SuffixPlace a, SuffixPlace b, uint64_t known, uint64_t n) {
    if (a.text > b.text || (a.text == b.text && a.position > b.position)) std::swap(a, b);
    if (table_ == nullptr) table_.reset(new Entry[kEntries]);
    const Sym *const symbols_a = texts_[a.text].symbols, *const symbols_b = texts_[b.text].symbols;
    const int64_t diagonal = static_cast<int64_t>(b.position) - static_cast<int64_t>(a.position);
    const uint64_t begin = a.position + known, end = begin + n;
    uint64_t at = begin + kDirect, stop = 0;
    while (stop == 0) {
      const uint32_t cell = static_cast<uint32_t>(at / kCell);
      const Entry* const entry = find(a.text, b.text, diagonal, cell);
      // An entry that ends before is of another match.
      const uint64_t known_from = entry == nullptr || entry->stop <= at ? end : entry->start;
      if (known_from <= at) {
        stop = entry->stop;
        break;
      }
      const uint64_t limit = std::min({known_from, (uint64_t{cell} + 1) * kCell, end});
      const uint64_t found = first_stop(symbols_a + at, symbols_b + (at + diagonal), limit - at);
      n_compared_ += found;
      if (at + found < limit || limit == end) stop = at + found;
      at = limit;
    }
    const uint64_t last_cell = std::min(at, stop) / kCell;
    for (uint64_t cell = begin / kCell; cell <= last_cell; ++cell) {
      keep({diagonal, a.text, b.text, static_cast<uint32_t>(cell), static_cast<uint32_t>(std::max(begin, cell * kCell)),
            static_cast<uint32_t>(stop)});
    }
    return stop - begin;
  }

  Entry& place_of(uint32_t first, uint32_t second, int64_t diagonal, uint32_t cell) {
    uint64_t h = static_cast<uint64_t>(diagonal) * 0x9E3779B97F4A7C15u + (uint64_t{first} << 32 | second);
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u + cell;
    h *= 0x94D049BB133111EBu;
    return table_[h >> 49];  // 15 bits
  }
  const Entry* find(uint32_t first, uint32_t second, int64_t diagonal, uint32_t cell) {
    const Entry& e = place_of(first, second, diagonal, cell);
    const bool is_it = e.first == first && e.second == second && e.diagonal == diagonal && e.cell == cell;
    return is_it ? &e : nullptr;
  }
  void keep(const Entry& entry) {
    Entry& place = place_of(entry.first, entry.second, entry.diagonal, entry.cell);
    const bool is_wider = place.first == entry.first && place.second == entry.second &&
                          place.diagonal == entry.diagonal && place.cell == entry.cell && place.stop == entry.stop &&
                          place.start <= entry.start;
    if (!is_wider) place = entry;
  }

  std::vector<DocumentText<Sym>> texts_;
  std::unique_ptr<Entry[]> table_;
  uint64_t n_compared_ = 0;
};

}  // namespace ngramdb
