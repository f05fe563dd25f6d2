from typing import Any

from ngramdb._cext.segment.segment_index import SegmentIndex

class PlainIndex(SegmentIndex):
    def __init__(self, ids: Any, offsets: Any, first: int = 0, name: str = "") -> None: ...

class DefaultIndex(SegmentIndex):
    index: SegmentIndex
    def __init__(self, index: SegmentIndex) -> None: ...
