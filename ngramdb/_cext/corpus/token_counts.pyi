from typing import Any

from numpy import int64, uint8, uint32
from numpy.typing import NDArray

class TokenCounts:
    n_starts: int
    # `index` is a SegmentIndex: the executor knows their interface only
    def add_documents(self, index: Any, docs: NDArray[uint32], weight: int = 1) -> None: ...
    def add_before(self, index: Any, lo: int, hi: int, weight: int = 1) -> None: ...
    def found(self) -> tuple[NDArray[uint32], NDArray[int64]]: ...

class WindowCounts:
    def add(
        self,
        index: Any,
        starts: NDArray[uint32],
        stops: NDArray[uint32],
        left: int,
        right: int,
        sentences: NDArray[uint8] | None = None,
    ) -> None: ...
    def found(self) -> tuple[NDArray[uint32], NDArray[int64]]: ...

def tokens_after(
    index: Any, lo: int, hi: int, depth: int, documents: NDArray[uint8]
) -> tuple[NDArray[uint32], NDArray[int64], int]: ...
