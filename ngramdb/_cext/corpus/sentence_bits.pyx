# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Sentences of token positions (sentence_bits.hpp). The GIL is released, and work can be stopped."""

import numpy as np

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception


cdef extern from "ngramdb/corpus/sentence_bits.hpp" namespace "ngramdb" nogil:
    cdef cppclass SentenceBits:
        const uint8_t* bytes
        uint64_t n

    void c_sentences_at "ngramdb::sentences_at"(const SentenceBits&, const uint32_t*, size_t, uint32_t*, uint32_t*, Poll*) except +translate_exception


def sentences_at(const uint8_t[::1] bits not None, const uint32_t[::1] positions not None):
    """The sentence of each position, half-open: two (n,) uint32.

    `bits` has a bit per symbol of a segment, the least significant bit of a byte first; it is set at the beginning of a
    sentence and for separators. Cost: a few nanoseconds per position, and one per 8 tokens of its sentence.
    """
    cdef size_t n = positions.shape[0]
    lo, hi = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] lows = lo
    cdef uint32_t[::1] highs = hi
    cdef SentenceBits vector
    vector.n = 8 * <uint64_t>bits.shape[0]
    vector.bytes = &bits[0] if bits.shape[0] > 0 else NULL
    cdef Poll poll = current_poll()
    if n > 0:
        with nogil:
            c_sentences_at(vector, &positions[0], n, &lows[0], &highs[0], &poll)
    return lo, hi
