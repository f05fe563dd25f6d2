# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# distutils: language = c++
"""Byte-level decoding: a token is a fixed string of bytes, a text the concatenation of its tokens' strings."""

from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy
from libcpp.vector cimport vector

from cpython.bytes cimport (
    PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE,
)

import numpy as np


cdef class PieceTable:
    """The bytes of every token id: flat[offsets[id]:offsets[id + 1]]. Ids without a token have no bytes."""

    cdef const uint8_t[::1] _flat
    cdef const int64_t[::1] _offsets
    cdef readonly Py_ssize_t n_tokens

    def __cinit__(self, flat, offsets):
        """Parameters: flat: (m,) uint8; offsets: (n + 1,) int64, ascending from 0 to m. Both are kept, not copied.

        Raises ValueError when the offsets are not so.
        """
        self._flat = flat
        self._offsets = offsets
        self.n_tokens = self._offsets.shape[0] - 1
        ends = np.asarray(offsets)
        if self.n_tokens < 0 or ends[0] != 0 or ends[self.n_tokens] != len(flat) or bool(np.any(np.diff(ends) < 0)):
            raise ValueError("the offsets of the pieces must ascend from 0 to the number of bytes")

    def decode(self, const uint32_t[::1] ids not None):
        """The concatenated bytes of the tokens, or None when an id is not in the table. Cost: O(result)."""
        cdef Py_ssize_t n = ids.shape[0], k
        cdef int64_t size = 0, start, length
        for k in range(n):
            if ids[k] >= <size_t>self.n_tokens:
                return None
            size += self._offsets[ids[k] + <Py_ssize_t>1] - self._offsets[ids[k]]
        text = PyBytes_FromStringAndSize(NULL, size)
        if size == 0:
            return text
        cdef char* target = PyBytes_AS_STRING(text)
        with nogil:
            for k in range(n):
                start = self._offsets[ids[k]]
                length = self._offsets[ids[k] + <Py_ssize_t>1] - start
                if length > 0:
                    memcpy(target, &self._flat[start], length)
                    target += length
        return text

    def decode_each(self, const uint32_t[::1] ids not None, const int64_t[::1] offsets not None):
        """Decode ids[offsets[k]:offsets[k + 1]] for each k.

        Parameters: ids: (m,) uint32; offsets: (n + 1,) int64, ascending from 0 to m.
        Returns: `decode(ids)`, and (n + 1,) int64 offsets of the n parts in it; None if an id is not in the
        table.
        Raises ValueError for other offsets. Cost: O(result).
        """
        cdef Py_ssize_t n = offsets.shape[0] - 1, k
        cdef int64_t i, size = 0
        if n < 0 or offsets[0] != 0 or offsets[n] != ids.shape[0]:
            raise ValueError("the offsets must ascend from 0 to the number of ids")
        for k in range(n):
            if offsets[k] > offsets[k + 1]:
                raise ValueError("the offsets must ascend from 0 to the number of ids")
        text = self.decode(ids)
        if text is None:
            return None
        starts = np.zeros(n + 1, dtype=np.int64)
        cdef int64_t[::1] view = starts
        for k in range(n):
            for i in range(offsets[k], offsets[k + 1]):
                size += self._offsets[ids[i] + <Py_ssize_t>1] - self._offsets[ids[i]]
            view[k + 1] = size
        return text, starts

    def reproduces(self, texts, const uint32_t[::1] ids not None, const int64_t[::1] offsets not None):
        """Which texts equal the concatenation of their tokens.

        Parameters: texts: n bytes objects; ids: (m,) uint32; offsets: (n + 1,) int64, ascending within 0..m.
        Returns: (n,) bool.
        Raises TypeError when a text is not bytes; ValueError when the offsets are not so.
        Cost: O(bytes + tokens). The GIL is released.
        """
        cdef tuple kept = tuple(texts)  # keeps the bytes alive while the GIL is released
        cdef Py_ssize_t n = len(kept), k
        cdef vector[const uint8_t*] starts
        cdef vector[int64_t] sizes
        if offsets.shape[0] != n + 1 or offsets[0] < 0 or offsets[n] > ids.shape[0]:
            raise ValueError("the offsets do not fit the texts and ids")
        for k in range(n):
            text = kept[k]
            if not PyBytes_CheckExact(text):
                raise TypeError(f"a text must be bytes, not {type(text).__name__}")
            if offsets[k] > offsets[k + 1]:
                raise ValueError("the offsets descend")
            starts.push_back(<const uint8_t*>PyBytes_AS_STRING(text))
            sizes.push_back(PyBytes_GET_SIZE(text))
        result = np.zeros(n, dtype=np.bool_)
        cdef uint8_t[::1] flags = result.view(np.uint8)
        with nogil:
            for k in range(n):
                flags[k] = self._is_text(ids, offsets[k], offsets[k + 1], starts[k], sizes[k])
        return result

    cdef bint _is_text(
        self, const uint32_t[::1] ids, int64_t start, int64_t stop, const uint8_t* text, int64_t size
    ) noexcept nogil:
        """Return True if the tokens ids[start:stop] concatenate to the text of this size."""
        cdef int64_t at = 0, piece, length, k
        for k in range(start, stop):
            if ids[k] >= <size_t>self.n_tokens:
                return False
            piece = self._offsets[ids[k]]
            length = self._offsets[ids[k] + <Py_ssize_t>1] - piece
            if length > size - at:
                return False
            if length > 0 and memcmp(text + at, &self._flat[piece], length) != 0:
                return False
            at += length
        return at == size


def gather(lists):
    """Many lists of ints as one array: ((m,) uint32, offsets (n + 1,) int64).

    `lists` may be a generator: each list is copied and dropped before the next is requested, so that its ints' memory
    is reused at once (three times faster than to make all the lists first). About 4 ns per int beside the lists.
    Raises OverflowError when an int is not in 0..2**32-1; TypeError for other objects.
    """
    cdef vector[uint32_t] gathered
    cdef vector[int64_t] ends
    cdef list ids
    ends.push_back(0)
    for ids in lists:
        for number in ids:
            gathered.push_back(<uint32_t>number)
        ends.push_back(<int64_t>gathered.size())
    flat = np.empty(gathered.size(), dtype=np.uint32)
    offsets = np.empty(ends.size(), dtype=np.int64)
    cdef uint32_t[::1] flat_view = flat
    cdef int64_t[::1] offsets_view = offsets
    if gathered.size() > 0:
        memcpy(&flat_view[0], gathered.data(), gathered.size() * sizeof(uint32_t))
    memcpy(&offsets_view[0], ends.data(), ends.size() * sizeof(int64_t))
    return flat, offsets
