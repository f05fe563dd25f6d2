"""Where patterns over tokens match in one segment, by what every match has, or by trying every token."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.joins import values_within
from ngramdb._cext.corpus.token_patterns import Matcher
from ngramdb.planner.plan import Anchor, TokenPattern
from ngramdb.planner.source import Segment

Positions = NDArray[np.uint32]
# Ranges of positions [lo[i], hi[i]), ascending and apart.
Ranges = tuple[Positions, Positions]

# Positions that are tried together: some ten milliseconds.
CHUNK = 1 << 19

# The work of a position that is tried, in positions that are looked up, sorted and tried.
TRYING_WORK = 0.5


class TokenMatches:
    """Finds the matches of patterns over tokens in one segment."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._index = segment.index

    def count(self, pattern: TokenPattern) -> int:
        """How many matches a pattern has whose matches are the n-grams of its anchor."""
        assert pattern.anchor is not None and pattern.length is not None
        lo, hi = self._index.ranges(pattern.anchor.flat, pattern.anchor.offsets).astype(np.int64)
        return int((hi - lo).sum())

    def find(self, pattern: TokenPattern, ranges: Ranges | None) -> tuple[Positions, Positions]:
        """The matches that start in the ranges, everywhere for None: starts, ascending, and stops."""
        anchor = pattern.anchor
        if anchor is None or self._tries_all(pattern, ranges):
            candidates = _places_in(*self._whole() if ranges is None else ranges)
        else:
            places = self._anchored(anchor)
            if ranges is not None:
                places = places[values_within(places, *ranges)]
            if pattern.length is not None:
                return places, places + np.uint32(pattern.length)
            candidates = iter((places,))
        matcher = Matcher(pattern.steps, pattern.sets)
        sentences = self._segment.sentences if pattern.sentences else None
        none: Positions = np.empty(0, dtype=np.uint32)
        starts, stops = [none], [none]
        for some in candidates:
            ends = matcher.ends(self._index, some, sentences, pattern.in_sentence)
            starts.append(some[ends > 0])
            stops.append(ends[ends > 0])
        return np.concatenate(starts), np.concatenate(stops)

    def _whole(self) -> Ranges:
        every = np.arange(self._index.n_documents, dtype=np.uint32)
        lo, hi = self._index.document_bounds(every)
        return lo, hi

    def _tries_all(self, pattern: TokenPattern, ranges: Ranges | None) -> bool:
        """Whether there are more places to look up than tokens to try."""
        n_tokens = self._index.n_tokens
        if ranges is not None:
            n_tokens = int((ranges[1] - ranges[0]).sum(dtype=np.int64))
        return TRYING_WORK * n_tokens < pattern.bound(self._index.n_positions)

    def _anchored(self, anchor: Anchor) -> Positions:
        """Where a match may begin, by what every match has: ascending, each once."""
        places = self._index.places(anchor.flat, anchor.offsets)
        found = []
        for before in range(anchor.least_before, anchor.most_before + 1):
            interrupts.check()
            found.append(places[places >= before] - np.uint32(before))
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


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
