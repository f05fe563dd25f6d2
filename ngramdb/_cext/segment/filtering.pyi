from numpy import uint8, uint32
from numpy.typing import NDArray

def filter_rows(
    rows: NDArray[uint32], starts: NDArray[uint32], kept: NDArray[uint8], lcp_width: int = 0
) -> NDArray[uint32]: ...
