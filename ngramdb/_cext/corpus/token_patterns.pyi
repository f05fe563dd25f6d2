from collections.abc import Sequence
from typing import Any

from numpy import bool_, int64, integer, uint8, uint32, uint64
from numpy.typing import NDArray

# index: of SegmentIndex; tokenizers know none of them
def word_forms(
    index: Any, flat: NDArray[uint8], offsets: NDArray[int64], most: int
) -> tuple[NDArray[uint8], NDArray[uint64], NDArray[uint32], NDArray[int64]]: ...

PATTERN_CODES: dict[str, int]

class Matcher:
    def __init__(
        self,
        steps: NDArray[int64],
        sets: NDArray[uint8],
        words: Sequence[tuple[NDArray[uint8], NDArray[uint64]]] = (),
        pieces: tuple[NDArray[uint8], NDArray[int64]] | None = None,
    ) -> None: ...
    # index: of SegmentIndex; the executor knows its interface only
    def ends(
        self,
        index: Any,
        starts: NDArray[integer[Any]],
        sentences: NDArray[uint8] | None = None,
        in_sentence: bool = False,
    ) -> NDArray[uint32]: ...
    def words(
        self, index: Any, starts: NDArray[integer[Any]]
    ) -> tuple[NDArray[int64], NDArray[int64], NDArray[int64], NDArray[int64]]: ...
    def within(self, ids: NDArray[uint32]) -> NDArray[bool_]: ...
    def ends_in(
        self, ids: NDArray[integer[Any]], sentences: NDArray[uint8] | None = None, in_sentence: bool = False
    ) -> NDArray[int64]: ...
