# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The n-grams of a corpus by frequency: descending by count, then ascending by token ids.

Three ways to the same answer: `frequent` reads a sample of rows, `NgramBlocks` all rows (of all documents, or
of some), `count_documents` at the tokens of a few documents. The GIL is released, and the work can be stopped.
"""

import numpy as np

from ngramdb.interrupts import require_memory

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from ngramdb._cext.corpus.index cimport CorpusIndex, Index
from ngramdb._cext.segment.segment cimport Range, Row, Segment
from ngramdb._cext.segment.segment_index cimport SegmentIndex
from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception


cdef extern from "ngramdb/corpus/top_ngrams.hpp" namespace "ngramdb" nogil:
    cdef cppclass FoundNgram:
        int64_t count
        uint32_t segment
        Row row
        int64_t second

    cdef cppclass Side:
        int sign
        const uint8_t* documents

    cdef cppclass NgramSource:
        const Segment* segment
        Range rows
        Side first
        Side second

    cdef cppclass CScan "ngramdb::NgramScan":
        CScan(vector[NgramSource], uint32_t) except +
        vector[FoundNgram] next(size_t, uint64_t, Poll*) except +translate_exception

    cdef cppclass CBlocks "ngramdb::NgramBlocks":
        CBlocks(const vector[const Segment*]&, const vector[int]&, const vector[const uint8_t*]&, uint32_t) except +
        vector[FoundNgram] next(size_t, Poll*) except +translate_exception
        uint64_t distinct
        uint64_t occurrences
        vector[FoundNgram] negative

    cdef cppclass CountedNgrams:
        vector[int64_t] tokens
        vector[int64_t] counts

    cdef cppclass CFrequent "ngramdb::FrequentNgrams":
        CFrequent(const CorpusIndex&, const vector[const Segment*]&, const vector[int]&, uint32_t) except +
        cbool find(size_t, CountedNgrams&, Poll*) except +translate_exception
        vector[int64_t] negative

    cdef cppclass HashedEntry "ngramdb::HashedNgrams::Entry":
        uint64_t place
        uint32_t count

    cdef cppclass CHashed "ngramdb::HashedNgrams":
        CHashed(const uint32_t*, uint32_t) except +
        void add(size_t, size_t, Poll*) except +translate_exception
        uint64_t distinct()
        vector[HashedEntry] best(size_t, Poll*) except +translate_exception


class NegativeCount(ValueError):
    """An n-gram's net count is below zero: a subtracted segment has what the added ones lack. `ids` are its tokens."""

    def __init__(self, ids):
        super().__init__(f"the net count of {list(ids)} is below zero")
        self.ids = ids


cdef void list_segments(object segments, vector[const Segment*]& found) except *:
    for segment in segments:
        found.push_back((<SegmentIndex?>segment).segment)


cdef void check_n(int64_t n) except *:
    if not 1 <= n < 2**32 - 2:
        raise ValueError(f"an n-gram must have at least 1 token, not {n}")


# Tokens that are read between two checks for interrupts.
cdef int64_t TOKENS_PER_POLL = 1 << 16
# Tokens of the rows that `frequent` samples: above it, a pass over all rows takes less memory.
cdef int64_t MAX_SAMPLED_TOKENS = 1 << 26


cdef void require_memory_for(uint64_t k, uint64_t n) except *:
    """Raise ResourceError if the tokens of k n-grams, as int64 and as uint32, exceed the memory limit."""
    require_memory(k * n * 12, f"{k:,} n-grams of {n:,} tokens")


cdef tuple as_arrays(vector[int64_t]& tokens, vector[int64_t]& counts, uint32_t n):
    cdef size_t k = counts.size(), i
    ids = np.empty((k, n), dtype=np.uint32)
    count = np.empty(k, dtype=np.int64)
    cdef uint32_t[::1] id_view = ids.reshape(-1)
    cdef int64_t[::1] count_view = count
    for i in range(k):
        count_view[i] = counts[i]
    for i in range(tokens.size()):
        id_view[i] = <uint32_t>tokens[i]
    return ids, count


cdef class NgramBlocks:
    """All n-grams, in blocks: each is a pass over all rows, the memory that of a block.

    Once every n-gram that is left occurs once, a single pass does for all remaining blocks.

    Parameters
    ----------
    segments : SegmentIndex, …
    signs : +1 or -1 each
    n : tokens of an n-gram, at least 1
    documents : for each segment a bitmap of the documents that count ((n_documents + 7) // 8,) uint8, least
        significant bit first, or None for all
    """

    cdef unique_ptr[CBlocks] blocks
    cdef vector[const Segment*] kept
    cdef readonly tuple segments
    cdef readonly tuple documents
    cdef readonly uint32_t n

    def __cinit__(self, segments, signs, int64_t n, documents=None):
        check_n(n)
        self.segments = tuple(segments)
        self.documents = (None,) * len(self.segments) if documents is None else tuple(documents)
        self.n = <uint32_t>n
        list_segments(self.segments, self.kept)
        cdef vector[int] sign_of = [int(sign) for sign in signs]
        if sign_of.size() != self.kept.size() or len(self.documents) != len(self.segments):
            raise ValueError(f"{len(self.segments)} segments, {sign_of.size()} signs, {len(self.documents)} bitmaps")
        cdef vector[const uint8_t*] bitmaps
        cdef const uint8_t[::1] bitmap
        for segment, given in zip(self.segments, self.documents):
            if given is None:
                bitmaps.push_back(NULL)
                continue
            bitmap = given
            if <uint64_t>bitmap.shape[0] < (segment.n_documents + 7) // 8:
                raise ValueError(f"a bitmap of {bitmap.shape[0]} bytes for {segment.n_documents} documents")
            bitmaps.push_back(&bitmap[0] if bitmap.shape[0] > 0 else NULL)
        self.blocks.reset(new CBlocks(self.kept, sign_of, bitmaps, self.n))

    def next(self, size_t k):
        """The next k n-grams, fewer at the end: ids (m, n) uint32, and counts (m,) int64.

        Raises
        ------
        NegativeCount
        """
        cdef vector[FoundNgram] found
        cdef vector[int64_t] tokens, counts
        cdef size_t i
        cdef Poll poll = current_poll()
        cdef CBlocks* blocks = self.blocks.get()
        with nogil:
            found = blocks.next(k, &poll)
        if blocks.negative.size() > 0:
            found = blocks.negative
        require_memory_for(found.size(), self.n)
        tokens.resize(found.size() * self.n)
        counts.resize(found.size())
        with nogil:
            for i in range(found.size()):
                if i % (1 + TOKENS_PER_POLL // self.n) == 0:
                    poll.check()
                counts[i] = found[i].count
                self.kept[found[i].segment].tokens_of_row(found[i].row, self.n, &tokens[i * self.n])
        arrays = as_arrays(tokens, counts, self.n)
        if blocks.negative.size() > 0:
            raise NegativeCount(tuple(arrays[0][0].tolist()))
        return arrays

    @property
    def distinct(self):
        """The number of distinct n-grams; known after the first block."""
        return self.blocks.get().distinct

    @property
    def occurrences(self):
        """The total number of their occurrences; known after the first block."""
        return self.blocks.get().occurrences


cdef const uint8_t* bitmap_of(object given, object index) except? NULL:
    """A bitmap's address, NULL for None; it is kept alive by the caller."""
    cdef const uint8_t[::1] bitmap
    if given is None:
        return NULL
    bitmap = given
    if <uint64_t>bitmap.shape[0] < (index.n_documents + 7) // 8 or bitmap.shape[0] == 0:
        raise ValueError(f"a bitmap of {bitmap.shape[0]} bytes for {index.n_documents} documents")
    return &bitmap[0]


cdef class NgramScan:
    """All n-grams ascending by token ids, each with two counts: one pass over rows.

    Parameters
    ----------
    sources : of each segment (index, rows, first, second). Rows are (lo, hi), None for all; they must not cut apart
        those of an n-gram. A side is (sign, documents): rows count so often, in documents of a bitmap (least significant
        bit first) or in all without one; None for nothing
    n : tokens of an n-gram, at least 1
    """

    cdef unique_ptr[CScan] scan
    cdef vector[const Segment*] kept
    cdef readonly tuple sources
    cdef readonly uint32_t n

    def __cinit__(self, sources, int64_t n):
        check_n(n)
        self.sources = tuple(sources)  # kept alive, bitmaps too
        self.n = <uint32_t>n
        cdef vector[NgramSource] made
        cdef NgramSource source
        cdef SegmentIndex index
        for given, rows, first, second in self.sources:
            index = given
            lo, hi = (0, index.n_tokens) if rows is None else rows
            index.check_rows(lo, hi)
            source.segment = index.segment
            source.rows.lo, source.rows.hi = lo, hi
            source.first.sign, source.second.sign = 0, 0
            source.first.documents = NULL
            source.second.documents = NULL
            if first is not None:
                source.first.sign = first[0]
                source.first.documents = bitmap_of(first[1], index)
            if second is not None:
                source.second.sign = second[0]
                source.second.documents = bitmap_of(second[1], index)
            made.push_back(source)
            self.kept.push_back(index.segment)
        self.scan.reset(new CScan(made, self.n))

    def next(self, size_t k, uint64_t least=1):
        """Up to k more n-grams of at least `least` rows: places (m, 2) int64, and counts (m, 2) int64.

        A place is the number of a source, and a position in its segment at which the n-gram begins. Fewer only at the
        end. Those whose counts are both 0 are omitted. Cost: that of reading the rows and, with a bitmap, a few ns per row
        of n-grams with a count of at least `least`.
        """
        cdef vector[FoundNgram] found
        cdef size_t i
        cdef Poll poll = current_poll()
        if self.scan:
            with nogil:
                found = self.scan.get().next(k, least, &poll)
            if found.empty():
                self.scan.reset()  # its buffers, while places may still be read
        places = np.empty((found.size(), 2), dtype=np.int64)
        counts = np.empty((found.size(), 2), dtype=np.int64)
        cdef int64_t[:, ::1] place_view = places
        cdef int64_t[:, ::1] count_view = counts
        with nogil:
            for i in range(found.size()):
                if i % TOKENS_PER_POLL == 0:
                    poll.check()
                place_view[i, 0] = found[i].segment
                place_view[i, 1] = self.kept[found[i].segment].position(found[i].row)
                count_view[i, 0], count_view[i, 1] = found[i].count, found[i].second
        return places, counts

    def ids(self, const int64_t[:, ::1] places not None):
        """The tokens of n-grams at these places: (m, n) uint32.

        Raises ValueError for a place that is not within a source, ResourceError if they do not fit the memory limit.
        """
        cdef size_t m = places.shape[0], i, j
        cdef uint32_t n = self.n
        cdef Poll poll = current_poll()
        for i in range(m):
            if not 0 <= places[i, 0] < <int64_t>self.kept.size():
                raise ValueError(f"source {places[i, 0]} of {self.kept.size()}")
            if not 0 <= places[i, 1] < <int64_t>self.kept[places[i, 0]].n_positions():
                raise ValueError(f"position {places[i, 1]} of {self.kept[places[i, 0]].n_positions()}")
        require_memory_for(m, n)
        ids = np.empty((m, n), dtype=np.uint32)
        cdef uint32_t[:, ::1] id_view = ids
        cdef vector[int64_t] tokens
        tokens.resize(n)
        with nogil:
            for i in range(m):
                if i % (1 + TOKENS_PER_POLL // n) == 0:
                    poll.check()
                self.kept[places[i, 0]].tokens(places[i, 1], n, tokens.data())
                for j in range(n):
                    id_view[i, j] = <uint32_t>tokens[j]
        return ids

    def column(self, places, int64_t depth):
        """Token number `depth` of n-grams at these places, (m, 2) int64: (m,) int64."""
        tokens = np.empty(len(places), dtype=np.int64)
        for source, (index, *_) in enumerate(self.sources):
            chosen = np.flatnonzero(places[:, 0] == source)
            tokens[chosen] = index.tokens_at(places[chosen, 1], depth)
        return tokens


def frequent(Index index not None, int64_t n, size_t k):
    """The k most frequent n-grams of all documents: ids (m, n) uint32 and counts (m,) int64.

    None if a pass over all rows is faster, as for large k or small counts.
    Cost: about 0.3 µs for each of n_tokens / c rows, c the k-th best count.
    Raises
    ------
    NegativeCount
    """
    check_n(n)
    if n * (16 * <double>k + 4096) > MAX_SAMPLED_TOKENS:
        return None
    cdef vector[const Segment*] segments
    list_segments(index.segments, segments)
    cdef vector[int] signs = [int(sign) for sign in index.signs]
    cdef unique_ptr[CFrequent] search
    search.reset(new CFrequent(index.index, segments, signs, <uint32_t>n))
    cdef CountedNgrams found
    cdef cbool done
    cdef Poll poll = current_poll()
    with nogil:
        done = search.get().find(k, found, &poll)
    if search.get().negative.size() > 0:
        raise NegativeCount(tuple(search.get().negative))
    return as_arrays(found.tokens, found.counts, <uint32_t>n) if done else None


def count_documents(const uint32_t[::1] tokens not None, const int64_t[::1] offsets not None, int64_t n, size_t k):
    """The k most frequent n-grams of documents tokens[offsets[i]:offsets[i + 1]].

    Returns
    -------
    ids : (m, n) uint32
    counts : (m,) int64
    distinct : how many n-grams there are
    Cost: a random read per token, 32 bytes of memory for a distinct n-gram.
    """
    check_n(n)
    if offsets.shape[0] < 1 or offsets[0] < 0 or offsets[offsets.shape[0] - 1] > tokens.shape[0]:
        raise ValueError("the offsets do not fit the tokens")
    cdef Py_ssize_t i
    for i in range(1, offsets.shape[0]):
        if offsets[i] < offsets[i - 1]:
            raise ValueError("offsets must ascend")
    cdef unique_ptr[CHashed] table
    cdef const uint32_t* first = &tokens[0] if tokens.shape[0] > 0 else NULL
    cdef vector[HashedEntry] found
    cdef Poll poll = current_poll()
    table.reset(new CHashed(first, <uint32_t>n))
    with nogil:
        for i in range(offsets.shape[0] - 1):
            table.get().add(offsets[i], offsets[i + 1], &poll)
        found = table.get().best(k, &poll)
    counts = np.empty(found.size(), dtype=np.int64)
    places = np.empty(found.size(), dtype=np.int64)
    cdef int64_t[::1] count_view = counts
    cdef int64_t[::1] place_view = places
    cdef size_t j
    for j in range(found.size()):
        count_view[j] = found[j].count
        place_view[j] = found[j].place - 1
    require_memory_for(found.size(), n)
    ids = np.asarray(tokens)[places[:, None] + np.arange(n)]
    return ids, counts, table.get().distinct()
