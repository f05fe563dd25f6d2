# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Words that a finite automaton accepts. The GIL is released, and work can be stopped (`ngramdb.interrupts`)."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint32_t

from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception


cdef extern from "ngramdb/text/word_automaton.hpp" namespace "ngramdb" nogil:
    cdef cppclass WordAutomaton:
        const uint32_t* next
        const uint8_t* accepting
        const uint32_t* class_of
        uint32_t n_classes

    void accepted_words(const uint32_t*, const int64_t*, size_t, const WordAutomaton&, uint8_t*, Poll*) except +translate_exception


cdef class SymbolWords:
    """Words symbols[offsets[i]:offsets[i + 1]], of symbols below n_symbols; both arrays are kept, not copied.

    Raises ValueError for offsets or symbols out of range.
    """

    cdef const uint32_t[::1] symbols
    cdef const int64_t[::1] offsets
    cdef uint32_t n_symbols

    def __cinit__(self, symbols, offsets, uint32_t n_symbols):
        self.symbols = symbols
        self.offsets = offsets
        self.n_symbols = n_symbols
        ends = np.asarray(offsets)
        if len(ends) == 0 or ends[0] != 0 or ends[len(ends) - 1] != len(symbols) or bool((np.diff(ends) < 0).any()):
            raise ValueError("offsets ascend from 0 to the number of symbols")
        if len(symbols) and np.max(symbols) >= n_symbols:
            raise ValueError(f"a symbol is not below {n_symbols}")

    def accepted(self, const uint32_t[::1] class_of, const uint32_t[:, ::1] table, const uint8_t[::1] accepting):
        """Which words are accepted: (n,) bool.

        Parameters
        ----------
        class_of : (n_symbols,), the class of each symbol
        table : (n_states, n_classes), the next state; state 0 is dead, words begin in state 1
        accepting : of each state

        Raises ValueError for classes or states that do not exist. Cost: 2-3 ns per symbol, up to the one at which a word is
        known not to be accepted.
        """
        cdef size_t n = self.offsets.shape[0] - 1
        cdef WordAutomaton automaton
        cdef Poll poll = current_poll()
        out = np.zeros(n, dtype=np.uint8)
        cdef uint8_t[::1] view = out
        states = np.asarray(table)
        if class_of.shape[0] != self.n_symbols or np.max(class_of, initial=0) >= states.shape[1] or len(states) < 2:
            raise ValueError("a symbol has no class, a class has no column, or a state is missing")
        if np.max(states) >= len(states) or accepting.shape[0] != len(states) or accepting[0] or np.any(states[0]):
            raise ValueError("a state does not exist, or the dead one is not dead")
        if states.size >= 1 << 32:
            raise ValueError("there are too many states")
        cdef const uint32_t[:, ::1] places = states * np.uint32(states.shape[1])
        if n > 0:
            automaton.next = &places[0, 0]
            automaton.accepting = &accepting[0]
            automaton.class_of = &class_of[0] if class_of.shape[0] > 0 else NULL
            automaton.n_classes = <uint32_t>places.shape[1]
            with nogil:
                accepted_words(&self.symbols[0] if self.symbols.shape[0] > 0 else NULL, &self.offsets[0], n, automaton,
                               &view[0], &poll)
        return out.view(np.bool_)
