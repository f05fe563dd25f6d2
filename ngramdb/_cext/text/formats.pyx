# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# distutils: language = c++
"""Numbers and n-grams as text: lists in JSON, and lines of ARPA files."""

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

cdef extern from *:
    """
    #include <charconv>
    // The longest number, -2**63, takes 20 characters.
    template <class Integer> static char* write_decimal(char* at, Integer number) {
        return std::to_chars(at, at + 20, number).ptr;
    }
    """
    char* write_decimal[Integer](char* at, Integer number) nogil

ctypedef fused Number:
    uint32_t
    int64_t
    uint64_t


def json_list(const Number[::1] numbers not None):
    """Return the numbers as a JSON list, formatted as by `json.dumps`: b"[1, 2]".

    Parameters: numbers: (n,) uint32, int64 or uint64.
    Cost: O(n), about 5 ns per number; 22 bytes per number of temporary memory. The GIL is released.
    """
    cdef Py_ssize_t n = numbers.shape[0], k
    cdef vector[char] text
    text.resize(2 + 22 * n)
    cdef char* start = text.data()
    cdef char* at = start
    with nogil:
        at[0] = b"["
        at += 1
        for k in range(n):
            if k > 0:
                at[0] = b","
                at[1] = b" "
                at += 2
            at = write_decimal(at, numbers[k])
        at[0] = b"]"
        at += 1
    return PyBytes_FromStringAndSize(start, at - start)


cdef extern from "ngramdb/lm/arpa_lines.hpp" namespace "ngramdb" nogil:
    cdef struct Names:
        const char* bytes
        const int64_t* starts
        uint64_t size

    uint64_t append_lines(const double*, const double*, const int64_t*, uint64_t, uint64_t, const Names&, uint64_t,
                          size_t, string&, cbool&) except +


cdef class ArpaWords:
    """The words of an ARPA file, by their codes 0 … n - 1."""

    cdef bytes _flat
    cdef const int64_t[::1] _starts
    cdef Names _names

    def __cinit__(self, words):
        """Parameters: words: n strings. Raises UnicodeEncodeError when one is not valid Unicode."""
        encoded = [word.encode() for word in words]
        starts = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in encoded], out=starts[1:])
        self._flat = b"".join(encoded)
        self._starts = starts
        self._names.bytes = <const char*>self._flat
        self._names.starts = &self._starts[0]
        self._names.size = len(encoded)

    def lines(self, const double[::1] probs not None, const double[::1] backoffs, const int64_t[:, ::1] codes not None,
              uint64_t first, size_t limit):
        """The lines of n-grams from number `first` on, until they have `limit` bytes, and at least one.

        Parameters
        ----------
        probs, backoffs : (k,) float64 : logarithms to base 10, rounded to 8 digits after the point; no backoffs: None
        codes : (n, k) int64 : the words of the n-grams, position by position
        first : below k
        limit : in bytes, at least 1

        Returns
        -------
        The lines in UTF-8, and the number of the first n-gram that is left, k at the end.

        Raises
        ------
        ValueError : the arrays have different lengths
        IndexError : a code is not the code of a word, or `first` not the number of an n-gram

        Cost: about 0.1 µs per n-gram. The GIL is released.
        """
        cdef uint64_t n = probs.shape[0], left = first
        cdef const double* weights = NULL
        if codes.shape[1] != probs.shape[0] or (backoffs is not None and backoffs.shape[0] != probs.shape[0]):
            raise ValueError("probabilities, backoffs and codes of an ARPA file have different lengths")
        if first >= n or codes.shape[0] == 0:
            raise IndexError(f"no n-gram {first}; there are {n}")
        if backoffs is not None:
            weights = &backoffs[0]
        cdef string text
        cdef cbool is_known = True
        with nogil:
            left = append_lines(&probs[0], weights, &codes[0, 0], n, codes.shape[0], self._names, first, limit, text,
                                is_known)
        if not is_known:
            raise IndexError(f"n-gram {left} has a code that is not below {self._names.size}")
        return <bytes>text, left
