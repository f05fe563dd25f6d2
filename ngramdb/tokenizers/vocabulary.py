"""The words that regular expressions are matched against: a vocabulary, or those of texts in pieces.

The words of a text are those that the tokenizer `words` would find in it. Those of a segment are found once:
if tokens spell the text, in one pass over them, with the token sequences that contain each word; otherwise in
the stored texts, with the documents that contain each word. An expression is matched against these words, and
its occurrences are found through the sequences or the documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.token_patterns import word_forms
from ngramdb._cext.text import words as kernel
from ngramdb.diacritics import Spelling, changed_letters, unmarked
from ngramdb.errors import CorruptionError, InvalidArgument, ResourceError
from ngramdb.interrupts import check
from ngramdb.tokenizers.regular import Words

IntArray = NDArray[np.int64]

# Characters between two interrupt checks: about 20 ms.
CHUNK = 1 << 16


class WithTexts(Protocol):
    """The interface that a vocabulary needs of its tokenizer."""

    @property
    def kind(self) -> str: ...
    @property
    def n_vocabulary(self) -> int: ...
    @property
    def spellings(self) -> tuple[NDArray[np.uint8], IntArray] | None: ...
    def all_texts(self) -> list[str]: ...


class Vocabulary:
    """The texts of all tokens, unchanged and, on first use, without the marks on their letters."""

    def __init__(self, tokenizer: WithTexts) -> None:
        self.n_words = tokenizer.n_vocabulary
        self._texts, self._lengths = _texts_of(tokenizer)
        self._plain: Words | None = None
        self._unmarked: Words | None = None

    def matching(
        self, expression: str | Spelling, ignore_case: bool = False, ignore_diacritics: bool = False
    ) -> IntArray:
        """Return the ids of the tokens that match an expression as a whole, or have a spelling, in order.

        A spelling contains all relevant cases of a letter. See `Words.matching` and `Words.spelled`.
        """
        if isinstance(expression, Spelling):
            if not ignore_diacritics:
                return self._as_they_are().spelled(expression)
            choices = tuple(unmarked(choice) for choice in expression.choices)
            return self._without_marks().spelled(expression._replace(choices=choices))
        if ignore_diacritics:
            shorter = unmarked(expression)
            for empty in ("[]", "[^]"):
                if shorter.count(empty) > expression.count(empty):
                    raise InvalidArgument(f"/{expression}/: without marks, a set of characters is empty")
            return self._without_marks().matching(shorter, ignore_case)
        return self._as_they_are().matching(expression, ignore_case)

    def texts(self, ids: NDArray[np.uint32] | IntArray) -> list[str]:
        """Return the texts of tokens, whose ids are below `n_words`."""
        stops = np.cumsum(self._lengths)
        bounds = zip((stops - self._lengths)[ids].tolist(), stops[ids].tolist(), strict=True)
        return [self._texts[start:stop] for start, stop in bounds]

    def _as_they_are(self) -> Words:
        if self._plain is None:
            self._plain = Words(self._texts, self._lengths)
        return self._plain

    def _without_marks(self) -> Words:
        if self._unmarked is None:
            points = np.frombuffer(self._texts.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            occurs = np.zeros(int(points.max(initial=0)) + 1, dtype=np.bool_)
            occurs[points] = True
            distinct = np.flatnonzero(occurs)
            table: dict[int, str] = {}
            for start in range(0, len(distinct), CHUNK):
                check()
                letters = "".join(map(chr, distinct[start : start + CHUNK].tolist()))
                table.update((ord(one), text) for one, text in changed_letters(letters).items())
            check()
            sizes = np.ones(len(occurs), dtype=np.int64)
            for code, text in table.items():
                sizes[code] = len(text)
            ends = np.concatenate(([0], np.cumsum(sizes[points])))
            bounds = ends[np.concatenate(([0], np.cumsum(self._lengths)))]
            unmarked_texts = self._texts.translate(table)
            check()
            self._unmarked = Words(unmarked_texts, np.diff(bounds))
        return self._unmarked


def _texts_of(tokenizer: WithTexts) -> tuple[str, IntArray]:
    """Return all texts concatenated, and the length of each in characters. Raises CorruptionError."""
    pieces = tokenizer.spellings
    if pieces is None or not tokenizer.kind.startswith(
        "words"
    ):  # few tokens, some of which may not be characters
        texts = tokenizer.all_texts() if pieces is None else _decoded(*pieces)
        return "".join(texts), np.array(list(map(len, texts)), dtype=np.int64)
    flat, offsets = pieces
    begins = np.concatenate(([0], np.cumsum((flat & 0xC0) != 0x80)))  # characters before each byte
    try:
        return flat.tobytes().decode(), np.diff(begins[offsets])
    except UnicodeDecodeError as error:
        word = int(np.searchsorted(offsets, error.start, side="right")) - 1
        raise CorruptionError(
            f"the vocabulary is damaged: word {word} is not valid UTF-8 ({error.reason}); see CHECK",
            found=flat[offsets[word] : offsets[word + 1]].tobytes(),
        ) from error


def _decoded(flat: NDArray[np.uint8], offsets: IntArray) -> list[str]:
    content = flat.tobytes()
    bounds = offsets.tolist()
    return [content[start:stop].decode("utf-8", "surrogateescape") for start, stop in pairwise(bounds)]


_VOCABULARIES: WeakKeyDictionary[WithTexts, Vocabulary] = WeakKeyDictionary()
# For tokenizers whose vocabulary is the same in all corpora: a million characters.
_SHARED: dict[str, Vocabulary] = {}


def vocabulary_of(tokenizer: WithTexts) -> Vocabulary:
    """Return the tokenizer's vocabulary.

    Cost: a pass over it, again after it has grown; five bytes per character are kept.
    """
    if tokenizer.kind == "chars":
        if "chars" not in _SHARED:
            _SHARED["chars"] = Vocabulary(tokenizer)
        return _SHARED["chars"]
    found = _VOCABULARIES.get(tokenizer)
    if found is None or found.n_words != tokenizer.n_vocabulary:
        found = _VOCABULARIES[tokenizer] = Vocabulary(tokenizer)
    return found


# ---- The words of a corpus whose tokens are pieces of words.


# Sequences of tokens that are words, of one segment: about 60 bytes each.
MAX_SEQUENCES = 1 << 24

# Words of documents that are listed, for one segment whose texts are stored: 4 bytes each, and three times as
# much while the list is made. In larger segments each query reads every text.
MAX_LISTED = 1 << 24

# The bytes of all tokens, and the beginning of each.
Pieces = tuple[NDArray[np.uint8], IntArray]
# Words one after the other, and the beginning of each.
WordList = tuple[NDArray[np.uint8], NDArray[np.uint64]]


class HasTexts(Protocol):
    """The interface that words need of a segment."""

    @property
    def index(self) -> Any: ...
    @property
    def n_documents(self) -> int: ...
    def text(self, i: int, tokenizer: Any, /) -> bytes | None: ...


class WithPieces(Protocol):
    """The interface that words need of a tokenizer."""

    @property
    def token_bytes(self) -> Pieces | None: ...


class FoundWords(NamedTuple):
    """Some words of a corpus, each once, and all token sequences that contain them, each once.

    words : (entries, bounds), uint8 and (n + 1,) uint64: UTF-8, except for bytes that belong to no character
    sequences : (flat, offsets), int64 each; the first and the last token may have other text, too.
        None if tokens do not spell the text
    """

    words: WordList
    sequences: tuple[IntArray, IntArray]


class _Spelled:
    """Words of one segment as a vocabulary that expressions select from."""

    def __init__(self, entries: NDArray[np.uint8], bounds: NDArray[np.uint64]) -> None:
        self.spellings: Pieces | None = (entries, bounds.astype(np.int64))
        self.n_vocabulary = len(bounds) - 1
        self.kind = "words" if _is_utf8(entries) else "pieces"
        self._vocabulary = Vocabulary(self)

    def all_texts(self) -> list[str]:
        """Return all words; not called, since there are `spellings`."""
        return [word.decode("utf-8", "replace") for word in self._spelled(np.arange(self.n_vocabulary))]

    def _matching(self, expression: str | Spelling, ignore_case: bool, ignore_diacritics: bool) -> IntArray:
        """Return the numbers of the words that match, ascending."""
        return self._vocabulary.matching(expression, ignore_case, ignore_diacritics)

    def _spelled(self, numbers: IntArray) -> list[bytes]:
        assert self.spellings is not None
        return _some_of(self.spellings, numbers)


class SegmentWords(_Spelled):
    """The words of one segment's texts."""

    def __init__(self, index: Any, pieces: Pieces) -> None:
        try:
            entries, bounds, flat, offsets = word_forms(index, *pieces, MAX_SEQUENCES)
        except OverflowError as error:
            raise ResourceError(
                f"{index.name} has more than {MAX_SEQUENCES:,} different words, too many to match by text",
                limit=MAX_SEQUENCES,
            ) from error
        super().__init__(entries, bounds)
        # The sequences of each word are adjacent.
        numbers = flat[offsets[:-1]].astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        self._begins, self._ends, self._flat = offsets[:-1][order] + 1, offsets[1:][order], flat
        self._first = np.searchsorted(numbers[order], np.arange(self.n_vocabulary + 1))

    def matching(
        self, expression: str | Spelling, ignore_case: bool, ignore_diacritics: bool
    ) -> tuple[list[bytes], list[bytes]]:
        """Return the words that match an expression, and their sequences: 32 bits per token."""
        numbers = self._matching(expression, ignore_case, ignore_diacritics)
        sequences = []
        for number in numbers.tolist():
            for i in range(int(self._first[number]), int(self._first[number + 1])):
                sequences.append(self._flat[self._begins[i] : self._ends[i]].tobytes())
        return self._spelled(numbers), sequences


class StoredWords(_Spelled):
    """The words of the stored texts of one segment, whose tokens do not spell them, with their documents."""

    def __init__(self, segment: HasTexts, tokenizer: WithPieces) -> None:
        self._known = kernel.Vocabulary()
        words: list[NDArray[np.uint32]] | None = []
        n, n_listed = segment.n_documents, 0
        for i in range(n):
            interrupts.step(i, n)
            ids, _ = self._known.encode_batch([segment.text(i, tokenizer) or b""])
            if words is None:
                continue
            words.append(np.unique(ids))
            n_listed += len(words[-1])
            if n_listed > MAX_LISTED:
                words = None
        super().__init__(*self._known.export(0))
        # The documents of word k are _documents[_first[k]:_first[k + 1]].
        self._documents: NDArray[np.uint32] | None = None
        if words is not None:
            flat = np.concatenate([np.empty(0, dtype=np.uint32), *words])
            numbers = np.repeat(np.arange(n, dtype=np.uint32), list(map(len, words)))
            order = np.argsort(flat, kind="stable")
            self._documents = numbers[order]
            self._first = np.searchsorted(flat[order], np.arange(self.n_vocabulary + 1))

    def documents(self, clauses: Sequence[Sequence[bytes]]) -> NDArray[np.uint32] | None:
        """Return documents with a word of each clause: ascending; None if they are not listed."""
        if self._documents is None or not clauses:
            return None
        found: NDArray[np.uint32] | None = None
        for words in clauses:
            interrupts.check()
            numbers = [k for k in map(self._known.lookup, words) if k >= 0]
            parts = [self._documents[self._first[k] : self._first[k + 1]] for k in numbers]
            docs = np.unique(np.concatenate([np.empty(0, dtype=np.uint32), *parts]))
            found = docs if found is None else np.intersect1d(found, docs, assume_unique=True)
        return found

    def matching(
        self, expression: str | Spelling, ignore_case: bool, ignore_diacritics: bool
    ) -> tuple[list[bytes], list[bytes]]:
        """Return the words that match an expression; no sequences."""
        return self._spelled(self._matching(expression, ignore_case, ignore_diacritics)), []


# For each segment, the tokenizer's bytes of tokens, None if these do not spell its texts, and its words.
_SEGMENTS: WeakKeyDictionary[HasTexts, tuple[Pieces | None, SegmentWords | StoredWords]] = WeakKeyDictionary()


def words_of(segment: HasTexts, tokenizer: WithPieces) -> SegmentWords | StoredWords:
    """Return the words of a segment, cached while it is open. Cost: about 80 ns per token, the first time."""
    pieces = tokenizer.token_bytes
    found = _SEGMENTS.get(segment)
    if found is None or found[0] is not pieces:
        made = StoredWords(segment, tokenizer) if pieces is None else SegmentWords(segment.index, pieces)
        found = _SEGMENTS[segment] = pieces, made
    return found[1]


def words_matching(
    segments: Sequence[HasTexts],
    tokenizer: WithPieces,
    expression: str | Spelling,
    ignore_case: bool,
    ignore_diacritics: bool,
) -> FoundWords:
    """Return the words of the segments' texts that match an expression. See `Tokenizer.words_matching`."""
    words: dict[bytes, None] = {}
    sequences: dict[bytes, None] = {}
    for i, segment in enumerate(segments):
        interrupts.step(i, len(segments))
        found = words_of(segment, tokenizer).matching(expression, ignore_case, ignore_diacritics)
        words.update(dict.fromkeys(found[0]))
        sequences.update(dict.fromkeys(found[1]))
    flat = np.frombuffer(b"".join(sequences), dtype=np.uint32).astype(np.int64)
    return FoundWords(
        (np.frombuffer(b"".join(words), dtype=np.uint8), _bounds(words).astype(np.uint64)),
        (flat, _bounds(sequences) // 4),
    )


def documents_with(
    segment: HasTexts, tokenizer: WithPieces, clauses: Sequence[Sequence[bytes]]
) -> NDArray[np.uint32] | None:
    """Return the documents of a segment that have words. See `Tokenizer.documents_with_words`."""
    words = words_of(segment, tokenizer)
    return words.documents(clauses) if isinstance(words, StoredWords) else None


def split_into_words(text: str) -> list[str]:
    """Return the words of a text."""
    found = kernel.Vocabulary()
    ids, _ = found.encode_batch([text.encode()])
    words: list[str] = found.words(ids)
    return words


def _some_of(pieces: Pieces, numbers: IntArray) -> list[bytes]:
    content, bounds = pieces[0].tobytes(), pieces[1]
    pairs = zip(bounds[numbers].tolist(), bounds[numbers + 1].tolist(), strict=True)
    return [content[start:stop] for start, stop in pairs]


def _bounds(pieces: Iterable[bytes]) -> IntArray:
    return np.concatenate(([0], np.cumsum(list(map(len, pieces)), dtype=np.int64))).astype(np.int64)


def _is_utf8(content: NDArray[np.uint8]) -> bool:
    try:
        content.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True
