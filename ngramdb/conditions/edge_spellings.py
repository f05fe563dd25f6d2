"""Sequences of tokens that spell the beginning or the end of a text within longer texts.

Within a document, a sub-word tokenizer gives the first and the last tokens of a text other ids than alone:
`three` is ` three` behind a blank, and a part of a word may be cut differently. These sequences are found by
their bytes: tokens are added while they spell the text and the sequence occurs. White space before the first
token and after the last one is ignored.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.registries import FILE_TOKENIZERS
from ngramdb.tokenizers.base import Tokenizer

Ids = NDArray[np.int64]
# Which of the n-grams flat[offsets[i]:offsets[i + 1]] occur: (n,) bool.
Occur = Callable[[Ids, Ids], NDArray[np.bool_]]
Sequence = tuple[int, ...]


class _Partial(NamedTuple):
    """A sequence of tokens that spells the beginning of a text, and what is left of the text."""

    text: int
    rest: bytes
    ids: Sequence


class _Beginnings:
    """The ids of a set of strings; finds those that a text begins with."""

    def __init__(self, strings: Iterable[bytes]) -> None:
        self.ids: dict[bytes, list[int]] = {}
        for token, string in enumerate(strings):
            if string:
                self.ids.setdefault(string, []).append(token)
        self._ordered = sorted(self.ids)
        # For each string the longest other one that it begins with.
        self._shorter: dict[bytes, bytes] = {}
        nested: list[bytes] = []
        for string in self._ordered:
            while nested and not string.startswith(nested[-1]):
                nested.pop()
            self._shorter[string] = nested[-1] if nested else b""
            nested.append(string)

    def of(self, text: bytes) -> Iterator[tuple[bytes, list[int]]]:
        """Yield the strings that begin a text, the longest first. Cost: logarithmic in their number."""
        at = bisect_right(self._ordered, text)
        string = self._ordered[at - 1] if at else b""
        while string:
            if text.startswith(string):
                yield string, self.ids[string]
            string = self._shorter[string]


class Spelling:
    """The tokens of a vocabulary by what they spell, read from left to right or from right to left."""

    def __init__(self, tokens: list[bytes], is_reversed: bool) -> None:
        self._step = -1 if is_reversed else 1
        outer, inner = (bytes.rstrip, bytes.lstrip) if is_reversed else (bytes.lstrip, bytes.rstrip)
        self._first = _Beginnings(outer(token)[:: self._step] for token in tokens)
        self._next = _Beginnings(token[:: self._step] for token in tokens)
        # The last token of a text may also spell white space that follows the text.
        self._last: dict[bytes, list[int]] = {}
        for token, string in enumerate(tokens):
            if inner(string) not in (string, b""):
                self._last.setdefault(inner(string)[:: self._step], []).append(token)

    def ngrams(self, texts: list[bytes], n: int, occur: Occur) -> Iterator[tuple[int, Sequence]]:
        """Yield sequences of n tokens that occur and spell the beginning (or the end) of a text.

        Also yields shorter sequences that spell a whole text. Each comes with the number of its text. Cost: a
        few searches per text and token.
        """
        for partial in self._grown(texts, n, occur):
            if len(partial.ids) == n or not partial.rest:
                yield partial.text, partial.ids[:: self._step]

    def wholes(self, texts: list[bytes], n: int, occur: Occur) -> Iterator[tuple[int, Sequence]]:
        """Sequences of at most n tokens that occur and spell a whole text."""
        for partial in self._grown(texts, n, occur):
            if not partial.rest:
                yield partial.text, partial.ids[:: self._step]

    def _grown(self, texts: list[bytes], n: int, occur: Occur) -> Iterator[_Partial]:
        """All sequences of up to n tokens that occur and spell the beginning of a text."""
        found = [_Partial(k, text.strip()[:: self._step], ()) for k, text in enumerate(texts)]
        for length in range(1, n + 1):
            interrupts.check()
            longer = [one for partial in found for one in self._longer(partial)]
            if not longer:
                return
            flat = np.array([one.ids[:: self._step] for one in longer], dtype=np.int64)
            holds = occur(flat.reshape(-1), np.arange(len(longer) + 1, dtype=np.int64) * length)
            found = [one for one, is_found in zip(longer, holds.tolist(), strict=True) if is_found]
            yield from found

    def _longer(self, partial: _Partial) -> Iterator[_Partial]:
        """Return the sequence with one more token."""
        number, rest, ids = partial
        strings = self._next if ids else self._first
        for string, tokens in strings.of(rest):
            for token in tokens:
                yield _Partial(number, rest[len(string) :], (*ids, token))
        for token in self._last.get(rest, ()):
            yield _Partial(number, b"", (*ids, token))


class Spellings(NamedTuple):
    """A tokenizer's tokens, and how they are found from either end of a text."""

    tokens: list[bytes]
    forward: Spelling
    backward: Spelling

    def text(self, ids: Ids) -> bytes:
        """Return the bytes that these tokens spell."""
        return b"".join(self.tokens[i] for i in ids.tolist())


_SPELLINGS: WeakKeyDictionary[Tokenizer, Spellings] = WeakKeyDictionary()


def spellings_of(tokenizer: Tokenizer) -> Spellings | None:
    """Return the tokens by their bytes; None for tokenizers whose tokens do not spell texts independently.

    Cost: some microseconds per token of the vocabulary, once.
    """
    pieces = tokenizer.token_bytes or (tokenizer.spellings if tokenizer.lossless else None)
    if tokenizer.kind not in FILE_TOKENIZERS or pieces is None:
        return None
    found = _SPELLINGS.get(tokenizer)
    if found is None:
        flat, offsets = pieces
        content = flat.tobytes()
        tokens = [content[start:stop] for start, stop in pairwise(offsets.tolist())]
        found = _SPELLINGS[tokenizer] = Spellings(tokens, Spelling(tokens, False), Spelling(tokens, True))
    return found
