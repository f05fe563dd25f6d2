from numpy import bool_, int64, uint32
from numpy.typing import NDArray

MOST_KEPT: int

class NearDuplicates:
    n_grams: int
    def __init__(
        self, n: int, contained: float, characters: float, bands: int = 0, rows: int = 0
    ) -> None: ...
    def add(self, text: bytes, by_characters: bool) -> None: ...
    def sizes(self) -> tuple[NDArray[uint32], NDArray[bool_]]: ...
    def decide(
        self, order: NDArray[uint32], n_given: int = 0
    ) -> tuple[NDArray[int64], NDArray[uint32], NDArray[bool_]]: ...
