# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Ascending arrays: joins of token positions with windows of the text, sets of documents, and sentences of positions.

Positions, windows and document numbers are uint32; positions ascend, documents ascend strictly, and window i is
[lo[i], hi[i]). The caller promises the order, and it is not checked; without it answers are wrong, but no access is out
of bounds. The GIL is released, and work on positions can be stopped (`ngramdb.interrupts`).
"""

import numpy as np

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport current_poll, Poll, translate_exception

cdef extern from "ngramdb/corpus/joins.hpp" namespace "ngramdb" nogil:
    void c_windows_with "ngramdb::windows_with"(const uint32_t*, size_t, const uint32_t*, const uint32_t*, size_t, uint8_t*, Poll*) except +translate_exception
    void c_values_within "ngramdb::values_within"(const uint32_t*, size_t, const uint32_t*, const uint32_t*, size_t, uint8_t*, Poll*) except +translate_exception
    void c_least_ends "ngramdb::least_ends"(const uint32_t*, const uint32_t*, size_t, const uint32_t*, const uint32_t*, size_t, uint32_t*, Poll*) except +translate_exception
    void c_documents_covered "ngramdb::documents_covered"(const uint32_t*, const uint32_t*, const uint32_t*, size_t, uint32_t, uint64_t, vector[uint32_t]&, Poll*) except +translate_exception

cdef extern from "ngramdb/base/distinct.hpp" namespace "ngramdb" nogil:
    void order_values(const int64_t*, size_t, int64_t*, Poll*) except +translate_exception
    void number_values(const int64_t*, size_t, int64_t*, vector[int64_t]&, Poll*) except +translate_exception

cdef extern from "ngramdb/base/position_sort.hpp" namespace "ngramdb" nogil:
    void c_sort_positions "ngramdb::sort_positions"(uint32_t*, size_t, Poll*) except +translate_exception


cdef const uint32_t* address(const uint32_t[::1] values) noexcept nogil:
    return &values[0] if values.shape[0] > 0 else NULL


cdef int same_length(const uint32_t[::1] a, const uint32_t[::1] b) except -1:
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"arrays must have equal lengths, not {a.shape[0]} and {b.shape[0]}")
    return 0


def windows_with(const uint32_t[::1] values, const uint32_t[::1] lo, const uint32_t[::1] hi):
    """Return for each window whether it contains per value: (n,) bool.

    Cost: O(n + m) for n ascending windows and m values, O(n log(m / n)) where values are many more.
    """
    same_length(lo, hi)
    cdef size_t n = lo.shape[0]
    out = np.empty(n, dtype=np.uint8)
    cdef uint8_t[::1] view = out
    cdef Poll poll = current_poll()
    if n > 0:
        with nogil:
            c_windows_with(address(values), values.shape[0], &lo[0], &hi[0], n, &view[0], &poll)
    return out.view(np.bool_)


def values_within(const uint32_t[::1] values, const uint32_t[::1] lo, const uint32_t[::1] hi):
    """Which values lie in a window: (n,) bool. Windows ascend and don't overlap. Cost as `windows_with`."""
    same_length(lo, hi)
    cdef size_t n = values.shape[0]
    out = np.empty(n, dtype=np.uint8)
    cdef uint8_t[::1] view = out
    cdef Poll poll = current_poll()
    if n > 0:
        with nogil:
            c_values_within(&values[0], n, address(lo), address(hi), lo.shape[0], &view[0], &poll)
    return out.view(np.bool_)


def least_ends(const uint32_t[::1] starts, const uint32_t[::1] ends, const uint32_t[::1] lo, const uint32_t[::1] hi):
    """Return the least end of the matches that start in each window: (n,) uint32, 0 for windows without matches.

    Match i is [starts[i], ends[i]), not empty. Cost: as `windows_with`, and a step for each match that begins
    within the first that was met.
    """
    same_length(starts, ends)
    same_length(lo, hi)
    cdef size_t n = lo.shape[0]
    out = np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] view = out
    cdef Poll poll = current_poll()
    if n > 0:
        with nogil:
            c_least_ends(address(starts), address(ends), starts.shape[0], &lo[0], &hi[0], n, &view[0], &poll)
    return out


def documents_covered(const uint32_t[::1] values, const uint32_t[::1] lists, const uint32_t[::1] documents,
                      uint32_t n_lists, uint64_t distance):
    """Documents with values of all lists that are at most `distance` apart: (k,) uint32, ascending, each once.

    Parameters
    ----------
    values : the values of all lists together
    lists : which list each belongs to, below n_lists
    documents : the document of each occurrence

    Cost: O(n n_lists).
    """
    same_length(values, lists)
    same_length(values, documents)
    cdef size_t n = values.shape[0]
    cdef vector[uint32_t] found
    cdef Poll poll = current_poll()
    if n == 0:
        return np.empty(0, dtype=np.uint32)
    if np.max(lists) >= n_lists:
        raise ValueError(f"list {np.max(lists)} of {n_lists}")
    with nogil:
        c_documents_covered(&values[0], &lists[0], &documents[0], n, n_lists, distance, found, &poll)
    out = np.empty(found.size(), dtype=np.uint32)
    cdef uint32_t[::1] view = out
    if found.size() > 0:
        memcpy(&view[0], found.data(), sizeof(uint32_t) * found.size())
    return out


def sort_positions(uint32_t[::1] values):
    """Sort in place. Cost: linear, and a copy."""
    cdef size_t n = values.shape[0]
    cdef Poll poll = current_poll()
    if n > 0:
        with nogil:
            c_sort_positions(&values[0], n, &poll)


cdef size_t few_enough(const int64_t[::1] values) except? 0:
    if <uint64_t>values.shape[0] >= <uint64_t>1 << 32:
        raise ValueError(f"{values.shape[0]} values at a time are too many")
    return values.shape[0]


def stable_order(const int64_t[::1] values):
    """The places of values in ascending order, those of equal ones ascending: (n,) int64.

    Raises and costs as `distinct`.
    """
    cdef size_t n = few_enough(values)
    places = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] view = places
    cdef Poll poll = current_poll()
    if n > 0:
        with nogil:
            order_values(&values[0], n, &view[0], &poll)
    return places


def distinct(const int64_t[::1] values):
    """Number values by the distinct ones, as `numpy.unique` does, but so that it can be stopped.

    Returns
    -------
    first : (k,) int64 : the first place of each distinct value, in ascending order of values
    numbers : (n,) int64 : which of them each value is

    Raises ValueError for 2**32 values or more.

    Cost: linear; 40 bytes per value.
    """
    cdef size_t n = few_enough(values)
    cdef vector[int64_t] found
    numbers = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] view = numbers
    cdef Poll poll = current_poll()
    if n > 0:
        with nogil:
            number_values(&values[0], n, &view[0], found, &poll)
    first = np.empty(found.size(), dtype=np.int64)
    cdef int64_t[::1] first_view = first
    if found.size() > 0:
        memcpy(&first_view[0], found.data(), sizeof(int64_t) * found.size())
    return first, numbers


cdef extern from "ngramdb/corpus/docsets.hpp" namespace "ngramdb" nogil:
    size_t select_common(const uint32_t*, size_t, const uint32_t*, size_t, bint, uint32_t*)
    size_t unite_sorted(const uint32_t*, size_t, const uint32_t*, size_t, uint32_t*)


cdef object select(const uint32_t[::1] a, const uint32_t[::1] b, bint keep_common):
    out = np.empty(a.shape[0], dtype=np.uint32)
    cdef uint32_t[::1] view = out
    cdef size_t n = 0
    if a.shape[0] > 0:
        with nogil:
            n = select_common(address(a), a.shape[0], address(b), b.shape[0], keep_common, &view[0])
    return out[:n].copy() if 2 * n < a.shape[0] else out[:n]


def intersect(const uint32_t[::1] a, const uint32_t[::1] b):
    """Values in both. Cost: O(s log(l / s + 1)) for a shorter array of s values and a longer one of l."""
    return select(a, b, True) if a.shape[0] <= b.shape[0] else select(b, a, True)


def subtract(const uint32_t[::1] a, const uint32_t[::1] b):
    """Values of a that are not in b. Cost: O(n_a log(n_b / n_a + 1))."""
    return select(a, b, False)


def unite(const uint32_t[::1] a, const uint32_t[::1] b):
    """Values of either, each once. Cost: O(n_a + n_b)."""
    out = np.empty(a.shape[0] + b.shape[0], dtype=np.uint32)
    cdef uint32_t[::1] view = out
    cdef size_t n = 0
    if out.shape[0] > 0:
        with nogil:
            n = unite_sorted(address(a), a.shape[0], address(b), b.shape[0], &view[0])
    return out[:n]


cdef extern from "ngramdb/corpus/sentence_bits.hpp" namespace "ngramdb" nogil:
    cdef cppclass SentenceBits:
        const uint8_t* bytes
        uint64_t n

    void c_sentences_at "ngramdb::sentences_at"(const SentenceBits&, const uint32_t*, size_t, uint32_t*, uint32_t*, Poll*) except +translate_exception


def sentences_at(const uint8_t[::1] bits not None, const uint32_t[::1] positions not None):
    """The sentence of each position, half-open: two (n,) uint32.

    `bits` has a bit per symbol of a segment, the least significant bit of a byte first; it is set at the beginning of a
    sentence and for separators. Cost: a few nanoseconds per position, and one per 8 tokens of its sentence.
    """
    cdef size_t n = positions.shape[0]
    lo, hi = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    cdef uint32_t[::1] lows = lo
    cdef uint32_t[::1] highs = hi
    cdef SentenceBits vector
    vector.n = 8 * <uint64_t>bits.shape[0]
    vector.bytes = &bits[0] if bits.shape[0] > 0 else NULL
    cdef Poll poll = current_poll()
    if n > 0:
        with nogil:
            c_sentences_at(vector, &positions[0], n, &lows[0], &highs[0], &poll)
    return lo, hi
