# cython: language_level=3
"""Matchers as the C++ side knows them."""

from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport Poll, translate_exception
from ngramdb._cext.corpus.index cimport Distribution, Index
from ngramdb._cext.segment.segment cimport Range


cdef extern from "ngramdb/corpus/corpus_index.hpp" namespace "ngramdb" nogil:
    cdef cppclass Match:
        vector[int64_t] ids
        uint32_t length
        int64_t count
        vector[Range] ranges

    cdef cppclass Matching "ngramdb::CorpusIndex":
        void begin(Match&) except +translate_exception
        void append(Match**, const int64_t*, size_t, int64_t, Poll*) except +translate_exception
        void search(Match&, int64_t, Poll*) except +translate_exception
        int64_t count_after(const Match&, int64_t, Range*, Poll*) except +translate_exception
        Distribution distribution(const Match&, Poll*) except +translate_exception


cdef class MatchState:
    cdef Match match
    cdef bint is_busy
    cdef readonly Index index
    cdef readonly int64_t least_count
    cdef readonly int64_t n_tokens  # of the text

    cdef last_ids(self, size_t n)
    cdef int check_free(self) except -1
    cdef int read(self, const int64_t* ids, size_t n, Poll* poll) except -1 nogil
    cdef take(self, MatchState other)
