"""The tokens beside an n-gram in some documents, from its places: without an index of these documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.token_counts import tokens_after
from ngramdb.executor.conditions.docset import DocSet
from ngramdb.executor.distinct import numbered
from ngramdb.planner.source import IntArray, Segment

# Places that are looked at between two interrupt checks.
CHUNK = 1 << 20

Documents = Sequence[tuple[Segment, DocSet]]


class Neighbours(NamedTuple):
    """Tokens beside an n-gram, ids ascending; `n_none` places have none: the document ends there."""

    ids: NDArray[np.uint32]
    counts: IntArray
    n_none: int

    @property
    def n_places(self) -> int:
        """All places."""
        return int(self.counts.sum()) + self.n_none


def followers(ids: IntArray, found: Documents) -> Neighbours:
    """The tokens after an n-gram in these documents.

    Cost: that of all that follow it anywhere, and some 3 ns an occurrence in all documents.
    """
    parts = []
    for number, (segment, docs) in enumerate(found):
        interrupts.step(number, len(found))
        if len(docs):
            bits = np.packbits(docs.mask(), bitorder="little")
            parts.append(tokens_after(segment.index, *segment.index.find(ids), len(ids), bits))
    if len(parts) == 1:
        return Neighbours(*parts[0])
    tokens = np.concatenate([np.empty(0, dtype=np.uint32), *(tokens for tokens, _, _ in parts)])
    first, where = numbered(tokens)
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, where, np.concatenate([np.empty(0, dtype=np.int64), *(n for _, n, _ in parts)]))
    return Neighbours(tokens[first], counts, sum(n_none for _, _, n_none in parts))


def predecessors(ids: IntArray, found: Documents) -> Neighbours:
    """The tokens before an n-gram in these documents. Cost: some 30 ns an occurrence in all documents."""
    parts: list[IntArray] = []
    for number, (segment, docs) in enumerate(found):
        interrupts.step(number, len(found))
        if not len(docs):
            continue
        chosen = docs.mask()
        index = segment.index
        lo, hi = index.find(ids)
        for start in range(lo, hi, CHUNK):
            interrupts.check()
            places = index.positions(start, min(start + CHUNK, hi))
            places = places[chosen[index.documents_at(places)]]
            parts.append(index.tokens_at(places, -1))
    every = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    stands, numbers = numbered(every)
    tokens, counts = every[stands], np.bincount(numbers, minlength=len(stands))
    n_none = int(counts[0]) if len(tokens) and tokens[0] < 0 else 0
    first = 1 if n_none else 0
    return Neighbours(tokens[first:].astype(np.uint32), counts[first:].astype(np.int64), n_none)
