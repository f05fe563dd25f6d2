# cython: language_level=3
"""The arrays of a segment, as kernels take them."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from ngramdb._cext.base.checksums cimport Checksums
from ngramdb._cext.segment.segment cimport Breaks

cdef extern from "ngramdb/segment/rows.hpp" namespace "ngramdb" nogil:
    cdef cppclass Rows:
        Rows()
        Rows(const uint32_t*, uint32_t)
        Rows(const uint32_t*, uint32_t, const uint8_t*)

    uint32_t lcp_width_of(uint64_t)
    uint32_t most_lcp(uint32_t)
    uint32_t kMostLcpWidth

cdef extern from "ngramdb/segment/far_keys.hpp" namespace "ngramdb" nogil:
    cdef cppclass LongKey:
        pass

    cdef cppclass FarIndex:
        const LongKey* keys
        const uint8_t* lcps
        uint64_t stride

    uint64_t n_far_keys(uint64_t, uint64_t)

cdef extern from "ngramdb/segment/segment_arrays.hpp" namespace "ngramdb" nogil:
    cdef cppclass SegmentArrays[Sym]:
        const Sym* text
        uint64_t n_text
        Rows rows
        uint64_t n_rows
        const uint64_t* tree
        const uint64_t* rest
        const uint32_t* starts
        uint64_t n_documents
        Breaks breaks
        uint64_t gap
        Checksums* checksums
        uint64_t most_verified
        FarIndex far

ctypedef fused symbol_t:
    uint8_t
    uint16_t
    uint32_t


cdef inline void set_arrays(SegmentArrays[symbol_t]& a, const symbol_t[::1] tokens, const uint32_t[::1] rows,
                            const uint64_t[::1] tree, const uint64_t[::1] rest, const uint32_t[::1] starts,
                            uint64_t gap, uint32_t lcp_width) noexcept:
    a.n_text = tokens.shape[0]
    a.n_rows = rows.shape[0]
    a.n_documents = starts.shape[0] - 1
    a.text = &tokens[0] if a.n_text > 0 else NULL
    a.rows = Rows(&rows[0] if a.n_rows > 0 else NULL, lcp_width)
    a.tree = &tree[0] if tree.shape[0] > 0 else NULL
    a.rest = &rest[0] if rest.shape[0] > 0 else NULL
    a.starts = &starts[0]
    a.gap = gap
