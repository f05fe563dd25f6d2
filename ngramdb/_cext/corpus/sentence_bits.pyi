from numpy import uint8, uint32
from numpy.typing import NDArray

def sentences_at(
    bits: NDArray[uint8], positions: NDArray[uint32]
) -> tuple[NDArray[uint32], NDArray[uint32]]: ...
