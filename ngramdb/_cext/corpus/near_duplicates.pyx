# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Near duplicates by shared n-grams. Checked wrapper over near_duplicates.hpp; the GIL is released."""

import numpy as np

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception

cdef extern from "ngramdb/corpus/near_duplicates.hpp" namespace "ngramdb" nogil:
    uint32_t kMostKept, kNoneKept

    cdef cppclass NearOutcome:
        pass

    cdef cppclass CppNearDuplicates "ngramdb::NearDuplicates":
        CppNearDuplicates(uint32_t, double, double, uint32_t, uint32_t) except +translate_exception
        void add(const char*, size_t, cbool, Poll*) except +translate_exception
        const vector[uint64_t]& keys_of(const char*, size_t, cbool, Poll*) except +translate_exception
        vector[uint64_t] all_keys(Poll*) except +translate_exception
        void begin(size_t, size_t, Poll*) except +translate_exception
        void add_given(uint64_t, uint32_t) except +translate_exception
        void load_given(uint32_t, const char*, size_t, cbool, Poll*) except +translate_exception
        uint32_t decide(const uint32_t*, size_t, NearOutcome*, uint8_t*, NearOutcome*, Poll*) except +translate_exception
        size_t n_documents()
        uint32_t size(size_t) except +
        cbool by_characters(size_t)
        size_t n_all_grams()

# Kept documents that are compared with a document at most.
MOST_KEPT = kMostKept


cdef class NearDuplicates:
    """Decides which documents are contained in others that are kept. `add` all documents, `begin`, then `decide`.

    Parameters
    ----------
    n : words of an n-gram, at least 1
    contained : the least share of a document's n-grams that another one must have
    characters : the same for documents that are compared by 5-grams of characters
    bands, rows : candidates have `rows` equal minimal hashes in one of `bands`; 0 bands: a common n-gram

    Memory: 8 bytes per n-gram of a document, and while deciding 56 to 104 per distinct n-gram of kept ones.
    """

    cdef unique_ptr[CppNearDuplicates] core

    def __cinit__(self, uint32_t n, double contained, double characters, uint32_t bands=0, uint32_t rows=0):
        if n < 1 or not 0 < contained <= 1 or not 0 < characters <= 1:
            raise ValueError("n must be at least 1, and shares in (0, 1]")
        if bands and not rows:
            raise ValueError("bands need rows")
        self.core.reset(new CppNearDuplicates(n, contained, characters, bands, rows))

    @property
    def n_grams(self):
        """The number of all documents' distinct n-grams, added up."""
        return self.core.get().n_all_grams()

    def add(self, bytes text not None, bint by_characters):
        """Add a document: words with a blank between them, pieces with a newline between them.

        Without an n-gram of words it is compared by characters. Cost: 10 ns per byte.
        """
        cdef const char* data = text
        cdef size_t size = len(text)
        cdef Poll poll = current_poll()
        with nogil:
            self.core.get().add(data, size, by_characters, &poll)

    def keys_of(self, bytes text not None, bint by_characters):
        """Return the keys of a document that is not added: its distinct n-grams, or its bands: (k,) uint64."""
        cdef const char* data = text
        cdef size_t size = len(text)
        cdef Poll poll = current_poll()
        cdef const vector[uint64_t]* keys
        with nogil:
            keys = &self.core.get().keys_of(data, size, by_characters, &poll)
        return _numbers(keys[0])

    def all_keys(self):
        """Return the keys of all documents that were added: (k,) uint64, ascending."""
        cdef Poll poll = current_poll()
        cdef vector[uint64_t] keys
        with nogil:
            keys = self.core.get().all_keys(&poll)
        return _numbers(keys)

    def begin(self, size_t n_given=0, size_t n_keys=0):
        """Begin to decide, with so many given documents, which are kept in any case, and keys of them."""
        cdef Poll poll = current_poll()
        with nogil:
            self.core.get().begin(n_given, n_keys, &poll)

    def add_given(self, const uint64_t[::1] keys not None, const uint32_t[::1] which not None,
                  const uint32_t[::1] given not None):
        """Add keys of given documents, which ascend for each key.

        which : (m,) : the place in `keys` of a key of each given document
        """
        cdef Py_ssize_t i, n = which.shape[0]
        if given.shape[0] != n or (n > 0 and np.max(which) >= keys.shape[0]):
            raise ValueError("each given document needs a key")
        with nogil:
            for i in range(n):
                self.core.get().add_given(keys[which[i]], given[i])

    def sizes(self):
        """Return the number of n-grams of each document, and whether they are of characters: (n,) uint32, bool."""
        cdef size_t n = self.core.get().n_documents(), i
        sizes, kinds = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint8)
        cdef uint32_t[::1] size_view = sizes
        cdef uint8_t[::1] kind_view = kinds
        for i in range(n):
            size_view[i] = self.core.get().size(i)
            kind_view[i] = self.core.get().by_characters(i)
        return sizes, kinds.view(np.bool_)

    def size_of(self, size_t document):
        """Return the number of n-grams of a document, or of a given one that was loaded. Raises IndexError."""
        return self.core.get().size(document)

    def decide(self, const uint32_t[::1] order not None, bint rejects=False, load=None):
        """Decide on all documents, in this order, after `begin`. Given documents are counted after all others.

        With `rejects`, documents that lack too many n-grams to be contained in any are compared, too. `load` is
        called with the number of a given document, and returns its text and kind, as `add` takes them.

        Returns
        -------
        kept : (n,) int64 : the kept document that contains each document, or -1
        shared : (n,) uint32 : the n-grams that both have
        bounded : (n,) bool : a document was kept after a comparison with some of its candidates only
        rejected, has : (n,) int64, (n,) uint32 : for a document that is kept, the kept one that has most of its
            n-grams among those that it was compared with, or -1, and their number; -1 without `rejects`
        """
        cdef size_t n = self.core.get().n_documents(), size
        if not np.array_equal(np.sort(order), np.arange(n)):
            raise ValueError(f"the order must have each of {n} documents once")
        out, bounded = np.empty((n, 2), dtype=np.uint32), np.empty(n, dtype=np.uint8)
        near = np.full((n, 2), 0xFFFFFFFF, dtype=np.uint32)
        cdef uint32_t[:, ::1] view = out, near_view = near
        cdef uint8_t[::1] bounded_view = bounded
        cdef Poll poll = current_poll()
        cdef NearOutcome* rejected
        cdef uint32_t missing
        cdef bytes text
        cdef const char* data
        cdef bint by_characters
        while n > 0:
            rejected = <NearOutcome*>&near_view[0, 0] if rejects else NULL
            with nogil:
                missing = self.core.get().decide(
                    &order[0], n, <NearOutcome*>&view[0, 0], &bounded_view[0], rejected, &poll
                )
            if missing == kNoneKept:
                break
            text, by_characters = load(missing)
            data, size = text, len(text)
            with nogil:
                self.core.get().load_given(missing, data, size, by_characters, &poll)
        return (*_columns(out), bounded.view(np.bool_), *_columns(near))


cdef _numbers(const vector[uint64_t]& values):
    found = np.empty(values.size(), dtype=np.uint64)
    cdef uint64_t[::1] view = found
    cdef size_t i
    for i in range(values.size()):
        view[i] = values[i]
    return found


def _columns(outcomes):
    return outcomes[:, 0].view(np.int32).astype(np.int64), outcomes[:, 1].copy()
