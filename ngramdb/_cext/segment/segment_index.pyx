# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, binding=False
"""Questions to one segment.

`SegmentIndex` is a segment of any kind, `SuffixIndex` one of the native kind. Single questions keep the GIL (they
take about a microsecond); batches, and questions that take long, release it and can be stopped
(`ngramdb.interrupts`).
"""

import numpy as np

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

from ngramdb._cext.base.arguments cimport (
    Ids, STACK_IDS, UNKNOWN_ID, checked_offsets, fill_ids, id_array, read_ids, vector_to_array,
)
from ngramdb._cext.base.checksums cimport Checksums, FileChecksums
from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception
from ngramdb._cext.segment.segment cimport (
    Breaks, EmptySegment, Position, Range, Request, Segment, Span, fits_narrow, positions_in, positions_out,
)
from ngramdb._cext.segment.segment_arrays cimport (FarIndex, LongKey, Rows, SegmentArrays, kMostLcpWidth, n_far_keys, set_arrays,
                                                   symbol_t)

cnp.import_array()

cdef extern from "<algorithm>" namespace "std" nogil:
    uint32_t* unique_end "std::unique"(uint32_t*, uint32_t*)

cdef extern from "ngramdb/base/position_sort.hpp" namespace "ngramdb" nogil:
    void sort_positions(uint32_t*, size_t, Poll*) except +translate_exception

cdef extern from "ngramdb/segment/key_tree.hpp" namespace "ngramdb" nogil:
    uint64_t tree_words(uint64_t)
    uint64_t n_samples_of(uint64_t)

cdef extern from "ngramdb/segment/segment_arrays.hpp" namespace "ngramdb" nogil:
    Segment* new_suffix_segment[Sym](const SegmentArrays[Sym]&, string) except +translate_exception

cdef extern from "ngramdb/corpus/conditions.hpp" namespace "ngramdb" nogil:
    cdef cppclass DocumentSet:
        vector[uint32_t] documents
        cbool negated

    cdef cppclass ConditionCosts:
        double locate
        double scan
        double sift
        uint64_t few

    cdef cppclass ConditionStep:
        uint32_t gram
        cbool scanned
        uint64_t n_candidates

    DocumentSet documents_where(const Segment&, const int32_t*, size_t, const Request*, size_t, const ConditionCosts&,
                                vector[ConditionStep]*, Poll*) except +translate_exception
    void locate_among(const Segment&, Range, const uint32_t*, size_t, cbool, vector[uint32_t]&,
                      Poll*) except +translate_exception

cdef extern from "ngramdb/corpus/conditions.hpp" namespace "ngramdb":
    int kGram, kNot, kAnd, kAndOrdered, kOr, kEvery

# The operators of conditions by their names in `ngramdb.source.ConditionCode`.
CONDITION_CODES = {"GRAM": kGram, "NOT": kNot, "AND": kAnd, "AND_ORDERED": kAndOrdered, "OR": kOr, "EVERY": kEvery}

# Rows that are copied, and n-grams that are searched, between two interrupt checks: a few milliseconds of work.
cdef enum:
    POSITIONS_CHUNK = 1048576
    SEARCH_CHUNK = 1024


cdef class SegmentIndex:
    """One immutable segment, whatever its layout: what a kind of segment answers in C++ (segment.hpp), checked.

    A kind is a subclass that passes its segment to `adopt` when it is created; this class alone is a segment without
    documents. Positions are `position_type`: uint32 if the text is short enough for that, else uint64. Rows are
    in suffix order, by token ids, or (`in_token_order` is False) in another order of the kind. If `is_nested` is
    False, rows that a search finds have numbers beyond `n_tokens`, and are not among those of shorter n-grams.
    """

    def __cinit__(self, *args, **kwargs):
        self.adopt(new EmptySegment(), "")

    cdef void adopt(self, Segment* segment, str name) noexcept:
        self.owned.reset(segment)
        self.segment = segment
        self.name = name
        self.n_tokens = segment.n_rows()
        self.n_documents = segment.n_documents()
        self.n_positions = segment.n_positions()
        self.is_narrow = fits_narrow(self.n_positions)
        self.position_type = np.uint32 if self.is_narrow else np.uint64
        self.in_token_order = segment.in_token_order()
        self.is_nested = segment.is_nested()

    cdef int check_rows(self, int64_t lo, int64_t hi) except -1:
        cdef Range rows
        rows.lo = <uint64_t>lo
        rows.hi = <uint64_t>hi
        if lo < 0 or hi < 0 or not self.segment.has_rows(rows):
            raise IndexError(f"rows [{lo}, {hi}) are not within the segment's {self.n_tokens}")
        return 0

    cdef int check_document(self, int64_t document) except -1:
        if not 0 <= document < <int64_t>self.n_documents:
            raise IndexError(f"document {document} is not within the segment's {self.n_documents}")
        return 0

    cdef Range rows_of(self, Ids ids) except *:
        cdef Request request
        cdef Range answer
        request.ids = ids.data
        request.n = ids.n
        self.segment.find(&request, &answer, 1)
        return answer

    cdef object positions_of(self, object values):
        """Positions as a contiguous array of the segment's width."""
        values = np.asarray(values)
        if values.size == 0:
            values = values.astype(self.position_type)
        if values.ndim != 1 or values.dtype != self.position_type:
            raise ValueError(
                f"expected a one-dimensional array of {np.dtype(self.position_type)}, got {values.dtype} in "
                f"{values.ndim} dimensions"
            )
        return np.ascontiguousarray(values)

    def find(self, ids):
        """Half-open range (lo, hi) of the rows that begin with the n-gram."""
        cdef Range answer = self.rows_of(read_ids(ids))
        return answer.lo, answer.hi

    def find_ends(self, ids):
        """Half-open range (lo, hi) of the rows that begin with the n-gram and whose documents end after it."""
        cdef Ids ngram = read_ids(ids)
        cdef Range rows = self.rows_of(ngram)
        if rows.lo < rows.hi:
            rows = self.segment.narrow(rows, ngram.n, -1)
        return rows.lo, rows.hi

    def positions(self, int64_t lo, int64_t hi):
        """Token positions in the segment of rows [lo, hi), in suffix order: (hi - lo,) `position_type`."""
        self.check_rows(lo, hi)
        out = np.empty(hi - lo, dtype=self.position_type)
        cdef char* data = <char*>cnp.PyArray_DATA(<cnp.ndarray>out)
        cdef size_t width = out.itemsize
        cdef Range rows
        cdef Poll poll = current_poll()
        cdef int64_t base = lo
        with nogil:
            while base < hi:
                rows.lo = base
                base = min(base + POSITIONS_CHUNK, hi)
                rows.hi = base
                self.segment.positions(rows, positions_out(data + width * (rows.lo - lo), self.is_narrow))
                poll.check(base - lo, hi - lo)
        return out

    def ranges(self, flat, offsets):
        """The rows that begin with each of the n-grams flat[offsets[i]:offsets[i + 1]]: (2, n) uint64, `lo` and `hi`.

        Raises ValueError, TypeError for arrays of the wrong kind. Cost: 0.1-0.3 µs an n-gram, as searches are
        interleaved.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef size_t base = 0, m, i
        cdef Poll poll = current_poll()
        cdef vector[Request] requests
        bounds = np.empty((2, n), dtype=np.uint64)
        cdef uint64_t[:, ::1] bound_view = bounds
        cdef vector[Range] ranges
        requests.resize(SEARCH_CHUNK)
        ranges.resize(SEARCH_CHUNK)
        with nogil:
            while base < n:
                m = min(<size_t>SEARCH_CHUNK, n - base)
                for i in range(m):
                    requests[i].ids = &flat_view[0] + offset_view[base + i] if flat_view.shape[0] > 0 else NULL
                    requests[i].n = <uint32_t>(offset_view[base + i + 1] - offset_view[base + i])
                self.segment.find(requests.data(), ranges.data(), m)
                for i in range(m):
                    bound_view[0, base + i] = ranges[i].lo
                    bound_view[1, base + i] = ranges[i].hi
                base += m
                poll.check(base, n)
        return bounds

    def places(self, flat, offsets):
        """Token positions at which any of the n-grams flat[offsets[i]:offsets[i + 1]] begins: (k,) `position_type`,
        ascending, each once.

        Raises as `ranges`. Cost: as `ranges`, and a read and a part of sorting for each occurrence.
        """
        bounds = self.ranges(flat, offsets)
        cdef size_t m, i, total = 0
        cdef Poll poll = current_poll()
        los, his = bounds[:, bounds[0] < bounds[1]]
        order = np.lexsort((~his, los))  # of those with the same first row, the shortest n-gram has the rows of all
        los, first = np.unique(los[order], return_index=True)
        his = his[order][first]
        cdef const uint64_t[::1] lo_view = los
        cdef const uint64_t[::1] hi_view = his
        m = lo_view.shape[0]
        out = np.empty(int((his - los).sum(dtype=np.int64)), dtype=self.position_type)
        cdef char* data = <char*>cnp.PyArray_DATA(<cnp.ndarray>out)
        cdef size_t width = out.itemsize
        cdef Range rows
        with nogil:
            for i in range(m):
                rows.lo = lo_view[i]
                rows.hi = hi_view[i]
                self.segment.positions(rows, positions_out(data + width * total, self.is_narrow))
                total += rows.hi - rows.lo
                if i % SEARCH_CHUNK == 0:
                    poll.check(i, m)
        # Rows of an n-gram may be among those of a shorter one that begin further up.
        if not self.is_narrow:
            return np.unique(out)
        cdef uint32_t* found = <uint32_t*>data
        if m > 0:
            with nogil:
                sort_positions(found, total, &poll)
                total = unique_end(found, found + total) - found
        return out[:total]

    def docs_of(self, int64_t lo, int64_t hi):
        """Return the local numbers of the documents that contain rows [lo, hi): (k,) uint32, ascending, each once."""
        self.check_rows(lo, hi)
        cdef Range rows
        cdef vector[uint32_t] out
        cdef Poll poll = current_poll()
        rows.lo = lo
        rows.hi = hi
        if hi > lo:
            with nogil:
                self.segment.documents_of(rows, out, &poll)
        return vector_to_array(out)

    def docs_containing(self, ids):
        """Local numbers of the documents that contain the n-gram (all of them for the empty one): (k,) uint32."""
        cdef Ids ngram = read_ids(ids)
        if ngram.n == 0:
            return np.arange(self.n_documents, dtype=np.uint32)
        cdef Range rows = self.rows_of(ngram)
        return self.docs_of(rows.lo, rows.hi)

    def first_docs_containing(self, ids, uint64_t most):
        """The first `most` of these documents."""
        cdef Ids ngram = read_ids(ids)
        if ngram.n == 0:
            return np.arange(min(most, self.n_documents), dtype=np.uint32)
        cdef Range rows = self.rows_of(ngram)
        cdef vector[uint32_t] out
        cdef Poll poll = current_poll()
        if rows.hi > rows.lo:
            with nogil:
                self.segment.first_documents(rows, most, out, &poll)
        return vector_to_array(out)

    def filter_docs(self, docs, ids):
        """Those of the documents (k,) uint32 that contain the n-gram, found by reading them."""
        cdef Ids ngram = read_ids(ids)
        docs = np.ascontiguousarray(docs, dtype=np.uint32)
        cdef const uint32_t[::1] candidates = docs
        cdef vector[uint32_t] out
        cdef size_t n = candidates.shape[0]
        cdef Poll poll = current_poll()
        if n == 0:
            return np.empty(0, dtype=np.uint32)
        self.check_document(int(np.max(docs)))
        with nogil:
            self.segment.filter_documents(&candidates[0], n, ngram.data, ngram.n, out, &poll)
        return vector_to_array(out)

    def docs_among(self, int64_t lo, int64_t hi, docs, bint few):
        """Return those of the documents (k,) uint32, ascending, that contain rows [lo, hi); `few`: see conditions.hpp."""
        self.check_rows(lo, hi)
        docs = np.ascontiguousarray(docs, dtype=np.uint32)
        cdef const uint32_t[::1] candidates = docs
        cdef vector[uint32_t] out
        cdef size_t n = candidates.shape[0]
        cdef Range rows
        cdef Poll poll = current_poll()
        rows.lo = lo
        rows.hi = hi
        if n == 0 or lo == hi:
            return np.empty(0, dtype=np.uint32)
        self.check_document(int(np.max(docs)))
        with nogil:
            locate_among(self.segment[0], rows, &candidates[0], n, few, out, &poll)
        return vector_to_array(out)

    def docs_where(self, list code, list grams, tuple costs, list trace=None):
        """The documents that meet a condition on plain n-grams: local numbers, (k,) uint32, ascending, and whether
        they are those that do not.

        Parameters
        ----------
        code : the condition in prefix order, as conditions.hpp reads it
        grams : its n-grams, in their order
        costs : of locating an occurrence, of reading a token (inf: documents are not read), of locating an
            occurrence among few candidates; few are at most one document of that many
        trace : takes (n-gram, whether documents were read for it, among how many) for every choice, in order

        Raises
        ------
        ValueError : the code is not a condition
        """
        cdef vector[int32_t] steps
        cdef vector[int64_t] flat
        cdef vector[int64_t] large
        cdef vector[Request] requests
        cdef vector[size_t] offsets
        cdef int64_t small[STACK_IDS]
        cdef const int64_t* data
        cdef uint32_t n
        cdef size_t i
        cdef Request request
        cdef DocumentSet found
        cdef Ids ngram
        cdef ConditionCosts weighed
        cdef vector[ConditionStep] made
        cdef vector[ConditionStep]* record = NULL
        cdef Poll poll = current_poll()
        weighed.locate, weighed.scan, weighed.sift, weighed.few = costs
        if trace is not None:
            record = &made
        if weighed.few == 0:
            raise ValueError("few must be at least 1, not 0")
        for step in code:
            steps.push_back(<int32_t>step)
        for ids in grams:
            if type(ids) is list or type(ids) is tuple:
                fill_ids(ids, small, large, &data, &n)
            else:
                ngram = read_ids(ids)
                data = ngram.data
                n = ngram.n
            request.n = n
            requests.push_back(request)
            offsets.push_back(flat.size())
            flat.insert(flat.end(), data, data + n)
        for i in range(requests.size()):
            requests[i].ids = flat.data() + offsets[i]
        with nogil:
            found = documents_where(self.segment[0], steps.data(), steps.size(), requests.data(), requests.size(),
                                    weighed, record, &poll)
        if trace is not None:
            for i in range(made.size()):
                trace.append((made[i].gram, made[i].scanned, made[i].n_candidates))
        return vector_to_array(found.documents), found.negated

    def document_length(self, int64_t document):
        """Number of tokens of one document."""
        self.check_document(document)
        return self.segment.document_length(<uint32_t>document)

    def document(self, int64_t document):
        """Token ids of one document: (length,) uint32."""
        self.check_document(document)
        out = np.empty(self.segment.document_length(<uint32_t>document), dtype=np.uint32)
        cdef uint32_t[::1] view = out
        if out.size:
            self.segment.document_tokens(<uint32_t>document, 0, <uint32_t>view.shape[0], &view[0])
        return out

    def scan(self, starts, stops, ids):
        """Return where the n-gram (not the empty one) begins in any of the windows [starts[i], stops[i]), by reading
        them: (k,) `position_type`, as those are, ascending if the windows ascend.

        Cost: about 0.25 ns per token, and 50 ns per window.
        """
        cdef Ids ngram = read_ids(ids)
        starts = self.positions_of(starts)
        stops = self.positions_of(stops)
        cdef size_t n = starts.shape[0]
        cdef vector[Position] found
        cdef Poll poll = current_poll()
        if <size_t>stops.shape[0] != n:
            raise ValueError(f"{starts.shape[0]} starts, but {stops.shape[0]} stops")
        cdef const void* first = cnp.PyArray_DATA(<cnp.ndarray>starts)
        cdef const void* last = cnp.PyArray_DATA(<cnp.ndarray>stops)
        if n > 0 and ngram.n > 0:
            with nogil:
                self.segment.scan_windows(positions_in(first, self.is_narrow), positions_in(last, self.is_narrow), n,
                                          ngram.data, ngram.n, found, &poll)
        return self.as_positions(found)

    def count_by_document(self, int64_t lo, int64_t hi):
        """Return the documents that contain rows [lo, hi), and the number of rows in each: two (k,) uint32 arrays, documents
        ascending.
        """
        self.check_rows(lo, hi)
        cdef Range rows
        cdef vector[uint32_t] documents
        cdef vector[uint32_t] counts
        cdef Poll poll = current_poll()
        rows.lo = lo
        rows.hi = hi
        if hi > lo:
            with nogil:
                self.segment.count_documents(rows, documents, counts, &poll)
        return vector_to_array(documents), vector_to_array(counts)

    def document_bounds(self, docs):
        """Token positions at which documents (k,) uint32 start and stop: two (k,) `position_type` arrays.

        Their differences are the documents' numbers of tokens only if no break lies between them.
        """
        docs = np.ascontiguousarray(docs, dtype=np.uint32)
        cdef const uint32_t[::1] numbers = docs
        cdef size_t n = numbers.shape[0]
        starts = np.empty(n, dtype=self.position_type)
        stops = np.empty(n, dtype=self.position_type)
        cdef void* first = cnp.PyArray_DATA(<cnp.ndarray>starts)
        cdef void* last = cnp.PyArray_DATA(<cnp.ndarray>stops)
        if n > 0:
            self.check_document(int(np.max(docs)))
            with nogil:
                self.segment.document_bounds(&numbers[0], n, positions_out(first, self.is_narrow),
                                             positions_out(last, self.is_narrow))
        return starts, stops

    def piece_bounds(self, positions):
        """Token positions between which no break lies, around each of (k,) positions: the first and one after the last,
        two (k,) `position_type` arrays.

        These are the bounds of documents without breaks. A position is that of a token, or the end of its piece. Raises
        IndexError, and costs, as `documents_at`; a binary search more for each position if the segment has breaks.
        """
        cdef Position[::1] start_view, stop_view
        cdef const Position[::1] place_view
        cdef Span piece
        cdef size_t i, n
        starts, stops = self.document_bounds(self.documents_at(positions))
        if self.segment.breaks().n == 0:
            return starts, stops
        # Only segments with narrow positions have breaks.
        starts, stops = starts.astype(np.uint64), stops.astype(np.uint64)
        start_view, stop_view = starts, stops
        place_view = np.asarray(positions).astype(np.uint64)
        n = place_view.shape[0]
        with nogil:
            for i in range(n):
                piece.start, piece.stop = start_view[i], stop_view[i]
                piece = self.segment.piece_at(place_view[i], piece)
                start_view[i], stop_view[i] = piece.start, piece.stop
        return starts.astype(self.position_type), stops.astype(self.position_type)

    def break_positions(self):
        """Return the positions of breaks (`segments.base.Breaks`) of all documents: (b,) uint32, ascending."""
        cdef Breaks breaks = self.segment.breaks()
        out = np.empty(breaks.n, dtype=np.uint32)
        cdef uint32_t[::1] view = out
        if breaks.n > 0:
            memcpy(&view[0], breaks.at, breaks.n * sizeof(uint32_t))
        return out

    def documents_at(self, positions):
        """Return the documents that contain token positions: (k,) uint32; `places_at` without the offsets."""
        return self.places_at(positions)[0]

    def places_at(self, positions):
        """Return the documents that contain token positions, and the number of tokens before them there: two (k,) uint32.

        A position is that of a token, or of the end after it. Raises IndexError for positions beyond the text.
        Cost: a few ns per position if they ascend; the first call builds a map of the documents.
        """
        positions = self.positions_of(positions)
        cdef size_t n = positions.shape[0]
        cdef const void* data = cnp.PyArray_DATA(<cnp.ndarray>positions)
        documents = np.empty(n, dtype=np.uint32)
        before = np.empty(n, dtype=np.uint32)
        cdef uint32_t[::1] numbers = documents
        cdef uint32_t[::1] offsets = before
        if n > 0:
            if np.max(positions) >= self.n_positions:
                raise IndexError(f"position {np.max(positions)} is not within the segment's text")
            with nogil:
                self.segment.documents_at(positions_in(data, self.is_narrow), n, &numbers[0], &offsets[0])
        return documents, before

    def document_tokens(self, int64_t document, int64_t start, int64_t stop):
        """Tokens [start, stop) of one document, cut to what it has: (k,) uint32. Cost: that of the tokens asked for."""
        self.check_document(document)
        stop = min(stop, <int64_t>self.segment.document_length(<uint32_t>document))
        start = min(max(start, 0), max(stop, 0))
        out = np.empty(max(stop - start, 0), dtype=np.uint32)
        cdef uint32_t[::1] view = out
        if out.size:
            self.segment.document_tokens(<uint32_t>document, <uint32_t>start, <uint32_t>stop, &view[0])
        return out

    def tokens_at(self, positions, int64_t ahead):
        """The tokens `ahead` tokens after positions of the segment (before them, if negative): (n,) int64.

        -1 if the end of a document, or a break, is there; none of them may be in between.
        """
        positions = np.ascontiguousarray(positions, dtype=self.position_type)
        cdef const void* data = cnp.PyArray_DATA(<cnp.ndarray>positions)
        cdef size_t n = positions.shape[0]
        out = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out_view = out
        if n > 0:
            with nogil:
                self.segment.tokens_at(positions_in(data, self.is_narrow), n, ahead, &out_view[0])
        return out

    cdef object as_positions(self, vector[Position]& found):
        """Positions as an array of the segment's width."""
        cdef size_t n = found.size(), i
        out = np.empty(n, dtype=self.position_type)
        cdef uint32_t[::1] narrow
        cdef uint64_t[::1] wide
        if self.is_narrow:
            narrow = out
            for i in range(n):
                narrow[i] = <uint32_t>found[i]
        elif n > 0:
            wide = out
            memcpy(&wide[0], found.data(), sizeof(Position) * n)
        return out


cdef class SuffixIndex(SegmentIndex):
    """A segment in the native layout: its arrays (usually mapped files), kept alive, never written.

    Parameters
    ----------
    tokens : (n_text,) uint8, uint16 or uint32 : stored symbols, each document followed by a separator (0), with one
        at each break
    suffix_array : (n_text - n_documents - n_breaks,) uint32
    tree, rest : the directory, as `construction.key_directory` makes it
    doc_starts : (n_documents + 1,) uint32 : where documents start; the last entry is n_text
    gap : the id that the segment lacks, see FORMAT.md, "Tokens"
    name : the file, to be named in errors
    lcp_width : how many of the upper bits of a row hold its LCP, see FORMAT.md, "Suffix array"
    checksums : those of the file that holds all arrays: what is read is verified first, block by block
    most_verified : bytes of the suffix array, and of the tokens, that are verified; of larger ones, only
        pointers beyond their ends are noticed
    far : (keys, lcps, stride), the far index, as `construction.far_index` builds it: if rows have no bits for LCPs,
        searches use its far LCPs. The first searches in a remote file use all of it; otherwise keys may be None
    breaks : (n_breaks,) uint32 : positions of separators within documents, ascending, none beside another

    Raises
    ------
    ValueError : the arrays' sizes contradict each other
    """

    def __cinit__(self, tokens, suffix_array, tree, rest, doc_starts, uint64_t gap, str name="",
                  uint32_t lcp_width=0, FileChecksums checksums=None, uint64_t most_verified=0, far=None,
                  const uint32_t[::1] breaks=None):
        cdef Breaks broken
        if breaks is not None and breaks.shape[0] > 0:
            broken.at = &breaks[0]
            broken.n = breaks.shape[0]
            if breaks[0] == 0 or breaks[broken.n - 1] >= tokens.shape[0] or (np.diff(breaks) - 1 >= 2**31).any():
                raise ValueError(f"{name}: the breaks do not ascend within the {tokens.shape[0]} symbols")
        cdef uint64_t n_text = tokens.shape[0]
        cdef uint64_t n_rows = suffix_array.shape[0]
        cdef uint64_t n_documents = doc_starts.shape[0] - 1 if doc_starts.shape[0] else 0
        cdef uint64_t n_separators = n_documents + broken.n
        if doc_starts.shape[0] == 0 or n_rows + n_separators != n_text:
            raise ValueError(f"{name}: {n_text} symbols are not {n_rows} tokens and {n_separators} separators")
        if <uint64_t>tree.shape[0] != tree_words(n_rows) or <uint64_t>rest.shape[0] != n_samples_of(n_rows):
            raise ValueError(f"{name}: the directory is not that of {n_rows} rows")
        # Those of a remote file may not be present: then they are checked when they are used.
        is_here = checksums is None or checksums.source is None
        if is_here and (doc_starts[0] != 0 or doc_starts[n_documents] != n_text):
            raise ValueError(f"{name}: document starts do not span the {n_text} symbols")
        if gap >> min(8 * tokens.dtype.itemsize, 32):
            raise ValueError(f"{name}: the gap {gap} is not an id of type {tokens.dtype}")
        if lcp_width > kMostLcpWidth or n_text > <uint64_t>1 << (32 - lcp_width):
            raise ValueError(f"{name}: positions of {n_text} symbols leave no {lcp_width} bits free")
        self.arrays = (tokens, suffix_array, tree, rest, doc_starts, checksums, far, breaks)  # kept alive
        cdef FarIndex far_index
        if far is not None and n_rows > 0:
            far_index = far_of(far[0], far[1], far[2], n_rows, name)
        cdef Checksums* sums = checksums.sums.get() if checksums is not None else NULL
        width = tokens.dtype.itemsize
        if width == 1:
            self.adopt(attach[uint8_t](tokens, suffix_array, tree, rest, doc_starts, gap, lcp_width, name, sums,
                                       most_verified, far_index, broken), name)
        elif width == 2:
            self.adopt(attach[uint16_t](tokens, suffix_array, tree, rest, doc_starts, gap, lcp_width, name, sums,
                                        most_verified, far_index, broken), name)
        else:
            self.adopt(attach[uint32_t](tokens, suffix_array, tree, rest, doc_starts, gap, lcp_width, name, sums,
                                        most_verified, far_index, broken), name)


cdef FarIndex far_of(const uint64_t[::1] keys, const uint8_t[::1] lcps, uint64_t stride, uint64_t n_rows, str name) except *:
    cdef FarIndex far
    if stride == 0 or <uint64_t>lcps.shape[0] != n_rows:
        raise ValueError(f"{name}: the far index is not that of {n_rows} rows")
    if keys is not None:
        if <uint64_t>keys.shape[0] != 4 * n_far_keys(n_rows, stride):
            raise ValueError(f"{name}: the far index is not that of {n_rows} rows")
        far.keys = <const LongKey*>&keys[0]
    far.lcps = &lcps[0]
    far.stride = stride
    return far


cdef Segment* attach(const symbol_t[::1] tokens, const uint32_t[::1] rows, const uint64_t[::1] tree,
                     const uint64_t[::1] rest, const uint32_t[::1] starts, uint64_t gap, uint32_t lcp_width,
                     str name, Checksums* checksums, uint64_t most_verified, const FarIndex& far,
                     const Breaks& breaks) except NULL:
    cdef SegmentArrays[symbol_t] a
    set_arrays(a, tokens, rows, tree, rest, starts, gap, lcp_width)
    if a.n_rows > 0:
        a.rows = Rows(&rows[0], lcp_width, far.lcps)
    a.checksums = checksums
    a.most_verified = most_verified
    a.far = far
    a.breaks = breaks
    return new_suffix_segment(a, name.encode("utf-8", "backslashreplace"))
