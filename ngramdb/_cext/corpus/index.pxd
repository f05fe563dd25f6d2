# cython: language_level=3
"""Sums of segments as the C++ side knows them."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport Poll, translate_exception
from ngramdb._cext.segment.segment cimport Run, Segment


cdef extern from "ngramdb/corpus/corpus_index.hpp" namespace "ngramdb" nogil:
    cdef cppclass Estimate:
        int64_t cont_count
        int64_t context_count
        int32_t effective_n
        cbool sparse

    cdef cppclass Distribution:
        vector[Run] runs
        int64_t n_ends
        int64_t context_count
        uint32_t context_length
        cbool is_left_out

    cdef cppclass DistributionEnd:
        uint64_t n_runs
        int64_t n_ends
        int64_t context_count
        int64_t context_length

    cdef cppclass CorpusIndex:
        CorpusIndex() except +
        void add(const Segment*, int) except +
        int64_t n_tokens()
        int64_t count(const int64_t*, uint32_t) except +translate_exception
        void count_many(const int64_t*, const int64_t*, size_t, int64_t*, Poll*) except +translate_exception
        void estimate(const int64_t*, const int64_t*, const int64_t*, size_t, cbool, uint32_t, Estimate*, Poll*) except +translate_exception
        void score(const int64_t*, size_t, cbool, uint32_t, Estimate*, Poll*, int64_t) except +translate_exception
        void distributions(const int64_t*, const int64_t*, size_t, cbool, uint32_t, vector[Run]&, DistributionEnd*, Poll*) except +translate_exception
        Distribution distribution(const int64_t*, uint32_t, cbool, uint32_t, int64_t, Poll*) except +translate_exception


cdef class Index:
    cdef CorpusIndex index
    cdef readonly tuple segments
    cdef readonly tuple signs
