from collections.abc import Sequence

from numpy import float64, int64
from numpy.typing import NDArray

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
