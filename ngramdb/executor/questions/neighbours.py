"""The tokens beside an n-gram in some documents, from its places: without an index of these documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ngramdb import interrupts
from ngramdb.executor.conditions.docset import DocSet
from ngramdb.planner.source import IntArray, Segment

# Places that are looked at between two interrupt checks.
CHUNK = 1 << 20

Documents = Sequence[tuple[Segment, DocSet]]


class Neighbours(NamedTuple):
    """Tokens beside an n-gram, ids ascending; `n_none` places have none: the document ends there."""

    ids: IntArray
    counts: IntArray
    n_none: int

    @property
    def n_places(self) -> int:
        """All places."""
        return int(self.counts.sum()) + self.n_none


def neighbours(ids: IntArray, found: Documents, ahead: int) -> Neighbours:
    """The tokens `ahead` tokens after the beginnings of an n-gram in these documents.

    Cost: some 30 ns an occurrence in all documents.
    """
    parts: list[IntArray] = []
    for number, (segment, docs) in enumerate(found):
        interrupts.step(number, len(found))
        if not len(docs):
            continue
        chosen = np.zeros(segment.n_documents, dtype=np.bool_)
        chosen[docs.numbers()] = True
        index = segment.index
        lo, hi = index.find(ids)
        for start in range(lo, hi, CHUNK):
            interrupts.check()
            places = index.positions(start, min(start + CHUNK, hi))
            places = places[chosen[index.documents_at(places)]]
            parts.append(index.tokens_at(places, ahead))
    every = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    tokens, counts = np.unique(every, return_counts=True)
    n_none = int(counts[0]) if len(tokens) and tokens[0] < 0 else 0
    first = 1 if n_none else 0
    return Neighbours(tokens[first:], counts[first:].astype(np.int64), n_none)
