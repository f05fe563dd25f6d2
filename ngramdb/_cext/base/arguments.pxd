# cython: language_level=3
"""Reading arguments and making arrays, for the kernels that take n-grams."""

from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from ngramdb._cext.segment.segment cimport Run

# An n-gram of at most this many tokens is read into a buffer on the stack.
cdef enum:
    STACK_IDS = 256

# The id of a word that is out of vocabulary, which matches nothing.
cdef enum:
    UNKNOWN_ID = -1


cdef class Ids:
    cdef int64_t small[STACK_IDS]
    cdef vector[int64_t] large
    cdef object array
    cdef const int64_t* data
    cdef uint32_t n


cdef int64_t as_id(object item) except? -2
cdef int fill_ids(object ids, int64_t* small, vector[int64_t]& large, const int64_t** data, uint32_t* n) except -1
cdef Ids read_ids(object ids)
cdef object int64_array(object values)
cdef object id_array(object values, int64_t least)
cdef object checked_offsets(object offsets, Py_ssize_t n_flat)
cdef object vector_to_array(vector[uint32_t]& values)
cdef tuple runs_to_arrays(const vector[Run]& runs)
