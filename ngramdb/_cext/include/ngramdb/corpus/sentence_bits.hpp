// A segment's sentences: bit p of a vector is set if the symbol at p begins per sentence, and for separators.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

struct SentenceBits {
  const uint8_t* bytes = nullptr;  // null if the segment's sentences are unknown
  uint64_t n = 0;                  // bits

  bool at(uint64_t p) const { return p < n && ((bytes[p / 8] >> (p % 8)) & 1u) != 0; }

  // The last set p' <= p, or 0. p < n.
  uint64_t begin_of(uint64_t p) const {
    for (;;) {
      if (p % 8 == 7 && bytes[p / 8] == 0) {
        if (p < 8) return 0;
        p -= 8;
        continue;
      }
      if (at(p) || p == 0) return p;
      --p;
    }
  }

  // The first set p' > p, or n.
  uint64_t end_of(uint64_t p) const {
    for (++p; p < n; ++p) {
      while (p % 8 == 0 && p + 8 <= n && bytes[p / 8] == 0) p += 8;
      if (at(p)) return p;
    }
    return n;
  }
};

// The sentence of one position after another. Positions in the same sentence cost nothing, so that ascending positions
// cost one pass over the bits.
struct SentenceWalk {
  SentenceBits bits;
  uint64_t lo = 0, hi = 0;   // the sentence, half-open
  uint64_t n_bytes_read = 0;  // of the bits: work done, for polling

  // p < bits.n.
  void move_to(uint64_t p) {
    if (lo <= p && p < hi) return;
    lo = bits.begin_of(p);
    hi = bits.end_of(p);
    n_bytes_read += (hi - lo) / 8 + 1;
  }
};

// The sentences that contain the positions, as half-open ranges; [0, 0) for positions beyond the bits.
inline void sentences_at(const SentenceBits& bits, const uint32_t* positions, size_t n, uint32_t* lo, uint32_t* hi,
                         StopFlag stop) {
  SentenceWalk walk{bits};
  uint64_t next_check = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i + walk.n_bytes_read >= next_check) {
      check_stop(stop, i, n);
      next_check = i + walk.n_bytes_read + kStopInterval;
    }
    const uint64_t p = positions[i];
    if (p < bits.n) walk.move_to(p);
    lo[i] = p < bits.n ? static_cast<uint32_t>(walk.lo) : 0;
    hi[i] = p < bits.n ? static_cast<uint32_t>(walk.hi) : 0;
  }
}

}  // namespace ngramdb
