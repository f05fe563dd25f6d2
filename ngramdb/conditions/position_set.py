"""A set of places in the text of a segment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
