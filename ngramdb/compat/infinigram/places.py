"""Where n-grams, and clauses of n-grams that stand near each other, occur: exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]
Clause = list[list[int]]

# In nanoseconds: reading a token of a window, going to a window, locating and sorting an occurrence.
TOKEN_NS, WINDOW_NS, OCCURRENCE_NS = 0.25, 50.0, 12.0


def kept(view: Any, s: int, positions: Positions) -> Positions:
    """Those of the (ascending) positions of segment s that stand in documents that were not removed."""
    removed = view.removed(s)
    if not len(removed) or not len(positions):
        return positions
    index = view.segments[s].index
    documents = index.documents_at(positions.astype(index.position_type))
    return positions[~np.isin(documents, removed)]


def occurrences(view: Any, s: int, clause: Clause) -> Positions:
    """Where any of the n-grams begins in segment s, ascending."""
    index = view.segments[s].index
    parts = [index.positions(*index.find(ids)).astype(np.int64) for ids in clause]
    # One n-gram occurs at different places: sorting a few of them takes a fifth of the time of `unique`.
    return kept(view, s, np.sort(parts[0]) if len(parts) == 1 else np.unique(np.concatenate(parts)))


def matches(view: Any, cnf: list[Clause], distance: int) -> list[Positions]:
    """For each segment the occurrences of the rarest clause that have one of every other clause near them.

    Near is at most `distance` tokens from start to start, in the same document.
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
    """Those of the places that have an occurrence of the clause near them."""
    if not len(places):
        return places
    starts, stops = index.document_bounds(index.documents_at(places.astype(index.position_type)))
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
