# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Merging suffix arrays, and taking documents out of one. Checked wrappers over row_merging.hpp and filtering.hpp.

The GIL is released while they work.
"""

import numpy as np

from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport current_poll, Interrupt, Poll, poll_of, translate_exception
from ngramdb._cext.segment.segment_arrays cimport kMostLcpWidth, lcp_width_of, most_lcp, Rows, symbol_t

cdef extern from "ngramdb/segment/key_tree.hpp" namespace "ngramdb" nogil:
    uint64_t tree_words(uint64_t)
    uint64_t n_samples_of(uint64_t)
    void build_upper_levels(uint64_t*, uint64_t)

cdef extern from "ngramdb/segment/keys.hpp" namespace "ngramdb" nogil:
    uint32_t kMostFarLcp

cdef extern from "ngramdb/sort/row_merge.hpp" namespace "ngramdb" nogil:
    cdef cppclass CppRowMerge "ngramdb::RowMerge":
        uint64_t plan(uint64_t, Poll*) except +translate_exception
        uint64_t count(uint64_t, Poll*) except +translate_exception
        void merge(uint64_t, uint64_t, uint32_t*, uint64_t, uint32_t, uint8_t*, uint64_t*, uint64_t*, Poll*) except +translate_exception
        uint64_t bound(uint64_t, uint32_t)
        uint32_t joint(uint64_t, uint32_t) except +translate_exception
        uint64_t n_compared()

    unique_ptr[CppRowMerge] make_row_merge(uint32_t, const vector[MergeInput]&) except +translate_exception


cdef uint64_t n_kept_breaks(const uint32_t[::1] breaks, const uint32_t[::1] starts, const uint8_t[::1] kept) noexcept:
    """Return the number of the breaks that are in documents that remain; documents and breaks ascend."""
    cdef uint64_t n_documents = starts.shape[0] - 1
    cdef uint64_t i, d = 0, n = 0
    if breaks is None or kept is None:
        return breaks.shape[0] if breaks is not None else 0
    for i in range(<uint64_t>breaks.shape[0]):
        while d < n_documents and starts[d + 1] <= breaks[i]:
            d += 1
        n += d < n_documents and kept[d] != 0
    return n


cdef class MergeSource:
    """One text and its suffix array, as an input of a merge.

    Parameters
    ----------
    text : (n,) uint8, uint16 or uint32; documents, each followed by a separator (0), with one at each break
    rows : (n - n_documents - n_breaks,) uint32 : its suffix array, whose upper lcp_width bits are LCPs of these symbols
        (FORMAT.md, "Suffix array")
    starts : (n_documents + 1,) uint32 : beginnings of documents; ascending
    kept : (n_documents,) uint8 : nonzero if a document remains; None if all do
    path : what errors call it
    has_lcps : False if the rows' LCPs are of other symbols
    lcps : (n_rows,) uint8 : the rows' far LCPs, if any, if rows have no bits for LCPs (FORMAT.md,
        "Far index")
    in_large_pages : whether the text is in pages of megabytes, which are read differently: that takes a
        quarter less time in all, and a quarter more in pages of 4 KB
    breaks : (n_breaks,) uint32 : positions of the separators within documents, ascending; None without any

    Raises ValueError when sizes contradict each other, or a document does not end in a separator.
    """

    def __init__(self, text, const uint32_t[::1] rows, uint32_t lcp_width, const uint32_t[::1] starts,
                 const uint8_t[::1] kept=None, str path="", cbool has_lcps=True, const uint8_t[::1] lcps=None,
                 cbool in_large_pages=False, const uint32_t[::1] breaks=None):
        self.arrays = (text, rows, starts, kept, lcps)
        cdef uint64_t n_documents = starts.shape[0] - 1
        cdef uint64_t n_breaks = breaks.shape[0] if breaks is not None else 0
        cdef uint64_t d
        cdef bint ascending = starts.shape[0] > 0 and starts[0] == 0
        if starts.shape[0] < 1 or (kept is not None and <uint64_t>kept.shape[0] != n_documents):
            raise ValueError(f"{starts.shape[0]} document starts do not fit the remaining documents")
        self.n_symbols = 0
        for d in range(n_documents):
            ascending = ascending and starts[d] < starts[d + 1]
            if kept is None or kept[d]:
                self.n_symbols += starts[d + 1] - starts[d]
        self.n_rows = self.n_symbols - n_kept_breaks(breaks, starts, kept)
        for d in range(n_documents):
            self.n_rows -= kept is None or kept[d] != 0
        self.is_whole = kept is None
        if lcp_width > kMostLcpWidth:
            raise ValueError(f"LCPs have at most {kMostLcpWidth} bits, not {lcp_width}")
        self.source.n_text = len(text)
        self.source.n_rows = rows.shape[0]
        if not ascending or starts[n_documents] != self.source.n_text or self.source.n_text != self.source.n_rows + n_documents + n_breaks:
            raise ValueError(f"the document starts do not fit {self.source.n_text} symbols and {rows.shape[0]} rows")
        if self.source.n_text > <uint64_t>1 << (32 - lcp_width):
            raise ValueError(f"positions of {self.source.n_text} symbols leave no {lcp_width} bits free")
        if lcps is not None and lcps.shape[0] != rows.shape[0]:
            raise ValueError(f"{lcps.shape[0]} far LCPs are not those of {rows.shape[0]} rows")
        if rows.shape[0] > 0:
            self.source.rows = Rows(&rows[0], lcp_width, &lcps[0] if lcps is not None else NULL)
        else:
            self.source.rows = Rows(NULL, lcp_width)
        self.source.has_lcps = has_lcps
        self.source.in_large_pages = in_large_pages
        self.source.starts = &starts[0]
        self.source.kept = NULL
        if kept is not None and n_documents > 0:
            self.source.kept = &kept[0]
        self.source.n_documents = n_documents
        self.source.file = path.encode("utf-8", "surrogateescape")
        self.symbol_bytes = text.dtype.itemsize
        if text.dtype == np.uint8:
            self.set_text[uint8_t](text, starts)
        elif text.dtype == np.uint16:
            self.set_text[uint16_t](text, starts)
        elif text.dtype == np.uint32:
            self.set_text[uint32_t](text, starts)
        else:
            raise ValueError(f"symbols are uint8, uint16 or uint32, not {text.dtype}")

    cdef set_text(self, const symbol_t[::1] text, const uint32_t[::1] starts):
        # Comparisons end at separators; of those inside of documents the last one is enough.
        if self.source.n_text > 0 and text[self.source.n_text - 1] != 0:
            raise ValueError("the text does not end in a separator")
        self.source.text = &text[0] if self.source.n_text > 0 else NULL


cdef class RowMerge:
    """The suffix array of several texts, one after the other, without the documents that go: bit-identical to sorting
    the whole text, in chunks of rows.

    `plan` first, then `count` for every chunk and `begin`, then `merge` for every chunk; `count` and `merge` in any order
    and in any thread. `join` completes a chunk once the one before has been merged.

    Parameters
    ----------
    sources : in the order of the texts; the symbols of all mean the same and are equally wide
    lcp_width : bits for LCPs in the rows that are made: 0 for far LCPs beside them. By their number if not given

    Cost: about 30 ns per row of 2 small sources, 100 of 17 with 60 million symbols each; a quarter of a byte per symbol if
    documents are removed, a quarter of a byte per row for the directory, and the chunks in progress. Long matches cost
    no more than short ones, except 1 MB per thread.
    """

    cdef unique_ptr[CppRowMerge] rows
    cdef list sources
    cdef readonly uint64_t n_chunks
    cdef readonly uint64_t n_rows
    cdef readonly uint32_t lcp_width
    cdef list counts
    cdef list firsts
    cdef readonly object tree
    cdef readonly object rest

    def __init__(self, sources, lcp_width=None):
        self.sources = list(sources)
        cdef vector[MergeInput] inputs
        cdef MergeSource source
        cdef uint64_t n_symbols = 0
        widths = {one.symbol_bytes for one in self.sources}
        if len(widths) != 1:
            raise ValueError(f"the texts of a merge must have the same width, not {sorted(widths)}")
        for source in self.sources:
            inputs.push_back(source.source)
            n_symbols += source.n_symbols
            self.n_rows += source.n_rows
        if n_symbols > <uint64_t>0xFFFFFFFE:
            raise ValueError(f"a segment holds at most {0xFFFFFFFE} symbols, got {n_symbols}")
        self.lcp_width = lcp_width_of(n_symbols) if lcp_width is None else lcp_width
        if self.lcp_width > lcp_width_of(n_symbols):
            raise ValueError(f"positions of {n_symbols} symbols leave no {lcp_width} bits free")
        self.rows = make_row_merge(widths.pop(), inputs)

    def plan(self, uint64_t chunk_rows, Interrupt stop=None):
        """Divide the work into chunks of about this many rows, and return their number."""
        cdef Poll poll = poll_of(stop)
        if chunk_rows < 1:
            raise ValueError("a chunk must have at least one row")
        with nogil:
            self.n_chunks = self.rows.get().plan(chunk_rows, &poll)
        self.counts = [0] * self.n_chunks
        return self.n_chunks

    def count(self, uint64_t chunk, Interrupt stop=None):
        """Count the rows of a chunk that stay: 3 ns each where documents go, else nothing."""
        cdef Poll poll = poll_of(stop)
        cdef uint64_t n
        self.check_chunk(chunk)
        with nogil:
            n = self.rows.get().count(chunk, &poll)
        self.counts[chunk] = n

    def begin(self):
        """Allocate the directory; all chunks have been counted. Raises ValueError if the rows are not those of
        the remaining documents.
        """
        if sum(self.counts) != self.n_rows:
            raise ValueError(f"{sum(self.counts)} rows for {self.n_rows} remaining tokens")
        self.firsts = np.cumsum([0, *self.counts]).tolist()
        self.tree = np.empty(tree_words(self.n_rows), dtype=np.uint64)
        self.rest = np.empty(n_samples_of(self.n_rows), dtype=np.uint64)

    def merge(self, uint64_t chunk, Interrupt stop=None):
        """Return the rows of a chunk, (n,) uint32, and their far LCPs if rows have no bits for LCPs: (n,) uint8, else None.

        The first row has no LCP before `join`.
        """
        self.check_chunk(chunk)
        cdef Poll poll = poll_of(stop)
        cdef uint64_t n = self.counts[chunk]
        cdef uint64_t first = self.firsts[chunk]
        out = np.empty(n, dtype=np.uint32)
        cdef uint32_t[::1] view = out
        cdef uint64_t[::1] tree = self.tree
        cdef uint64_t[::1] rest = self.rest
        cdef uint64_t* tree_words = &tree[0] if tree.shape[0] > 0 else NULL
        cdef uint64_t* rest_words = &rest[0] if rest.shape[0] > 0 else NULL
        cdef uint32_t* words = &view[0] if n > 0 else NULL
        lcps = np.empty(n, dtype=np.uint8) if self.lcp_width == 0 else None
        cdef uint8_t[::1] lcps_view = lcps
        cdef uint8_t* bytes_out = &lcps_view[0] if lcps is not None and n > 0 else NULL
        with nogil:
            self.rows.get().merge(chunk, first, words, n, self.lcp_width, bytes_out, tree_words, rest_words, &poll)
        return out, lcps

    def bounds(self, uint64_t chunk):
        """Return the first row of a chunk in each source; for the number of chunks, the ends of the sources."""
        if chunk > self.n_chunks:
            raise ValueError(f"no chunk {chunk}; there are {self.n_chunks}")
        return [self.rows.get().bound(chunk, i) for i in range(<int>len(self.sources))]

    def join(self, uint64_t chunk, uint32_t[::1] rows, uint8_t[::1] lcps=None):
        """Give the first row of a chunk its LCP with the last one of the chunk before; both have been merged."""
        self.check_chunk(chunk)
        if chunk == 0 or rows.shape[0] == 0:
            return
        if lcps is not None:
            lcps[0] = self.rows.get().joint(chunk, kMostFarLcp)
        else:
            rows[0] |= self.rows.get().joint(chunk, most_lcp(self.lcp_width)) << (32 - self.lcp_width)

    def finish(self):
        """The directory, all chunks having been merged: (tree, rest), see FORMAT.md, "Directory"."""
        cdef uint64_t[::1] tree = self.tree
        if tree.shape[0] > 0:
            build_upper_levels(&tree[0], n_samples_of(self.n_rows))
        return self.tree, self.rest

    @property
    def n_compared(self):
        """The number of comparisons of two symbols so far."""
        return self.rows.get().n_compared()

    cdef check_chunk(self, uint64_t chunk):
        if chunk >= self.n_chunks:
            raise ValueError(f"no chunk {chunk}; there are {self.n_chunks}")


cdef extern from "ngramdb/segment/filtering.hpp" namespace "ngramdb" nogil:
    cdef cppclass KeptPositions:
        KeptPositions(const uint32_t*, const uint8_t*, uint64_t) except +
    uint64_t c_filter_rows "ngramdb::filter_rows"(Rows, uint64_t, const KeptPositions&, uint32_t*, uint64_t,
                                                  Poll*) except +translate_exception


def filter_rows(const uint32_t[::1] rows, const uint32_t[::1] starts, const uint8_t[::1] kept, uint32_t lcp_width=0,
                const uint32_t[::1] breaks=None):
    """Return the suffix array of the remaining documents, from that of all: bit-identical to sorting them again.

    Parameters
    ----------
    rows : (n,) uint32 : positions in document-end order, without the separators' own; their upper lcp_width bits
        are LCPs (FORMAT.md, "Suffix array")
    starts : (n_documents + 1,) uint32 : beginnings of documents, each with its separator; ascending
    kept : (n_documents,) uint8 : nonzero if a document remains
    breaks : (n_breaks,) uint32 : positions of the separators within documents, ascending; None without any

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
    n_kept -= n_kept_breaks(breaks, starts, kept)
    if not ascending or starts[n_documents] != n_rows + n_documents + (breaks.shape[0] if breaks is not None else 0):
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
