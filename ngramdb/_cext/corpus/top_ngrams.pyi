from collections.abc import Sequence
from typing import Any

from numpy import int64, uint8, uint32
from numpy.typing import NDArray

Counted = tuple[NDArray[uint32], NDArray[int64]]

class NegativeCount(ValueError):
    ids: tuple[int, ...]
    def __init__(self, ids: Sequence[int]) -> None: ...

class NgramBlocks:
    segments: tuple[Any, ...]
    documents: tuple[NDArray[uint8] | None, ...]
    n: int
    def __init__(
        self,
        segments: Sequence[Any],  # of SegmentIndex: the executor knows their interface only
        signs: Sequence[int],
        n: int,
        documents: Sequence[NDArray[uint8] | None] | None = None,
    ) -> None: ...
    def next(self, k: int) -> Counted: ...
    @property
    def distinct(self) -> int: ...
    @property
    def occurrences(self) -> int: ...

# sign, and a bitmap of documents
Side = tuple[int, NDArray[uint8] | None]

class NgramScan:
    sources: tuple[Any, ...]
    n: int
    def __init__(
        self, sources: Sequence[tuple[Any, tuple[int, int] | None, Side | None, Side | None]], n: int
    ) -> None: ...
    def next(self, k: int, least: int = 1) -> tuple[NDArray[int64], NDArray[int64]]: ...
    def ids(self, places: NDArray[int64]) -> NDArray[uint32]: ...
    def column(self, places: NDArray[int64], depth: int) -> NDArray[int64]: ...

def frequent(index: Any, n: int, k: int) -> Counted | None: ...
def count_documents(
    tokens: NDArray[uint32], offsets: NDArray[int64], n: int, k: int
) -> tuple[NDArray[uint32], NDArray[int64], int]: ...
