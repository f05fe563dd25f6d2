# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Continuation counts and language models over segments, each with a sign.

`LanguageIndex` is what all models over one corpus share; `Model` is one of them. Token ids are int64; UNKNOWN (or any id
that the corpus lacks) matches nothing, END is the end of a sentence, `</s>`. Everything that takes time releases
the GIL and can be stopped (`ngramdb.interrupts`).
"""

import operator

import numpy as np

from cpython.bool cimport PyBool_Check
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.pair cimport pair
from libcpp.vector cimport vector

from ngramdb._cext.base.arguments cimport id_array, int64_array
from ngramdb._cext.segment.segment cimport Segment
from ngramdb._cext.segment.segment_index cimport SegmentIndex
from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception
from ngramdb.errors import InvalidArgument, NotSupportedError

cdef extern from "ngramdb/base/integers.hpp" namespace "ngramdb":
    cbool small_int(object, int64_t*)

cdef extern from "<array>" namespace "std" nogil:
    cdef cppclass array3 "std::array<int64_t, 3>":
        int64_t& operator[](size_t)
    cdef cppclass array4 "std::array<int64_t, 4>":
        int64_t& operator[](size_t)
    cdef cppclass discount3 "std::array<double, 3>":
        double& operator[](size_t)

cdef extern from "ngramdb/lm/counts_of_counts.hpp" namespace "ngramdb::lm" nogil:
    cdef cppclass Columns:
        void set_separator(int64_t)
        void add(const Segment&, int, Poll*) except +translate_exception
        int64_t n_tokens()
        int64_t n_sentences()
        int64_t n_empty()

    cdef cppclass SuccessorCounts:
        int64_t total
        int64_t pruned
        array3 n

    cdef cppclass FollowedBy:
        SuccessorCounts by_left
        SuccessorCounts by_count

    cdef cppclass FrequentNgram:
        vector[uint32_t] symbols
        int64_t count
        int64_t n_left
        FollowedBy next

    cdef cppclass CountingOptions:
        uint32_t max_length
        uint64_t share_rows
        int64_t frequent_from

    int64_t frequent_from_of "ngramdb::lm::frequent_from"(int64_t)

    cdef cppclass CountsOfCounts:
        vector[FrequentNgram] frequent
        vector[array4] continuation
        vector[array4] raw
        vector[int64_t] n_types
        int64_t n_left_of_end

    cdef cppclass Vocabulary:
        Vocabulary(const Columns&, Poll*) except +translate_exception
        vector[uint32_t] codes
        vector[int64_t] counts

    CountsOfCounts count_counts(const Columns&, const Vocabulary&, const CountingOptions&, Poll*) except +translate_exception

    cdef cppclass NgramLevel:
        vector[int64_t] last
        vector[int64_t] counts
        vector[uint8_t] fresh
        size_t n_within

    NgramLevel list_ngrams(const Columns&, const Vocabulary&, uint32_t, size_t, Poll*) except +translate_exception

cdef extern from "ngramdb/lm/language_model.hpp" namespace "ngramdb::lm" nogil:
    cdef cppclass LanguageData:
        Columns columns
        unique_ptr[Vocabulary] vocabulary
        const vector[int64_t]& n_left(Poll*) except +translate_exception

    ctypedef enum Kind "ngramdb::lm::Kind":
        pass

    cdef cppclass Scored:
        double prob
        int64_t count
        int64_t context_count
        int32_t effective_n
        cbool sparse

    cdef cppclass Smoothing:
        discount3 discount
        double concentration
        double per_type

    cdef cppclass Level:
        Smoothing lone
        Smoothing other

    cdef cppclass ModelSettings:
        Kind kind
        uint32_t order
        int64_t least
        double weight
        cbool by_occurrences
        vector[Level] levels
        Level top
        SuccessorCounts empty
        int64_t n_left_of_end

    cdef cppclass TokenShares:
        double rest
        vector[int64_t] places
        vector[double] probs

    cdef cppclass CppModel "ngramdb::lm::Model":
        CppModel(LanguageData*, const ModelSettings&, Poll*) except +translate_exception
        cbool know(const FrequentNgram&) except +translate_exception
        void score(const int64_t*, const int64_t*, size_t, cbool, Scored*, Poll*) except +translate_exception
        void estimate(const int64_t*, const int64_t*, const int64_t*, const int64_t*, const uint8_t*, size_t, Scored*, Poll*) except +translate_exception
        void distribution(const int64_t*, size_t, cbool, double*, Poll*) except +translate_exception
        size_t n_outcomes()
        TokenShares shares(const int64_t*, size_t, cbool, Poll*) except +translate_exception
        const vector[double]& unigrams(Poll*) except +translate_exception
        vector[pair[uint32_t, int64_t]] successors(const int64_t*, size_t, cbool, uint32_t, int64_t*, uint32_t*, Poll*) except +translate_exception

cdef extern from "ngramdb/lm/left_out.hpp" namespace "ngramdb::lm" nogil:
    cdef cppclass CppLeftOut "ngramdb::lm::LeftOut":
        vector[int64_t] weights
        double log_likelihood(const vector[Level]&, double, vector[Level]*, Poll*) except +translate_exception

    cdef cppclass LeftOutSample:
        LeftOutSample(const CppModel&, uint64_t, Poll*) except +translate_exception
        CppLeftOut levels() except +translate_exception

cdef extern from "ngramdb/lm/share_ranking.hpp" namespace "ngramdb::lm" nogil:
    cdef cppclass Listed:
        const int64_t* places
        const double* probs
        size_t n
        double rest

    cdef cppclass DrawnPlace:
        int64_t place
        double prob

    cdef cppclass CppRanking "ngramdb::lm::Ranking":
        CppRanking(const double*, size_t) except +translate_exception
        double total(const Listed&)
        vector[pair[double, int64_t]] top(const Listed&, size_t) except +translate_exception
        DrawnPlace draw(const Listed&, double, double, double) except +translate_exception
        cbool fits(const Listed&)

cdef extern from "ngramdb/lm/skips.hpp" namespace "ngramdb::lm" nogil:
    cdef cppclass SkipSettings:
        uint32_t n_places
        vector[discount3] discounts
        vector[double] alone
        double farthest

    cdef cppclass SkipModel:
        SkipModel(LanguageData*, const SkipSettings&) except +translate_exception
        vector[array4] counts_of_counts(uint32_t, uint32_t, uint64_t, Poll*) except +translate_exception
        void probabilities(const int64_t*, const int64_t*, size_t, double*, Poll*) except +translate_exception
        void distribution(const int64_t*, double*, Poll*) except +translate_exception

cdef extern from "ngramdb/lm/lm_sampling.hpp" namespace "ngramdb::lm" nogil:
    cdef cppclass Drawn:
        int64_t id
        double prob

    cdef cppclass CppSampler "ngramdb::lm::Sampler":
        CppSampler(const CppModel&, const int64_t*, size_t, cbool, Poll*) except +translate_exception
        Drawn next(uint64_t, Poll*) except +translate_exception

cdef extern from "ngramdb/lm/text_state.hpp" namespace "ngramdb::lm" nogil:
    cdef cppclass CppTextState "ngramdb::lm::TextState":
        CppTextState(const CppModel&) except +translate_exception
        void begin(cbool) except +translate_exception
        Scored read(const CppTextState&, int64_t, Poll*) except +translate_exception
        const vector[int64_t]& context()
        cbool begins()

# Ids with a meaning of their own: a token that is not in the vocabulary, and the borders of a sentence.
UNKNOWN = -1
END = -2
BEGIN = -3

KINDS = ("ngram", "infgram", "backoff", "interpolated")

# Layout of the C++ struct Scored.
SCORED = np.dtype(
    {
        "names": ["prob", "count", "context_count", "effective_n", "sparse", "suffix_n", "suffix_count"],
        "formats": ["<f8", "<i8", "<i8", "<i4", "?", "<i4", "<i8"],
        "offsets": [0, 8, 16, 24, 28, 32, 40],
        "itemsize": sizeof(Scored),
    }
)

cdef object offsets_of(object offsets, Py_ssize_t n_flat):
    offsets = int64_array(offsets)
    if offsets.size == 0 or offsets[0] < 0 or offsets[offsets.size - 1] > n_flat or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"offsets must ascend from 0 or more to at most {n_flat}, the number of ids")
    if np.diff(offsets).max(initial=0) >= 2**31:
        raise ValueError(f"a context or document has at most {2**31 - 1} tokens")
    return offsets


cdef object _taken(vector[int64_t]& numbers):
    """An array of the numbers; the vector is left empty."""
    out = np.empty(numbers.size(), dtype=np.int64)
    cdef int64_t[::1] view = out
    cdef vector[int64_t] empty
    if numbers.size() > 0:
        memcpy(&view[0], numbers.data(), sizeof(int64_t) * numbers.size())
    numbers.swap(empty)
    return out


# The number of values before the tokens of a frequent n-gram.
FREQUENT_NUMBERS = 9


cdef tuple frequent_row(FrequentNgram& found):
    cdef list row = [found.count, found.n_left, found.next.by_left.total]
    cdef size_t k
    for k in range(3):
        row.append(found.next.by_left.n[k])
    for k in range(3):
        row.append(found.next.by_count.n[k])
    for k in range(found.symbols.size()):
        row.append(<int64_t>found.symbols[k] - 1)
    return tuple(row)


cdef FrequentNgram frequent_ngram(row) except *:
    cdef FrequentNgram ngram
    cdef size_t k
    cdef uint32_t token
    ngram.count, ngram.n_left, ngram.next.by_left.total = row[:3]
    for k in range(3):
        ngram.next.by_left.n[k] = row[3 + k]
        ngram.next.by_count.n[k] = row[6 + k]
    ngram.next.by_count.total = ngram.count
    ngram.next.by_left.pruned = ngram.next.by_count.pruned = 0
    for token in row[FREQUENT_NUMBERS:]:
        ngram.symbols.push_back(token + 1)
    return ngram


cdef class LanguageIndex:
    """Data of a corpus for language models: its types, the beginnings of documents, the symbols beside every row.

    Parameters
    ----------
    segments : SegmentIndex objects, kept alive
    signs : 1 or -1 each
    separator : the id of the token between sentences; None: documents are sentences

    Cost: a sequential pass over the suffix arrays (about 3 ns per token); 4 bytes per sentence, 8 per type and segment.
    """

    cdef LanguageData data
    cdef readonly tuple segments
    cdef readonly object separator
    cdef object __weakref__

    def __cinit__(self, segments, signs, separator=None):
        self.segments = tuple(segments)
        self.separator = separator
        if separator is not None:
            if not 0 <= separator < 2**32 - 1:
                raise ValueError(f"a separator must be a token id up to 4294967294, not {separator}")
            self.data.columns.set_separator(separator)
        cdef Poll poll = current_poll()
        cdef const Segment* added
        cdef int sign_of
        for segment, sign in zip(self.segments, signs):
            lo, hi = (<SegmentIndex?>segment).find([2**32 - 1])
            if lo < hi:
                raise ValueError("language models know token ids up to 4294967294 only")
            added = (<SegmentIndex>segment).segment
            sign_of = sign
            with nogil:
                self.data.columns.add(added[0], sign_of, &poll)
        with nogil:
            self.data.vocabulary.reset(new Vocabulary(self.data.columns, &poll))

    @property
    def n_tokens(self):
        """Net number of tokens, ends of sentences not counted, and separators neither."""
        return self.data.columns.n_tokens()

    @property
    def n_sentences(self):
        """Net number of sentences: documents, or the parts of them."""
        return self.data.columns.n_sentences()

    def types(self):
        """The token ids that occur, ascending, and how often: (k,) int64 and (k,) int64."""
        cdef Vocabulary* vocabulary = self.data.vocabulary.get()
        cdef size_t n = vocabulary.codes.size()
        ids, counts = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        cdef int64_t[::1] id_view = ids, count_view = counts
        cdef size_t i
        for i in range(n):
            id_view[i] = <int64_t>vocabulary.codes[i] - 1
            count_view[i] = vocabulary.counts[i]
        return ids, counts

    def counts_of_counts(self, uint32_t max_length, *, share_rows=None, frequent_from=None):
        """Counts of counts of every n-gram length up to max_length.

        Returns
        -------
        continuation, raw : (max_length, 4) int64 : n-grams with an adjusted count of 1 … 4, and with 1 … 4
            occurrences; those that begin with `<s>` have their occurrences for their adjusted count
        n_types : (max_length,) int64 : different n-grams, with `<s>` and `</s>`; `<s>` alone does not count
        n_left_of_end : different tokens before `</s>`
        frequent : n-grams that occur at least `frequent_from` times (by default ones that take a millisecond to pass
            over), the most frequent 1,024 of them: for each its count; the number of different tokens before it;
            the sum of the adjusted counts of the n-grams that it begins, a token longer, and how many of these are 1,
            2 and more; how many of them occur once, twice and more often; and its tokens

        share_rows : about how many rows a thread takes at a time

        Cost: a pass over the suffix arrays, one random read of the text per row, shared by all free cores; 8
        bytes per token id and thread.
        """
        if not 2 <= max_length <= 1000:
            raise ValueError(f"max_length must be 2 … 1000, not {max_length}")
        cdef Poll poll = current_poll()
        cdef CountsOfCounts found
        cdef CountingOptions options
        options.max_length = max_length
        if share_rows is not None:
            options.share_rows = share_rows
        options.frequent_from = frequent_from_of(self.n_tokens) if frequent_from is None else frequent_from
        with nogil:
            found = count_counts(self.data.columns, self.data.vocabulary.get()[0], options, &poll)
        continuation, raw = np.empty((max_length, 4), np.int64), np.empty((max_length, 4), np.int64)
        n_types = np.empty(max_length, np.int64)
        cdef int64_t[:, ::1] continuation_view = continuation, raw_view = raw
        cdef int64_t[::1] n_types_view = n_types
        cdef size_t n, k, i
        for n in range(max_length):
            n_types_view[n] = found.n_types[n + 1]
            for k in range(4):
                continuation_view[n, k] = found.continuation[n + 1][k]
                raw_view[n, k] = found.raw[n + 1][k]
        frequent = [frequent_row(found.frequent[i]) for i in range(found.frequent.size())]
        return continuation, raw, n_types, found.n_left_of_end, frequent

    def ngrams(self, uint32_t n, size_t n_expected=0):
        """Every n-gram that occurs, once, in the order of the tokens (END anywhere among them), those that begin
        with `<s>` last; `<s>` alone does not count.

        n_expected : approximate number of them, if known; at most the number of tokens and sentences counts

        Returns
        -------
        last : (k,) int64 : the last tokens, END among them
        counts : (k,) int64 : occurrences
        fresh : (k,) bool : whether the tokens before the last differ from those of the n-gram before. They are,
            one after the other, the (n - 1)-grams that do not end in END, in their order; at n = 2 `<s>` is the last
        n_within : n-grams that do not begin with `<s>`

        Cost: as `counts_of_counts`; 17 bytes an n-gram.
        """
        if not 1 <= n <= 1000:
            raise ValueError(f"n must be 1 … 1000, not {n}")
        cdef Poll poll = current_poll()
        cdef NgramLevel found
        n_expected = min(n_expected, <size_t>max(0, self.n_tokens + 2 * self.n_sentences))
        with nogil:
            found = list_ngrams(self.data.columns, self.data.vocabulary.get()[0], n, n_expected, &poll)
        cdef size_t size = found.last.size()
        # Each vector goes before the next array comes: together they would be the most memory that is needed.
        last = _taken(found.last)
        counts = _taken(found.counts)
        fresh = np.empty(size, dtype=np.bool_)
        cdef uint8_t[::1] fresh_view = fresh.view(np.uint8)
        if size > 0:
            memcpy(&fresh_view[0], found.fresh.data(), size)
        return last, counts, fresh, found.n_within


cdef Smoothing smoothing_of(row) except *:
    """D1, D2, D3+, θ and θ per type, or the first of these."""
    cdef Smoothing made
    cdef size_t k
    values = [float(value) for value in row] + [0.0] * (5 - len(row))
    for k in range(3):
        made.discount[k] = values[k]
    made.concentration, made.per_type = values[3:]
    return made


cdef Level level_of(row) except *:
    cdef Level made
    made.lone = smoothing_of(row[:5])
    made.other = smoothing_of(row[5:] if len(row) == 10 else row)
    return made


cdef class Model:
    """A language model over a LanguageIndex.

    Parameters
    ----------
    kind : one of KINDS
    order : tokens of an n-gram at most, 0 for no limit
    min_count : n-grams that occur less often are treated as unseen
    weight : of stupid backoff

    Of interpolated models:

    levels : of lengths 1 … n, the last one reused above: D1, D2, D3+, θ and θ per type, or the first of these; of ten
        numbers, the first five are those of contexts that one token follows
    top : the same of length `order`, by occurrences
    by_occurrences : n-grams of every length count by occurrences; needs one level, and none of what follows
    empty : four integers: the sum of adjusted unigram counts, and how many are 1, 2 and at least 3
    n_left_of_end : different tokens before `</s>`
    frequent : what `counts_of_counts` gave of frequent n-grams, which need then not be counted again. Raises
        ValueError if they occur another number of times.
    """

    cdef unique_ptr[CppModel] model
    cdef readonly LanguageIndex index

    def __cinit__(self, LanguageIndex index, str kind, uint32_t order=0, int64_t min_count=1, double weight=0.4,
                  levels=((0.5, 1.0, 1.5),), top=(), bint by_occurrences=False, empty=None, int64_t n_left_of_end=0,
                  frequent=()):
        cdef ModelSettings settings
        cdef size_t k
        cdef Poll poll = current_poll()
        if order >= 2**31 or min_count < 1:
            raise ValueError("the order must be below 2147483648, and the least count at least 1")
        settings.kind = <Kind><int>KINDS.index(kind)
        settings.order = order
        settings.least = min_count
        settings.weight = weight
        settings.n_left_of_end = n_left_of_end
        for row in levels:
            settings.levels.push_back(level_of(row))
        settings.top = level_of(top)
        settings.by_occurrences = by_occurrences
        for k in range(3):
            settings.empty.n[k] = empty[k + 1] if empty is not None else 0
        settings.empty.total = empty[0] if empty is not None else 0
        settings.empty.pruned = 0
        self.index = index
        with nogil:
            self.model.reset(new CppModel(&index.data, settings, &poll))
        if kind == "interpolated" and not by_occurrences and min_count == 1:
            for row in frequent:
                if not self.model.get().know(frequent_ngram(row)):
                    raise ValueError(f"the tokens {list(row[FREQUENT_NUMBERS:])} do not occur {row[0]} times")

    def score(self, flat, offsets, bint sentences=False):
        """Every token of documents flat[offsets[i]:offsets[i + 1]] given those before it in its document.

        sentences: each document begins with `<s>`, and its `</s>` is scored too: document i then has its entries
        from offsets[i] - offsets[0] + i on. Within a document END and BEGIN cut it into sentences: END is scored, no
        context reaches across either; the separator is both at once. After one `</s>` has probability 1, since the
        sentence has ended. Returns: a structured array of dtype SCORED.
        """
        flat = id_array(flat, BEGIN)
        offsets = offsets_of(offsets, flat.shape[0])
        flat = flat[offsets[0]:offsets[offsets.size - 1]]
        offsets = offsets - offsets[0]
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        out = np.zeros(flat.shape[0] + (n if sentences else 0), dtype=SCORED)
        if out.size == 0:
            return out
        cdef uint8_t[::1] out_view = out.view(np.uint8)
        cdef int64_t nothing = 0
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else &nothing
        cdef Poll poll = current_poll()
        with nogil:
            self.model.get().score(ids, &offset_view[0], n, sentences, <Scored*>&out_view[0], &poll)
        return out

    def estimate(self, flat, offsets, tokens, begins, token_offsets=None):
        """P(token | flat[offsets[i]:offsets[i + 1]]) of the tokens tokens[token_offsets[i]:token_offsets[i + 1]] of n
        continuations, each token given the ones before it, too: (m,), a structured array of dtype SCORED.

        begins : (n,) bool : whether the context begins with `<s>`; a token may be END. Contexts begin after the
            last border in them.
        token_offsets : (n + 1,) : None if each continuation is one token

        Cost: one search for each context, and a step per token.
        """
        flat = id_array(flat, BEGIN)
        offsets = offsets_of(offsets, flat.shape[0])
        tokens = id_array(tokens, BEGIN)
        begins = np.ascontiguousarray(begins, dtype=np.uint8)
        cdef size_t n = begins.shape[0]
        if token_offsets is None:
            token_offsets = np.arange(tokens.shape[0] + 1, dtype=np.int64)
        token_offsets = offsets_of(token_offsets, tokens.shape[0])
        if <size_t>offsets.shape[0] != n + 1 or begins.ndim != 1 or token_offsets.shape != offsets.shape:
            raise ValueError(
                f"{offsets.shape[0] - 1} contexts and {begins.shape[0]} beginnings, but {token_offsets.shape[0] - 1} tokens"
            )
        if token_offsets[0] != 0:
            raise ValueError(f"offsets of tokens begin with 0, not {token_offsets[0]}")
        out = np.zeros(token_offsets[n], dtype=SCORED)
        if out.size == 0:
            return out
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef const int64_t[::1] token_view = tokens
        cdef const int64_t[::1] token_offset_view = token_offsets
        cdef const uint8_t[::1] begin_view = begins
        cdef uint8_t[::1] out_view = out.view(np.uint8)
        cdef int64_t nothing = 0
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else &nothing
        cdef Poll poll = current_poll()
        with nogil:
            self.model.get().estimate(ids, &offset_view[0], &token_view[0], &token_offset_view[0], &begin_view[0], n,
                                      <Scored*>&out_view[0], &poll)
        return out

    def distribution(self, context, bint begins=False):
        """Interpolated models: P(w | context) of the index's types in order, then of END, then of any unknown token."""
        context = id_array(context, BEGIN)
        cdef const int64_t[::1] view = context
        cdef int64_t nothing = 0
        cdef const int64_t* ids = &view[0] if view.shape[0] > 0 else &nothing
        cdef size_t n = view.shape[0]
        cdef Poll poll = current_poll()
        out = np.empty(self.model.get().n_outcomes(), dtype=np.float64)
        cdef double[::1] out_view = out
        with nogil:
            self.model.get().distribution(ids, n, begins, &out_view[0], &poll)
        return out

    def shares(self, context, bint begins=False):
        """Interpolated models and stupid backoff: P(w | context) of the tokens that follow a suffix of the context.

        Returns: places (k,) int64 ascending, of types in the index's order, END's after the last; probs (k,) float64;
        and the factor by which `unigrams` gives the probability of any other. Raises ValueError for another model.
        """
        context = id_array(context, BEGIN)
        cdef const int64_t[::1] view = context
        cdef int64_t nothing = 0
        cdef const int64_t* ids = &view[0] if view.shape[0] > 0 else &nothing
        cdef size_t n = view.shape[0], size
        cdef TokenShares found
        cdef Poll poll = current_poll()
        with nogil:
            found = self.model.get().shares(ids, n, begins, &poll)
        size = found.places.size()
        places, probs = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.float64)
        cdef int64_t[::1] place_view = places
        cdef double[::1] prob_view = probs
        if size > 0:
            memcpy(&place_view[0], found.places.data(), sizeof(int64_t) * size)
            memcpy(&prob_view[0], found.probs.data(), sizeof(double) * size)
        return places, probs, found.rest

    def unigrams(self):
        """Return the values of the index's types, and then of END, without context: (k,) float64, probabilities
        (interpolated models) or counts (stupid backoff; 0 for those that are not frequent enough).
        """
        cdef Poll poll = current_poll()
        cdef const vector[double]* found
        with nogil:
            found = &self.model.get().unigrams(&poll)
        out = np.empty(found.size(), dtype=np.float64)
        cdef double[::1] out_view = out
        memcpy(&out_view[0], found.data(), sizeof(double) * found.size())
        return out

    def successors(self, context, bint begins=False, uint32_t longest=2**31):
        """Return the successors of the longest suffix of the context that is frequent enough and has up to `longest` tokens.

        Returns: ids (k,) int64 ascending (END first, if it occurs), counts (k,) int64, the suffix's count,
        and its number of tokens (`<s>` counts as one).
        """
        context = id_array(context, BEGIN)
        cdef const int64_t[::1] view = context
        cdef int64_t nothing = 0
        cdef const int64_t* ids = &view[0] if view.shape[0] > 0 else &nothing
        cdef size_t n = view.shape[0], i
        cdef int64_t context_count = 0
        cdef uint32_t length = 0
        cdef vector[pair[uint32_t, int64_t]] found
        cdef Poll poll = current_poll()
        with nogil:
            found = self.model.get().successors(ids, n, begins, longest, &context_count, &length, &poll)
        tokens, counts = np.empty(found.size(), dtype=np.int64), np.empty(found.size(), dtype=np.int64)
        cdef int64_t[::1] token_view = tokens, count_view = counts
        for i in range(found.size()):
            token_view[i] = <int64_t>found[i].first - 1 if found[i].first else -2
            count_view[i] = found[i].second
        return tokens, counts, context_count, length


cdef class Ranking:
    """Tokens by their values without context (n,), sorted once: for the most probable ones after a context, and draws.

    Distributions are those of `Model.shares`: places of listed tokens, their probabilities, and the factor of all others.
    """

    cdef unique_ptr[CppRanking] ranking

    def __cinit__(self, alone):
        alone = np.ascontiguousarray(alone, dtype=np.float64)
        cdef const double[::1] view = alone
        cdef size_t n = view.shape[0]
        if n >= 2**31:
            raise ValueError(f"{n} tokens are too many")
        cdef double nothing = 0
        cdef const double* values = &view[0] if n > 0 else &nothing
        with nogil:
            self.ranking.reset(new CppRanking(values, n))

    def total(self, places, probs, double rest):
        """The sum of all probabilities."""
        cdef const int64_t[::1] place_view = places
        cdef const double[::1] prob_view = probs
        return self.ranking.get().total(self.listed(place_view, prob_view, rest))

    def top(self, places, probs, double rest, size_t k):
        """The k most probable tokens: places ascending (m,) int64, probabilities (m,); among equals the first places."""
        cdef const int64_t[::1] place_view = places
        cdef const double[::1] prob_view = probs
        cdef Listed listed = self.listed(place_view, prob_view, rest)
        cdef vector[pair[double, int64_t]] found
        cdef size_t i
        with nogil:
            found = self.ranking.get().top(listed, k)
        out_places, out_probs = np.empty(found.size(), dtype=np.int64), np.empty(found.size(), dtype=np.float64)
        cdef int64_t[::1] out_place_view = out_places
        cdef double[::1] out_prob_view = out_probs
        for i in range(found.size()):
            out_prob_view[i], out_place_view[i] = found[i].first, found[i].second
        return out_places, out_probs

    def draw(self, places, probs, double rest, double temperature, double share, double at):
        """A token's place, and its probability divided by the sum of all; the place is below 0 if nothing is possible.

        It is drawn by probabilities to the power of 1 / temperature, from as few of the most probable tokens as have a
        share of all: the one at `at`, at least 0 and below 1, with all in a row, the most probable first.
        """
        cdef const int64_t[::1] place_view = places
        cdef const double[::1] prob_view = probs
        cdef Listed listed = self.listed(place_view, prob_view, rest)
        cdef DrawnPlace drawn
        with nogil:
            drawn = self.ranking.get().draw(listed, temperature, share, at)
        return drawn.place, drawn.prob

    cdef Listed listed(self, const int64_t[::1] places, const double[::1] probs, double rest) except *:
        cdef Listed found
        found.n = places.shape[0]
        found.places = &places[0] if found.n > 0 else NULL
        found.probs = &probs[0] if found.n > 0 else NULL
        found.rest = rest
        if places.shape[0] != probs.shape[0] or not self.ranking.get().fits(found):
            raise ValueError("these are not the shares of a model")
        return found


cdef class LeftOut:
    """Tokens of the corpus as an interpolated model with a least count of 1 would see them if they were not there.

    n_wanted : about how many tokens; chosen by their text, whatever the segments are
    """

    cdef CppLeftOut data

    def __cinit__(self, Model model not None, uint64_t n_wanted):
        cdef unique_ptr[LeftOutSample] sample
        cdef Poll poll = current_poll()
        with nogil:
            sample.reset(new LeftOutSample(model.model.get()[0], n_wanted, &poll))
            self.data = sample.get().levels()

    def __len__(self):
        return self.data.weights.size()

    def log_likelihood(self, levels, double base):
        """The sum of the tokens' log-probabilities, and its gradient: float, and (lengths, 10) float64.

        levels : as a Model's, each of ten numbers; of lengths 1, 2, …, the last one reused above
        base : the probability of each token below all levels
        """
        cdef vector[Level] used, slopes
        cdef Poll poll = current_poll()
        cdef double found
        cdef size_t i, k
        for row in levels:
            used.push_back(level_of(row))
        with nogil:
            found = self.data.log_likelihood(used, base, &slopes, &poll)
        out = np.empty((slopes.size(), 10), dtype=np.float64)
        cdef double[:, ::1] view = out
        for i in range(slopes.size()):
            for k in range(3):
                view[i, k] = slopes[i].lone.discount[k]
                view[i, 5 + k] = slopes[i].other.discount[k]
            view[i, 3], view[i, 4] = slopes[i].lone.concentration, slopes[i].lone.per_type
            view[i, 8], view[i, 9] = slopes[i].other.concentration, slopes[i].other.per_type
        return found, out


# An id beside those of tokens, UNKNOWN and BEGIN: the context is shorter.
NOTHING = -4
# Places that a context with gaps can have.
MOST_PLACES = 7


cdef class Skips:
    """Kneser-Ney over contexts with gaps: those that keep some of `n_places` tokens before the token that follows.

    A context is the ids of its places, the nearest first; after BEGIN all others are NOTHING. Numbers "by kept places" are
    arrays whose index has a bit for each place that is kept, bit 0 for the nearest one.

    n_places : at most MOST_PLACES
    discounts : (2**n_places, 3) : D1, D2, D3+ by kept places; None: only counts are wanted
    alone : P of each type, of END, and of any other token, without context
    farthest : the weight of dropping the farthest token beside 1 for dropping any other
    """

    cdef unique_ptr[SkipModel] model
    cdef readonly LanguageIndex index
    cdef readonly uint32_t n_places
    cdef bint only_counts

    def __cinit__(self, LanguageIndex index not None, uint32_t n_places, discounts=None, alone=(), double farthest=1.0):
        cdef SkipSettings settings
        cdef discount3 discount
        cdef size_t k
        if not 1 <= n_places <= MOST_PLACES:
            raise ValueError(f"a context with gaps has 1 … {MOST_PLACES} places, not {n_places}")
        if discounts is not None and (len(discounts) != 2**n_places or len(alone) != len(index.types()[0]) + 2):
            raise ValueError("there must be discounts for all contexts, and probabilities of all tokens")
        for row in discounts if discounts is not None else ():
            for k in range(3):
                discount[k] = row[k]
            settings.discounts.push_back(discount)
        settings.n_places = n_places
        settings.alone = alone
        settings.farthest = farthest
        self.index = index
        self.n_places = n_places
        self.only_counts = discounts is None
        self.model.reset(new SkipModel(&index.data, settings))

    def counts_of_counts(self, uint32_t first, uint32_t stop, uint64_t n_most=2**21):
        """The numbers of n-grams with an adjusted count of 1 … 4: (stop - first, 4) int64, by kept places.

        n_most : about how many n-grams are looked at, chosen by their hash, out of all

        Cost: a pass over the text; 24 bytes for each n-gram that is looked at.
        """
        if not 1 <= first < stop <= 1 << self.n_places:
            raise ValueError(f"there are contexts 1 … {2**self.n_places - 1}, not {first} … {stop - 1}")
        cdef vector[array4] found
        cdef Poll poll = current_poll()
        with nogil:
            found = self.model.get().counts_of_counts(first, stop, n_most, &poll)
        out = np.empty((stop - first, 4), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        cdef size_t i, k
        for i in range(found.size()):
            for k in range(4):
                view[i, k] = found[i][k]
        return out

    def probabilities(self, contexts, tokens):
        """P(tokens[i] | contexts[i]): (n,) float64. contexts: (n, n_places); a token may be END.

        Cost: a pass over the occurrences of the rarest part of each context, shared by free cores; those of contexts that
        take long are kept, in up to 128 MB.
        """
        contexts = np.ascontiguousarray(contexts, dtype=np.int64)
        tokens = id_array(tokens, BEGIN)
        if self.only_counts:
            raise ValueError("probabilities need discounts")
        if contexts.ndim != 2 or contexts.shape[0] != tokens.shape[0] or contexts.shape[1] != self.n_places:
            raise ValueError(f"{tokens.shape[0]} tokens need contexts of {self.n_places} places each")
        cdef size_t n = tokens.shape[0]
        out = np.empty(n, dtype=np.float64)
        if n == 0:
            return out
        cdef const int64_t[:, ::1] context_view = contexts
        cdef const int64_t[::1] token_view = tokens
        cdef double[::1] out_view = out
        cdef Poll poll = current_poll()
        with nogil:
            self.model.get().probabilities(&context_view[0, 0], &token_view[0], n, &out_view[0], &poll)
        return out

    def distribution(self, context):
        """P of each type, of END, and of any other token after a context: (k,) float64."""
        context = np.ascontiguousarray(context, dtype=np.int64)
        if self.only_counts:
            raise ValueError("probabilities need discounts")
        if context.shape != (self.n_places,):
            raise ValueError(f"a context has {self.n_places} places")
        cdef const int64_t[::1] context_view = context
        out = np.empty(self.index.data.vocabulary.get().codes.size() + 2, dtype=np.float64)
        cdef double[::1] out_view = out
        cdef Poll poll = current_poll()
        with nogil:
            self.model.get().distribution(&context_view[0], &out_view[0], &poll)
        return out


cdef class Sampler:
    """Tokens drawn after a context, one by one, by an interpolated model or stupid backoff. Not for several threads.

    Raises ValueError for another model.
    """

    cdef unique_ptr[CppSampler] sampler
    cdef readonly Model model

    def __cinit__(self, Model model, context, bint begins=False):
        context = id_array(context, BEGIN)
        cdef const int64_t[::1] view = context
        cdef int64_t nothing = 0
        cdef const int64_t* ids = &view[0] if view.shape[0] > 0 else &nothing
        cdef size_t n = view.shape[0]
        cdef Poll poll = current_poll()
        self.model = model
        with nogil:
            self.sampler.reset(new CppSampler(model.model.get()[0], ids, n, begins, &poll))

    def next(self, uint64_t seed):
        """The next token, or END, and its probability among those that the corpus has: the same for the same seed.

        UNKNOWN with probability 0 when no token of the corpus is frequent enough. Raises ValueError after END.
        """
        cdef Drawn drawn
        cdef Poll poll = current_poll()
        with nogil:
            drawn = self.sampler.get().next(seed, &poll)
        return drawn.id, drawn.prob


cdef int64_t token_of_text(object item) except? -4:
    """A token id, END, BEGIN or UNKNOWN. Raises InvalidArgument for anything else."""
    cdef int64_t value
    if not small_int(item, &value):
        if PyBool_Check(item) or isinstance(item, np.bool_):
            refuse_token(item)
        try:
            value = operator.index(item)
        except (TypeError, OverflowError):
            refuse_token(item)
    if not BEGIN <= value < 2**32:
        refuse_token(item)
    return value


cdef int refuse_token(object item) except -1:
    raise InvalidArgument(f"a token id must be a whole number from {BEGIN} to {2**32 - 1}, not {shown(item)}")


cdef object shown(object item):
    text = repr(item)
    return text if len(text) <= 100 else f"{text[:99]}…"


cdef class TextState:
    """The state of a text that a model is reading, for decoders: several texts can continue from one state.

    A new one is the beginning of a text. Not for several threads at once.
    """

    cdef unique_ptr[CppTextState] state
    cdef readonly Model model

    def __cinit__(self, Model model not None, bint in_sentence=False):
        self.model = model
        self.state.reset(new CppTextState(model.model.get()[0]))
        self.state.get().begin(in_sentence)

    def begin(self, bint in_sentence=False):
        """Make this the beginning of a text; in_sentence: after `<s>`."""
        self.state.get().begin(in_sentence)

    def read(self, origin, token=None):
        """Append a token (END and BEGIN included): `read(token)` to this text, `read(origin, token)` to that of `origin`.

        `origin` remains unchanged, unless it is this state. Returns the token's probability, NaN if the model has none,
        and the length of the longest n-gram used. Raises InvalidArgument for the state of another model, and for
        anything that is not a token id.
        Cost: a search per n-gram length, with the GIL held: 1 to 2 µs if the index is in the processor's cache,
        10 to 60 µs if it is not.
        """
        if token is None:
            return self._read(self, token_of_text(origin))
        if not isinstance(origin, TextState):
            raise InvalidArgument(f"the origin of a text must be a state of its model, not {shown(origin)}")
        return self._read(origin, token_of_text(token))

    cdef _read(self, TextState origin, int64_t token):
        if origin.model is not self.model:
            raise InvalidArgument("this state belongs to another model")
        cdef Poll poll = current_poll()
        cdef Scored scored = self.state.get().read(origin.state.get()[0], token, &poll)
        return scored.prob, scored.effective_n

    def copy(self):
        """The same text as a state of its own."""
        made = TextState(self.model)
        made.state.get()[0] = self.state.get()[0]
        return made

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        raise NotSupportedError(
            "a state reads its model's files and cannot be pickled; pickle the tokens, and read them there"
        )

    @property
    def context(self):
        """Return the state that determines all next probabilities: the last tokens, and BEGIN before them if it counts.

        States with equal contexts are the same to the model.
        """
        cdef const vector[int64_t]* ids = &self.state.get().context()
        cdef size_t i
        found = tuple([ids[0][i] for i in range(ids.size())])
        return (BEGIN, *found) if self.state.get().begins() else found
