# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Questions to segments: one at a time, and by the million.

`SegmentIndex` is one segment's arrays; `Index` sums over several with a sign each. Token ids are int64 in
arrays; a negative id, or one that a segment has not, matches nothing. Single questions keep the GIL (they take about
a microsecond), batches release it and look for signals now and then.
"""

import operator

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_AsLongLong, PyLong_Check
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector


cdef extern from "<atomic>" namespace "std" nogil:
    cdef cppclass atomic_bool "std::atomic<bool>":
        pass

cdef extern from "errors.hpp" namespace "ngramdb":
    void translate_exception()

cdef extern from "integers.hpp" namespace "ngramdb":
    cbool small_int(object, int64_t*)

cdef extern from "key_tree.hpp" namespace "ngramdb" nogil:
    uint64_t tree_words(uint64_t)
    uint64_t n_samples_of(uint64_t)

cdef extern from "segment.hpp" namespace "ngramdb" nogil:
    cdef cppclass Range:
        uint32_t lo
        uint32_t hi

    cdef cppclass Request:
        const int64_t* ids
        uint32_t n

    cdef cppclass Segment:
        uint64_t n_rows()
        uint64_t n_documents()
        void find(const Request*, Range*, size_t) except +translate_exception
        void positions(Range, uint32_t*) except +translate_exception
        void documents_of(Range, vector[uint32_t]&, const atomic_bool*) except +translate_exception
        void filter_documents(const uint32_t*, size_t, const int64_t*, uint32_t, vector[uint32_t]&, const atomic_bool*) except +translate_exception
        uint32_t document_length(uint32_t) except +translate_exception
        void document(uint32_t, uint32_t*) except +translate_exception

cdef extern from "suffix_segment.hpp" namespace "ngramdb" nogil:
    cdef cppclass SegmentArrays[Sym]:
        const Sym* text
        uint64_t n_text
        const uint32_t* rows
        uint64_t n_rows
        const uint64_t* tree
        const uint64_t* rest
        const uint32_t* starts
        uint64_t n_documents
        uint64_t gap

    cdef cppclass SuffixSegment[Sym](Segment):
        SuffixSegment(const SegmentArrays[Sym]&, string) except +translate_exception

cdef extern from "corpus_index.hpp" namespace "ngramdb" nogil:
    cdef cppclass Estimate:
        int64_t cont_count
        int64_t context_count
        int32_t effective_n
        cbool sparse

    cdef cppclass Distribution:
        vector[uint32_t] ids
        vector[int64_t] counts
        int64_t n_ends
        int64_t context_count
        uint32_t context_length

    cdef cppclass CorpusIndex:
        CorpusIndex() except +
        void add(const Segment*, int) except +
        int64_t n_tokens()
        int64_t count(const int64_t*, uint32_t) except +translate_exception
        void count_many(const int64_t*, const int64_t*, size_t, int64_t*) except +translate_exception
        void estimate(const int64_t*, const int64_t*, const int64_t*, size_t, cbool, uint32_t, Estimate*) except +translate_exception
        void score(const int64_t*, size_t, cbool, uint32_t, Estimate*) except +translate_exception
        Distribution distribution(const int64_t*, uint32_t, cbool, uint32_t, const atomic_bool*) except +translate_exception


# An n-gram of up to so many tokens is read into a buffer on the stack.
cdef enum:
    STACK_IDS = 256

# Between two looks for signals in a batch: a few milliseconds of work.
cdef enum:
    CHUNK = 16384

# Layout of the C++ struct Estimate.
ESTIMATE = np.dtype(
    {
        "names": ["cont_count", "context_count", "effective_n", "sparse"],
        "formats": ["<i8", "<i8", "<i4", "?"],
        "offsets": [0, 8, 16, 20],
        "itemsize": sizeof(Estimate),
    }
)


cdef class Ids:
    """Token ids of one n-gram, read from any sequence of integers; the buffer lives as long as the object."""

    cdef int64_t small[STACK_IDS]
    cdef vector[int64_t] large
    cdef const int64_t[::1] view
    cdef const int64_t* data
    cdef uint32_t n


cdef int64_t as_id(object item) except? -2:
    if not PyLong_Check(item):
        item = operator.index(item)
    return PyLong_AsLongLong(item)


cdef int fill_ids(object ids, int64_t* small, vector[int64_t]& large, const int64_t** data, uint32_t* n) except -1:
    """Reads a list or tuple of integers into `small` where it fits, else into `large`."""
    cdef Py_ssize_t length = len(ids)
    cdef Py_ssize_t i
    cdef int64_t* target = small
    if length > STACK_IDS:
        if length >= 2**32 - 2:
            raise ValueError(f"an n-gram has at most {2**32 - 3} tokens, got {length}")
        large.resize(length)
        target = large.data()
    if type(ids) is list:
        for i in range(length):
            item = (<list>ids)[i]
            if small_int(item, &target[i]):
                continue
            if not PyLong_Check(item):
                # A foreign __index__ may run any code, also such as shortens the list.
                return fill_ids(tuple(ids), small, large, data, n)
            target[i] = as_id(item)
    else:
        for i in range(length):
            item = (<tuple>ids)[i]
            if not small_int(item, &target[i]):
                target[i] = as_id(item)
    data[0] = target
    n[0] = <uint32_t>length
    return 0


cdef object as_sequence(object ids):
    """A list or tuple as it is; anything else as a contiguous int64 array."""
    if type(ids) is list or type(ids) is tuple:
        return ids
    if not isinstance(ids, np.ndarray):
        return tuple(ids)
    return ids


cdef Ids read_ids(object ids):
    cdef Ids answer = Ids.__new__(Ids)
    ids = as_sequence(ids)
    if isinstance(ids, np.ndarray):
        answer.view = int64_array(ids)
        if answer.view.shape[0] >= 2**32 - 2:
            raise ValueError(f"an n-gram has at most {2**32 - 3} tokens, got {answer.view.shape[0]}")
        answer.n = <uint32_t>answer.view.shape[0]
        answer.data = &answer.view[0] if answer.n > 0 else NULL
    else:
        fill_ids(ids, answer.small, answer.large, &answer.data, &answer.n)
    return answer


cdef object int64_array(object values):
    """A contiguous one-dimensional int64 array of integers; copies only where it must."""
    values = np.asarray(values)
    if values.size == 0:
        values = values.astype(np.int64)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"expected a one-dimensional array of integers, got {values.dtype} in {values.ndim} dimensions")
    if values.dtype == np.uint64 and values.size and values.max() > 2**63 - 1:
        raise ValueError("a token id is at most 4294967295")
    return np.ascontiguousarray(values, dtype=np.int64)


cdef object checked_offsets(object offsets, Py_ssize_t n_flat):
    offsets = int64_array(offsets)
    if offsets.size == 0 or offsets[0] < 0 or offsets[offsets.size - 1] > n_flat or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"offsets must ascend from 0 or more to at most {n_flat}, the number of ids")
    if n_flat >= 2**32 - 2 and np.diff(offsets).max(initial=0) >= 2**32 - 2:
        raise ValueError(f"an n-gram or document has at most {2**32 - 3} tokens")
    return offsets


cdef tuple columns_of(object estimates):
    """The four columns of an ESTIMATE array, each contiguous."""
    return tuple(np.ascontiguousarray(estimates[name]) for name in ESTIMATE.names)


cdef object vector_to_array(vector[uint32_t]& values):
    out = np.empty(values.size(), dtype=np.uint32)
    cdef uint32_t[::1] view = out
    if values.size() > 0:
        memcpy(&view[0], values.data(), sizeof(uint32_t) * values.size())
    return out


cdef class SegmentIndex:
    """One immutable segment: its arrays (usually mapped files), kept alive, never written.

    Parameters
        tokens : (n_text,) uint8, uint16 or uint32 : stored symbols, each document followed by a separator (0)
        suffix_array : (n_text - n_documents,) uint32
        tree, rest : the directory, as `construction.key_directory` makes it
        doc_starts : (n_documents + 1,) uint32 : where documents start; the last entry is n_text
        gap : the id that the segment has not, see FORMAT.md, "Tokens"
        name : the file, to be named in errors

    Raises
        ValueError : the arrays' sizes contradict each other
    """

    cdef Segment* segment
    cdef readonly object arrays
    cdef readonly str name
    cdef readonly uint64_t n_tokens
    cdef readonly uint64_t n_documents

    def __cinit__(self, tokens, suffix_array, tree, rest, doc_starts, uint64_t gap, str name=""):
        cdef uint64_t n_text = tokens.shape[0]
        cdef uint64_t n_rows = suffix_array.shape[0]
        cdef uint64_t n_documents = doc_starts.shape[0] - 1 if doc_starts.shape[0] else 0
        if doc_starts.shape[0] == 0 or n_rows + n_documents != n_text:
            raise ValueError(f"{name}: {n_text} symbols are not {n_rows} tokens and {n_documents} separators")
        if <uint64_t>tree.shape[0] != tree_words(n_rows) or <uint64_t>rest.shape[0] != n_samples_of(n_rows):
            raise ValueError(f"{name}: the directory is not that of {n_rows} rows")
        if doc_starts[0] != 0 or doc_starts[n_documents] != n_text:
            raise ValueError(f"{name}: document starts do not span the {n_text} symbols")
        if gap >> min(8 * tokens.dtype.itemsize, 32):
            raise ValueError(f"{name}: the gap {gap} is no id of {tokens.dtype}")
        self.arrays = (tokens, suffix_array, tree, rest, doc_starts)
        self.name = name
        self.n_tokens = n_rows
        self.n_documents = n_documents
        width = tokens.dtype.itemsize
        if width == 1:
            self.segment = attach[uint8_t](tokens, suffix_array, tree, rest, doc_starts, gap, name)
        elif width == 2:
            self.segment = attach[uint16_t](tokens, suffix_array, tree, rest, doc_starts, gap, name)
        else:
            self.segment = attach[uint32_t](tokens, suffix_array, tree, rest, doc_starts, gap, name)

    def __dealloc__(self):
        del self.segment

    cdef int check_rows(self, int64_t lo, int64_t hi) except -1:
        if not 0 <= lo <= hi <= <int64_t>self.n_tokens:
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

    def find(self, ids):
        """Half-open range (lo, hi) of the rows that begin with the n-gram."""
        cdef Range answer = self.rows_of(read_ids(ids))
        return answer.lo, answer.hi

    def positions(self, int64_t lo, int64_t hi):
        """Token positions in the segment of rows [lo, hi), in suffix order: (hi - lo,) uint32."""
        self.check_rows(lo, hi)
        out = np.empty(hi - lo, dtype=np.uint32)
        cdef uint32_t[::1] view = out
        cdef Range rows
        rows.lo = <uint32_t>lo
        rows.hi = <uint32_t>hi
        if hi > lo:
            with nogil:
                self.segment.positions(rows, &view[0])
        return out

    def docs_of(self, int64_t lo, int64_t hi):
        """Local numbers of the documents that rows [lo, hi) stand in: (k,) uint32, ascending, each once."""
        self.check_rows(lo, hi)
        cdef Range rows
        cdef vector[uint32_t] out
        rows.lo = <uint32_t>lo
        rows.hi = <uint32_t>hi
        if hi > lo:
            with nogil:
                self.segment.documents_of(rows, out, NULL)
        return vector_to_array(out)

    def docs_containing(self, ids):
        """Local numbers of the documents that contain the n-gram (all of them for the empty one): (k,) uint32."""
        cdef Ids ngram = read_ids(ids)
        if ngram.n == 0:
            return np.arange(self.n_documents, dtype=np.uint32)
        cdef Range rows = self.rows_of(ngram)
        return self.docs_of(rows.lo, rows.hi)

    def filter_docs(self, docs, ids):
        """Those of the documents (k,) uint32 that contain the n-gram, found by reading them."""
        cdef Ids ngram = read_ids(ids)
        docs = np.ascontiguousarray(docs, dtype=np.uint32)
        cdef const uint32_t[::1] candidates = docs
        cdef vector[uint32_t] out
        cdef size_t n = candidates.shape[0]
        if n == 0:
            return np.empty(0, dtype=np.uint32)
        self.check_document(int(np.max(docs)))
        with nogil:
            self.segment.filter_documents(&candidates[0], n, ngram.data, ngram.n, out, NULL)
        return vector_to_array(out)

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
            self.segment.document(<uint32_t>document, &view[0])
        return out


ctypedef fused symbol_t:
    uint8_t
    uint16_t
    uint32_t


cdef Segment* attach(const symbol_t[::1] tokens, const uint32_t[::1] rows, const uint64_t[::1] tree,
                     const uint64_t[::1] rest, const uint32_t[::1] starts, uint64_t gap, str name) except NULL:
    cdef SegmentArrays[symbol_t] a
    a.n_text = tokens.shape[0]
    a.n_rows = rows.shape[0]
    a.n_documents = starts.shape[0] - 1
    a.text = &tokens[0] if a.n_text > 0 else NULL
    a.rows = &rows[0] if a.n_rows > 0 else NULL
    a.tree = &tree[0] if tree.shape[0] > 0 else NULL
    a.rest = &rest[0] if rest.shape[0] > 0 else NULL
    a.starts = &starts[0]
    a.gap = gap
    return new SuffixSegment[symbol_t](a, name.encode("utf-8", "backslashreplace"))


cdef class Index:
    """A sum of segments, each with a sign: +1 added, -1 subtracted. Every answer is net.

    `order` is 0, or the largest number of tokens in an n-gram (contexts are cut to the last order - 1).
    """

    cdef CorpusIndex index
    cdef readonly tuple segments
    cdef readonly tuple signs

    def __cinit__(self, segments, signs):
        if len(segments) != len(signs):
            raise ValueError(f"{len(segments)} segments, but {len(signs)} signs")
        self.segments = tuple(segments)
        self.signs = tuple(signs)
        for segment, sign in zip(self.segments, self.signs):
            if sign not in (1, -1):
                raise ValueError(f"a sign is 1 or -1, got {sign}")
            self.index.add((<SegmentIndex?>segment).segment, sign)

    @property
    def n_tokens(self):
        """Net number of tokens, separators not counted."""
        return self.index.n_tokens()

    def count(self, ids, /):
        """Net number of occurrences; of the empty n-gram, the number of tokens.

        Cost: a search a segment, about a microsecond each; no memory.
        """
        cdef int64_t small[STACK_IDS]
        cdef vector[int64_t] large
        cdef const int64_t* data
        cdef uint32_t n
        cdef Ids ngram
        if type(ids) is list or type(ids) is tuple:
            fill_ids(ids, small, large, &data, &n)
            return self.index.count(data, n)
        ngram = read_ids(ids)
        return self.index.count(ngram.data, ngram.n)

    def count_many(self, flat, offsets):
        """Counts of n-grams flat[offsets[i]:offsets[i + 1]]: (n,) int64.

        Parameters
            flat : (m,) integers; int64 is taken as it is, other widths are copied
            offsets : (n + 1,) integers, ascending

        Raises
            ValueError, TypeError : arrays of the wrong kind

        Cost: searches run interleaved, from 1,024 on also sorted: about 0.1–0.3 µs an n-gram and segment.
        """
        flat = int64_array(flat)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef size_t base = 0
        cdef size_t m
        # A whole batch is sorted at once; larger pieces than for other batches keep the gain of it.
        cdef size_t chunk = 64 * CHUNK
        out = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out_view = out
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else NULL
        while base < n:
            m = min(chunk, n - base)
            with nogil:
                self.index.count_many(ids, &offset_view[base], m, &out_view[base])
            base += m
            PyErr_CheckSignals()
        return out

    def prob(self, context, token, bint infgram=False, uint32_t order=0):
        """What P(token | context) is made of: (cont_count, context_count, effective_n, sparse).

        infgram: the longest suffix of the context that occurs is used instead of the whole.
        Cost: two searches a segment side by side; with infgram two or three rounds of up to eight.
        """
        cdef Ids ids = read_ids(context)
        cdef int64_t last = as_id(token)
        cdef int64_t[2] offsets
        cdef Estimate out
        offsets[0] = 0
        offsets[1] = ids.n
        self.index.estimate(ids.data, offsets, &last, 1, infgram, order, &out)
        return out.cont_count, out.context_count, out.effective_n, out.sparse

    def prob_many(self, flat, offsets, tokens, bint infgram=False, uint32_t order=0):
        """The same for n pairs, as four arrays (n,): cont_count and context_count int64, effective_n int32,
        sparse bool. Contexts are flat[offsets[i]:offsets[i + 1]], tokens (n,) integers.
        """
        flat = int64_array(flat)
        offsets = checked_offsets(offsets, flat.shape[0])
        tokens = int64_array(tokens)
        if tokens.shape[0] != offsets.shape[0] - 1:
            raise ValueError(f"{offsets.shape[0] - 1} contexts, but {tokens.shape[0]} tokens")
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef const int64_t[::1] token_view = tokens
        cdef size_t n = tokens.shape[0]
        cdef size_t base = 0
        cdef size_t m
        out = np.zeros(n, dtype=ESTIMATE)
        cdef uint8_t[::1] out_view = out.view(np.uint8)
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else NULL
        while base < n:
            m = min(<size_t>CHUNK, n - base)
            with nogil:
                self.index.estimate(ids, &offset_view[base], &token_view[base], m, infgram, order,
                                    <Estimate*>&out_view[base * sizeof(Estimate)])
            base += m
            PyErr_CheckSignals()
        return columns_of(out)

    def score(self, flat, offsets, bint infgram=False, uint32_t order=0):
        """Estimates for every token of the documents flat[offsets[i]:offsets[i + 1]], each given the tokens
        before it in its document: the same four arrays, (m,) each, aligned with flat.

        Cost: with infgram a sliding match, about a microsecond a token and segment.
        """
        flat = int64_array(flat)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef size_t i
        cdef size_t since = 0
        cdef int64_t start, stop
        out = np.zeros(flat.shape[0], dtype=ESTIMATE)
        cdef uint8_t[::1] out_view = out.view(np.uint8)
        if flat.shape[0] == 0:
            return columns_of(out)
        with nogil:
            for i in range(n):
                start = offset_view[i]
                stop = offset_view[i + 1]
                if stop > start:
                    self.index.score(&flat_view[start], stop - start, infgram, order,
                                     <Estimate*>&out_view[start * sizeof(Estimate)])
                since += stop - start
                if since > CHUNK:
                    since = 0
                    with gil:
                        PyErr_CheckSignals()
        return columns_of(out)

    def dist(self, context, bint infgram=False, uint32_t order=0):
        """The next tokens of a context, all of them, with net counts.

        Returns
            ids : (k,) uint32, ascending
            counts : (k,) int64, none zero
            n_end : occurrences of the context at the very end of a document
            context_count : all occurrences of the context: counts and n_end together
            context_length : tokens of the context that were used

        Cost: about 2 r log2(c / r) independent reads for r next tokens among c occurrences, never more than c.
        """
        cdef Ids ids = read_ids(context)
        cdef Distribution d
        with nogil:
            d = self.index.distribution(ids.data, ids.n, infgram, order, NULL)
        counts = np.empty(d.counts.size(), dtype=np.int64)
        cdef int64_t[::1] view = counts
        if d.counts.size() > 0:
            memcpy(&view[0], d.counts.data(), sizeof(int64_t) * d.counts.size())
        return vector_to_array(d.ids), counts, d.n_ends, d.context_count, d.context_length
