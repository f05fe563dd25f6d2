# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Set algebra on ascending arrays of document numbers: (n,) uint32 in, (k,) uint32 out, inputs untouched.

Arrays must ascend strictly; that is the caller's promise and is not checked. The GIL is released.
"""

import numpy as np

from libc.stdint cimport uint32_t


cdef extern from "ngramdb/corpus/docsets.hpp" namespace "ngramdb" nogil:
    size_t select_common(const uint32_t*, size_t, const uint32_t*, size_t, bint, uint32_t*)
    size_t unite_sorted(const uint32_t*, size_t, const uint32_t*, size_t, uint32_t*)


cdef const uint32_t* address(const uint32_t[::1] values) noexcept nogil:
    return &values[0] if values.shape[0] > 0 else NULL


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
