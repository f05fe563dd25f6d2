# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, binding=False
"""Kinds of segments besides ngramdb's own.

`TableIndex` reads the layouts of other programs: a text with separators, and a table of pointers to its suffixes. The
parts shared with the native kind, and the differences in order, are described in table_segment.hpp and
reversed_table_segment.hpp. `PlainIndex`, the simplest kind, and `DefaultIndex`, any other one that answers by its
primitives alone, serve the test kit (`ngramdb.segments.testing`); they are slow.
"""

import numpy as np

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libcpp cimport bool as cbool
from libcpp.string cimport string

from ngramdb._cext.base.interrupt cimport current_poll, Poll, translate_exception
from ngramdb._cext.segment.segment cimport Position, Segment, TokenId
from ngramdb._cext.segment.segment_index cimport SegmentIndex

cdef extern from "ngramdb/segment/table_arrays.hpp" namespace "ngramdb" nogil:
    cdef cppclass TableArrays:
        const void* text
        uint64_t n_text
        const uint8_t* table
        uint64_t n_table
        uint32_t pointer_bytes
        uint32_t unit
        const uint64_t* offsets
        uint64_t n_documents
        TokenId separator

    cdef cppclass SampledSegment(Segment):
        void sample(uint64_t, uint64_t*, Poll*) except +translate_exception
        void set_keys(const uint64_t*, uint64_t, uint64_t)

    uint64_t table_stride(uint64_t)

cdef extern from "ngramdb/segment/table_arrays.hpp" namespace "ngramdb" nogil:
    SampledSegment* new_table_segment(const TableArrays&, uint32_t, cbool, cbool, string) except +translate_exception


cdef class TableIndex(SegmentIndex):
    """A segment in another program's layout: its arrays (usually mapped files), kept alive, never written.

    Parameters
    ----------
    text : (n,) uint8, uint16 or uint32 : tokens, and separators between documents
    table : (n * pointer_bytes,) uint8 : beginnings of the text's suffixes, sorted; little-endian
    by_bytes : whether tokens are sorted by their bytes in a file, else by their numbers
    in_bytes : whether pointers and offsets count bytes, else tokens
    separator : the id that separates documents, or None
    offsets : (n_documents,) uint64 : positions of the separators that documents begin with, or None if
        separators, if any, end them
    name : the files, to be named in errors
    is_reversed : whether the tokens of each document are stored from the last to the first; these are sorted by bytes,
        and have a separator and offsets

    Raises
    ------
    ValueError : the arrays contradict each other
    CorruptionError : a pointer leads out of the text
    """

    cdef readonly tuple arrays
    cdef readonly uint64_t stride
    cdef SampledSegment* table
    cdef object keys

    def __cinit__(self, text, table, bint by_bytes=True, bint in_bytes=True, separator=None, offsets=None,
                  str name="", bint is_reversed=False):
        cdef TableArrays a
        cdef const uint8_t[::1] bytes_view = text.view(np.uint8)
        cdef const uint8_t[::1] table_view = table
        cdef const uint64_t[::1] offset_view
        cdef uint64_t n_text = text.shape[0], n_table = table.shape[0]
        cdef uint32_t token_bytes = text.dtype.itemsize
        if text.dtype.kind != "u" or token_bytes not in (1, 2, 4):
            raise ValueError(f"{name}: tokens must be unsigned integers of 1, 2 or 4 bytes, not {text.dtype}")
        if n_text == 0 or n_table % n_text or not 1 <= n_table // n_text <= 8:
            raise ValueError(f"{name}: a table of {n_table:,} bytes has no pointers of 1 to 8 bytes to "
                             f"{n_text:,} tokens")
        if separator is not None and (separator < 0 or separator >> 8 * token_bytes):
            raise ValueError(f"{name}: the separator {separator} is not a token of {token_bytes} bytes")
        self.arrays = (text, table, offsets)  # kept alive
        a.text = &bytes_view[0]
        a.n_text = n_text
        a.table = &table_view[0]
        a.n_table = n_text
        a.pointer_bytes = <uint32_t>(n_table // n_text)
        a.unit = token_bytes if in_bytes else 1
        a.separator = -1 if separator is None else separator
        if offsets is not None:
            offset_view = offsets
            a.offsets = &offset_view[0] if offset_view.shape[0] else NULL
            a.n_documents = offset_view.shape[0]
        self.table = new_table_segment(a, token_bytes, by_bytes, is_reversed,
                                       name.encode("utf-8", "backslashreplace"))
        self.adopt(self.table, name)
        self.stride = table_stride(self.n_tokens)

    def sample(self):
        """Return the keys of every `stride`-th row, which searches use: (k,) uint64. Cost: one or two random reads each."""
        cdef uint64_t n = (self.n_tokens + self.stride - 1) // self.stride
        keys = np.empty(n, dtype=np.uint64)
        cdef uint64_t[::1] view = keys
        cdef Poll poll = current_poll()
        if n:
            with nogil:
                self.table.sample(self.stride, &view[0], &poll)
        return keys

    def use_keys(self, keys):
        """Search by these keys, as `sample` has made them, from now on.

        Raises
        ------
        ValueError : they are not as many, or do not ascend: then neither do the rows of the table
        """
        keys = np.ascontiguousarray(keys, dtype=np.uint64)
        if len(keys) != (self.n_tokens + self.stride - 1) // self.stride or (keys[1:] < keys[:-1]).any():
            raise ValueError(f"{self.name}: the sampled rows of its table are not in order")
        self.keys = keys  # kept alive
        cdef const uint64_t[::1] view = keys
        if len(keys):
            self.table.set_keys(&view[0], view.shape[0], self.stride)


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
