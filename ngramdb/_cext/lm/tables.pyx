# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Tables of n-grams with log-probabilities and backoff weights: ARPA files, and models that have been computed.

Token ids are int64; END, BEGIN and UNKNOWN are those of `ngramdb._cext.lm.models`. Everything that takes time releases the
GIL and can be stopped (`ngramdb.interrupts`).
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

from ngramdb._cext.base.arguments cimport id_array, int64_array
from ngramdb._cext.base.interrupt cimport Poll, current_poll, translate_exception
from ngramdb.errors import InvalidArgument, NotSupportedError

cdef extern from "ngramdb/lm/ngram_table.hpp" namespace "ngramdb::lm" nogil:
    uint32_t kUnknownCode
    uint32_t kBeginCode
    uint32_t kEndCode
    uint32_t kFirstWord
    uint64_t kBase
    uint64_t hash_of_word(uint32_t)

    cdef cppclass Probability:
        Probability(float, cbool)

    cdef cppclass Weight:
        Weight(float, cbool)

    cdef cppclass Entry:
        Probability prob
        Weight weight

    cdef cppclass Codes:
        void set(vector[int64_t], vector[uint32_t]) except +
        int64_t id_of(uint32_t)

    cdef cppclass CppTable "ngramdb::lm::NgramTable":
        CppTable(uint32_t) except +translate_exception
        uint32_t order()
        size_t size(uint32_t)
        size_t n_words()
        size_t n_bytes()
        void resize(size_t) except +translate_exception
        Entry& word(uint32_t)
        void reserve(uint32_t, size_t) except +translate_exception
        void insert_all(uint32_t, const uint64_t*, const float*, const float*, const uint8_t*, const uint8_t*, size_t, Poll*) except +translate_exception
        Codes codes
        float penalty
        int64_t separator
        double least

cdef extern from "ngramdb/lm/table_scoring.hpp" namespace "ngramdb::lm" nogil:
    cdef struct TableScores:
        double* logs
        int32_t* lengths
        int32_t* suffixes

    cdef cppclass TableBatch:
        TableBatch(const CppTable&, const int64_t*, const int64_t*, size_t, cbool, TableScores) except +
        void run(Poll*) except +translate_exception

    void score_continuations(const CppTable&, const int64_t*, const int64_t*, const int64_t*, const int64_t*, const uint8_t*, size_t, TableScores, Poll*) except +translate_exception

    cdef cppclass CppState "ngramdb::lm::TableState":
        CppState(const CppTable&) except +translate_exception
        void begin(cbool) except +translate_exception
        pair[double, int32_t] read(const CppState&, int64_t) except +translate_exception
        const vector[uint32_t]& words()

cdef extern from "ngramdb/lm/arpa_reader.hpp" namespace "ngramdb::lm" nogil:
    cdef cppclass WordCodes:
        size_t size()
        string word(size_t)

    cdef cppclass CppReader "ngramdb::lm::ArpaReader":
        CppReader(uint64_t)
        void feed(const char*, size_t, Poll*) except +translate_exception
        void finish() except +translate_exception
        uint64_t line()
        const vector[uint64_t]& counts()
        const WordCodes& words()
        CppTable* take_table()

BEGIN = -3
UNKNOWN_CODE, BEGIN_CODE, END_CODE, FIRST_WORD = kUnknownCode, kBeginCode, kEndCode, kFirstWord
# The hash of an n-gram is that of its first n - 1 words, times BASE, plus the hash of its last word.
BASE = np.uint64(kBase)


def word_hashes(uint32_t n):
    """Return the hashes of the codes 0 … n - 1: (n,) uint64."""
    out = np.empty(n, dtype=np.uint64)
    cdef uint64_t[::1] view = out
    cdef uint32_t code
    for code in range(n):
        view[code] = hash_of_word(code)
    return out


cdef class NgramTable:
    """n-grams of a model with log10 of their probabilities and of their weights as contexts.

    Codes of words: UNKNOWN_CODE, BEGIN_CODE, END_CODE, and others from FIRST_WORD on.

    Parameters
    ----------
    order : the greatest length of an n-gram, 1 … 255
    n_words : the number of codes
    penalty : log10 of the weight for each word of context that is given up, besides that of the context
    separator : the id of the token that ends a sentence and begins the next
    least : what no logarithm falls below
    """

    cdef unique_ptr[CppTable] table

    def __cinit__(self, uint32_t order, n_words=0, penalty=0.0, separator=None, least=-1e300):
        self.table.reset(new CppTable(order))
        self.table.get().resize(n_words)
        self.table.get().penalty = penalty
        if separator is not None:
            self.table.get().separator = separator
        self.table.get().least = least

    @property
    def order(self):
        """The greatest length of an n-gram."""
        return self.table.get().order()

    @property
    def sizes(self):
        """The numbers of n-grams of length 1, 2, …, the codes without an id included."""
        return tuple([self.table.get().size(n) for n in range(1, self.order + 1)])

    @property
    def n_bytes(self):
        """The memory of the tables."""
        return self.table.get().n_bytes()

    def set_ids(self, ids, codes):
        """Set which token ids the words have. ids : (k,) int64, ascending; codes : (k,) uint32."""
        cdef const int64_t[::1] id_view = int64_array(ids)
        cdef const uint32_t[::1] code_view = np.ascontiguousarray(codes, dtype=np.uint32)
        if id_view.shape[0] != code_view.shape[0] or (np.diff(ids) <= 0).any() or (len(ids) and ids[0] < 0):
            raise ValueError("ids must ascend, and each needs a code")
        if len(codes) and max(codes) >= self.table.get().n_words():
            raise ValueError(f"a code is not below {self.table.get().n_words()}")
        cdef vector[int64_t] id_vector
        cdef vector[uint32_t] code_vector
        cdef Py_ssize_t n = id_view.shape[0]
        if n > 0:
            id_vector.assign(&id_view[0], &id_view[0] + n)
            code_vector.assign(&code_view[0], &code_view[0] + n)
        self.table.get().codes.set(id_vector, code_vector)

    def set_words(self, const float[::1] probs not None, const float[::1] weights not None,
                  const uint8_t[::1] is_suffix not None, const uint8_t[::1] is_context not None):
        """Set the 1-grams, by their codes; the arguments are those of `insert`."""
        cdef Py_ssize_t n = self.table.get().n_words(), i
        if not n == probs.shape[0] == weights.shape[0] == is_suffix.shape[0] == is_context.shape[0]:
            raise ValueError(f"expected arrays of {n} words")
        for i in range(n):
            self.table.get().word(i).prob = Probability(probs[i], is_suffix[i] != 0)
            self.table.get().word(i).weight = Weight(weights[i], is_context[i] != 0)

    def reserve(self, uint32_t n, size_t count):
        """Make room for a number of n-grams of one length, from 2 on."""
        if not 2 <= n <= self.order:
            raise ValueError(f"the table has n-grams of 2 to {self.order} words in tables, not {n}")
        self.table.get().reserve(n, count)

    def insert(self, uint32_t n, const uint64_t[::1] keys not None, const float[::1] probs not None,
               const float[::1] weights=None, const uint8_t[::1] is_suffix=None, const uint8_t[::1] is_context=None):
        """Insert n-grams of one length, all different.

        Parameters
        ----------
        keys : (k,) uint64 : their hashes
        probs, weights : (k,) float32 : log10 of their probabilities, and of their weights as contexts; no weights for the
            greatest length
        is_suffix : (k,) uint8 : whether a longer n-gram ends with it
        is_context : (k,) uint8 : whether one begins with it
        """
        cdef Py_ssize_t size = keys.shape[0]
        cdef Poll poll = current_poll()
        if not 2 <= n <= self.order or probs.shape[0] != keys.shape[0] or (weights is None) != (n == self.order):
            raise ValueError(f"no such n-grams of length {n} in a table of order {self.order}")
        if weights is not None and not size == weights.shape[0] == is_suffix.shape[0] == is_context.shape[0]:
            raise ValueError("the arrays differ in length")
        if size == 0:
            return
        cdef const float* weight = NULL
        cdef const uint8_t* suffix = NULL
        cdef const uint8_t* context = NULL
        if weights is not None:
            weight = &weights[0]
            suffix = &is_suffix[0]
            context = &is_context[0]
        with nogil:
            self.table.get().insert_all(n, &keys[0], &probs[0], weight, suffix, context, size, &poll)

    def score(self, flat, offsets, bint sentences=False):
        """Score every token of documents, as `Model.score` does.

        Returns
        -------
        log10 of the probabilities, (n,) float64; the lengths of the n-grams that were found, (n,) int32; and those of the
        longest suffixes of the contexts that the table has, plus one, (n,) int32.

        Cost: 0.05 to 0.2 µs per token and core, from 16,384 tokens on shared by all free cores.
        """
        flat = id_array(flat, BEGIN)
        offsets = offsets_of(offsets, flat.shape[0])
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef size_t n = offsets.shape[0] - 1
        cdef int64_t nothing = 0
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else &nothing
        out = new_scores(offsets[n] - offsets[0] + (n if sentences else 0))
        cdef TableScores scores = scores_in(out)
        cdef Poll poll = current_poll()
        cdef unique_ptr[TableBatch] batch
        batch.reset(new TableBatch(self.table.get()[0], ids, &offset_view[0], n, sentences, scores))
        with nogil:
            batch.get().run(&poll)
        return out

    def estimate(self, flat, offsets, tokens, begins, token_offsets=None):
        """Score the tokens of continuations, each after its context; parameters as in `Model.estimate`, results as in `score`."""
        flat = id_array(flat, BEGIN)
        offsets = offsets_of(offsets, flat.shape[0])
        tokens = id_array(tokens, BEGIN)
        begins = np.ascontiguousarray(begins, dtype=np.uint8)
        if token_offsets is None:
            token_offsets = np.arange(tokens.shape[0] + 1, dtype=np.int64)
        token_offsets = offsets_of(token_offsets, tokens.shape[0])
        cdef size_t n = begins.shape[0]
        if <size_t>offsets.shape[0] != n + 1 or token_offsets.shape != offsets.shape:
            raise ValueError(
                f"{offsets.shape[0] - 1} contexts and {begins.shape[0]} beginnings, but {token_offsets.shape[0] - 1} tokens"
            )
        if token_offsets[0] != 0:
            raise ValueError(f"offsets of tokens begin with 0, not {token_offsets[0]}")
        cdef const int64_t[::1] flat_view = flat
        cdef const int64_t[::1] offset_view = offsets
        cdef const int64_t[::1] token_view = tokens
        cdef const int64_t[::1] token_offset_view = token_offsets
        cdef const uint8_t[::1] begin_view = begins
        cdef int64_t nothing = 0
        cdef const int64_t* ids = &flat_view[0] if flat_view.shape[0] > 0 else &nothing
        out = new_scores(token_offsets[n])
        cdef TableScores scores = scores_in(out)
        cdef Poll poll = current_poll()
        if token_offsets[n] == 0:
            return out
        with nogil:
            score_continuations(self.table.get()[0], ids, &offset_view[0], &token_view[0], &token_offset_view[0],
                                &begin_view[0], n, scores, &poll)
        return out


cdef object offsets_of(object offsets, Py_ssize_t n_flat):
    offsets = int64_array(offsets)
    if offsets.size == 0 or offsets[0] < 0 or offsets[offsets.size - 1] > n_flat or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"offsets must ascend from 0 or more to at most {n_flat}, the number of ids")
    return offsets


cdef tuple new_scores(Py_ssize_t n):
    return np.empty(n, np.float64), np.empty(n, np.int32), np.empty(n, np.int32)


cdef TableScores scores_in(tuple arrays) except *:
    cdef TableScores scores
    cdef double[::1] logs = arrays[0]
    cdef int32_t[::1] lengths = arrays[1]
    cdef int32_t[::1] suffixes = arrays[2]
    scores.logs = NULL
    scores.lengths = NULL
    scores.suffixes = NULL
    if logs.shape[0] > 0:
        scores.logs = &logs[0]
        scores.lengths = &lengths[0]
        scores.suffixes = &suffixes[0]
    return scores


cdef class TableState:
    """The state of a text that a table is reading, for decoders; as `ngramdb._cext.lm.models.TextState`.

    A new one is the beginning of a text. Not for several threads at once.
    """

    cdef unique_ptr[CppState] state
    cdef readonly NgramTable model

    def __cinit__(self, NgramTable model not None, bint in_sentence=False):
        self.model = model
        self.state.reset(new CppState(model.table.get()[0]))
        self.state.get().begin(in_sentence)

    def begin(self, bint in_sentence=False):
        """Make this the beginning of a text; in_sentence: after `<s>`."""
        self.state.get().begin(in_sentence)

    def read(self, origin, token=None):
        """Append a token (END and BEGIN included): `read(token)` to this text, `read(origin, token)` to that of `origin`.

        Returns the token's probability, and the length of the n-gram that was found. Cost: about 0.5 µs.
        """
        log, length = self.read_log(origin, token)
        return 10.0 ** log, length

    def read_log(self, origin, token=None):
        """Do the same; returns log10 of the probability."""
        cdef TableState source = self
        if token is None:
            token = origin
        elif not isinstance(origin, TableState):
            raise InvalidArgument("the origin of a text must be a state of its model")
        else:
            source = origin
        if source.model is not self.model:
            raise InvalidArgument("this state belongs to another model")
        if isinstance(token, (bool, np.bool_)) or not isinstance(token, (int, np.integer)) or not BEGIN <= token < 2**32:
            raise InvalidArgument(f"a token id must be a whole number from {BEGIN} to {2**32 - 1}, not {token!r}")
        cdef pair[double, int32_t] found = self.state.get().read(source.state.get()[0], token)
        return found.first, found.second

    def copy(self):
        """The same text as a state of its own."""
        made = TableState(self.model)
        made.state.get()[0] = self.state.get()[0]
        return made

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        raise NotSupportedError(
            "a state belongs to its model's table and cannot be pickled; pickle the tokens, and read them there"
        )

    @property
    def context(self):
        """The ids of the words that determine all next probabilities, BEGIN among them.

        States with equal contexts are the same to the model.
        """
        cdef const vector[uint32_t]* words = &self.state.get().words()
        cdef size_t n = words[0].size(), i
        return tuple([self.model.table.get().codes.id_of(words[0][n - 1 - i]) for i in range(n)])


cdef class ArpaReader:
    """Reads an ARPA file into a table.

    most : the greatest number of n-grams of one length that a file of its size can have
    """

    cdef unique_ptr[CppReader] reader

    def __cinit__(self, uint64_t most):
        self.reader.reset(new CppReader(most))

    @property
    def line(self):
        """The number of the line with the error, after one."""
        return self.reader.get().line()

    def feed(self, const uint8_t[::1] data not None):
        """Read bytes of the file, in order. Raises ValueError if it is damaged. Cost: 0.5 µs per n-gram."""
        cdef Poll poll = current_poll()
        cdef size_t n = data.shape[0]
        if n == 0:
            return
        with nogil:
            self.reader.get().feed(<const char*>&data[0], n, &poll)

    def finish(self):
        """Return the table, the words from FIRST_WORD on, and the numbers of n-grams of each length.

        Raises ValueError if the file is damaged.
        """
        self.reader.get().finish()
        cdef NgramTable table = NgramTable(1)
        table.table.reset(self.reader.get().take_table())
        cdef const WordCodes* words = &self.reader.get().words()
        cdef size_t i
        listed = [words.word(i).decode("utf-8", "surrogateescape") for i in range(words.size())]
        return table, listed, tuple(self.reader.get().counts())
