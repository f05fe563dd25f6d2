# cython: language_level=3
"""Segments as the C++ side knows them."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport Poll, translate_exception


cdef extern from "ngramdb/segment/segment.hpp" namespace "ngramdb" nogil:
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

    cdef cppclass Span:
        Position start
        Position stop

    cdef cppclass Breaks:
        const uint32_t* at
        size_t n

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
        cbool in_token_order()
        cbool is_nested()
        cbool has_rows(Range)
        void find(const Request*, Range*, size_t) except +translate_exception
        Range narrow(Range, uint32_t, TokenId) except +translate_exception
        Span span(DocNumber) except +translate_exception
        Span piece_at(Position, Span)
        Breaks breaks()
        Position position(Row) except +translate_exception
        uint32_t tokens(Position, uint32_t, TokenId*) except +translate_exception
        cbool tokens_of_row(Row, uint32_t, TokenId*) except +translate_exception
        void positions(Range, PositionsOut) except +translate_exception
        void documents_of(Range, vector[uint32_t]&, Poll*) except +translate_exception
        void first_documents(Range, size_t, vector[uint32_t]&, Poll*) except +translate_exception
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
