# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Texts that grow token by token, with the longest suffix that occurs in a sum of segments.

A batch releases the GIL and can be stopped (`ngramdb.interrupts`); a single token takes about a microsecond and keeps it.
"""

import numpy as np

from cpython.long cimport PyLong_Check
from libc.stdint cimport int64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from ngramdb._cext.base.arguments cimport UNKNOWN_ID, as_id, id_array, runs_to_arrays
from ngramdb._cext.base.interrupt cimport Poll, current_poll
from ngramdb._cext.corpus.index cimport Distribution, Index
from ngramdb.errors import InvalidArgument, NotSupportedError

# Tokens that are appended with the GIL held.
cdef enum:
    FEW = 4


cdef class MatchState:
    """The longest suffix of a text that occurs at least `least_count` times. For one thread at a time.

    Raises RuntimeError if another thread is appending to it.
    """

    def __cinit__(self, Index index not None, int64_t least_count=1, *args, **options):
        self.index = index
        self.least_count = least_count
        (<Matching*>&index.index).begin(self.match)

    @property
    def length(self):
        """The number of the suffix's tokens."""
        return self.match.length

    @property
    def count(self):
        """The number of its occurrences; that of the corpus's tokens if it is empty."""
        return self.match.count

    @property
    def ids(self):
        """Return the suffix: (length,) int64."""
        self.check_free()
        return self.last_ids(self.match.length)

    def known_ids(self):
        """Return the last tokens of the text that are kept: the suffix, and 1,024 or more if there are as many."""
        self.check_free()
        return self.last_ids(self.match.ids.size())

    cdef last_ids(self, size_t n):
        out = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] view = out
        if n > 0:
            memcpy(&view[0], self.match.ids.data() + (self.match.ids.size() - n), n * sizeof(int64_t))
        return out

    cdef int check_free(self) except -1:
        if self.is_busy:
            raise RuntimeError("another thread is appending to this matcher; give each thread a copy")
        return 0

    def append_ids(self, ids):
        """Append a token id, or several. Cost: about a microsecond per token and segment."""
        self.check_free()
        cdef int64_t token
        if PyLong_Check(ids):
            token = as_id(ids)
            self.read(&token, 1, NULL)
            return
        array = id_array(np.atleast_1d(ids) if np.size(ids) else (), UNKNOWN_ID)
        cdef const int64_t[::1] view = array
        cdef size_t n = view.shape[0]
        cdef Poll poll = current_poll()
        if n == 0:
            return
        if n <= FEW:
            self.read(&view[0], n, &poll)
            return
        self.is_busy = True
        try:
            with nogil:
                self.read(&view[0], n, &poll)
        finally:
            self.is_busy = False

    cdef int read(self, const int64_t* ids, size_t n, Poll* poll) except -1 nogil:
        cdef Match* match = &self.match
        cdef size_t i
        for i in range(n):
            if i % 256 == 255:
                poll.check()
            (<Matching*>&self.index.index).append(&match, ids + i, 1, self.least_count, poll)
            self.n_tokens += 1
        return 0

    def search_again(self, Index index not None):
        """Make this a state of another version of the corpus: the longest suffix of `known_ids` that occurs there."""
        self.check_free()
        cdef Poll poll = current_poll()
        (<Matching*>&index.index).search(self.match, self.least_count, &poll)
        self.index = index

    def clear(self):
        """Begin a new text."""
        self.check_free()
        self.n_tokens = 0
        (<Matching*>&self.index.index).begin(self.match)

    cdef take(self, MatchState other):
        other.check_free()
        self.match = other.match
        self.n_tokens = other.n_tokens

    def copied_to(self, MatchState made not None):
        """Give another state of the same index this text, and return it."""
        made.check_free()
        made.take(self)
        return made

    def count_after(self, token):
        """Return how often the suffix and the token occur. Raises TypeError or ValueError for anything but a token id."""
        self.check_free()
        return (<Matching*>&self.index.index).count_after(self.match, as_id(token), NULL, NULL)

    def next_tokens(self):
        """Return the next tokens of the suffix: ids (k,) uint32 ascending, counts (k,), and how often it ends a document."""
        cdef Distribution d
        cdef Poll poll = current_poll()
        self.check_free()
        self.is_busy = True
        try:
            with nogil:
                d = (<Matching*>&self.index.index).distribution(self.match, &poll)
        finally:
            self.is_busy = False
        ids, counts = runs_to_arrays(d.runs)
        return ids, counts, d.n_ends

    def __reduce__(self):
        raise NotSupportedError("a matcher reads its corpus's files and cannot be pickled; pickle the tokens")


def append_many(list states not None, ids):
    """Append ids[i] to the text of states[i].

    Raises ValueError if numbers differ, a state is there twice, or states have different indexes or least counts.
    Cost: searches run interleaved, with the GIL released.
    """
    cdef size_t n = len(states), i
    array = id_array(ids, UNKNOWN_ID)
    cdef const int64_t[::1] view = array
    if <size_t>view.shape[0] != n:
        raise InvalidArgument(f"{n} matchers need as many tokens, not {view.shape[0]}")
    if n == 0:
        return
    cdef vector[Match*] matches
    cdef MatchState state
    cdef MatchState first = <MatchState?>states[0]
    cdef Poll poll = current_poll()
    cdef size_t n_taken = 0
    matches.reserve(n)
    try:
        for i in range(n):
            state = <MatchState?>states[i]
            if state.index is not first.index or state.least_count != first.least_count:
                raise InvalidArgument("matchers of one batch must be of the same version of a corpus, with one least_count")
            if state.is_busy:
                raise InvalidArgument("a matcher is twice in a batch, or in use by another thread")
            state.is_busy = True
            n_taken += 1
            matches.push_back(&state.match)
        with nogil:
            (<Matching*>&first.index.index).append(matches.data(), &view[0], n, first.least_count, &poll)
        for i in range(n):
            (<MatchState>states[i]).n_tokens += 1
    finally:
        for i in range(n_taken):
            (<MatchState>states[i]).is_busy = False
