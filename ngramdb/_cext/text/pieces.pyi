from collections.abc import Iterable, Sequence

from numpy import bool_, int64, uint8, uint32
from numpy.typing import NDArray

class PieceTable:
    n_tokens: int
    def __init__(self, flat: NDArray[uint8], offsets: NDArray[int64]) -> None: ...
    def decode(self, ids: NDArray[uint32]) -> bytes | None: ...
    def decode_each(
        self, ids: NDArray[uint32], offsets: NDArray[int64]
    ) -> tuple[bytes, NDArray[int64]] | None: ...
    def reproduces(
        self, texts: Sequence[bytes], ids: NDArray[uint32], offsets: NDArray[int64]
    ) -> NDArray[bool_]: ...

def gather(lists: Iterable[list[int]]) -> tuple[NDArray[uint32], NDArray[int64]]: ...
