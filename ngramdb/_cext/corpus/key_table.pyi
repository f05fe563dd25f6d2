from numpy import int32, int64, uint8
from numpy.typing import NDArray

class KeyTable:
    def __init__(
        self, offsets: NDArray[int32], data: NDArray[uint8], valid: NDArray[uint8] | None = None
    ) -> None: ...
    def find(
        self, offsets: NDArray[int32], data: NDArray[uint8], valid: NDArray[uint8] | None = None
    ) -> NDArray[int64]: ...
