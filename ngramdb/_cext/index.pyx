# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, binding=False
"""Questions to segments: one at a time, and by the million.

`SegmentIndex` is one segment, of whatever kind; `SuffixIndex` one in our own layout; `Index` sums over several
with a sign each. Token ids are int64 in arrays; -1, or an id that a segment has not, matches nothing, and anything
else outside 0 … 2^32 - 1 is refused. Single questions keep the GIL (they take about
a microsecond); batches, and questions that take long, release it and can be stopped (`ngramdb.interrupts`).
"""

import operator

import numpy as np

cimport numpy as cnp
from cpython.bool cimport PyBool_Check
from cpython.long cimport PyLong_AsLongLong, PyLong_Check
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector


from ngramdb._cext.interrupt cimport Poll, current_poll, translate_exception
from ngramdb._cext.segment_arrays cimport SegmentArrays, kMostLcpWidth, set_arrays, symbol_t

cnp.import_array()

cdef extern from "integers.hpp" namespace "ngramdb":
    cbool small_int(object, int64_t*)

cdef extern from "key_tree.hpp" namespace "ngramdb" nogil:
    uint64_t tree_words(uint64_t)
    uint64_t n_samples_of(uint64_t)

cdef extern from "suffix_segment.hpp" namespace "ngramdb" nogil:
    cdef cppclass SuffixSegment[Sym](Segment):
        SuffixSegment(const SegmentArrays[Sym]&, string) except +translate_exception

cdef extern from "conditions.hpp" namespace "ngramdb" nogil:
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

cdef extern from "conditions.hpp" namespace "ngramdb":
    int kGram, kNot, kAnd, kAndOrdered, kOr, kEvery

# The operators of conditions by their names in `ngramdb.planner.source.ConditionCode`.
CONDITION_CODES = {"GRAM": kGram, "NOT": kNot, "AND": kAnd, "AND_ORDERED": kAndOrdered, "OR": kOr, "EVERY": kEvery}


# The largest token id; the id of a word that is out of vocabulary, which matches nothing.
cdef extern from *:
    """
    static const int64_t kMaxTokenId = 4294967295, kUnknownId = -1;
    """
    const int64_t MAX_TOKEN_ID "kMaxTokenId"
    const int64_t UNKNOWN_ID "kUnknownId"

# Ids that are checked together.
cdef enum:
    ID_CHUNK = 4096

# n-grams that are sorted together, and so looked up in one piece: the more, the more neighbours share cache lines.
cdef enum:
    COUNT_CHUNK = 1048576

# Occurrences that a distribution is made of in a millisecond or less: giving the GIL away, and looking at the stop flag,
# would take a good part of the usual time.
cdef enum:
    MOST_AT_ONCE = 65536

# Between two looks at the stop flag, a few milliseconds of work: tokens that are scored, rows that are copied.
cdef enum:
    SCORE_CHUNK = 4096
    POSITIONS_CHUNK = 1048576
    SEARCH_CHUNK = 1024

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


cdef int64_t as_id(object item) except? -2:
    if PyBool_Check(item):  # an int to Python, and never meant as one
        raise TypeError("a token id is an integer, not a truth value")
    if not PyLong_Check(item):
        if isinstance(item, np.bool_):  # the same to numpy before 2.3
            raise TypeError("a token id is an integer, not a truth value")
        item = operator.index(item)
    cdef int64_t value = PyLong_AsLongLong(item)
    if not is_id(value, UNKNOWN_ID):
        refuse_id(value)
    return value


cdef inline bint is_id(int64_t value, int64_t least) noexcept nogil:
    """Whether it is one of least … 2^32 - 1: one comparison."""
    return <uint64_t>(value - least) <= <uint64_t>(MAX_TOKEN_ID - least)


cdef int refuse_id(int64_t value) except -1:
    raise ValueError(f"token id {value} is outside 0 … {MAX_TOKEN_ID}")


cdef int check_ids(const int64_t[::1] ids, int64_t least) except -1:
    """Refuses an array that holds something that is not a token id: at memory speed, where all are 0 or more."""
    cdef size_t n = ids.shape[0]
    cdef size_t i = 0, stop
    cdef uint64_t bits
    with nogil:
        while i < n:
            stop = min(n, i + ID_CHUNK)
            bits = 0
            for j in range(i, stop):
                bits |= <uint64_t>ids[j]
            if bits > <uint64_t>MAX_TOKEN_ID:  # one is negative, or too large
                while i < stop and is_id(ids[i], least):
                    i += 1
                if i < stop:
                    break
            i = stop
    if i < n:
        refuse_id(ids[i])
    return 0


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
            if small_int(item, &target[i]) and target[i] >= UNKNOWN_ID:
                continue
            if not PyLong_Check(item):
                # A foreign __index__ may run any code, also such as shortens the list.
                return fill_ids(tuple(ids), small, large, data, n)
            target[i] = as_id(item)
    else:
        for i in range(length):
            item = (<tuple>ids)[i]
            if not small_int(item, &target[i]) or target[i] < UNKNOWN_ID:
                target[i] = as_id(item)
    data[0] = target
    n[0] = <uint32_t>length
    return 0


cdef Ids read_ids(object ids):
    cdef Ids answer = Ids.__new__(Ids)
    if not isinstance(ids, np.ndarray) and type(ids) is not list and type(ids) is not tuple:
        ids = tuple(ids)
    if isinstance(ids, np.ndarray):
        answer.view = id_array(ids, UNKNOWN_ID)
        if answer.view.shape[0] >= 2**32 - 2:
            raise ValueError(f"an n-gram has at most {2**32 - 3} tokens, got {answer.view.shape[0]}")
        answer.n = <uint32_t>answer.view.shape[0]
        answer.data = &answer.view[0] if answer.n > 0 else NULL
    else:
        fill_ids(ids, answer.small, answer.large, &answer.data, &answer.n)
    return answer


cdef object int64_array(object values):
    """A contiguous one-dimensional int64 array of integers; copies only where it must, and no value wraps around."""
    values = np.asarray(values)
    if values.size == 0:
        values = values.astype(np.int64)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"expected a one-dimensional array of integers, got {values.dtype} in {values.ndim} dimensions")
    if values.dtype == np.uint64 and values.size and values.max() > 2**63 - 1:
        raise ValueError(f"expected integers below 2**63, got {values.max()}")
    return np.ascontiguousarray(values, dtype=np.int64)


cdef object id_array(object values, int64_t least):
    """Token ids from `least` to 2^32 - 1 as a contiguous one-dimensional int64 array."""
    array = int64_array(values)
    check_ids(array, least)
    return array


cdef object checked_offsets(object offsets, Py_ssize_t n_flat):
    offsets = int64_array(offsets)
    cdef const int64_t[::1] view = offsets
    cdef size_t n = view.shape[0]
    cdef size_t i
    cdef int64_t longest = 0
    cdef bint fits = n > 0 and view[0] >= 0 and view[n - 1] <= n_flat
    cdef Poll poll = current_poll()
    if fits:
        with nogil:
            for i in range(1, n):
                if i % POSITIONS_CHUNK == 0:
                    poll.check()
                fits = fits and view[i - 1] <= view[i]
                longest = max(longest, view[i] - view[i - 1])
    if not fits:
        raise ValueError(f"offsets must ascend from 0 or more to at most {n_flat}, the number of ids")
    if longest >= 2**32 - 2:
        raise ValueError(f"an n-gram or document has at most {2**32 - 3} tokens")
    return offsets


cdef tuple columns_of(object estimates):
    """The four columns of an ESTIMATE array, each contiguous."""
    return tuple(np.ascontiguousarray(estimates[name]) for name in ESTIMATE.names)


cdef object new_array(size_t n, int dtype, void** data):
    """A new array of n elements, by numpy's own interface in C: for short answers, what is done in Python counts."""
    cdef cnp.npy_intp length = n
    out = cnp.PyArray_SimpleNew(1, &length, dtype)
    data[0] = cnp.PyArray_DATA(<cnp.ndarray>out)
    return out


cdef object vector_to_array(vector[uint32_t]& values):
    cdef void* data
    out = new_array(values.size(), cnp.NPY_UINT32, &data)
    if values.size() > 0:
        memcpy(data, values.data(), sizeof(uint32_t) * values.size())
    return out


cdef tuple runs_to_arrays(const vector[Run]& runs):
    """Ids (n,) uint32 and counts (n,) int64."""
    cdef size_t n = runs.size()
    cdef size_t i
    cdef void* ids_data
    cdef void* counts_data
    ids = new_array(n, cnp.NPY_UINT32, &ids_data)
    counts = new_array(n, cnp.NPY_INT64, &counts_data)
    cdef uint32_t* ids_out = <uint32_t*>ids_data
    cdef int64_t* counts_out = <int64_t*>counts_data
    with nogil:
        for i in range(n):
            ids_out[i] = <uint32_t>runs[i].id
            counts_out[i] = runs[i].count
    return ids, counts


cdef class SegmentIndex:
    """One immutable segment, whatever its layout: what a kind of segment answers in C++ (segment.hpp), checked.

    A kind is a class below this one that gives its segment to `adopt` when it is made; by itself this is a segment of
    no documents. Positions are `position_type`: uint32 where the text is short enough for that, else uint64.
    """

    def __cinit__(self, *args, **kwargs):
        self.segment = new EmptySegment()
        self.is_narrow = True
        self.position_type = np.uint32
        self.name = ""

    def __dealloc__(self):
        del self.segment

    cdef void adopt(self, Segment* segment, str name) noexcept:
        del self.segment
        self.segment = segment
        self.name = name
        self.n_tokens = segment.n_rows()
        self.n_documents = segment.n_documents()
        self.n_positions = segment.n_positions()
        self.is_narrow = fits_narrow(self.n_positions)
        self.position_type = np.uint32 if self.is_narrow else np.uint64

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

    def places(self, flat, offsets):
        """Token positions at which any of the n-grams flat[offsets[i]:offsets[i + 1]] begins: (k,) `position_type`,
        ascending.

        Raises ValueError, TypeError for arrays of the wrong kind. Cost: 0.1-0.3 µs an n-gram, as searches are
        interleaved, and a read and a part of sorting for each occurrence.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef size_t base = 0, m, i, total = 0
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
        los, his = bounds[:, bounds[0] < bounds[1]]
        los, first = np.unique(los, return_index=True)  # n-grams of one length have the same rows or none in common
        his = his[first]
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
        return np.unique(out)

    def docs_of(self, int64_t lo, int64_t hi):
        """Local numbers of the documents that rows [lo, hi) stand in: (k,) uint32, ascending, each once."""
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
        """Those of the documents (k,) uint32, ascending, that rows [lo, hi) stand in; `few`: as conditions.hpp says."""
        self.check_rows(lo, hi)
        docs = np.ascontiguousarray(docs, dtype=np.uint32)
        cdef const uint32_t[::1] candidates = docs
        cdef vector[uint32_t] out
        cdef size_t n = candidates.shape[0]
        cdef Range rows
        cdef Poll poll = current_poll()
        rows.lo = <uint32_t>lo
        rows.hi = <uint32_t>hi
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
            code : the condition in prefix order, as conditions.hpp reads it
            grams : its n-grams, in their order
            costs : of locating an occurrence, of reading a token (inf: documents are not read), of locating an
                occurrence among few candidates; few are at most one document of so many
            trace : takes (n-gram, whether documents were read for it, among how many) for every choice, in order

        Raises
            ValueError : the code is no condition
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
            raise ValueError("few candidates are one document of 0")
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
        """Where the n-gram (not the empty one) begins in any of the windows [starts[i], stops[i]), found by reading
        them: (k,) `position_type`, as those are, ascending where the windows ascend.

        Cost: some 0.25 ns a token, and 50 ns a window.
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
        """The documents that rows [lo, hi) stand in, and how many of the rows: two (k,) uint32 arrays, documents
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
        """Token positions at which documents (k,) uint32 start and stop: two (k,) `position_type` arrays."""
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

    def documents_at(self, positions):
        """The documents that token positions stand in: (k,) uint32.

        Cost: a few ns a position where they ascend; the first call makes a map of the documents.
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
        return documents

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
        """The tokens `ahead` tokens behind positions of the segment (before them, if negative): (n,) int64.

        -1 where a document's end lies there. No document's end may lie in between.
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
    """A segment in our own layout: its arrays (usually mapped files), kept alive, never written.

    Parameters
        tokens : (n_text,) uint8, uint16 or uint32 : stored symbols, each document followed by a separator (0)
        suffix_array : (n_text - n_documents,) uint32
        tree, rest : the directory, as `construction.key_directory` makes it
        doc_starts : (n_documents + 1,) uint32 : where documents start; the last entry is n_text
        gap : the id that the segment has not, see FORMAT.md, "Tokens"
        name : the file, to be named in errors
        lcp_width : how many of the upper bits of a row hold its LCP, see FORMAT.md, "Suffix array"

    Raises
        ValueError : the arrays' sizes contradict each other
    """

    def __cinit__(self, tokens, suffix_array, tree, rest, doc_starts, uint64_t gap, str name="",
                  uint32_t lcp_width=0):
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
        if lcp_width > kMostLcpWidth or n_text > <uint64_t>1 << (32 - lcp_width):
            raise ValueError(f"{name}: positions of {n_text} symbols leave no {lcp_width} bits free")
        self.arrays = (tokens, suffix_array, tree, rest, doc_starts)  # kept alive
        width = tokens.dtype.itemsize
        if width == 1:
            self.adopt(attach[uint8_t](tokens, suffix_array, tree, rest, doc_starts, gap, lcp_width, name), name)
        elif width == 2:
            self.adopt(attach[uint16_t](tokens, suffix_array, tree, rest, doc_starts, gap, lcp_width, name), name)
        else:
            self.adopt(attach[uint32_t](tokens, suffix_array, tree, rest, doc_starts, gap, lcp_width, name), name)


cdef Segment* attach(const symbol_t[::1] tokens, const uint32_t[::1] rows, const uint64_t[::1] tree,
                     const uint64_t[::1] rest, const uint32_t[::1] starts, uint64_t gap, uint32_t lcp_width,
                     str name) except NULL:
    cdef SegmentArrays[symbol_t] a
    set_arrays(a, tokens, rows, tree, rest, starts, gap, lcp_width)
    return new SuffixSegment[symbol_t](a, name.encode("utf-8", "backslashreplace"))


cdef class Index:
    """A sum of segments, each with a sign: +1 added, -1 subtracted. Every answer is net.

    `order` is 0, or the largest number of tokens in an n-gram (contexts are cut to the last order - 1).
    """

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

        Cost: searches run interleaved, from 1,024 on also sorted, from 8,192 on by as many threads as there are cores:
        about 0.1–0.3 µs an n-gram and segment.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef size_t base = 0
        cdef size_t m
        cdef Poll poll = current_poll()
        out = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out_view = out
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else NULL
        with nogil:
            while base < n:
                m = min(<size_t>COUNT_CHUNK, n - base)
                self.index.count_many(ids, &offset_view[base], m, &out_view[base], &poll)
                base += m
                poll.check(base, n)
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
        self.index.estimate(ids.data, offsets, &last, 1, infgram, order, &out, NULL)
        return out.cont_count, out.context_count, out.effective_n, out.sparse

    def prob_many(self, flat, offsets, tokens, bint infgram=False, uint32_t order=0):
        """The same for n pairs, as four arrays (n,): cont_count and context_count int64, effective_n int32,
        sparse bool. Contexts are flat[offsets[i]:offsets[i + 1]], tokens (n,) integers.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        tokens = id_array(tokens, UNKNOWN_ID)
        if tokens.shape[0] != offsets.shape[0] - 1:
            raise ValueError(f"{offsets.shape[0] - 1} contexts, but {tokens.shape[0]} tokens")
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef const int64_t[::1] token_view = tokens
        cdef size_t n = tokens.shape[0]
        cdef Poll poll = current_poll()
        out = np.zeros(n, dtype=ESTIMATE)
        cdef uint8_t[::1] out_view = out.view(np.uint8)
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else NULL
        if n > 0:
            with nogil:
                self.index.estimate(ids, &offset_view[0], &token_view[0], n, infgram, order,
                                    <Estimate*>&out_view[0], &poll)
        return columns_of(out)

    def score(self, flat, offsets, bint infgram=False, uint32_t order=0):
        """Estimates for every token of the documents flat[offsets[i]:offsets[i + 1]], each given the tokens
        before it in its document: the same four arrays, (m,) each, aligned with flat.

        Cost: with infgram a sliding match, about a microsecond a token and segment.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef size_t i
        cdef size_t since = 0
        cdef int64_t start, stop
        cdef Poll poll = current_poll()
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
                                     <Estimate*>&out_view[start * sizeof(Estimate)], &poll)
                since += stop - start
                if since > SCORE_CHUNK:
                    since = 0
                    poll.check(stop - offset_view[0], offset_view[n] - offset_view[0])
        return columns_of(out)

    def dist(self, context, bint infgram=False, uint32_t order=0, int64_t most=INT64_MAX):
        """The next tokens of a context, all of them, with net counts; None if it occurs more than `most` times. With
        `most` up to 65,536 the GIL is kept.

        Returns
            ids : (k,) uint32, ascending
            counts : (k,) int64, none zero
            n_end : occurrences of the context at the very end of a document
            context_count : all occurrences of the context: counts and n_end together
            context_length : tokens of the context that were used

        Cost: of r next tokens among c occurrences, some r independent reads and a pass over c numbers; or, where c is
        large, or the context longer than LCPs reach (some 6 tokens), 4 r log2(c / r) reads, never more than c.
        """
        cdef int64_t small[STACK_IDS]
        cdef vector[int64_t] large
        cdef const int64_t* data
        cdef uint32_t n
        cdef Ids ids
        cdef Distribution d
        cdef Poll poll
        if type(context) is list or type(context) is tuple:
            fill_ids(context, small, large, &data, &n)
        else:
            ids = read_ids(context)
            data, n = ids.data, ids.n
        if most <= MOST_AT_ONCE:
            d = self.index.distribution(data, n, infgram, order, most, NULL)
        else:
            poll = current_poll()
            with nogil:
                d = self.index.distribution(data, n, infgram, order, most, &poll)
        if d.is_left_out:
            return None
        next_ids, counts = runs_to_arrays(d.runs)
        return next_ids, counts, d.n_ends, d.context_count, d.context_length

    def dist_many(self, flat, offsets, bint infgram=False, uint32_t order=0):
        """The next tokens of contexts flat[offsets[i]:offsets[i + 1]], those of all behind each other.

        Returns
            run_offsets : (n + 1,) int64, where those of each context begin, and the end
            ids, counts : (m,) uint32 and int64, as `dist` gives them
            n_end, context_count, context_length : (n,) int64, the same

        Cost: searches run interleaved; beyond that, as `dist` without what a call costs. Memory: 16 bytes a next token
        beside the answer.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef vector[Run] runs
        cdef Poll poll = current_poll()
        ends = np.zeros((n, 4), dtype=np.int64)
        cdef int64_t[:, ::1] ends_view = ends
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else NULL
        if n > 0:
            with nogil:
                self.index.distributions(ids, &offset_view[0], n, infgram, order, runs,
                                         <DistributionEnd*>&ends_view[0, 0], &poll)
        next_ids, counts = runs_to_arrays(runs)
        run_offsets = np.zeros(n + 1, dtype=np.int64)
        run_offsets[1:] = ends[:, 0]
        return run_offsets, next_ids, counts, *(np.ascontiguousarray(ends[:, i]) for i in range(1, 4))
