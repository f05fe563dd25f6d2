from numpy import int64, uint32, uint64
from numpy.typing import NDArray

def json_list(numbers: NDArray[uint32] | NDArray[int64] | NDArray[uint64]) -> bytes: ...
