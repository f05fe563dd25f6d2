"""Words of which a document needs one to contain a string, under tokenizers that change texts, too.

A document's words are those of its text as the tokenizer reads it: as it is, in lower case, or in
normalization form C. What a string becomes there depends on the characters around it, so that only a part of
it is looked up, whose form does not. Where case is ignored, it is looked up in a folded vocabulary.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby
from unicodedata import category, normalize
from weakref import WeakKeyDictionary

import numpy as np

from ngramdb.diacritics import JOINERS
from ngramdb.patterns.grams import Gram, show_text
from ngramdb.patterns.text_matching import (
    IOTAS,
    MAX_NEEDED_PIECES,
    MAX_NEEDED_WORDS,
    needed_words,
    pieces_of,
)
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer

Clause = tuple[Gram, ...]

# Equal to i under IGNORECASE of `re`, but not case folded.
_DOTS = str.maketrans({"\u0130": "i", "\u0131": "i"})
DOT_ABOVE = "\u0307"
BETWEEN = "\n"


def folded(text: str) -> str:
    """Return a text in a form that is the same for all texts that are equal under IGNORECASE of `re`.

    Each character has a form of its own, except for the dot of an i.
    """
    return text.translate(_DOTS).casefold().replace("i" + DOT_ABOVE, "i")


def words_for(text: str, ignore_case: bool, corpus: Corpus) -> list[Clause]:
    """Return clauses of words, one of each of which a document must have to contain a string.

    None if the string does not determine words. Cost: a pass over the vocabulary.
    """
    part = part_of(text, ignore_case, corpus.tokenizer)
    if not part or JOINERS.intersection(part):
        return []
    return _folded_words(part, corpus) if ignore_case else needed_words(part, False, corpus)


def part_of(text: str, ignore_case: bool, tokenizer: Tokenizer) -> str:
    """Return a part of a string in the form that it has in each document with the string, or ''.

    If case is ignored, the form is equal when both are folded.
    """
    is_nfc = "nfc" in tokenizer.kind
    if ignore_case:
        runs = ["".join(run) for fits, run in groupby(text, lambda c: _fits(c, is_nfc)) if fits]
        part = max(runs, key=len, default="")
        # The last character may have a form of its own together with marks after it.
        return part[:-1] if is_nfc else part
    if is_nfc:
        text = tokenizer.normalized(_between_borders(text))
        return _between_borders(text) if "lower" in tokenizer.kind else text
    return tokenizer.normalized(text)


def _fits(character: str, is_nfc: bool) -> bool:
    """Return True if a character has its folded form in each document that has the character in any case."""
    if not is_nfc or character.isascii():
        return character != DOT_ABOVE
    # Iota has a form that is a mark.
    return (
        not _joins(character)
        and character not in IOTAS
        and folded(normalize("NFC", character)) == folded(character)
    )


def _joins(character: str) -> bool:
    """Return True if the character may have a common form with one before it."""
    return category(character)[0] == "M" or "\u1160" <= character <= "\u11ff"


def _between_borders(text: str) -> str:
    """Return the part that normalization form C changes regardless of what is around the text."""
    borders = [i for i, character in enumerate(text) if not _joins(character)]
    return text[borders[0] : borders[-1]] if borders else ""


class _FoldedVocabulary:
    """The words of a tokenizer, folded, each between two line breaks."""

    def __init__(self, texts: list[str]) -> None:
        self.n_words = len(texts)
        self._content = folded(BETWEEN + BETWEEN.join(texts) + BETWEEN).encode("utf-8", "surrogatepass")
        self._breaks = np.flatnonzero(np.frombuffer(self._content, dtype=np.uint8) == ord(BETWEEN))
        # The words of the last pieces are kept; the next statements often have the same ones.
        self._recent = lru_cache(maxsize=64)(self._having)

    def having(self, piece: str, begins: bool, ends: bool) -> list[int] | None:
        """Return the ids of words that contain a piece, begin or end with it; None if they are too many."""
        found = self._recent(folded(BETWEEN * begins + piece + BETWEEN * ends), ends)
        return None if found is None else list(found)

    def _having(self, shown: str, ends: bool) -> tuple[int, ...] | None:
        form = shown.encode("utf-8", "surrogatepass")
        found: dict[int, None] = {}
        for match in re.finditer(re.escape(form), self._content):
            found[int(np.searchsorted(self._breaks, match.end() - ends, side="left")) - 1] = None
            if len(found) > MAX_NEEDED_WORDS:
                return None
        return tuple(found)


_VOCABULARIES: WeakKeyDictionary[Tokenizer, _FoldedVocabulary] = WeakKeyDictionary()


def _folded_vocabulary(tokenizer: Tokenizer) -> _FoldedVocabulary:
    """Return the folded vocabulary. Cost: 50 ns per byte whenever it has grown."""
    found = _VOCABULARIES.get(tokenizer)
    if found is None or found.n_words != tokenizer.n_vocabulary:
        found = _VOCABULARIES[tokenizer] = _FoldedVocabulary(tokenizer.all_texts())
    return found


def _folded_words(text: str, corpus: Corpus) -> list[Clause]:
    """Return clauses for a string in any case: its first and last word may be parts of longer ones."""
    tokenizer = corpus.tokenizer
    pieces = pieces_of(text, True, tokenizer)
    if not pieces:
        return []
    words = _folded_vocabulary(tokenizer)
    if len(pieces) == 1:
        sets = [words.having(pieces[0], False, False)]
    else:
        inner = sorted(set(pieces[1:-1]), key=len, reverse=True)[:MAX_NEEDED_PIECES]
        sets = [words.having(pieces[0], False, True), words.having(pieces[-1], True, False)]
        sets += [words.having(piece, True, True) for piece in inner]
    return [_clause(ids, tokenizer) for ids in sets if ids is not None]


def _clause(ids: list[int], tokenizer: Tokenizer) -> Clause:
    return tuple(Gram(np.array([i]), show_text(tokenizer.token_text(i))) for i in ids)
