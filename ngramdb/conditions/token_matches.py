"""Matches of patterns over tokens in one segment, by an anchor of every match, or by trying every token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.joins import sentences_at, values_within
from ngramdb._cext.corpus.token_patterns import Matcher
from ngramdb.conditions.interruptible_sort import each_once
from ngramdb.patterns import Anchor, TokenPattern
from ngramdb.segments.base import Segment
from ngramdb.tokenizers.base import Tokenizer

Positions = NDArray[np.uint32]
IntArray = NDArray[np.int64]
# Ranges of positions [lo[i], hi[i]), ascending and apart.
Ranges = tuple[Positions, Positions]

# Positions that are tried together: some ten milliseconds.
CHUNK = 1 << 19

# The work of a position that is tried, in positions that are looked up, sorted and tried.
TRYING_WORK = 0.5


NO_POSITIONS: Positions = np.empty(0, dtype=np.uint32)


def matcher_of(pattern: TokenPattern, tokenizer: Tokenizer) -> Matcher:
    """Return the matcher that runs the pattern's program."""
    pieces = tokenizer.token_bytes if pattern.words else None
    return Matcher(pattern.steps, pattern.sets, pattern.words, pieces)


class TokenMatches:
    """Finds the matches of patterns over tokens in one segment."""

    def __init__(self, segment: Segment, tokenizer: Tokenizer) -> None:
        self._segment = segment
        self._tokenizer = tokenizer
        self._index = segment.index

    def count(self, pattern: TokenPattern) -> int:
        """Count the matches of a pattern whose matches are the n-grams of its anchor."""
        assert pattern.anchor is not None and pattern.length is not None
        lo, hi = self._index.ranges(pattern.anchor.flat, pattern.anchor.offsets).astype(np.int64)
        return int((hi - lo).sum())

    def find(self, pattern: TokenPattern, ranges: Ranges | None) -> tuple[Positions, Positions]:
        """Return the matches that start in the ranges, or anywhere for None: starts, ascending, and stops."""
        candidates = self._candidates(pattern, ranges)
        if pattern.length is not None and not self._tries_all(pattern, ranges):
            (places,) = candidates
            return places, places + np.uint32(pattern.length)
        matcher = matcher_of(pattern, self._tokenizer)
        sentences = self._segment.sentences if pattern.sentences else None
        starts, stops = [NO_POSITIONS], [NO_POSITIONS]
        for some in candidates:
            ends = matcher.ends(self._index, some, sentences, pattern.in_sentence)
            starts.append(some[ends > 0])
            stops.append(ends[ends > 0])
        return np.concatenate(starts), np.concatenate(stops)

    def words(self, pattern: TokenPattern, ranges: Ranges | None) -> tuple[Positions, Positions, IntArray]:
        """Return the words of the text that match a pattern `by_word` and begin in the ranges.

        Returns starts, ascending, stops, and how many bytes of the first and of the last token are not
        theirs: (n, 2).
        """
        matcher = matcher_of(pattern, self._tokenizer)
        starts, stops = [NO_POSITIONS], [NO_POSITIONS]
        cuts = [np.empty((0, 2), dtype=np.int64)]
        for some in self._candidates(pattern, ranges):
            numbers, n_tokens, before, after = matcher.words(self._index, some)
            starts.append(some[numbers])
            stops.append(starts[-1] + n_tokens.astype(np.uint32))
            cuts.append(np.stack([before, after], axis=1))
        found = np.concatenate(starts), np.concatenate(stops), np.concatenate(cuts)
        bits = self._segment.sentences
        if pattern.in_sentence and bits is not None:
            inside = found[1] <= sentences_at(bits, found[0])[1]
            return found[0][inside], found[1][inside], found[2][inside]
        return found

    def _candidates(self, pattern: TokenPattern, ranges: Ranges | None) -> Iterator[Positions]:
        """Yield the positions at which a match may begin: ascending, in batches."""
        if pattern.anchor is None or self._tries_all(pattern, ranges):
            return _places_in(*self._whole() if ranges is None else ranges)
        places = self._anchored(pattern.anchor)
        if ranges is not None:
            places = places[values_within(places, *ranges)]
        return iter((places,))

    def _whole(self) -> Ranges:
        every = np.arange(self._index.n_documents, dtype=np.uint32)
        lo, hi = self._index.document_bounds(every)
        return lo, hi

    def _tries_all(self, pattern: TokenPattern, ranges: Ranges | None) -> bool:
        """Return True if looking up the anchor's places costs more than trying all tokens."""
        if pattern.anchor is None:
            return True
        n_tokens = self._index.n_tokens
        if ranges is not None:
            n_tokens = int((ranges[1] - ranges[0]).sum(dtype=np.int64))
        return TRYING_WORK * n_tokens < pattern.bound(self._index.n_positions)

    def _anchored(self, anchor: Anchor) -> Positions:
        """Return the positions at which a match may begin, by its anchor: ascending, each once."""
        places = self._index.places(anchor.flat, anchor.offsets)
        found: list[Positions] = []
        for before in range(anchor.least_before, anchor.most_before + 1):
            interrupts.check()
            found.append(places[places >= before] - np.uint32(before))
        if len(found) == 1:
            return found[0]
        every = np.concatenate(found)
        return each_once(every) if every.dtype == np.uint32 else cast(Positions, np.unique(every))


def _places_in(lo: Positions, hi: Positions) -> Iterator[Positions]:
    """All positions of ranges, some at a time."""
    lengths = (hi - lo).astype(np.int64)
    ends = np.cumsum(lengths)
    first = 0
    while first < len(ends):
        begun = int(ends[first] - lengths[first])
        last = max(first + 1, int(np.searchsorted(ends, begun + CHUNK, side="right")))
        some = slice(first, last)
        offsets = lo[some].astype(np.int64) - (ends[some] - lengths[some])
        yield (np.repeat(offsets, lengths[some]) + np.arange(begun, ends[last - 1])).astype(np.uint32)
        first = last
