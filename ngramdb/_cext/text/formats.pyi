from collections.abc import Sequence

from numpy import float64, int64, uint32, uint64
from numpy.typing import NDArray

def json_list(numbers: NDArray[uint32] | NDArray[int64] | NDArray[uint64]) -> bytes: ...

class ArpaWords:
    def __init__(self, words: Sequence[str]) -> None: ...
    def lines(
        self,
        probs: NDArray[float64],
        backoffs: NDArray[float64] | None,
        codes: NDArray[int64],
        first: int,
        limit: int,
    ) -> tuple[bytes, int]: ...
