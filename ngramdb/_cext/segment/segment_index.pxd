# cython: language_level=3
"""The Python class of any segment, and that of the native kind."""

from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from ngramdb._cext.base.arguments cimport Ids
from ngramdb._cext.segment.segment cimport Position, Range, Segment


cdef class SegmentIndex:
    cdef unique_ptr[Segment] owned
    cdef Segment* segment  # the same
    cdef readonly str name
    cdef readonly uint64_t n_tokens
    cdef readonly uint64_t n_documents
    cdef readonly uint64_t n_positions
    cdef readonly object position_type
    cdef readonly bint in_token_order
    cdef readonly bint is_nested
    cdef cbool is_narrow

    cdef void adopt(self, Segment* segment, str name) noexcept
    cdef int check_rows(self, int64_t lo, int64_t hi) except -1
    cdef int check_document(self, int64_t document) except -1
    cdef Range rows_of(self, Ids ids) except *
    cdef object positions_of(self, object values)
    cdef object as_positions(self, vector[Position]& found)


cdef class SuffixIndex(SegmentIndex):
    cdef readonly tuple arrays
