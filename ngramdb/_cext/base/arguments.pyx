# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, binding=False
"""Token ids and offsets as they are given from Python, checked, and arrays made of answers.

Token ids are int64 in arrays; -1, or an id that a segment lacks, matches nothing, and anything else outside
0 … 2^32 - 1 is refused.
"""

import operator

import numpy as np

cimport numpy as cnp
from cpython.bool cimport PyBool_Check
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_Check, PyLong_CheckExact
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport Poll, current_poll

cnp.import_array()

cdef extern from "ngramdb/base/integers.hpp" namespace "ngramdb":
    cbool small_int(object, int64_t*)

# The largest token id.
cdef extern from *:
    """
    static const int64_t kMaxTokenId = 4294967295;
    """
    const int64_t MAX_TOKEN_ID "kMaxTokenId"

# Ids that are checked together.
cdef enum:
    ID_CHUNK = 4096

# Offsets that are checked between two interrupt checks.
cdef enum:
    OFFSETS_CHUNK = 1048576


cdef class Ids:
    """Token ids of one n-gram, read from any sequence of integers; the buffer lives as long as the object."""


cdef int64_t as_id(object item) except? -2:
    if PyBool_Check(item):  # an int to Python, and never meant as one
        raise TypeError("a token id must be an integer, not a truth value")
    if not PyLong_Check(item):
        if isinstance(item, np.bool_):  # the same to numpy before 2.3
            raise TypeError("a token id must be an integer, not a truth value")
        item = operator.index(item)
    cdef int overflow = 0
    cdef int64_t value = PyLong_AsLongLongAndOverflow(item, &overflow)
    if overflow != 0:
        raise ValueError(f"token id {item} is outside 0 … {MAX_TOKEN_ID}")
    if not is_id(value, UNKNOWN_ID):
        refuse_id(value)
    return value


cdef inline bint is_id(int64_t value, int64_t least) noexcept nogil:
    """Return True if the value is one of least … 2^32 - 1: one comparison."""
    return <uint64_t>(value - least) <= <uint64_t>(MAX_TOKEN_ID - least)


cdef int refuse_id(int64_t value) except -1:
    raise ValueError(f"token id {value} is outside 0 … {MAX_TOKEN_ID}")


cdef int check_ids(const int64_t* ids, size_t n, int64_t least) except -1:
    """Reject an array that contains an invalid token id. Runs at memory speed if all ids are 0 or more."""
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
    """Read a list or tuple of integers into `small` if it fits, else into `large`."""
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
    cdef int64_t length
    if not isinstance(ids, np.ndarray) and type(ids) is not list and type(ids) is not tuple:
        ids = tuple(ids)
    if isinstance(ids, np.ndarray):
        answer.array = id_array(ids, UNKNOWN_ID)
        length = cnp.PyArray_DIM(<cnp.ndarray>answer.array, 0)
        if length >= 2**32 - 2:
            raise ValueError(f"an n-gram has at most {2**32 - 3} tokens, got {length}")
        answer.n = <uint32_t>length
        answer.data = <const int64_t*>cnp.PyArray_DATA(<cnp.ndarray>answer.array)
    else:
        fill_ids(ids, answer.small, answer.large, &answer.data, &answer.n)
    return answer


cdef object int64_array(object values):
    """A contiguous one-dimensional int64 array of integers; copied only if necessary, and no value wraps around."""
    # Asking numpy from Python costs more than a count.
    if (
        cnp.PyArray_CheckExact(values)
        and cnp.PyArray_TYPE(<cnp.ndarray>values) == cnp.NPY_INT64
        and cnp.PyArray_NDIM(<cnp.ndarray>values) == 1
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>values)
    ):
        return values
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
    cdef cnp.ndarray ids = <cnp.ndarray>array
    check_ids(<const int64_t*>cnp.PyArray_DATA(ids), cnp.PyArray_DIM(ids, 0), least)
    return array


def pack_lists(list ngrams not None):
    """n-grams that are lists or tuples of ints, as flat ids (m,) int64 and offsets (n + 1,) int64.

    None if one is something else, or contains something that is not an int from -1 to 2^32 - 1: the caller then
    goes through them to name the first. Cost: about 5 ns per id.
    """
    cdef Py_ssize_t n = len(ngrams), i
    cdef void* ids_data
    cdef void* ends_data
    cdef int64_t total = 0
    ends = new_array(n + 1, cnp.NPY_INT64, &ends_data)
    cdef int64_t* offsets = <int64_t*>ends_data
    offsets[0] = 0
    for i in range(n):
        ngram = ngrams[i]
        if type(ngram) is not list and type(ngram) is not tuple:
            return None
        total += len(ngram)
        offsets[i + 1] = total
    ids = new_array(total, cnp.NPY_INT64, &ids_data)
    cdef int64_t* target = <int64_t*>ids_data
    # Nothing here runs the code of others, so that no list changes its length on the way.
    for i in range(n):
        ngram = ngrams[i]
        if type(ngram) is list:
            for item in <list>ngram:
                if not read_int(item, target):
                    return None
                target += 1
        else:
            for item in <tuple>ngram:
                if not read_int(item, target):
                    return None
                target += 1
    return ids, ends


cdef inline bint read_int(object item, int64_t* value) noexcept:
    """Read a token id, or -1, that is an int and of no class below it; False for anything else."""
    cdef int overflow = 0
    if not small_int(item, value):
        if not PyLong_CheckExact(item):
            return False
        value[0] = PyLong_AsLongLongAndOverflow(item, &overflow)
    return overflow == 0 and is_id(value[0], UNKNOWN_ID)


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
                if i % OFFSETS_CHUNK == 0:
                    poll.check()
                fits = fits and view[i - 1] <= view[i]
                longest = max(longest, view[i] - view[i - 1])
    if not fits:
        raise ValueError(f"offsets must ascend from 0 or more to at most {n_flat}, the number of ids")
    if longest >= 2**32 - 2:
        raise ValueError(f"an n-gram or document has at most {2**32 - 3} tokens")
    return offsets


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
