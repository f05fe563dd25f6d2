# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# distutils: language = c++
"""Words: the `words` tokenizer's vocabulary and scanner, and the words that a finite automaton accepts.

Checked wrappers over `words.hpp` and `word_automaton.hpp`. A vocabulary may be used by several threads at once: a mutex
inside orders them, and it is only ever waited for without the GIL.
"""

import numpy as np

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from cython.operator cimport dereference
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy
from libcpp.memory cimport unique_ptr
from libcpp.string cimport string
from libcpp.utility cimport move
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport current_poll, Poll, translate_exception

cdef extern from "ngramdb/text/words.hpp" namespace "ngramdb::words" nogil:
    const char* kUnicodeVersion
    const uint64_t kMaxLayerWords

    cdef cppclass Span:
        const uint8_t* data
        size_t size

    cdef cppclass LayerView:
        const uint8_t* arena
        uint64_t arena_size
        const uint64_t* offsets
        uint64_t n_words
        const uint64_t* slots
        size_t n_slots

    size_t slots_for(uint64_t n_words)
    void fill_slots(const LayerView& words, uint64_t* slots, size_t n_slots)

    cdef cppclass CVocabulary "ngramdb::words::Vocabulary":
        CVocabulary(uint64_t max_words) except +
        uint64_t n_words()
        void append(const LayerView& words) except +
        unique_ptr[CVocabulary] fork() except +
        void encode_adding(const Span* texts, size_t n, vector[uint32_t]& ids, int64_t* offsets, Poll* stop) except +translate_exception
        void encode(Span text, vector[int64_t]& ids) except +
        int64_t lookup(Span word) except +
        string word(uint64_t id) except +
        void export_words(uint64_t start, uint64_t stop, vector[uint8_t]& bytes, vector[uint64_t]& offsets) except +
        int64_t first_wrong() except +


# The Unicode version of the character classes.
UNICODE_VERSION = kUnicodeVersion.decode("ascii")

# So that every id fits uint32, and one is left that no word has.
MAX_WORDS = int(kMaxLayerWords)


cdef Span span_of(bytes text) noexcept:
    cdef Span span
    span.data = <const uint8_t*>PyBytes_AS_STRING(text)
    span.size = <size_t>PyBytes_GET_SIZE(text)
    return span


cdef LayerView words_view(const uint8_t[::1] entries, const uint64_t[::1] offsets) except *:
    """The words of (entries, offsets), without a hash table. Offsets are checked here at both ends only; the kernel
    checks the others one by one when it uses them."""
    cdef LayerView view
    if offsets.shape[0] < 1 or offsets[0] != 0 or offsets[offsets.shape[0] - 1] != <uint64_t>entries.shape[0]:
        raise ValueError("the offsets of the words do not span their bytes")
    if <uint64_t>(offsets.shape[0] - 1) > kMaxLayerWords:
        raise OverflowError("the vocabulary is full")
    view.arena = &entries[0] if entries.shape[0] > 0 else NULL
    view.arena_size = entries.shape[0]
    view.offsets = &offsets[0]
    view.n_words = offsets.shape[0] - 1
    view.slots = NULL
    view.n_slots = 0
    return view


def build_slots(const uint8_t[::1] entries not None, const uint64_t[::1] offsets not None):
    """Return the hash table of adjacent words, as a vocabulary file stores it.

    Parameters: entries: (m,) uint8; offsets: (n + 1,) uint64, from 0 to m.
    Returns: (k,) uint64, k a power of two.
    Raises ValueError when the offsets do not span the entries.
    Cost: O(m) time; no memory beside the result. The GIL is released.
    """
    cdef LayerView view = words_view(entries, offsets)
    cdef size_t n_slots = slots_for(view.n_words)
    slots = np.zeros(n_slots, dtype=np.uint64)
    cdef uint64_t[::1] target = slots
    with nogil:
        fill_slots(view, &target[0], n_slots)
    return slots


cdef class Vocabulary:
    """Words numbered from 0 by first appearance; at most `max_words` of them."""

    cdef unique_ptr[CVocabulary] _vocabulary
    cdef list _borrowed  # the arrays that mapped layers point into

    def __cinit__(self, max_words=MAX_WORDS):
        if not 0 <= max_words <= MAX_WORDS:
            raise ValueError(f"max_words must be in 0..{MAX_WORDS}, not {max_words}")
        self._vocabulary.reset(new CVocabulary(<uint64_t>max_words))
        self._borrowed = []

    def __len__(self):
        cdef uint64_t n_words
        with nogil:
            n_words = dereference(self._vocabulary).n_words()
        return <Py_ssize_t>n_words

    def append(self, entries, offsets, slots=None):
        """Add the words of a vocabulary file after those that are here.

        The arrays are used in place (they may be a mapped file) and kept alive; without `slots` the table is made.

        Parameters: entries: (m,) uint8; offsets: (n + 1,) uint64; slots: (k,) uint64, k a power of two, or None.
        Raises ValueError for arrays that cannot be a vocabulary's; OverflowError when there are too many words.
        Cost: O(1) with slots, unless small layers are merged; O(m) without.
        """
        cdef const uint8_t[::1] entry_bytes = entries
        cdef const uint64_t[::1] entry_offsets = offsets
        cdef LayerView view = words_view(entry_bytes, entry_offsets)
        if slots is None:
            slots = build_slots(entries, offsets)
        cdef const uint64_t[::1] table = slots
        cdef size_t n_slots = table.shape[0]
        if n_slots == 0 or n_slots & (n_slots - 1) or n_slots <= view.n_words:
            raise ValueError(f"a hash table of {n_slots} slots cannot hold {view.n_words} words")
        view.slots = &table[0]
        view.n_slots = n_slots
        self._borrowed.append((entry_bytes, entry_offsets, table))
        with nogil:
            dereference(self._vocabulary).append(view)

    def fork(self):
        """A vocabulary with the same words, which grows without this one noticing. Cost: O(log n), no word is copied."""
        cdef Vocabulary twin = Vocabulary.__new__(Vocabulary)
        with nogil:
            twin._vocabulary = move(dereference(self._vocabulary).fork())
        twin._borrowed = list(self._borrowed)
        return twin

    def encode_batch(self, texts):
        """The ids of the words of many texts; new words are added.

        Parameters: texts: list of bytes, UTF-8.
        Returns: (ids, offsets): (m,) uint32 and (n + 1,) int64; text k has ids[offsets[k]:offsets[k + 1]].
        Raises TypeError when a text is not bytes; OverflowError when the vocabulary is full (what was added stays).
        Cost: O(bytes) time, 4 bytes per word twice over. The GIL is released.
        """
        cdef tuple kept = tuple(texts)  # keeps the bytes alive while the GIL is released
        cdef vector[Span] spans
        cdef vector[uint32_t] ids
        cdef size_t n = len(kept)
        spans.reserve(n)
        for text in kept:
            if not PyBytes_CheckExact(text):
                raise TypeError(f"a text must be bytes, not {type(text).__name__}")
            spans.push_back(span_of(<bytes>text))
        offsets = np.zeros(n + 1, dtype=np.int64)
        cdef int64_t[::1] offsets_view = offsets
        cdef Poll poll = current_poll()
        with nogil:
            dereference(self._vocabulary).encode_adding(spans.data(), n, ids, &offsets_view[0], &poll)
        result = np.empty(ids.size(), dtype=np.uint32)
        cdef uint32_t[::1] result_view = result
        if ids.size() > 0:
            with nogil:
                memcpy(&result_view[0], ids.data(), ids.size() * sizeof(uint32_t))
        return result, offsets

    def encode(self, bytes text not None):
        """The ids of a text's words, -1 for a word that is not here: (m,) int64. Nothing is added."""
        cdef vector[int64_t] ids
        cdef Span span = span_of(text)
        with nogil:
            dereference(self._vocabulary).encode(span, ids)
        result = np.empty(ids.size(), dtype=np.int64)
        cdef int64_t[::1] result_view = result
        if ids.size() > 0:
            memcpy(&result_view[0], ids.data(), ids.size() * sizeof(int64_t))
        return result

    def lookup(self, bytes word not None):
        """The id of one word, taken as it is (no scanning), or -1."""
        cdef Span span = span_of(word)
        cdef int64_t found
        with nogil:
            found = dereference(self._vocabulary).lookup(span)
        return found

    def word(self, id):
        """Return the bytes of the word with this id. Raises IndexError for an unknown id."""
        if not 0 <= id < len(self):
            raise IndexError(f"no word has the id {id}")
        cdef uint64_t wanted = id
        cdef string found
        with nogil:
            found = dereference(self._vocabulary).word(wanted)
        return <bytes>found

    def words(self, const uint32_t[::1] ids):
        """Return the words with these ids as str, bytes that are not UTF-8 as backslash escapes: a list.

        Raises IndexError for an unknown id.
        """
        cdef vector[string] found
        cdef size_t n = ids.shape[0]
        cdef size_t i
        cdef uint64_t n_words = len(self)
        for i in range(n):
            if ids[i] >= n_words:
                raise IndexError(f"no word has the id {ids[i]}")
        found.resize(n)
        with nogil:
            for i in range(n):
                found[i] = dereference(self._vocabulary).word(ids[i])
        return [PyUnicode_DecodeUTF8(found[i].data(), found[i].size(), "backslashreplace") for i in range(n)]

    def export(self, start=0, stop=None):
        """The words with ids [start, stop) as a vocabulary file holds them.

        Returns: (entries, offsets): (m,) uint8 and (n + 1,) uint64, from 0 to m.
        Raises IndexError when the range is not inside the vocabulary.
        Cost: O(m) time, the result twice over in memory. The GIL is released.
        """
        stop = len(self) if stop is None else stop
        if not 0 <= start <= stop <= len(self):
            raise IndexError(f"the words {start}..{stop} are not inside 0..{len(self)}")
        cdef uint64_t first = start, last = stop
        cdef vector[uint8_t] words
        cdef vector[uint64_t] ends
        with nogil:
            dereference(self._vocabulary).export_words(first, last, words, ends)
        entries = np.empty(words.size(), dtype=np.uint8)
        offsets = np.empty(ends.size(), dtype=np.uint64)
        cdef uint8_t[::1] entries_view = entries
        cdef uint64_t[::1] offsets_view = offsets
        if words.size() > 0:
            memcpy(&entries_view[0], words.data(), words.size())
        memcpy(&offsets_view[0], ends.data(), ends.size() * sizeof(uint64_t))
        return entries, offsets

    def first_wrong(self):
        """The first id whose word is empty or not found under that id (duplicate, damaged table), or -1. O(n)."""
        cdef int64_t found
        with nogil:
            found = dereference(self._vocabulary).first_wrong()
        return found


cdef extern from "ngramdb/text/word_automaton.hpp" namespace "ngramdb" nogil:
    cdef cppclass WordAutomaton:
        const uint32_t* next
        const uint8_t* accepting
        const uint32_t* class_of
        uint32_t n_classes

    void accepted_words(const uint32_t*, const int64_t*, size_t, const WordAutomaton&, uint8_t*, Poll*) except +translate_exception


cdef class SymbolWords:
    """Words symbols[offsets[i]:offsets[i + 1]], of symbols below n_symbols; both arrays are kept, not copied.

    Raises ValueError for offsets or symbols out of range.
    """

    cdef const uint32_t[::1] symbols
    cdef const int64_t[::1] offsets
    cdef uint32_t n_symbols

    def __cinit__(self, symbols, offsets, uint32_t n_symbols):
        self.symbols = symbols
        self.offsets = offsets
        self.n_symbols = n_symbols
        ends = np.asarray(offsets)
        if len(ends) == 0 or ends[0] != 0 or ends[len(ends) - 1] != len(symbols) or bool((np.diff(ends) < 0).any()):
            raise ValueError("offsets ascend from 0 to the number of symbols")
        if len(symbols) and np.max(symbols) >= n_symbols:
            raise ValueError(f"a symbol is not below {n_symbols}")

    def accepted(self, const uint32_t[::1] class_of, const uint32_t[:, ::1] table, const uint8_t[::1] accepting):
        """Which words are accepted: (n,) bool.

        Parameters
        ----------
        class_of : (n_symbols,), the class of each symbol
        table : (n_states, n_classes), the next state; state 0 is dead, words begin in state 1
        accepting : of each state

        Raises ValueError for classes or states that do not exist. Cost: 2-3 ns per symbol, up to the one at which a word is
        known not to be accepted.
        """
        cdef size_t n = self.offsets.shape[0] - 1
        cdef WordAutomaton automaton
        cdef Poll poll = current_poll()
        out = np.zeros(n, dtype=np.uint8)
        cdef uint8_t[::1] view = out
        states = np.asarray(table)
        if class_of.shape[0] != self.n_symbols or np.max(class_of, initial=0) >= states.shape[1] or len(states) < 2:
            raise ValueError("a symbol has no class, a class has no column, or a state is missing")
        if np.max(states) >= len(states) or accepting.shape[0] != len(states) or accepting[0] or np.any(states[0]):
            raise ValueError("a state does not exist, or the dead one is not dead")
        if states.size >= 1 << 32:
            raise ValueError("there are too many states")
        cdef const uint32_t[:, ::1] places = states * np.uint32(states.shape[1])
        if n > 0:
            automaton.next = &places[0, 0]
            automaton.accepting = &accepting[0]
            automaton.class_of = &class_of[0] if class_of.shape[0] > 0 else NULL
            automaton.n_classes = <uint32_t>places.shape[1]
            with nogil:
                accepted_words(&self.symbols[0] if self.symbols.shape[0] > 0 else NULL, &self.offsets[0], n, automaton,
                               &view[0], &poll)
        return out.view(np.bool_)
