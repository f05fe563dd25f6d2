# cython: language_level=3
"""What other kernels take from here: segments and sums of segments as the C++ side knows them."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from ngramdb._cext.interrupt cimport Poll, translate_exception


cdef extern from "segment.hpp" namespace "ngramdb" nogil:
    ctypedef uint64_t Row
    ctypedef uint64_t Position
    ctypedef uint32_t DocNumber
    ctypedef int64_t TokenId

    cdef cppclass Range:
        Row lo
        Row hi

    cdef cppclass Request:
        const TokenId* ids
        uint32_t n

    cdef cppclass Run:
        TokenId id
        int64_t count

    cdef cppclass PositionsIn:
        pass

    cdef cppclass PositionsOut:
        pass

    cbool fits_narrow(uint64_t)
    PositionsIn positions_in(const void*, cbool)
    PositionsOut positions_out(void*, cbool)

    cdef cppclass Segment:
        uint64_t n_rows()
        uint64_t n_documents()
        uint64_t n_positions()
        void find(const Request*, Range*, size_t) except +translate_exception
        cbool tokens_of_row(Row, uint32_t, TokenId*) except +translate_exception
        void positions(Range, PositionsOut) except +translate_exception
        void documents_of(Range, vector[uint32_t]&, Poll*) except +translate_exception
        void filter_documents(const DocNumber*, size_t, const TokenId*, uint32_t, vector[uint32_t]&, Poll*) except +translate_exception
        void scan_windows(PositionsIn, PositionsIn, size_t, const TokenId*, uint32_t, vector[Position]&, Poll*) except +translate_exception
        void count_documents(Range, vector[uint32_t]&, vector[uint32_t]&, Poll*) except +translate_exception
        void document_bounds(const DocNumber*, size_t, PositionsOut, PositionsOut) except +translate_exception
        uint32_t document_length(DocNumber) except +translate_exception
        void document_tokens(DocNumber, uint32_t, uint32_t, uint32_t*) except +translate_exception
        void documents_at(PositionsIn, size_t, DocNumber*, uint32_t*) except +translate_exception
        void tokens_at(PositionsIn, size_t, int64_t, TokenId*) except +translate_exception

    cdef cppclass EmptySegment(Segment):
        EmptySegment() except +

cdef extern from "corpus_index.hpp" namespace "ngramdb" nogil:
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
        void score(const int64_t*, size_t, cbool, uint32_t, Estimate*, Poll*) except +translate_exception
        void distributions(const int64_t*, const int64_t*, size_t, cbool, uint32_t, vector[Run]&, DistributionEnd*, Poll*) except +translate_exception
        Distribution distribution(const int64_t*, uint32_t, cbool, uint32_t, int64_t, Poll*) except +translate_exception


# An n-gram of up to so many tokens is read into a buffer on the stack.
cdef enum:
    STACK_IDS = 256


cdef class Ids:
    cdef int64_t small[STACK_IDS]
    cdef vector[int64_t] large
    cdef const int64_t[::1] view
    cdef const int64_t* data
    cdef uint32_t n


cdef Ids read_ids(object ids)
cdef object int64_array(object values)
cdef object id_array(object values, int64_t least)


cdef class SegmentIndex:
    cdef Segment* segment
    cdef readonly str name
    cdef readonly uint64_t n_tokens
    cdef readonly uint64_t n_documents
    cdef readonly uint64_t n_positions
    cdef readonly object position_type
    cdef cbool is_narrow

    cdef void adopt(self, Segment* segment, str name) noexcept
    cdef int check_rows(self, int64_t lo, int64_t hi) except -1
    cdef int check_document(self, int64_t document) except -1
    cdef Range rows_of(self, Ids ids) except *
    cdef object positions_of(self, object values)
    cdef object as_positions(self, vector[Position]& found)


cdef class SuffixIndex(SegmentIndex):
    cdef readonly tuple arrays


cdef class Index:
    cdef CorpusIndex index
    cdef readonly tuple segments
    cdef readonly tuple signs
