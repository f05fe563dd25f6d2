# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""A hash table of strings, for joins by keys. Checked wrapper over key_table.hpp; the GIL is released."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.memory cimport unique_ptr

from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception

cdef extern from "ngramdb/corpus/key_table.hpp" namespace "ngramdb" nogil:
    cdef cppclass Strings:
        const int32_t* offsets
        const char* data
        size_t n_bytes
        const uint8_t* valid
        size_t n

    cdef cppclass CppKeyTable "ngramdb::KeyTable":
        CppKeyTable(const Strings&, Poll*) except +translate_exception
        void find(const Strings&, int64_t*, Poll*) except +translate_exception


cdef class KeyTable:
    """A table of strings, in the form of Arrow's arrays, by which the place of each is found.

    Parameters
    ----------
    offsets : (n + 1,) int32 : string i is data[offsets[i]:offsets[i + 1]]
    data : uint8
    valid : (n,) uint8 : 0 for missing strings, which equal none; None if there are no missing ones

    Raises
    ------
    ValueError
        the offsets do not ascend within the data

    Cost: 30 to 100 ns per string. Memory: 16 to 32 bytes per string.
    """

    cdef unique_ptr[CppKeyTable] core
    cdef object kept

    def __cinit__(self, const int32_t[::1] offsets not None, const uint8_t[::1] data not None,
                  const uint8_t[::1] valid=None):
        cdef Strings strings = _strings(offsets, data, valid)
        cdef Poll poll = current_poll()
        cdef CppKeyTable* made
        with nogil:
            made = new CppKeyTable(strings, &poll)
        self.core.reset(made)
        self.kept = (offsets, data, valid)

    def find(self, const int32_t[::1] offsets not None, const uint8_t[::1] data not None, const uint8_t[::1] valid=None):
        """Return the place of the first string of the table that equals each of these, or -1: (n,) int64."""
        cdef Strings strings = _strings(offsets, data, valid)
        cdef Poll poll = current_poll()
        found = np.empty(strings.n, dtype=np.int64)
        cdef int64_t[::1] view = found
        if strings.n > 0:
            with nogil:
                self.core.get().find(strings, &view[0], &poll)
        return found


cdef Strings _strings(const int32_t[::1] offsets, const uint8_t[::1] data, const uint8_t[::1] valid) except *:
    cdef Strings strings
    if offsets.shape[0] < 1 or (valid is not None and valid.shape[0] != offsets.shape[0] - 1):
        raise ValueError(f"{offsets.shape[0]} offsets are not those of strings")
    strings.offsets = &offsets[0]
    strings.data = <const char*>&data[0] if data.shape[0] > 0 else NULL
    strings.n_bytes = data.shape[0]
    strings.valid = &valid[0] if valid is not None and valid.shape[0] > 0 else NULL
    strings.n = offsets.shape[0] - 1
    return strings
