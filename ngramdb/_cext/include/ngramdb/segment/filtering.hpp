// Taking documents out of a suffix array, and positions renumbered.
//
// In document-end order the rows of the documents that stay keep their order, so the array is filtered in one pass
// and comes out as sorting the remaining documents would have made it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/rows.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// Which positions of a text stay, and how many before each of them do: 16 bytes for 64 positions, and 4 for 256.
//
// Most blocks of positions are kept or removed as a whole and move down by one distance, since neighbouring documents
// usually are: that table is small enough for the cache. Positions have bits of their own only in mixed blocks.
class KeptPositions {
 public:
  // Marks of blocks; smaller entries are distances.
  static constexpr uint32_t kGone = ~uint32_t{0};
  static constexpr uint32_t kMixed = kGone - 1;

  // Keeps the symbols [starts[d], starts[d + 1]) of every document d with kept[d] != 0.
  KeptPositions(const uint32_t* starts, const uint8_t* kept, uint64_t n_documents)
      : n_(starts[n_documents]), words_(n_ / 64 + 1), blocks_(n_ / kBlock + 1) {
    for (uint64_t d = 0; d < n_documents; ++d) {
      if (kept[d]) set(starts[d], starts[d + 1]);
    }
    uint64_t before = 0;
    for (Word& word : words_) {
      word.before = before;
      before += ones_of(word.bits);
    }
    for (uint64_t block = 0; block < blocks_.size(); ++block) {
      const uint64_t first = block * kBlock, size = std::min(n_ - first, uint64_t{kBlock});
      const uint64_t next = (first + kBlock) / 64;
      const uint64_t n_kept = (next < words_.size() ? words_[next].before : before) - words_[first / 64].before;
      const uint64_t moved = first - words_[first / 64].before;
      blocks_[block] = n_kept == 0 ? kGone : n_kept == size && moved < kMixed ? static_cast<uint32_t>(moved) : kMixed;
    }
  }

  uint64_t n() const { return n_; }
  void prefetch(uint32_t position) const {
    if (position < n_) prefetch_line(&blocks_[position / kBlock]);
  }

  // Returns how far the position moves down, kGone, or kMixed: then call `has` and `rank`.
  uint32_t moved(uint32_t position) const { return blocks_[position / kBlock]; }

  bool has(uint32_t position) const { return words_[position / 64].bits >> (position % 64) & 1; }

  // The position's number among those that stay; defined for every position.
  uint32_t rank(uint32_t position) const {
    const Word& word = words_[position / 64];
    const uint64_t below = (uint64_t{1} << (position % 64)) - 1;
    return static_cast<uint32_t>(word.before + ones_of(word.bits & below));
  }

 private:
  static constexpr uint32_t kBlock = 256;

  struct Word {
    uint64_t bits = 0;
    uint64_t before = 0;
  };

  // Written out, since the oldest processors that this runs on cannot count bits: the compiler would call a function.
  static uint64_t ones_of(uint64_t bits) {
    bits -= (bits >> 1) & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
    return (((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101) >> 56;
  }

  void set(uint64_t start, uint64_t stop) {
    while (start < stop) {
      const uint64_t end = std::min(stop, (start / 64 + 1) * 64);
      const uint64_t ones = end - start == 64 ? ~uint64_t{0} : ((uint64_t{1} << (end - start)) - 1) << (start % 64);
      words_[start / 64].bits |= ones;
      start = end;
    }
  }

  uint64_t n_;
  std::vector<Word> words_;
  std::vector<uint32_t> blocks_;
};

// Writes the remaining rows, renumbered, and returns their number; `out` has room for `capacity`. A row that
// points outside the text, or more rows than there is room for, are damage.
//
// The LCP of two rows that become neighbours is the least of the LCPs of the rows up to the second one with
// those before them.
inline uint64_t filter_rows(Rows rows, uint64_t n_rows, const KeptPositions& kept, uint32_t* out, uint64_t capacity,
                            StopFlag stop) {
  constexpr uint64_t kAhead = 32;
  constexpr uint64_t kPoll = uint64_t{1} << 20;
  uint64_t written = 0;
  const uint32_t lcp_bits = ~(~uint32_t{0} >> rows.lcp_width());
  uint32_t least = lcp_bits;
  for (uint64_t base = 0; base < n_rows; base += kPoll) {
    check_stop(stop, base, n_rows);
    const uint64_t end = std::min(n_rows, base + kPoll);
    for (uint64_t i = base; i < end; ++i) {
      if (i + kAhead < n_rows) kept.prefetch(rows[i + kAhead]);
      const uint32_t position = rows[i];
      if (__builtin_expect(position >= kept.n(), 0)) throw CorruptPointer{"a segment", i, position, kept.n()};
      const uint32_t moved = kept.moved(position);
      bool stays = moved < KeptPositions::kMixed;
      uint32_t number = position - moved;
      if (moved == KeptPositions::kMixed) {
        stays = kept.has(position);
        number = kept.rank(position);
      }
      if (__builtin_expect(written >= capacity, 0)) {
        if (!stays) continue;
        throw CorruptPointer{"a segment", i, written, capacity};
      }
      // Written in any case: what stays cannot be predicted.
      least = std::min(least, *rows.word(i) & lcp_bits);
      out[written] = number | least;
      least |= stays ? lcp_bits : 0;
      written += stays;
    }
  }
  return written;
}

}  // namespace ngramdb
