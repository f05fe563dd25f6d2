"""Documents as the peer gives them: excerpts around a place, with their metadata as a line of JSON.

A shard is a segment. A rank is a row of its suffix array; a pointer is a token's position in the segment,
times the bytes of a token (the peer's are offsets in its files).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.compat.infinigram.opening import DocAnswer
from ngramdb.engine.corpus.infini_gram_files import metadata_line, metadata_records
from ngramdb.interrupts import check


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Tokens of document `i` of segment `s`.

    tokens : (n,) uint32; none of a removed document
    needle : offset of the requested token in the excerpt
    """

    s: int
    i: int
    n_tokens_of_document: int
    needle: int
    tokens: NDArray[np.uint32]
    is_removed: bool


class Documents:
    """The documents of a corpus by number: segment after segment, removed ones included."""

    def __init__(self, view: Any) -> None:
        self._view = view
        self.segments: tuple[Any, ...] = view.segments
        sizes = [segment.n_documents for segment in self.segments]
        self._first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_documents = int(self._first[-1])

    def at(self, s: int, position: int, before: int, after: int) -> DocAnswer:
        """Return the document of a token, from `before` tokens before it up to `after` tokens from it on."""
        return self._answer(self.excerpts(s, [position], before, [after])[0])

    def excerpts(self, s: int, positions: Sequence[int], before: int, after: Sequence[int]) -> list[Excerpt]:
        """Return the excerpts around tokens of segment s: `before` tokens, and after[k] from the k-th on."""
        index = self.segments[s].index
        # In the peer's files the first document's separator comes before all tokens.
        first = index.document_bounds(np.zeros(1, dtype=np.uint32))[0]
        places = np.maximum(np.array(positions, dtype=index.position_type), first.astype(index.position_type))
        documents, offsets = index.places_at(places)
        return [
            self._excerpt(s, i, max(0, offset - before), offset + n_after, offset)
            for i, offset, n_after in zip(documents.tolist(), offsets.tolist(), after, strict=True)
        ]

    def at_rank(self, s: int, rank: int, before: int, after: int) -> DocAnswer:
        """Return the same for a row of the suffix array."""
        return self.at(s, int(self.segments[s].index.positions(rank, rank + 1)[0]), before, after)

    def by_number(self, number: int, length: int) -> DocAnswer:
        """Return the first tokens of a document."""
        s = int(np.searchsorted(self._first, number, side="right")) - 1
        return self._answer(self._excerpt(s, number - int(self._first[s]), 0, length, 0))

    def number(self, excerpt: Excerpt) -> int:
        """Return the number of an excerpt's document in the corpus."""
        return int(self._first[excerpt.s]) + excerpt.i

    def metadata(self, excerpts: Sequence[Excerpt]) -> dict[tuple[int, int], Any]:
        """Return the records (see `metadata_records`) of the documents that are not removed, by (s, i)."""
        found: dict[tuple[int, int], Any] = {}
        for s in {one.s for one in excerpts}:
            numbers = sorted({one.i for one in excerpts if one.s == s and not one.is_removed})
            for i, record in zip(numbers, metadata_records(self._view, s, numbers), strict=True):
                found[s, i] = record
        return found

    def _excerpt(self, s: int, i: int, start: int, stop: int, needle: int) -> Excerpt:
        check()
        segment = self.segments[s]
        removed = self._view.removed(s)
        place = int(np.searchsorted(removed, i)) if len(removed) else 0
        is_removed = place < len(removed) and int(removed[place]) == i
        tokens = segment.index.document_tokens(i, start, start if is_removed else stop)
        return Excerpt(s, i, segment.document_length(i), max(0, needle - start), tokens, is_removed)

    def _answer(self, excerpt: Excerpt) -> DocAnswer:
        return {
            "doc_ix": self.number(excerpt),
            "doc_len": excerpt.n_tokens_of_document,
            "disp_len": len(excerpt.tokens),
            "needle_offset": excerpt.needle,
            "metadata": "" if excerpt.is_removed else metadata_line(self._view, excerpt.s, excerpt.i),
            "token_ids": excerpt.tokens.tolist(),
            "blocked": excerpt.is_removed,
        }


# ---- Exact occurrences of n-grams, and of clauses of n-grams near each other.


Positions = NDArray[np.int64]
Clause = list[list[int]]

# In nanoseconds: reading a token of a window, going to a window, locating and sorting an occurrence.
TOKEN_NS, WINDOW_NS, OCCURRENCE_NS = 0.25, 50.0, 12.0


def kept(view: Any, s: int, positions: Positions) -> Positions:
    """Return those of the (ascending) positions of segment s whose documents were not removed."""
    removed = view.removed(s)
    if not len(removed) or not len(positions):
        return positions
    index = view.segments[s].index
    documents = index.documents_at(positions.astype(index.position_type))
    return positions[~np.isin(documents, removed)]


def occurrences(view: Any, s: int, clause: Clause) -> Positions:
    """Return the positions in segment s at which any of the n-grams begins, ascending."""
    index = view.segments[s].index
    parts = [index.positions(*index.find(ids)).astype(np.int64) for ids in clause]
    # One n-gram occurs at different places: sorting a few of them takes a fifth of the time of `unique`.
    return kept(view, s, np.sort(parts[0]) if len(parts) == 1 else np.unique(np.concatenate(parts)))


def matches(view: Any, cnf: list[Clause], distance: int) -> list[Positions]:
    """Return, per segment, the occurrences of the rarest clause that are near one of every other clause.

    Near means at most `distance` tokens from start to start, in the same document without a break between.
    """
    counts = [sum(view.index.count(ids) for ids in clause) for clause in cnf]
    rarest = int(np.argmin(counts))
    others = [clause for i, clause in enumerate(cnf) if i != rarest]
    found = []
    for s in range(len(view.segments)):
        places = occurrences(view, s, cnf[rarest])
        for clause in others:
            places = _near(view.segments[s].index, places, clause, distance)
        found.append(places)
    return found


def _near(index: Any, places: Positions, clause: Clause, distance: int) -> Positions:
    """Return the places near an occurrence of the clause."""
    if not len(places):
        return places
    starts, stops = index.piece_bounds(places.astype(index.position_type))
    first = np.maximum(places - distance, starts.astype(np.int64))
    last = np.minimum(places + distance + 1, stops.astype(np.int64))
    windows = first.astype(index.position_type), last.astype(index.position_type)
    near = np.zeros(len(places), dtype=np.bool_)
    for ids in clause:
        lo, hi = index.find(ids)
        reading = len(places) * (2 * distance * TOKEN_NS + WINDOW_NS)
        found = index.scan(*windows, ids) if reading < (hi - lo) * OCCURRENCE_NS else index.positions(lo, hi)
        found = np.unique(found.astype(np.int64))
        near |= np.searchsorted(found, first) < np.searchsorted(found, last)
    return places[near]


# ---- Spans of a text that occur in the corpus, as infini-gram's `attribute` (and OLMoTrace) chooses them.


# Stands for the logarithm of a token's share where shares are not asked for.
NO_LOGPROB = -10000.0


def chosen_spans(
    ids: list[int],
    ends: NDArray[np.int64],
    delimiters: frozenset[int],
    word_starts: frozenset[int] | None,
) -> list[tuple[int, int]]:
    """Spans [start, stop), none in another one. `ends`: of the longest match from each position on.

    A delimiter is at a span's end or nowhere; with `word_starts` a span begins with one of them and is
    not followed by anything else. Cost: O(len(ids)).
    """
    n = len(ids)
    places = np.arange(n)
    closes, begins = _among(ids, delimiters), _among(ids, word_starts)
    # Up to the end of the first delimiter from each position on, or the end of all ids.
    closed = np.minimum.accumulate(np.where(closes, places + 1, n)[::-1])[::-1]
    stops = np.minimum(ends, closed)
    # Back to the last position that begins a word, if the span is not the last of all.
    whole = np.append(np.maximum.accumulate(np.where(begins, places, 0)), n)
    stops = np.maximum(whole[stops], places)
    stops[~begins] = 0
    # A span that does not end behind all earlier ones is part of one of them.
    behind = np.maximum.accumulate(np.append(0, stops))[:-1]
    chosen = np.flatnonzero((stops > places) & (stops > behind))
    return list(zip(chosen.tolist(), stops[chosen].tolist(), strict=True))


def _among(ids: list[int], some: frozenset[int] | None) -> NDArray[np.bool_]:
    """Return, for each id, whether it is one of these; with None, every id is."""
    if some is None:
        return np.ones(len(ids), dtype=np.bool_)
    return np.fromiter(map(some.__contains__, ids), dtype=np.bool_, count=len(ids))


def places_of(view: Any, ngram: list[int]) -> list[tuple[int, int]]:
    """Return segment and position of every occurrence of an n-gram, in order."""
    n_segments = len(view.segments)
    return [(s, position) for s in range(n_segments) for position in occurrences(view, s, [ngram]).tolist()]


def logprob_sum(ngram: list[int], shares: dict[int, float] | None) -> float:
    """Return the sum of the logarithms of the tokens' shares of the corpus, see `NO_LOGPROB`."""
    if shares is None:
        return math.fsum([NO_LOGPROB] * len(ngram))
    return math.fsum([shares.get(token, -math.inf) for token in ngram])


def span_record(
    view: Any,
    ids: list[int],
    span: tuple[int, int],
    count: int,
    shares: dict[int, float] | None,
    token_bytes: int,
) -> dict[str, Any]:
    """Return a span with its count, and the shard and pointer of each occurrence."""
    start, stop = span
    ngram = ids[start:stop]
    return {
        "l": start,
        "r": stop,
        "length": stop - start,
        "count": count,
        "unigram_logprob_sum": logprob_sum(ngram, shares),
        "docs": [{"s": s, "ptr": token_bytes * position} for s, position in places_of(view, ngram)],
    }
