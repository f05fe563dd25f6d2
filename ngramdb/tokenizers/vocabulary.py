"""A tokenizer's vocabulary as words that regular expressions choose from."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb.diacritics import Spelling, changed_letters, unmarked
from ngramdb.errors import CorruptionError, InvalidArgument
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
