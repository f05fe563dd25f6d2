# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# distutils: language = c++
"""Regular expressions over texts. Checked wrapper over expressions.hpp; the GIL is released."""

import numpy as np

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE

from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception

cdef extern from "ngramdb/text/expressions.hpp" namespace "ngramdb::expressions" nogil:
    cdef cppclass CppProgram "ngramdb::expressions::Program":
        CppProgram(
            const int32_t*, size_t, const uint32_t*, size_t, size_t, const uint32_t*, size_t, const uint8_t*, size_t, cbool
        ) except +translate_exception
        size_t n_choices()

    void c_find_all "ngramdb::expressions::find_all"(
        const CppProgram&, const uint8_t*, size_t, vector[int64_t]&, Poll*
    ) except +translate_exception
    cbool c_occurs "ngramdb::expressions::occurs"(
        const CppProgram&, const uint8_t*, size_t, Poll*
    ) except +translate_exception


cdef class TextProgram:
    """A program that searches texts in UTF-8, like `re` with `surrogateescape`. Threads may share it.

    Parameters
    ----------
    steps : (n, 3) int32 : a code and two arguments per step (`ngramdb.patterns.text_programs`)
    ranges : (m, 3) uint32 : the number of a set, and the first and the last code point of a range in it, ascending
    n_sets : the number of sets
    first : (k,) uint32 : the sets that have the first character of each match; none if that can be any
    prefix : the bytes with which each match begins
    empty_inside : `\\B` matches in an empty text
    """

    cdef unique_ptr[CppProgram] core

    def __cinit__(
        self,
        const int32_t[:, ::1] steps not None,
        const uint32_t[:, ::1] ranges not None,
        size_t n_sets,
        const uint32_t[::1] first not None,
        bytes prefix not None,
        bint empty_inside,
    ):
        if steps.shape[1] != 3 or ranges.shape[1] != 3 or not steps.shape[0]:
            raise ValueError("steps and ranges have three columns, and there is a step")
        cdef const uint32_t* range_data = &ranges[0, 0] if ranges.shape[0] else NULL
        cdef const uint32_t* first_data = &first[0] if first.shape[0] else NULL
        self.core.reset(
            new CppProgram(
                &steps[0, 0], steps.shape[0], range_data, ranges.shape[0], n_sets, first_data, first.shape[0],
                <const uint8_t*>PyBytes_AS_STRING(prefix), <size_t>PyBytes_GET_SIZE(prefix), empty_inside,
            )
        )

    def memory_bytes(self, size_t n_bytes):
        """Return the memory that the search of a text takes at least."""
        return self.core.get().n_choices() * (n_bytes + 1) // 8

    def occurs_in(self, bytes text not None):
        """Return True if the text has a match, even an empty one."""
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(text)
        cdef size_t size = <size_t>PyBytes_GET_SIZE(text)
        cdef Poll poll = current_poll()
        cdef cbool found
        with nogil:
            found = c_occurs(self.core.get()[0], data, size, &poll)
        return found

    def spans(self, bytes text not None):
        """Return the matches that are not empty, in bytes: (n, 2) int64."""
        cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(text)
        cdef size_t size = <size_t>PyBytes_GET_SIZE(text)
        cdef Poll poll = current_poll()
        cdef vector[int64_t] spans
        with nogil:
            c_find_all(self.core.get()[0], data, size, spans, &poll)
        found = np.empty((spans.size() // 2, 2), dtype=np.int64)
        cdef int64_t[:, ::1] view = found
        if spans.size():
            memcpy(&view[0, 0], spans.data(), spans.size() * sizeof(int64_t))
        return found
