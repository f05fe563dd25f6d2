from collections.abc import Iterable

from numpy import uint32, uint64
from numpy.typing import NDArray

from ngramdb._cext.base.interrupt import Interrupt
from ngramdb._cext.sort.row_merging import MergeSource

LEFT_OUT: int

class DuplicateWindows:
    marks: list[NDArray[uint64]]
    n_sampled: int
    def __init__(
        self,
        sources: Iterable[MergeSource],
        ranks: Iterable[NDArray[uint32]],
        length: int,
        weights: NDArray[uint32] | None = None,
        min_count: int = 2,
        marks_starts: bool = False,
        keeps_one: bool = True,
    ) -> None: ...
    def sample(self, text: int, stop: Interrupt | None = None) -> None: ...
    def choose(self, text: int, stop: Interrupt | None = None) -> None: ...
    def plan(self, n_chunks: int, stop: Interrupt | None = None) -> int: ...
    def mark(self, chunk: int, stop: Interrupt | None = None) -> None: ...

def ranges_of_bits(bits: NDArray[uint64]) -> tuple[NDArray[uint32], NDArray[uint32]]: ...
