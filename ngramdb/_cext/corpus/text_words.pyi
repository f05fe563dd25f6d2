from typing import Any

from numpy import int64, uint8, uint32, uint64
from numpy.typing import NDArray

# index: of SegmentIndex; tokenizers know none of them
def word_forms(
    index: Any, flat: NDArray[uint8], offsets: NDArray[int64], most: int
) -> tuple[NDArray[uint8], NDArray[uint64], NDArray[uint32], NDArray[int64]]: ...
