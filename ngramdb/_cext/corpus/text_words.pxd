# cython: language_level=3
"""Words of texts whose tokens are pieces of words, as the C++ side knows them."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport Poll, translate_exception
from ngramdb._cext.segment.segment cimport PositionsIn, Segment


cdef extern from "ngramdb/text/words.hpp" namespace "ngramdb::words" nogil:
    cdef cppclass LayerView:
        const uint8_t* arena
        uint64_t arena_size
        const uint64_t* offsets
        uint64_t n_words
        const uint64_t* slots
        size_t n_slots


cdef extern from "ngramdb/corpus/text_words.hpp" namespace "ngramdb" nogil:
    cdef cppclass TokenPieces:
        const uint8_t* flat
        const int64_t* offsets
        uint64_t n

    cdef cppclass WordPlace:
        uint64_t n_tokens
        int64_t before
        int64_t after

    cdef cppclass CWordForms "ngramdb::WordForms":
        CWordForms(const TokenPieces&, uint64_t) except +
        void collect(const Segment&, Poll*) except +translate_exception
        LayerView texts()
        LayerView sequences()

    void phrases_at(const Segment&, const TokenPieces&, const vector[LayerView]&, uint64_t, uint64_t, PositionsIn, size_t, vector[int64_t]&, vector[WordPlace]&, Poll*) except +translate_exception


cdef TokenPieces token_pieces(const uint8_t[::1] flat, const int64_t[::1] offsets) except *
