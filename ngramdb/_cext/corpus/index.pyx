# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, binding=False
"""Questions to a sum of segments: one at a time, and by the million.

Single questions keep the GIL (they take about a microsecond); batches, and questions that take long, release it and
can be stopped (`ngramdb.interrupts`).
"""

import numpy as np

cimport numpy as cnp
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from ngramdb._cext.base.arguments cimport (
    Ids, STACK_IDS, UNKNOWN_ID, as_id, checked_offsets, fill_ids, id_array, read_ids, runs_to_arrays,
)
from ngramdb._cext.base.interrupt cimport Poll, current_poll
from ngramdb._cext.segment.segment_index cimport SegmentIndex

cnp.import_array()

# n-grams that are sorted together, and so looked up in one piece: the more, the more neighbours share cache lines.
cdef enum:
    COUNT_CHUNK = 1048576

# A distribution of up to this many occurrences takes at most a millisecond: releasing the GIL and checking for
# interrupts would take a good part of that.
cdef enum:
    MOST_AT_ONCE = 65536

# Tokens that are scored between two interrupt checks, a few milliseconds of work.
cdef enum:
    SCORE_CHUNK = 4096

# Layout of the C++ struct Estimate.
ESTIMATE = np.dtype(
    {
        "names": ["cont_count", "context_count", "effective_n", "sparse"],
        "formats": ["<i8", "<i8", "<i4", "?"],
        "offsets": [0, 8, 16, 20],
        "itemsize": sizeof(Estimate),
    }
)


cdef tuple columns_of(object estimates):
    """The four columns of an ESTIMATE array, each contiguous."""
    return tuple(np.ascontiguousarray(estimates[name]) for name in ESTIMATE.names)


cdef class Index:
    """A sum of segments, each with a sign: +1 added, -1 subtracted. Every answer is net.

    `order` is 0, or the largest number of tokens in an n-gram (contexts are cut to the last order - 1).
    """

    def __cinit__(self, segments, signs):
        if len(segments) != len(signs):
            raise ValueError(f"{len(segments)} segments, but {len(signs)} signs")
        self.segments = tuple(segments)
        self.signs = tuple(signs)
        for segment, sign in zip(self.segments, self.signs):
            if sign not in (1, -1):
                raise ValueError(f"a sign must be 1 or -1, not {sign}")
            self.index.add((<SegmentIndex?>segment).segment, sign)

    @property
    def n_tokens(self):
        """Net number of tokens, separators not counted."""
        return self.index.n_tokens()

    def count(self, ids, /):
        """Net number of occurrences; of the empty n-gram, the number of tokens.

        Cost: a search a segment, about a microsecond each; no memory.
        """
        cdef int64_t small[STACK_IDS]
        cdef vector[int64_t] large
        cdef const int64_t* data
        cdef uint32_t n
        cdef Ids ngram
        if type(ids) is list or type(ids) is tuple:
            fill_ids(ids, small, large, &data, &n)
            return self.index.count(data, n)
        ngram = read_ids(ids)
        return self.index.count(ngram.data, ngram.n)

    def count_many(self, flat, offsets):
        """Counts of n-grams flat[offsets[i]:offsets[i + 1]]: (n,) int64.

        Parameters
        ----------
        flat : (m,) integers; int64 is taken as it is, other widths are copied
        offsets : (n + 1,) integers, ascending

        Raises
        ------
        ValueError, TypeError : arrays of the wrong kind

        Cost: searches run interleaved, from 1,024 on also sorted, from 8,192 on in one thread per core:
        about 0.1–0.3 µs per n-gram and segment.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef size_t base = 0
        cdef size_t m
        cdef Poll poll = current_poll()
        out = np.empty(n, dtype=np.int64)
        cdef int64_t[::1] out_view = out
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else NULL
        with nogil:
            while base < n:
                m = min(<size_t>COUNT_CHUNK, n - base)
                self.index.count_many(ids, &offset_view[base], m, &out_view[base], &poll)
                base += m
                poll.check(base, n)
        return out

    def prob(self, context, token, bint infgram=False, uint32_t order=0):
        """Return the counts behind P(token | context): (cont_count, context_count, effective_n, sparse).

        infgram: the longest suffix of the context that occurs is used instead of the whole.
        Cost: two searches a segment side by side; with infgram two or three rounds of up to eight.
        """
        cdef int64_t small[STACK_IDS]
        cdef vector[int64_t] large
        cdef const int64_t* data
        cdef uint32_t n
        cdef Ids ids
        cdef int64_t last = as_id(token)
        cdef int64_t[2] offsets
        cdef Estimate out
        cdef Poll poll
        if type(context) is list or type(context) is tuple:
            fill_ids(context, small, large, &data, &n)
        else:
            ids = read_ids(context)
            data, n = ids.data, ids.n
        offsets[0] = 0
        offsets[1] = n
        if n <= STACK_IDS:
            self.index.estimate(data, offsets, &last, 1, infgram, order, &out, NULL)
        else:
            poll = current_poll()
            with nogil:
                self.index.estimate(data, offsets, &last, 1, infgram, order, &out, &poll)
        return out.cont_count, out.context_count, out.effective_n, out.sparse

    def prob_many(self, flat, offsets, tokens, bint infgram=False, uint32_t order=0):
        """The same for n pairs, as four arrays (n,): cont_count and context_count int64, effective_n int32,
        sparse bool. Contexts are flat[offsets[i]:offsets[i + 1]], tokens (n,) integers.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        tokens = id_array(tokens, UNKNOWN_ID)
        if tokens.shape[0] != offsets.shape[0] - 1:
            raise ValueError(f"{offsets.shape[0] - 1} contexts, but {tokens.shape[0]} tokens")
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef const int64_t[::1] token_view = tokens
        cdef size_t n = tokens.shape[0]
        cdef Poll poll = current_poll()
        out = np.zeros(n, dtype=ESTIMATE)
        cdef uint8_t[::1] out_view = out.view(np.uint8)
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else NULL
        if n > 0:
            with nogil:
                self.index.estimate(ids, &offset_view[0], &token_view[0], n, infgram, order,
                                    <Estimate*>&out_view[0], &poll)
        return columns_of(out)

    def score(self, flat, offsets, bint infgram=False, uint32_t order=0, int64_t least=1):
        """Estimates for every token of the documents flat[offsets[i]:offsets[i + 1]], each given the tokens
        before it in its document: the same four arrays, (m,) each, aligned with flat.

        least : with infgram, the longest suffix of the context that occurs at least this many times is used

        Cost: with infgram a sliding match, about a microsecond a token and segment.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef size_t i
        cdef size_t since = 0
        cdef int64_t start, stop
        cdef Poll poll = current_poll()
        out = np.zeros(flat.shape[0], dtype=ESTIMATE)
        cdef uint8_t[::1] out_view = out.view(np.uint8)
        if flat.shape[0] == 0:
            return columns_of(out)
        with nogil:
            for i in range(n):
                start = offset_view[i]
                stop = offset_view[i + 1]
                if stop > start:
                    self.index.score(&flat_view[start], stop - start, infgram, order,
                                     <Estimate*>&out_view[start * sizeof(Estimate)], &poll, least)
                since += stop - start
                if since > SCORE_CHUNK:
                    since = 0
                    poll.check(stop - offset_view[0], offset_view[n] - offset_view[0])
        return columns_of(out)

    def dist(self, context, bint infgram=False, uint32_t order=0, int64_t most=INT64_MAX):
        """The next tokens of a context, all of them, with net counts; None if it occurs more than `most` times. With
        `most` up to 65,536 the GIL is kept.

        Returns
        -------
        ids : (k,) uint32, ascending
        counts : (k,) int64, none zero
        n_end : occurrences of the context at the very end of a document
        context_count : all occurrences of the context: counts and n_end together
        context_length : tokens of the context that were used

        Cost: of r next tokens among c occurrences, some r independent reads and a pass over c numbers; or, where c is
        large, or the context longer than LCPs reach (about 6 tokens), 4 r log2(c / r) reads, never more than c.
        """
        cdef int64_t small[STACK_IDS]
        cdef vector[int64_t] large
        cdef const int64_t* data
        cdef uint32_t n
        cdef Ids ids
        cdef Distribution d
        cdef Poll poll
        if type(context) is list or type(context) is tuple:
            fill_ids(context, small, large, &data, &n)
        else:
            ids = read_ids(context)
            data, n = ids.data, ids.n
        if most <= MOST_AT_ONCE and n <= STACK_IDS:
            d = self.index.distribution(data, n, infgram, order, most, NULL)
        else:
            poll = current_poll()
            with nogil:
                d = self.index.distribution(data, n, infgram, order, most, &poll)
        if d.is_left_out:
            return None
        next_ids, counts = runs_to_arrays(d.runs)
        return next_ids, counts, d.n_ends, d.context_count, d.context_length

    def dist_many(self, flat, offsets, bint infgram=False, uint32_t order=0):
        """The next tokens of contexts flat[offsets[i]:offsets[i + 1]], one after the other.

        Returns
        -------
        run_offsets : (n + 1,) int64, where those of each context begin, and the end
        ids, counts : (m,) uint32 and int64, as `dist` gives them
        n_end, context_count, context_length : (n,) int64, the same

        Cost: searches run interleaved; beyond that, as `dist` without what a call costs. Memory: 16 bytes per next token
        beside the answer.
        """
        flat = id_array(flat, UNKNOWN_ID)
        offsets = checked_offsets(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef vector[Run] runs
        cdef Poll poll = current_poll()
        ends = np.zeros((n, 4), dtype=np.int64)
        cdef int64_t[:, ::1] ends_view = ends
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else NULL
        if n > 0:
            with nogil:
                self.index.distributions(ids, &offset_view[0], n, infgram, order, runs,
                                         <DistributionEnd*>&ends_view[0, 0], &poll)
        next_ids, counts = runs_to_arrays(runs)
        run_offsets = np.zeros(n + 1, dtype=np.int64)
        run_offsets[1:] = ends[:, 0]
        return run_offsets, next_ids, counts, *(np.ascontiguousarray(ends[:, i]) for i in range(1, 4))
