# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Drafts of the continuation of texts that grow token by token."""

import numpy as np

from cpython.long cimport PyLong_Check
from libc.stdint cimport int64_t, uint32_t
from libcpp.vector cimport vector

from ngramdb._cext.base.arguments cimport UNKNOWN_ID, as_id, id_array
from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception
from ngramdb._cext.corpus.index cimport CorpusIndex, Index
from ngramdb._cext.corpus.matcher cimport Match, MatchState

cdef extern from "ngramdb/corpus/drafts.hpp" namespace "ngramdb" nogil:
    cdef cppclass OwnText:
        void append(int64_t) except +translate_exception
        size_t size()
        uint32_t longest(vector[uint32_t]&) except +translate_exception

    cdef cppclass DraftOptions:
        size_t n
        double least_prob
        int64_t least_count

    cdef cppclass CppDraft "ngramdb::Draft":
        vector[int64_t] ids
        vector[int64_t] parents
        vector[double] probs

    cdef cppclass Drafting:
        Drafting(const CorpusIndex&, const OwnText*, const DraftOptions&, Poll*)
        CppDraft draft(const Match&, const vector[uint32_t]&, uint32_t) except +translate_exception


cdef class DraftState:
    """A text, and drafts of its continuation.

    own : whether to draft from the text itself, too
    """

    cdef readonly MatchState match
    cdef OwnText text
    cdef bint own

    def __cinit__(self, Index index not None, bint own=True, int64_t least_count=1):
        self.match = MatchState(index, least_count)
        self.own = own

    def append(self, ids):
        """Append a token id, or several."""
        self.match.append_ids(ids)
        if not self.own:
            return
        if PyLong_Check(ids):
            self.text.append(as_id(ids))
            return
        cdef const int64_t[::1] view = id_array(np.atleast_1d(ids) if np.size(ids) else (), UNKNOWN_ID)
        cdef Py_ssize_t i
        for i in range(view.shape[0]):
            self.text.append(view[i])

    def propose(self, size_t n, double least_prob):
        """Return ids, parents and probs as lists, and the lengths of the longest matches in the corpus and the text."""
        cdef DraftOptions options
        cdef vector[uint32_t] ends
        cdef uint32_t own_length = 0
        cdef CppDraft found
        cdef Poll poll = current_poll()
        self.match.check_free()
        options.n = n
        options.least_prob = least_prob
        options.least_count = self.match.least_count
        self.match.is_busy = True
        cdef Drafting* drafting = new Drafting(self.match.index.index, &self.text, options, &poll)
        try:
            with nogil:
                if self.own:
                    own_length = self.text.longest(ends)
                found = drafting.draft(self.match.match, ends, own_length)
        finally:
            del drafting
            self.match.is_busy = False
        return found.ids, found.parents, found.probs, self.match.match.length, own_length
