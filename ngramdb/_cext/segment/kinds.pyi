from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.segment.segment_index import SegmentIndex

class TableIndex(SegmentIndex):
    arrays: tuple[NDArray[Any], NDArray[np.uint8], NDArray[np.uint64] | None]
    stride: int
    def __init__(
        self,
        text: NDArray[Any],
        table: NDArray[np.uint8],
        by_bytes: bool = True,
        in_bytes: bool = True,
        separator: int | None = None,
        offsets: NDArray[np.uint64] | None = None,
        name: str = "",
        is_reversed: bool = False,
    ) -> None: ...
    def sample(self) -> NDArray[np.uint64]: ...
    def use_keys(self, keys: NDArray[np.uint64]) -> None: ...

class PlainIndex(SegmentIndex):
    def __init__(self, ids: Any, offsets: Any, first: int = 0, name: str = "") -> None: ...

class DefaultIndex(SegmentIndex):
    index: SegmentIndex
    def __init__(self, index: SegmentIndex) -> None: ...
