from collections.abc import Iterable
from typing import Any

from numpy import uint8, uint32, uint64
from numpy.typing import NDArray

from ngramdb._cext.base.interrupt import Interrupt

class MergeSource:
    symbol_bytes: int
    n_symbols: int
    n_rows: int
    is_whole: bool
    def __init__(
        self,
        text: NDArray[Any],
        rows: NDArray[uint32],
        lcp_width: int,
        starts: NDArray[uint32],
        kept: NDArray[uint8] | None = None,
        path: str = "",
        has_lcps: bool = True,
        lcps: NDArray[uint8] | None = None,
        in_large_pages: bool = False,
        breaks: NDArray[uint32] | None = None,
    ) -> None: ...

class RowMerge:
    n_chunks: int
    n_rows: int
    lcp_width: int
    tree: NDArray[uint64]
    rest: NDArray[uint64]
    def __init__(self, sources: Iterable[MergeSource], lcp_width: int | None = None) -> None: ...
    def plan(self, chunk_rows: int, stop: Interrupt | None = None) -> int: ...
    def count(self, chunk: int, stop: Interrupt | None = None) -> None: ...
    def begin(self) -> None: ...
    def merge(
        self, chunk: int, stop: Interrupt | None = None
    ) -> tuple[NDArray[uint32], NDArray[uint8] | None]: ...
    def bounds(self, chunk: int) -> list[int]: ...
    def join(self, chunk: int, rows: NDArray[uint32], lcps: NDArray[uint8] | None = None) -> None: ...
    def finish(self) -> tuple[NDArray[uint64], NDArray[uint64]]: ...
    @property
    def n_compared(self) -> int: ...

def filter_rows(
    rows: NDArray[uint32],
    starts: NDArray[uint32],
    kept: NDArray[uint8],
    lcp_width: int = 0,
    breaks: NDArray[uint32] | None = None,
) -> NDArray[uint32]: ...
