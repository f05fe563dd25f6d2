from collections.abc import Sequence
from typing import Any, overload

from numpy import bool_, dtype, int32, int64, uint32
from numpy.typing import NDArray

from ngramdb._cext.segment.segment_index import Offsets, SegmentIndex, TokenIds

Estimates = tuple[NDArray[int64], NDArray[int64], NDArray[int32], NDArray[bool_]]

# Next tokens and their counts; occurrences at the end of a document, and all; tokens of the context used.
NextTokens = tuple[NDArray[uint32], NDArray[int64], int, int, int]
ManyNextTokens = tuple[
    NDArray[int64], NDArray[uint32], NDArray[int64], NDArray[int64], NDArray[int64], NDArray[int64]
]

ESTIMATE: dtype[Any]

class Index:
    segments: tuple[SegmentIndex, ...]
    signs: tuple[int, ...]
    def __init__(self, segments: Sequence[SegmentIndex], signs: Sequence[int]) -> None: ...
    @property
    def n_tokens(self) -> int: ...
    def count(self, ids: TokenIds, /) -> int: ...
    def count_many(self, flat: TokenIds, offsets: Offsets) -> NDArray[int64]: ...
    def prob(
        self, context: TokenIds, token: int, infgram: bool = False, order: int = 0
    ) -> tuple[int, int, int, bool]: ...
    def prob_many(
        self, flat: TokenIds, offsets: Offsets, tokens: TokenIds, infgram: bool = False, order: int = 0
    ) -> Estimates: ...
    def score(
        self, flat: TokenIds, offsets: Offsets, infgram: bool = False, order: int = 0, least: int = 1
    ) -> Estimates: ...
    @overload
    def dist(self, context: TokenIds, infgram: bool = False, order: int = 0) -> NextTokens: ...
    @overload  # None if the context occurs more than `most` times
    def dist(self, context: TokenIds, infgram: bool, order: int, most: int) -> NextTokens | None: ...
    def dist_many(
        self, flat: TokenIds, offsets: Offsets, infgram: bool = False, order: int = 0
    ) -> ManyNextTokens: ...
