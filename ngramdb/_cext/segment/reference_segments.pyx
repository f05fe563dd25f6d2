# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Segments that serve to test kinds of segments: `PlainIndex`, the simplest kind, and `DefaultIndex`, any other one
answering by its primitives alone. For the test kit (`ngramdb.segments.testing`); slow.
"""

import numpy as np

from libc.stdint cimport int64_t, uint32_t, uint64_t

from ngramdb._cext.segment.segment cimport Position, Segment
from ngramdb._cext.segment.segment_index cimport SegmentIndex
from ngramdb._cext.base.interrupt cimport translate_exception

cdef extern from "ngramdb/segment/reference_segments.hpp" namespace "ngramdb" nogil:
    cdef cppclass PlainSegment(Segment):
        PlainSegment(const uint32_t*, const int64_t*, size_t, Position) except +translate_exception

    cdef cppclass SegmentByDefaults(Segment):
        SegmentByDefaults(const Segment&) except +translate_exception


cdef class PlainIndex(SegmentIndex):
    """Documents in memory, in plain arrays.

    Parameters
    ----------
    ids, offsets : (m,) and (n + 1,) integers : document d is ids[offsets[d]:offsets[d + 1]]
    first : the position of the first token
    name : to be named in errors

    Raises
    ------
    ValueError : the offsets do not fit the ids
    """

    def __cinit__(self, ids, offsets, uint64_t first=0, str name=""):
        cdef const uint32_t[::1] id_view = np.ascontiguousarray(ids, dtype=np.uint32)
        cdef const int64_t[::1] offset_view = np.ascontiguousarray(offsets, dtype=np.int64)
        cdef size_t n = offset_view.shape[0]
        given = np.asarray(offset_view)
        if n == 0 or given[0] != 0 or given[n - 1] != id_view.shape[0] or (np.diff(given) < 0).any():
            raise ValueError(f"offsets must ascend from 0 to {id_view.shape[0]}, the number of ids")
        cdef const uint32_t* data = &id_view[0] if id_view.shape[0] > 0 else NULL
        self.adopt(new PlainSegment(data, &offset_view[0], n - 1, first), name)


cdef class DefaultIndex(SegmentIndex):
    """The same segment, answering by the defaults of its primitives, whatever its kind overrides."""

    cdef readonly SegmentIndex index

    def __cinit__(self, SegmentIndex index not None):
        self.index = index  # kept alive
        self.adopt(new SegmentByDefaults(index.segment[0]), index.name)
