"""Sets of documents and of places of one segment.

A set of documents has sorted local numbers: of its documents, or of those that are *not* in it.

Negation flips a flag. `NOT "lorem ipsum"` over ten million documents holds only the few that contain it, and
the numbers of the others are made when (and if) they are read.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.joins import intersect, subtract, unite
from ngramdb.lazy import dataclass
from ngramdb.types import Docs


@dataclass(frozen=True)
class DocSet:
    """`docs` is sorted, unique uint32 below `n_documents`; with `negated` it holds the documents left out."""

    docs: Docs
    n_documents: int
    negated: bool = False

    @classmethod
    def none(cls, n_documents: int) -> DocSet:
        """No document."""
        return cls(np.empty(0, dtype=np.uint32), n_documents)

    @classmethod
    def all(cls, n_documents: int) -> DocSet:
        """Every document."""
        return cls(np.empty(0, dtype=np.uint32), n_documents, negated=True)

    def __len__(self) -> int:
        return self.n_documents - len(self.docs) if self.negated else len(self.docs)

    def __invert__(self) -> DocSet:
        return DocSet(self.docs, self.n_documents, not self.negated)

    def __and__(self, other: DocSet) -> DocSet:
        if self.negated and other.negated:
            return DocSet(unite(self.docs, other.docs), self.n_documents, negated=True)
        if self.negated:
            return DocSet(subtract(other.docs, self.docs), self.n_documents)
        if other.negated:
            return DocSet(subtract(self.docs, other.docs), self.n_documents)
        return DocSet(intersect(self.docs, other.docs), self.n_documents)

    def __or__(self, other: DocSet) -> DocSet:
        return ~(~self & ~other) if self.negated or other.negated else self._unite(other)

    def _unite(self, other: DocSet) -> DocSet:
        return DocSet(unite(self.docs, other.docs), self.n_documents)

    def numbers(self) -> Docs:
        """Local document numbers, ascending. Cost: O(segment) for a negated set."""
        if not self.negated:
            return self.docs
        every = np.arange(self.n_documents, dtype=np.uint32)
        return every if not len(self.docs) else subtract(every, self.docs)

    def mask(self) -> NDArray[np.bool_]:
        """Return a flag for each document of the segment: (n_documents,) bool."""
        mask = np.full(self.n_documents, self.negated)
        mask[self.docs] = not self.negated
        return mask

    def bitmap(self) -> NDArray[np.uint8]:
        """Return a bit per document, the least significant bit of a byte first."""
        return np.packbits(self.mask(), bitorder="little")

    def check(self) -> None:
        """Raise ValueError unless the numbers are sorted, unique and in range."""
        docs = self.docs.astype(np.int64)
        if len(docs) and (docs[-1] >= self.n_documents or (np.diff(docs) <= 0).any()):
            raise ValueError("documents of a set are not ascending, unique and in range")


# Places that are listed at a time: a few milliseconds.
CHUNK_BYTES = 1 << 20


class PlaceSet:
    """Places below `n_positions`, a bit for each: found in pieces, in any order, some more than once."""

    def __init__(self, n_positions: int) -> None:
        self._bits = np.zeros((n_positions + 7) // 8, dtype=np.uint8)

    def add(self, places: NDArray[np.integer]) -> None:
        """Put places, (k,) in any order, into the set. Cost: sorting them."""
        if not len(places):
            return
        ordered = np.sort(places)
        at = ordered >> 3
        firsts = np.flatnonzero(np.append(True, at[1:] != at[:-1]))
        masks = np.left_shift(np.uint8(1), (ordered & 7).astype(np.uint8))
        self._bits[at[firsts]] |= np.bitwise_or.reduceat(masks, firsts)

    def ascending(self) -> NDArray[np.uint32]:
        """All places, (k,) uint32, ascending."""
        parts = []
        for start in range(0, len(self._bits), CHUNK_BYTES):
            found = np.flatnonzero(np.unpackbits(self._bits[start : start + CHUNK_BYTES], bitorder="little"))
            parts.append((found + 8 * start).astype(np.uint32))
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)
