# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Taking documents out of a segment's suffix array. A checked wrapper over filtering.hpp."""

import numpy as np

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.memory cimport unique_ptr

from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception
from ngramdb._cext.segment.segment_arrays cimport Rows, kMostLcpWidth

cdef extern from "ngramdb/segment/filtering.hpp" namespace "ngramdb" nogil:
    cdef cppclass KeptPositions:
        KeptPositions(const uint32_t*, const uint8_t*, uint64_t) except +
    uint64_t c_filter_rows "ngramdb::filter_rows"(Rows, uint64_t, const KeptPositions&, uint32_t*, uint64_t,
                                                  Poll*) except +translate_exception


def filter_rows(const uint32_t[::1] rows, const uint32_t[::1] starts, const uint8_t[::1] kept, uint32_t lcp_width=0):
    """Return the suffix array of the remaining documents, from that of all: bit-identical to sorting them again.

    Parameters
    ----------
    rows : (n,) uint32 : positions in document-end order, without the separators' own; their upper lcp_width bits
        are LCPs (FORMAT.md, "Suffix array")
    starts : (n_documents + 1,) uint32 : beginnings of documents, each with its separator; ascending
    kept : (n_documents,) uint8 : nonzero if a document remains

    Returns
    -------
    (m,) uint32 : positions in the text of the documents that stay, one after the other, with LCPs as
        wide

    Raises
    ------
    ValueError : sizes contradict each other, or starts do not ascend
    CorruptionError : a row leads out of the text, or the rows are not those of these documents

    Cost: 3 to 5 ns per row; a quarter of a byte per symbol besides the result.
    """
    cdef uint64_t n_documents = kept.shape[0]
    cdef uint64_t n_rows = rows.shape[0]
    cdef uint64_t n_kept = 0
    cdef uint64_t written = 0
    cdef uint64_t d
    cdef bint ascending = True
    if <uint64_t>starts.shape[0] != n_documents + 1:
        raise ValueError(f"{starts.shape[0]} document starts for {n_documents} documents")
    for d in range(n_documents):
        ascending = ascending and starts[d] < starts[d + 1]
        if kept[d]:
            n_kept += starts[d + 1] - starts[d] - 1
    if lcp_width > kMostLcpWidth:
        raise ValueError(f"LCPs have at most {kMostLcpWidth} bits, not {lcp_width}")
    if not ascending or starts[n_documents] != n_rows + n_documents:
        raise ValueError(f"the document starts do not fit {n_rows} rows")
    out = np.empty(n_kept, dtype=np.uint32)
    cdef uint32_t[::1] view = out
    cdef Poll poll = current_poll()
    if n_rows > 0:
        with nogil:
            written = filter_nonempty(Rows(&rows[0], lcp_width), n_rows, &starts[0], &kept[0], n_documents,
                                      &view[0] if n_kept > 0 else NULL, n_kept, &poll)
    if written != n_kept:
        raise ValueError(f"{written} rows for {n_kept} remaining tokens")
    return out


cdef uint64_t filter_nonempty(Rows rows, uint64_t n_rows, const uint32_t* starts, const uint8_t* kept,
                              uint64_t n_documents, uint32_t* out, uint64_t n_kept, Poll* poll) except? 0 nogil:
    cdef unique_ptr[KeptPositions] positions
    positions.reset(new KeptPositions(starts, kept, n_documents))
    return c_filter_rows(rows, n_rows, positions.get()[0], out, n_kept, poll)
