"""Positions of a string in a text in linear time, and the longest matches of a text in a corpus."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb.fork_safety import cached_property
from ngramdb.patterns import Gram, StoredText, one_case
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Tokenizer

# Characters that are searched, or places that are found, between two interrupt checks.
CHECK_CHARACTERS = 1 << 20
CHECK_PLACES = 1 << 14

# For each place in the text of some tokens, how many bytes before it and after it are not the string's.
Cuts = tuple[tuple[int, int], ...]


class Sought:
    """A string to search texts for, exactly or ignoring case."""

    def __init__(self, pattern: StoredText) -> None:
        self._ignore_case = pattern.ignore_case
        self._text = one_case(pattern.text) if pattern.ignore_case else pattern.text
        self.length = len(self._text)

    @cached_property
    def _period(self) -> int:
        """Return the smallest shift at which the string matches itself on the overlap."""
        text, borders, n = self._text, [0] * self.length, 0
        for i in range(1, self.length):  # Knuth, Morris and Pratt's table
            if i % CHECK_CHARACTERS == 0:
                interrupts.check()
            while n and text[i] != text[n]:
                n = borders[n - 1]
            n += text[i] == text[n]
            borders[i] = n
        return self.length - n

    @property
    def overlaps(self) -> bool:
        """True if two occurrences of the string can overlap."""
        return self._period < self.length

    def starts(self, text: str) -> NDArray[np.int64]:
        """Return the positions of the string in the text: (n,) int64, in characters, ascending."""
        return np.fromiter(self._starts(one_case(text) if self._ignore_case else text), dtype=np.int64)

    def spans(self, content: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return starts and ends of the string in a text: (n,) int64 each, in characters, ascending."""
        starts = self.starts(content.decode("utf-8", "surrogateescape"))
        return starts, starts + self.length

    def _starts(self, text: str) -> Iterator[int]:
        n_found = 0
        start = self._find(text, 0)
        while start >= 0:
            yield start
            n_found += 1
            if n_found % CHECK_PLACES == 0:
                interrupts.check()
            # The next place is one period on if the text continues so. If it does not, no place that shares a
            # period with this one matches (Fine and Wilf), and the search continues after them.
            period = self._period
            if period < self.length and text.startswith(self._text[-period:], start + self.length):
                start += period
            else:
                start = self._find(text, start + max(period, self.length - period + 1))

    def _find(self, text: str, start: int) -> int:
        step = max(CHECK_CHARACTERS, self.length)
        while start + self.length <= len(text):
            place = text.find(self._text, start, start + step + self.length - 1)
            if place >= 0:
                return place
            interrupts.check()
            start += step
        return -1


def places_in_tokens(sought: Sought, content: bytes, first_ends: int, last_begins: int) -> Iterator[slice]:
    """Yield the places of a string in the bytes of some tokens: from within the first to within the last."""
    text = content.decode("utf-8", "surrogateescape")
    for start in sought.starts(text).tolist():
        begin = len(text[:start].encode("utf-8", "surrogateescape"))
        end = begin + len(text[start : start + sought.length].encode("utf-8", "surrogateescape"))
        if begin < first_ends and end > last_begins:
            yield slice(begin, end)


def spelled_cuts(gram: Gram, pattern: StoredText | None, tokenizer: Tokenizer) -> Cuts:
    """Return an n-gram's text before and after a string within it; without a string all of it counts."""
    content = None if pattern is None else tokenizer.decode_exact(gram.ids)
    if pattern is None or content is None:
        return ((0, 0),)
    first_ends = len(tokenizer.decode_exact(gram.ids[:1]) or b"")
    last_begins = len(content) - len(tokenizer.decode_exact(gram.ids[-1:]) or b"")
    places = places_in_tokens(Sought(pattern), content, first_ends, last_begins)
    return tuple((place.start, len(content) - place.stop) for place in places)


def longest_matches(index: Index, flat: IntArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the longest match that ends at each position of texts, given as ids one text after the other.

    Returns
    -------
    lengths : (m + k,) int64, in tokens, of k texts with m tokens: n + 1 positions for a text of n tokens
    counts : (m + k,) int64, net counts

    Cost: about a microsecond per token and segment.
    """
    # An unknown token after each text: what the index reports about a token is the context before it.
    longer = np.insert(flat, offsets[1:], -1)
    bounds = offsets + np.arange(len(offsets))
    _, counts, effective_n, _ = index.score(longer, bounds, True, 0)
    return effective_n.astype(np.int64) - 1, counts
