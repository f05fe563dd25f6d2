r"""Positions of a statement's n-grams in a document's text, for highlighting.

For the eye only: nothing is counted here. A tokenizer's rules are not known here either, so an n-gram is
searched for as its words with any blanks between them, first as whole words and, without a match,
inside words.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from ngramdb.language.highlight import lex

Span = tuple[int, int]

# More n-grams than this make a pattern that is slow to compile, for a screen of nothing but colour.
MOST_NGRAMS = 200

_PIECE = re.compile(r"\w+|[^\w\s]")
_IGNORES_CASE = re.compile(r"\bIGNORE\s+CASE\b", re.IGNORECASE)


class Marks:
    """The places of n-grams in texts.

    >>> Marks(["the cat"]).find("in the  cat's")
    [(3, 11)]
    """

    def __init__(self, ngrams: Iterable[str], ignore_case: bool = False) -> None:
        flags = re.IGNORECASE if ignore_case else re.UNICODE
        # If two begin at the same place, the longer one is shown.
        chosen = sorted(filter(str.strip, set(ngrams)), key=len, reverse=True)[:MOST_NGRAMS]
        self._patterns = [
            re.compile("|".join(make(ngram) for ngram in chosen), flags)
            for make in (_whole_words, _anywhere)
            if chosen
        ]

    def find(self, text: str) -> list[Span]:
        """Return half-open places in order and without overlaps. Cost: at most twice linear in the text."""
        for pattern in self._patterns:
            found = [match.span() for match in pattern.finditer(text)]
            if found:
                return found
        return []


def marks_of(statement: str, parameters: Sequence[object] | Mapping[str, object] | None) -> Marks | None:
    """Return the n-grams that a statement contains, in quotes or by its parameters; None without any."""
    ngrams = [_value(statement[start:stop]) for start, stop, kind in lex(statement) if kind == "ngram"]
    values = parameters.values() if isinstance(parameters, Mapping) else parameters or ()
    ngrams.extend(value for value in values if isinstance(value, str))
    if not any(map(str.strip, ngrams)):
        return None
    return Marks(ngrams, ignore_case=_IGNORES_CASE.search(statement) is not None)


def _value(literal: str) -> str:
    try:
        value = json.loads(literal, strict=False)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _anywhere(ngram: str) -> str:
    """Return a regular expression for the n-gram's words and signs, with spaces between words."""
    pieces: list[str] = _PIECE.findall(ngram)
    pattern = re.escape(pieces[0])
    for before, piece in itertools.pairwise(pieces):
        both_words = before[-1].isalnum() and piece[0].isalnum()
        pattern += (r"\s+" if both_words else r"\s*") + re.escape(piece)
    return pattern


def _whole_words(ngram: str) -> str:
    first, last = ngram.strip()[0], ngram.strip()[-1]
    head = r"(?<!\w)" if first.isalnum() else ""
    tail = r"(?!\w)" if last.isalnum() else ""
    return head + _anywhere(ngram) + tail
