from numpy import int32, int64, uint32
from numpy.typing import NDArray

class TextProgram:
    def __init__(
        self,
        steps: NDArray[int32],
        ranges: NDArray[uint32],
        n_sets: int,
        first: NDArray[uint32],
        prefix: bytes,
        empty_inside: bool,
    ) -> None: ...
    def memory_bytes(self, n_bytes: int) -> int: ...
    def occurs_in(self, text: bytes) -> bool: ...
    def spans(self, text: bytes) -> NDArray[int64]: ...
