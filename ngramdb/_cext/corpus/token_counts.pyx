# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Tokens counted one by one: those of documents, those near occurrences, those beside n-grams.

A table is filled segment by segment. The GIL is released, and the work can be stopped (`ngramdb.interrupts`).
"""

import numpy as np

cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception
from ngramdb._cext.segment.segment cimport DocNumber, PositionsIn, Range, Run, Segment, positions_in
from ngramdb._cext.segment.segment_index cimport SegmentIndex

cnp.import_array()

cdef extern from "ngramdb/corpus/sentence_bits.hpp" namespace "ngramdb" nogil:
    cdef cppclass SentenceBits:
        const uint8_t* bytes
        uint64_t n

cdef extern from "ngramdb/corpus/token_counts.hpp" namespace "ngramdb" nogil:
    cdef cppclass WindowCount:
        int64_t inside
        int64_t left
        int64_t right

    cdef cppclass TokenTable[Count]:
        TokenTable() except +

    void c_count_tokens "ngramdb::count_tokens"(const Segment&, const DocNumber*, size_t, int64_t, TokenTable[int64_t]&, Poll*) except +translate_exception
    void c_count_windows "ngramdb::count_windows"(const Segment&, PositionsIn, PositionsIn, size_t, uint64_t, uint64_t, const SentenceBits&, TokenTable[WindowCount]&, Poll*) except +translate_exception
    void c_count_before "ngramdb::count_before"(const Segment&, Range, int64_t, TokenTable[int64_t]&, int64_t&, Poll*) except +translate_exception
    uint64_t c_successors_among "ngramdb::successors_among"(const Segment&, Range, uint32_t, const uint8_t*, vector[Run]&, Poll*) except +translate_exception

cdef extern from *:
    """
    #include "ngramdb/corpus/token_counts.hpp"
    namespace ngramdb {
    template <class Count> size_t table_size(const TokenTable<Count>& table) {
      size_t n = 0;
      table.each([&](uint32_t, const Count&) { ++n; });
      return n;
    }
    inline void copy_tokens(const TokenTable<int64_t>& table, uint32_t* ids, int64_t* counts) {
      table.each([&](uint32_t id, int64_t count) { *ids++ = id; *counts++ = count; });
    }
    inline void copy_windows(const TokenTable<WindowCount>& table, uint32_t* ids, int64_t* counts) {
      table.each([&](uint32_t id, const WindowCount& count) {
        *ids++ = id;
        *counts++ = count.inside;
        *counts++ = count.left;
        *counts++ = count.right;
      });
    }
    }
    """
    size_t table_size "ngramdb::table_size"[Count](const TokenTable[Count]&) nogil
    void copy_tokens "ngramdb::copy_tokens"(const TokenTable[int64_t]&, uint32_t*, int64_t*) nogil
    void copy_windows "ngramdb::copy_windows"(const TokenTable[WindowCount]&, uint32_t*, int64_t*) nogil


cdef class TokenCounts:
    """Counts per token, in documents and before n-grams; `n_starts` counts n-grams at the beginning of a document."""

    cdef TokenTable[int64_t] table
    cdef readonly int64_t n_starts

    def add_documents(self, SegmentIndex index not None, docs, int64_t weight=1):
        """Add `weight` for each token of documents (k,) uint32. Cost: a few ns per token."""
        docs = np.ascontiguousarray(docs, dtype=np.uint32)
        cdef const uint32_t[::1] numbers = docs
        cdef size_t n = numbers.shape[0]
        cdef Poll poll = current_poll()
        if n == 0:
            return
        index.check_document(int(np.max(docs)))
        with nogil:
            c_count_tokens(index.segment[0], &numbers[0], n, weight, self.table, &poll)

    def add_before(self, SegmentIndex index not None, int64_t lo, int64_t hi, int64_t weight=1):
        """Add `weight` for the token before each of the rows [lo, hi). Cost: one or two random reads per row."""
        index.check_rows(lo, hi)
        cdef Range rows
        cdef Poll poll = current_poll()
        rows.lo = lo
        rows.hi = hi
        with nogil:
            c_count_before(index.segment[0], rows, weight, self.table, self.n_starts, &poll)

    def found(self):
        """The tokens with a count other than 0: ids (k,) uint32, ascending, and counts (k,) int64."""
        cdef size_t n = table_size(self.table)
        ids = np.empty(n, dtype=np.uint32)
        counts = np.empty(n, dtype=np.int64)
        cdef uint32_t[::1] id_view = ids
        cdef int64_t[::1] count_view = counts
        if n > 0:
            with nogil:
                copy_tokens(self.table, &id_view[0], &count_view[0])
        kept = np.flatnonzero(counts)
        order = kept[np.argsort(ids[kept])]
        return ids[order], counts[order]


cdef class WindowCounts:
    """Counts per token near occurrences, each position counted once."""

    cdef TokenTable[WindowCount] table

    def add(self, SegmentIndex index not None, starts, stops, uint64_t left, uint64_t right,
            const uint8_t[::1] sentences=None):
        """Add the tokens up to `left` tokens before the occurrences and up to `right` after them.

        With the segment's `sentences`, as `joins.sentences_at` takes them, those before an occurrence are of the
        sentence of its first token, and those after it of that of its last one.

        Parameters
        ----------
        starts, stops : (n,) of the segment's width, each ascending: where occurrences start and stop

        Raises IndexError for a position outside the text. Cost: about 10 ns per token of the windows, and a random read
        per occurrence.
        """
        starts, stops = index.positions_of(starts), index.positions_of(stops)
        cdef size_t n = starts.shape[0]
        if <size_t>stops.shape[0] != n:
            raise ValueError(f"arrays must have equal lengths, not {n} and {stops.shape[0]}")
        if n == 0:
            return
        last = max(np.max(starts), np.max(stops))
        if last >= index.n_positions:
            raise IndexError(f"position {last} is not within the segment's text")
        cdef const void* first = cnp.PyArray_DATA(<cnp.ndarray>starts)
        cdef const void* end = cnp.PyArray_DATA(<cnp.ndarray>stops)
        cdef SentenceBits bits
        if sentences is not None and sentences.shape[0] > 0:
            bits.bytes = &sentences[0]
            bits.n = 8 * <uint64_t>sentences.shape[0]
        cdef Poll poll = current_poll()
        with nogil:
            c_count_windows(index.segment[0], positions_in(first, index.is_narrow), positions_in(end, index.is_narrow), n,
                            left, right, bits, self.table, &poll)

    def found(self):
        """The tokens that were met, ids (k,) uint32 ascending, and counts (k, 3) int64.

        The columns are: in any window, in one to the left, in one to the right of an occurrence.
        """
        cdef size_t n = table_size(self.table)
        ids = np.empty(n, dtype=np.uint32)
        counts = np.empty((n, 3), dtype=np.int64)
        cdef uint32_t[::1] id_view = ids
        cdef int64_t[:, ::1] count_view = counts
        if n > 0:
            with nogil:
                copy_windows(self.table, &id_view[0], &count_view[0, 0])
        order = np.argsort(ids)
        return ids[order], counts[order]


def tokens_after(SegmentIndex index not None, int64_t lo, int64_t hi, uint32_t depth, const uint8_t[::1] documents):
    """Return the tokens after the first `depth` tokens of those of the rows [lo, hi) that are in given documents.

    `documents` has a bit for each document of the segment, the least significant one of a byte first. The rows are those
    of an n-gram of `depth` tokens.

    Returns ids (k,) uint32, ascending, their counts (k,) int64, and how many of the documents end there. Raises ValueError
    if bits are missing. Cost: that of all successors of the rows, and about 3 ns per row.
    """
    index.check_rows(lo, hi)
    if 8 * <uint64_t>documents.shape[0] < <uint64_t>index.n_documents:
        raise ValueError(f"{index.n_documents} documents have {8 * documents.shape[0]} bits")
    cdef Range rows
    cdef Poll poll = current_poll()
    cdef vector[Run] runs
    cdef uint64_t n_ends = 0
    rows.lo = lo
    rows.hi = hi
    if lo < hi:
        with nogil:
            n_ends = c_successors_among(index.segment[0], rows, depth, &documents[0], runs, &poll)
    ids = np.empty(runs.size(), dtype=np.uint32)
    counts = np.empty(runs.size(), dtype=np.int64)
    cdef uint32_t[::1] id_view = ids
    cdef int64_t[::1] count_view = counts
    cdef size_t i
    for i in range(runs.size()):
        id_view[i], count_view[i] = <uint32_t>runs[i].id, runs[i].count
    return ids, counts, n_ends
