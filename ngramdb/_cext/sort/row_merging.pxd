# cython: language_level=3
"""Texts with their suffix arrays, as other kernels take them."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string

from ngramdb._cext.segment.segment_arrays cimport Rows, symbol_t

cdef extern from "ngramdb/sort/row_merge.hpp" namespace "ngramdb" nogil:
    cdef cppclass MergeInput:
        const void* text
        uint64_t n_text
        Rows rows
        uint64_t n_rows
        cbool has_lcps
        cbool in_large_pages
        const uint32_t* starts
        const uint8_t* kept
        uint64_t n_documents
        string file


cdef class MergeSource:
    cdef MergeInput source
    cdef readonly uint32_t symbol_bytes
    cdef readonly uint64_t n_symbols
    cdef readonly uint64_t n_rows
    cdef readonly bint is_whole
    cdef object arrays

    cdef set_text(self, const symbol_t[::1] text, const uint32_t[::1] starts)
