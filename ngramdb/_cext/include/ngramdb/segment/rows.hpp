// The rows of a suffix array as they are stored, and what they show without reading the text.
//
// A row is a word of 32 bits: the position of its suffix, and in its upper `lcp_width` bits, which positions leave free,
// its LCP with the row before: the number of leading bits that the keys of the two (keys.hpp) have in common, or the
// largest number that there is room for, which then means "at least this many". Row 0 has 0. If positions leave no
// such bits, the far LCPs (keys.hpp) are beside the rows, a byte each; without either, only the text distinguishes rows.
//
// A run of rows that share their first n bits ends where an LCP is below n. And the LCPs of a piece of rows are a binary
// trie of their keys without the keys: to find the rows that begin with a query, one takes at each branching bit the side
// of the query's bit, unseen, and compares the row at which that ends; if it does not begin with the query, none does.
// (Blind search: Ferragina and Grossi, "The String B-Tree", Journal of the ACM, 1999, on Morrison's Patricia tries.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ngramdb/segment/keys.hpp"

namespace ngramdb {

// Keys have 128 bits, and 127 are counted.
constexpr uint32_t kMostLcpWidth = 7;
// Fewer bits do not distinguish two-byte symbols.
constexpr uint32_t kLeastLcpWidth = 5;

// The width of LCPs in the rows of a text of this many symbols.
inline uint32_t lcp_width_of(uint64_t n_text) {
  uint32_t position_bits = 0;
  while (position_bits < 32 && uint64_t{1} << position_bits < n_text) ++position_bits;
  const uint32_t free = 32 - position_bits;
  return free < kLeastLcpWidth ? 0 : std::min(free, kMostLcpWidth);
}

// The number of bits of LCPs beside the rows that searches use: kernels need a larger byte than all of them.
constexpr uint32_t kMostLcpBeside = kMostFarLcp - 1;

// LCPs of at most this many bits are known.
inline uint32_t most_lcp(uint32_t lcp_width) { return (1u << lcp_width) - 1; }

class Rows {
 public:
  // lcps: of the rows, a byte each, or null; not looked at where words have bits for them.
  Rows(const uint32_t* words = nullptr, uint32_t lcp_width = 0, const uint8_t* lcps = nullptr)
      : words_(words), lcps_(lcp_width == 0 ? lcps : nullptr), mask_(~uint32_t{0} >> lcp_width), lcp_width_(lcp_width) {
  }

  // The position of a row's suffix.
  uint32_t operator[](uint64_t row) const { return words_[row] & mask_; }
  const uint32_t* word(uint64_t row) const { return words_ + row; }

  uint32_t lcp_width() const { return lcp_width_; }  // in the words
  bool has_lcps() const { return lcp_width_ != 0 || lcps_ != nullptr; }
  uint32_t most_lcp() const { return lcps_ != nullptr ? kMostLcpBeside : ngramdb::most_lcp(lcp_width_); }

  // The LCPs beside the rows from this one on; null if they are in the words, or missing.
  const uint8_t* lcp_bytes(uint64_t row) const { return lcps_ == nullptr ? nullptr : lcps_ + row; }

  // The LCP of a row that has one.
  uint32_t lcp(uint64_t row) const {
    return lcps_ == nullptr ? words_[row] >> (32 - lcp_width_) : std::min<uint32_t>(lcps_[row], kMostLcpBeside);
  }

 private:
  const uint32_t* words_;
  const uint8_t* lcps_;
  uint32_t mask_;
  uint32_t lcp_width_;
};

// ---- pieces of at most 64 rows --------------------------------------------------------------------------------

constexpr uint32_t kPieceRows = 64;

// The result of a blind search: row `first` of the piece, or kBefore, the row before the piece; rows up to `last`
// (exclusive) agree with it in all requested bits.
struct BlindEnd {
  static constexpr uint32_t kBefore = ~uint32_t{0};
  uint32_t first;
  uint32_t last;
};

// Blind search in a piece of n <= 64 rows for a key of which the first `bits` count (nothing but zeros after them).
//
// LCPs are read from left to right. If the key's bit is one, the search proceeds with the row there; if it is
// zero, all rows are left out up to the next smaller LCP.
//
// known: the number of bits, below 64, that the row before the piece has in common with the key, if it is known and that
// row is below the key (kUnknown else). Rows that share more with it are below the key, too.
//
// A key of two words if LCPs are in the rows, of four if they are beside them.
constexpr uint32_t kUnknown = ~uint32_t{0} - 1;

using LcpsBelow = uint64_t (*)(const Rows&, uint64_t, uint32_t, uint32_t);
template <class AnyKey>
using BlindSearch = BlindEnd (*)(const Rows&, uint64_t, uint32_t, const AnyKey&, uint32_t, uint32_t);

struct RowKernels {
  LcpsBelow lcps_below, lcps_below_beside;
  BlindSearch<Key> blind_search;
  BlindSearch<LongKey> blind_search_beside;
};

// Those that suit the machine at hand.
extern const RowKernels row_kernels;

// Bit i: the LCP of row start + i is below `bits`, at most most_lcp(). For n <= 64 rows.
inline uint64_t lcps_below(const Rows& rows, uint64_t start, uint32_t n, uint32_t bits) {
  return rows.lcp_bytes(0) == nullptr ? row_kernels.lcps_below(rows, start, n, bits)
                                      : row_kernels.lcps_below_beside(rows, start, n, bits);
}

// The first of rows [start, stop), at most kPieceRows, whose LCP is below `bits` (at most most_lcp()); `stop` if none.
inline uint64_t first_with_less(const Rows& rows, uint64_t start, uint64_t stop, uint32_t bits) {
  const uint64_t below = lcps_below(rows, start, static_cast<uint32_t>(stop - start), bits);
  return below == 0 ? stop : start + static_cast<uint32_t>(__builtin_ctzll(below));
}

// The last of them; `start` if none.
inline uint64_t last_with_less(const Rows& rows, uint64_t start, uint64_t stop, uint32_t bits) {
  const uint64_t below = lcps_below(rows, start, static_cast<uint32_t>(stop - start), bits);
  return below == 0 ? start : start + 63 - static_cast<uint32_t>(__builtin_clzll(below));
}

}  // namespace ngramdb
