# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Windows of text that occur several times. Checked wrapper over duplicate_windows.hpp; the GIL is released."""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport Interrupt, Poll, current_poll, poll_of, translate_exception
from ngramdb._cext.sort.row_merging cimport MergeInput, MergeSource

cdef extern from "ngramdb/corpus/duplicate_windows.hpp" namespace "ngramdb" nogil:
    uint32_t kLeftOut

    cdef cppclass WindowText:
        MergeInput input
        const uint32_t* ranks
        uint64_t* marks

    cdef cppclass WindowRule:
        uint64_t length
        const uint32_t* weights
        uint64_t n_weights
        uint64_t min_count
        cbool marks_starts
        cbool keeps_one

    cdef cppclass CppWindows "ngramdb::DuplicateWindows":
        uint64_t n_sampled()
        void sample(uint32_t, Poll*) except +translate_exception
        void choose(uint32_t, Poll*) except +translate_exception
        uint64_t plan(uint64_t, Poll*) except +translate_exception
        void mark(uint64_t, Poll*) except +translate_exception

    unique_ptr[CppWindows] make_duplicate_windows(uint32_t, const vector[WindowText]&, const WindowRule&) except +translate_exception
    void c_ranges_of_bits "ngramdb::ranges_of_bits"(const uint64_t*, uint64_t, vector[uint32_t]&, vector[uint32_t]&, Poll*) except +translate_exception

# The rank of a document that does not count.
LEFT_OUT = kLeftOut


cdef class DuplicateWindows:
    """Marks repeated windows in one text or several.

    `sample` first, for each of the first `n_sampled` texts, then `choose` for each of them, then `plan`, then `mark` for
    every chunk; all but `plan` in any thread.

    The window of a position begins there and lies within its document. It has `length` tokens; or, with weights, it is
    the shortest whose tokens weigh at least `length`. Windows that occur fewer than `min_count` times in the documents
    that count are ignored.

    Parameters
    ----------
    sources : MergeSource each, without removed documents; their symbols mean the same and are equally wide
    ranks : (n_documents,) uint32 for each : smallest for the documents whose occurrences are kept first, different for
        all documents of all sources; LEFT_OUT for documents that do not count
    length : at least 1
    weights : (n_symbols,) uint32, by symbol; None to count symbols
    min_count : at least 2
    marks_starts : mark the first token of each occurrence, not the tokens to cut
    keeps_one : keep the best occurrence of each window: smallest rank, then position

    Attributes
    ----------
    marks : uint64 arrays, a bit for each position of each text, lowest bit first
    n_sampled : the number of texts to sample: all of several, none of one

    Raises ValueError if sizes contradict each other, CorruptionError for rows that lead out of their text.

    Cost: 2 to 20 ns per row of one source, 10 to 60 of several; a bit per position, and 4 bytes per 1024 positions. Of
    several sources, another bit per 8 positions, and up to 32 MB.
    """

    cdef unique_ptr[CppWindows] windows
    cdef list held
    cdef readonly list marks
    cdef readonly uint64_t n_sampled

    def __init__(self, sources, ranks, uint64_t length, const uint32_t[::1] weights=None, uint64_t min_count=2,
                 bint marks_starts=False, bint keeps_one=True):
        sources, ranks = list(sources), list(ranks)
        cdef vector[WindowText] texts
        cdef WindowText text
        cdef WindowRule rule
        cdef MergeSource source
        cdef const uint32_t[::1] ranks_view
        cdef uint64_t[::1] marks_view
        widths = {one.symbol_bytes for one in sources}
        if len(widths) != 1 or len(ranks) != len(sources):
            raise ValueError(f"{len(sources)} texts of widths {sorted(widths)} with {len(ranks)} lists of ranks")
        if length < 1 or min_count < 2:
            raise ValueError(f"windows of length {length} that occur at least {min_count} times")
        self.held = [sources, ranks, weights]
        self.marks = []
        for source, ranks_view in zip(sources, ranks):
            if not source.is_whole or <uint64_t>ranks_view.shape[0] != source.source.n_documents:
                raise ValueError(f"{ranks_view.shape[0]} ranks for {source.source.n_documents} documents")
            marks_view = marks = np.zeros(source.source.n_text // 64 + 1, dtype=np.uint64)
            self.marks.append(marks)
            text.input = source.source
            text.ranks = &ranks_view[0] if ranks_view.shape[0] > 0 else NULL
            text.marks = &marks_view[0]
            texts.push_back(text)
        rule.length = length
        rule.weights = &weights[0] if weights is not None and weights.shape[0] > 0 else NULL
        rule.n_weights = weights.shape[0] if weights is not None else 0
        rule.min_count = min_count
        rule.marks_starts = marks_starts
        rule.keeps_one = keeps_one
        self.windows = make_duplicate_windows(widths.pop(), texts, rule)
        self.n_sampled = self.windows.get().n_sampled()

    def sample(self, uint64_t text, Interrupt stop=None):
        """Read a text, for what distinguishes its windows."""
        cdef Poll poll = poll_of(stop)
        self.check_text(text)
        with nogil:
            self.windows.get().sample(<uint32_t>text, &poll)

    def choose(self, uint64_t text, Interrupt stop=None):
        """Choose the windows of a text that may be repeated."""
        cdef Poll poll = poll_of(stop)
        self.check_text(text)
        with nogil:
            self.windows.get().choose(<uint32_t>text, &poll)

    cdef check_text(self, uint64_t text):
        if text >= self.n_sampled:
            raise ValueError(f"text {text} of {self.n_sampled} to sample")

    def plan(self, uint64_t n_chunks, Interrupt stop=None):
        """Divide the work into at most `n_chunks` chunks, and return their number."""
        cdef Poll poll = poll_of(stop)
        cdef uint64_t n
        if n_chunks < 1:
            raise ValueError("there must be at least one chunk")
        with nogil:
            n = self.windows.get().plan(n_chunks, &poll)
        return n

    def mark(self, uint64_t chunk, Interrupt stop=None):
        """Set the marks of a chunk."""
        cdef Poll poll = poll_of(stop)
        with nogil:
            self.windows.get().mark(chunk, &poll)


def ranges_of_bits(const uint64_t[::1] bits):
    """Return the half-open ranges of set bits: starts and stops, (n,) uint32 each, ascending."""
    cdef vector[uint32_t] starts
    cdef vector[uint32_t] stops
    cdef Poll poll = current_poll()
    if bits.shape[0] > 0:
        with nogil:
            c_ranges_of_bits(&bits[0], 64 * <uint64_t>bits.shape[0], starts, stops, &poll)
    return as_array(starts), as_array(stops)


cdef as_array(vector[uint32_t]& values):
    if values.size() == 0:
        return np.empty(0, dtype=np.uint32)
    return np.array(<uint32_t[:values.size()]>values.data())
