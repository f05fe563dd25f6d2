"""Documents of a segment that are carried over into another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import CorruptionError
from ngramdb.segments.base import Numbers, Segment

# Documents or symbols that are carried over at a time.
CHUNK_DOCUMENTS = 8192
CHUNK_SYMBOLS = 1 << 22


class Part(NamedTuple):
    """Documents `numbers` (ascending) of a segment.

    `new_ids[id]` replaces their token ids if given.
    """

    segment: Segment
    numbers: Numbers
    new_ids: NDArray[np.uint32] | None = None

    @property
    def is_whole(self) -> bool:
        return len(self.numbers) == self.segment.n_documents

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Symbols of each document, its separator included: (n,) int64."""
        return self.segment.lengths(self.numbers) + 1

    @property
    def n_symbols(self) -> int:
        return int(self.lengths.sum())


def chunks(part: Part, most: int = CHUNK_SYMBOLS) -> Iterator[Numbers]:
    """Yield the part's documents in pieces of CHUNK_DOCUMENTS and `most` symbols at most, one at least."""
    symbols = np.cumsum(part.lengths)
    start = 0
    while start < len(part.numbers):
        before = int(symbols[start - 1]) if start else 0
        stop = int(np.searchsorted(symbols, before + most, side="right"))
        stop = min(max(stop, start + 1), start + CHUNK_DOCUMENTS)
        interrupts.check()
        yield part.numbers[start:stop]
        start = stop


def runs(numbers: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the first and the last document of each run of neighbours among ascending numbers."""
    if not len(numbers):
        return
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    firsts = numbers[np.concatenate([[0], breaks])]
    lasts = numbers[np.concatenate([breaks - 1, [len(numbers) - 1]])]
    yield from zip(firsts.tolist(), lasts.tolist(), strict=True)


@contextmanager
def rows_of_documents(parts: Sequence[Part]) -> Iterator[None]:
    """Turn the ValueError of a kernel whose arrays do not fit the documents into a CorruptionError."""
    try:
        yield
    except ValueError as error:
        paths = [part.segment.path for part in parts]
        which = f"segment {paths[0]}" if len(paths) == 1 else f"one of the segments {', '.join(paths)}"
        raise CorruptionError(
            f"{which} is damaged: its arrays do not fit its documents ({error}); restore the file "
            "from a backup, or load its documents again",
            path=paths[0],
        ) from error
