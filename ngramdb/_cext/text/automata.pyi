from numpy import bool_, int64, uint8, uint32
from numpy.typing import NDArray

class SymbolWords:
    def __init__(self, symbols: NDArray[uint32], offsets: NDArray[int64], n_symbols: int) -> None: ...
    def accepted(
        self, class_of: NDArray[uint32], table: NDArray[uint32], accepting: NDArray[uint8]
    ) -> NDArray[bool_]: ...
