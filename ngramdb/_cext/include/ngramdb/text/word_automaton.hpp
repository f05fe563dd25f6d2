// Words that a finite automaton accepts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

// A deterministic automaton over classes of symbols: state 0 is dead, 1 is initial. A state is identified by its place in
// the table, `state * n_classes`: its successor is `next[place + class]`, also a place.
struct WordAutomaton {
  const uint32_t* next;
  const uint8_t* accepting;
  const uint32_t* class_of;  // by symbol
  uint32_t n_classes;
};

// Returns for each of n words, symbols[offsets[i], offsets[i + 1]), whether it is accepted.
inline void accepted_words(const uint32_t* symbols, const int64_t* offsets, size_t n, const WordAutomaton& automaton,
                           uint8_t* out, StopFlag stop) {
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    uint32_t place = automaton.n_classes;
    for (int64_t at = offsets[i]; at < offsets[i + 1] && place != 0; ++at) {
      place = automaton.next[place + automaton.class_of[symbols[at]]];
    }
    out[i] = automaton.accepting[place / automaton.n_classes];
  }
}

}  // namespace ngramdb
