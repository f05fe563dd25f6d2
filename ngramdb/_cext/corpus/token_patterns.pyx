# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Words of tokens, and regular expressions over tokens (text_words.hpp, token_patterns.hpp).

Words are those of texts whose tokens are pieces of words; a pattern gives the ends of matches that begin at given places.
The GIL is released, and work can be stopped (`ngramdb.interrupts`).
"""

import numpy as np

cimport numpy as cnp
from cython.operator cimport dereference
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr
from libcpp.vector cimport vector

from ngramdb._cext.base.interrupt cimport current_poll, Poll, translate_exception
from ngramdb._cext.segment.segment cimport positions_in, positions_out, PositionsIn, PositionsOut, Segment
from ngramdb._cext.segment.segment_index cimport SegmentIndex
from ngramdb._cext.text.words import build_slots

cnp.import_array()

cdef extern from "ngramdb/text/words.hpp" namespace "ngramdb::words" nogil:
    cdef cppclass LayerView:
        const uint8_t* arena
        uint64_t arena_size
        const uint64_t* offsets
        uint64_t n_words
        const uint64_t* slots
        size_t n_slots

cdef extern from "ngramdb/corpus/text_words.hpp" namespace "ngramdb" nogil:
    cdef cppclass TokenPieces:
        const uint8_t* flat
        const int64_t* offsets
        uint64_t n

    cdef cppclass WordPlace:
        uint64_t n_tokens
        int64_t before
        int64_t after

    cdef cppclass CWordForms "ngramdb::WordForms":
        CWordForms(const TokenPieces&, uint64_t) except +
        void collect(const Segment&, Poll*) except +translate_exception
        LayerView texts()
        LayerView sequences()

    void phrases_at(const Segment&, const TokenPieces&, const vector[LayerView]&, uint64_t, uint64_t, PositionsIn, size_t, vector[int64_t]&, vector[WordPlace]&, Poll*) except +translate_exception

cdef TokenPieces token_pieces(const uint8_t[::1] flat, const int64_t[::1] offsets) except *:
    """The bytes of tokens, used in place. Raises ValueError if the offsets do not ascend within the bytes."""
    cdef TokenPieces pieces
    cdef int64_t n = offsets.shape[0] - 1, i
    if n < 0 or offsets[0] < 0 or offsets[n] > flat.shape[0]:
        raise ValueError("the offsets of the tokens do not span their bytes")
    for i in range(n):
        if offsets[i] > offsets[i + 1]:
            raise ValueError(f"the bytes of token {i} end before they begin")
    pieces.flat = &flat[0] if flat.shape[0] > 0 else NULL
    pieces.offsets = &offsets[0]
    pieces.n = n
    return pieces


def word_forms(SegmentIndex index not None, flat, offsets, uint64_t most):
    """Return the words of a segment's texts, and the sequences of tokens in which they occur.

    Parameters: (flat, offsets): uint8 and int64, the bytes of all tokens; most: sequences, at most.
    Returns: entries, bounds: uint8 and (n + 1,) uint64, the words, each once; (m,) uint32 for each sequence 32-bit
    numbers: that of its word, followed by the token ids; (k + 1,) int64, the beginning of each sequence there.
    Raises OverflowError if there are more than `most` sequences.
    Cost: about 80 ns per token; memory for the words and sequences.
    """
    cdef const uint8_t[::1] piece_bytes = np.ascontiguousarray(flat, dtype=np.uint8)
    cdef const int64_t[::1] piece_bounds = np.ascontiguousarray(offsets, dtype=np.int64)
    cdef TokenPieces pieces = token_pieces(piece_bytes, piece_bounds)
    cdef unique_ptr[CWordForms] forms
    cdef Poll poll = current_poll()
    forms.reset(new CWordForms(pieces, most))
    with nogil:
        dereference(forms).collect(index.segment[0], &poll)
    entries, bounds = _copied(dereference(forms).texts())
    ids, places = _copied(dereference(forms).sequences())
    return entries, bounds, ids.view(np.uint32), (places // 4).astype(np.int64)


cdef _copied(LayerView layer):
    entries = np.empty(layer.arena_size, dtype=np.uint8)
    offsets = np.empty(layer.n_words + 1, dtype=np.uint64)
    cdef uint8_t[::1] entry_view = entries
    cdef uint64_t[::1] offset_view = offsets
    if layer.arena_size > 0:
        memcpy(&entry_view[0], layer.arena, layer.arena_size)
    memcpy(&offset_view[0], layer.offsets, (layer.n_words + 1) * sizeof(uint64_t))
    return entries, offsets

cdef extern from "ngramdb/corpus/sentence_bits.hpp" namespace "ngramdb" nogil:
    cdef cppclass SentenceBits:
        const uint8_t* bytes
        uint64_t n

cdef extern from "ngramdb/corpus/token_patterns.hpp" namespace "ngramdb" nogil:
    cdef cppclass PatternStep:
        int64_t code
        int64_t x
        int64_t y

    cdef cppclass PatternProgram:
        const PatternStep* steps
        uint32_t n_steps
        const uint8_t* sets
        uint64_t n_bytes

    cdef cppclass PatternWords:
        TokenPieces pieces
        vector[LayerView] sets

    void pattern_ends(const Segment&, const PatternProgram&, const PatternWords&, const SentenceBits&, cbool, PositionsIn, size_t, PositionsOut, Poll*) except +translate_exception
    void ends_in_row(const uint32_t*, size_t, const PatternProgram&, const SentenceBits&, cbool, int64_t*, Poll*) except +translate_exception
    void rows_with_pattern(const uint32_t*, size_t, size_t, const PatternProgram&, const PatternWords&, uint8_t*, Poll*) except +translate_exception

cdef extern from "ngramdb/corpus/token_patterns.hpp" namespace "ngramdb":
    int kPatternAny, kPatternOne, kPatternSet, kPatternSplit, kPatternJump, kPatternDone, kPatternBegin, kPatternEnd, kPatternWord

# The codes of steps by their names in `ngramdb.patterns.token_regex.CODES`.
PATTERN_CODES = {
    "ANY": kPatternAny, "ONE": kPatternOne, "SET": kPatternSet, "SPLIT": kPatternSplit, "JUMP": kPatternJump,
    "DONE": kPatternDone, "BEGIN": kPatternBegin, "END": kPatternEnd, "WORD": kPatternWord,
}


cdef words_of(entries, offsets, vector[LayerView]& into):
    """Add a set of words; return the arrays that it reads. Raises ValueError if they are not words."""
    cdef const uint8_t[::1] flat = np.ascontiguousarray(entries, dtype=np.uint8)
    cdef const uint64_t[::1] bounds = np.ascontiguousarray(offsets, dtype=np.uint64)
    slots = build_slots(flat, bounds)
    cdef const uint64_t[::1] table = slots
    cdef LayerView view
    view.arena = &flat[0] if flat.shape[0] > 0 else NULL
    view.arena_size = flat.shape[0]
    view.offsets = &bounds[0]
    view.n_words = bounds.shape[0] - 1
    view.slots = &table[0]
    view.n_slots = table.shape[0]
    into.push_back(view)
    return flat, bounds, table


cdef class Matcher:
    """A program: `steps` (n, 3) int64, a code and two arguments each; `sets` (m, n_bytes) uint8, a bit for each token id.

    `words` are sets of words, a pair (entries uint8, offsets uint64) each, for programs that read words of the text, and
    `pieces` (flat uint8, offsets int64) the bytes of all tokens then.

    Raises ValueError if a step leads out of the program or names no set. Objects are immutable and may be shared.
    """

    cdef object kept
    cdef PatternProgram program
    cdef PatternWords known

    def __cinit__(self, steps, sets, words=(), pieces=None):
        cdef const int64_t[:, ::1] step_view = np.ascontiguousarray(steps, dtype=np.int64)
        cdef const uint8_t[:, ::1] set_view = np.ascontiguousarray(sets, dtype=np.uint8)
        if step_view.shape[1] != 3 or step_view.shape[0] == 0 or step_view[step_view.shape[0] - 1, 0] != kPatternDone:
            raise ValueError("a program must be (n, 3) steps, the last of which ends the match")
        cdef int64_t n = step_view.shape[0], i, code, x, y
        for i in range(n):
            code, x, y = step_view[i, 0], step_view[i, 1], step_view[i, 2]
            if code < 0 or code > kPatternWord or (code == kPatternSet and not 0 <= x < set_view.shape[0]):
                raise ValueError(f"invalid step {i}: {code}, {x}")
            if code == kPatternWord and not (0 <= x and 0 < y <= len(words) - x):
                raise ValueError(f"step {i} reads {y} words from set {x} of {len(words)} on")
            if (code == kPatternSplit or code == kPatternJump) and not 0 <= x < n:
                raise ValueError(f"step {i} leads to step {x} of {n}")
            if code == kPatternSplit and not 0 <= y < n:
                raise ValueError(f"step {i} leads to step {y} of {n}")
        kept = [step_view, set_view]
        for entries, offsets in words:
            kept.append(words_of(entries, offsets, self.known.sets))
        cdef const uint8_t[::1] piece_bytes
        cdef const int64_t[::1] piece_bounds
        if len(words) > 0:
            if pieces is None:
                raise ValueError("sets of words need the bytes of tokens")
            piece_bytes = np.ascontiguousarray(pieces[0], dtype=np.uint8)
            piece_bounds = np.ascontiguousarray(pieces[1], dtype=np.int64)
            self.known.pieces = token_pieces(piece_bytes, piece_bounds)
            kept += [piece_bytes, piece_bounds]
        self.kept = kept
        self.program.steps = <const PatternStep*>&step_view[0, 0]
        self.program.n_steps = <uint32_t>n
        self.program.n_bytes = set_view.shape[1]
        self.program.sets = &set_view[0, 0] if set_view.shape[0] > 0 and set_view.shape[1] > 0 else NULL

    def ends(self, SegmentIndex index not None, starts, const uint8_t[::1] sentences=None,
             cbool in_sentence=False):
        """Return the ends of matches that begin at token positions of a segment: (n,) as the positions, 0 for no match.

        `sentences` are the segment's, as `joins.sentences_at` accepts them, for programs that use sentences. With
        `in_sentence` no match extends beyond the sentence in which it begins.

        Cost: about 30 ns per place whose first token is not the pattern's, then about 10 ns for each token and way to read it.
        """
        starts = index.positions_of(starts)
        cdef size_t n = starts.shape[0]
        out = np.empty_like(starts)
        cdef const void* first = cnp.PyArray_DATA(<cnp.ndarray>starts)
        cdef void* last = cnp.PyArray_DATA(<cnp.ndarray>out)
        cdef Poll poll = current_poll()
        cdef SentenceBits bits
        if sentences is not None and sentences.shape[0] > 0:
            bits.bytes = &sentences[0]
            bits.n = 8 * <uint64_t>sentences.shape[0]
        if n > 0:
            with nogil:
                pattern_ends(index.segment[0], self.program, self.known, bits, in_sentence,
                             positions_in(first, index.is_narrow), n, positions_out(last, index.is_narrow), &poll)
        return out

    def words(self, SegmentIndex index not None, starts):
        """The words that begin in the tokens at some positions, for a program of one step that reads them.

        A token may contain several. Returns four arrays, (n,) int64 each: the index in `starts` at which the words begin,
        ascending; the number of tokens that contain them; the number of bytes of the first of these before them, and of
        the last one after them.

        Cost: about 0.4 us per position.
        """
        if self.program.n_steps != 2 or self.program.steps[0].code != kPatternWord:
            raise ValueError("this program does more than read words")
        starts = index.positions_of(starts)
        cdef size_t n = starts.shape[0]
        cdef const void* first = cnp.PyArray_DATA(<cnp.ndarray>starts)
        cdef Poll poll = current_poll()
        cdef vector[int64_t] numbers
        cdef vector[WordPlace] places
        cdef uint64_t number = <uint64_t>self.program.steps[0].x, n_words = <uint64_t>self.program.steps[0].y
        if n > 0:
            with nogil:
                phrases_at(index.segment[0], self.known.pieces, self.known.sets, number, n_words,
                           positions_in(first, index.is_narrow), n, numbers, places, &poll)
        out = np.empty((4, numbers.size()), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        cdef size_t i
        for i in range(numbers.size()):
            view[0, i], view[1, i] = numbers[i], <int64_t>places[i].n_tokens
            view[2, i], view[3, i] = places[i].before, places[i].after
        return out[0], out[1], out[2], out[3]

    def within(self, ids):
        """Which rows of token ids, (n, width) uint32, contain a match: (n,) bool."""
        ids = np.ascontiguousarray(ids, dtype=np.uint32)
        cdef const uint32_t[:, ::1] rows = ids
        out = np.zeros(rows.shape[0], dtype=np.uint8)
        cdef uint8_t[::1] view = out
        cdef size_t n = rows.shape[0], width = rows.shape[1]
        cdef Poll poll = current_poll()
        if n > 0 and width > 0:
            with nogil:
                rows_with_pattern(&rows[0, 0], n, width, self.program, self.known, &view[0], &poll)
        return out.view(np.bool_)

    def ends_in(self, ids, const uint8_t[::1] sentences=None, cbool in_sentence=False):
        """Return the ends of matches that begin at each of the ids (n,) of one document: (n,) int64, 0 for none.

        `sentences` has n + 1 bits, as for a segment, of which the last is set. Raises ValueError if there are fewer,
        and for a program that reads words of the text. Cost: as for `ends`.
        """
        ids = np.ascontiguousarray(ids, dtype=np.uint32)
        cdef const uint32_t[::1] id_view = ids
        cdef size_t n = id_view.shape[0]
        out = np.zeros(n, dtype=np.int64)
        cdef int64_t[::1] out_view = out
        cdef SentenceBits bits
        cdef Poll poll = current_poll()
        if self.known.sets.size() > 0:
            raise ValueError("this program reads words of the text")
        if sentences is not None:
            if 8 * <size_t>sentences.shape[0] <= n:
                raise ValueError(f"{n} ids and their end have {8 * sentences.shape[0]} bits")
            bits.bytes = &sentences[0]
            bits.n = n + 1
        if n > 0:
            with nogil:
                ends_in_row(&id_view[0], n, self.program, bits, in_sentence, &out_view[0], &poll)
        return out
