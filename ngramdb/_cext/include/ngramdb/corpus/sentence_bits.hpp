// A segment's sentences: bit p of a vector is set where the symbol at p begins a sentence, and for separators.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

struct SentenceBits {
  const uint8_t* bytes = nullptr;  // none where the segment's sentences are not known
  uint64_t n = 0;                  // bits

  bool at(uint64_t p) const { return p < n && ((bytes[p / 8] >> (p % 8)) & 1u) != 0; }

  // The last p' <= p that is set, 0 if there is none. p < n.
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

  // The first p' > p that is set, n if there is none.
  uint64_t end_of(uint64_t p) const {
    for (++p; p < n; ++p) {
      while (p % 8 == 0 && p + 8 <= n && bytes[p / 8] == 0) p += 8;
      if (at(p)) return p;
    }
    return n;
  }
};

// The sentences that positions stand in, as half-open ranges. Positions that are none are in the range [0, 0).
inline void sentences_at(const SentenceBits& bits, const uint32_t* positions, size_t n, uint32_t* lo, uint32_t* hi,
                         StopFlag stop) {
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    const uint64_t p = positions[i];
    lo[i] = p < bits.n ? static_cast<uint32_t>(bits.begin_of(p)) : 0;
    hi[i] = p < bits.n ? static_cast<uint32_t>(bits.end_of(p)) : 0;
  }
}

}  // namespace ngramdb
