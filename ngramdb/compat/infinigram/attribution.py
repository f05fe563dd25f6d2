"""Spans of a text that stand in the corpus, as infini-gram's `attribute` (and OLMoTrace) chooses them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.compat.infinigram.places import occurrences

# Stands for the logarithm of a token's share where shares are not asked for.
NO_LOGPROB = -10000.0


def chosen_spans(
    ids: list[int],
    ends: NDArray[np.int64],
    delimiters: frozenset[int],
    word_starts: frozenset[int] | None,
) -> list[tuple[int, int]]:
    """Spans [start, stop), none in another one. `ends`: of the longest match from each position on.

    A delimiter stands at a span's end or nowhere; with `word_starts` a span begins with one of them and is
    not followed by anything else. Cost: O(len(ids)).
    """
    spans, last = [], -1
    closed = _ends_by_delimiters(ids, delimiters)
    whole = list(range(len(ids))) if word_starts is None else _ends_of_words(ids, word_starts)
    for start, longest in enumerate(ends.tolist()):
        if word_starts is not None and ids[start] not in word_starts:
            continue
        stop = min(longest, closed[start])
        if stop < len(ids):
            stop = max(start, whole[stop])
        if stop > max(start, last):
            spans.append((start, stop))
            last = stop
    return spans


def _ends_by_delimiters(ids: list[int], delimiters: frozenset[int]) -> list[int]:
    """For each position, the end of the first delimiter from there on, or the end of all ids."""
    ends, end = [], len(ids)
    for i in range(len(ids) - 1, -1, -1):
        if ids[i] in delimiters:
            end = i + 1
        ends.append(end)
    return ends[::-1]


def _ends_of_words(ids: list[int], word_starts: frozenset[int]) -> list[int]:
    """For each position, the last one up to it that begins a word, or 0: words before it are whole."""
    ends, end = [], 0
    for i, token in enumerate(ids):
        if token in word_starts:
            end = i
        ends.append(end)
    return ends


def span_record(
    view: Any,
    ids: list[int],
    span: tuple[int, int],
    count: int,
    shares: dict[int, float] | None,
    token_bytes: int,
) -> dict[str, Any]:
    """A span with its count, and where it stands: shard and pointer of each occurrence."""
    start, stop = span
    logprobs = [NO_LOGPROB if shares is None else shares.get(token, -math.inf) for token in ids[start:stop]]
    docs = [
        {"s": s, "ptr": token_bytes * position}
        for s in range(len(view.segments))
        for position in occurrences(view, s, [ids[start:stop]]).tolist()
    ]
    return {
        "l": start,
        "r": stop,
        "length": stop - start,
        "count": count,
        "unigram_logprob_sum": math.fsum(logprobs),
        "docs": docs,
    }
