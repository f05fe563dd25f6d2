"""Spans of a text that occur in the corpus, as infini-gram's `attribute` (and OLMoTrace) chooses them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.compat.infinigram.documents import occurrences

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
