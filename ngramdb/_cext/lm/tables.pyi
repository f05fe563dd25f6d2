from typing import Any, overload

from numpy import float32, float64, int32, uint8, uint64
from numpy.typing import NDArray

Ids = Any  # a sequence or an array of integers
Scored = tuple[NDArray[float64], NDArray[int32], NDArray[int32]]

BEGIN: int
UNKNOWN_CODE: int
BEGIN_CODE: int
END_CODE: int
FIRST_WORD: int
BASE: uint64

def word_hashes(n: int) -> NDArray[uint64]: ...

class NgramTable:
    def __init__(
        self,
        order: int,
        n_words: int = 0,
        penalty: float = 0.0,
        separator: int | None = None,
        least: float = -1e300,
    ) -> None: ...
    @property
    def order(self) -> int: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def n_bytes(self) -> int: ...
    def set_ids(self, ids: Ids, codes: Ids) -> None: ...
    def set_words(
        self,
        probs: NDArray[float32],
        weights: NDArray[float32],
        is_suffix: NDArray[uint8],
        is_context: NDArray[uint8],
    ) -> None: ...
    def reserve(self, n: int, count: int) -> None: ...
    def insert(
        self,
        n: int,
        keys: NDArray[uint64],
        probs: NDArray[float32],
        weights: NDArray[float32] | None = None,
        is_suffix: NDArray[uint8] | None = None,
        is_context: NDArray[uint8] | None = None,
    ) -> None: ...
    def score(self, flat: Ids, offsets: Ids, sentences: bool = False) -> Scored: ...
    def estimate(
        self, flat: Ids, offsets: Ids, tokens: Ids, begins: Any, token_offsets: Ids | None = None
    ) -> Scored: ...

class TableState:
    model: NgramTable
    def __init__(self, model: NgramTable, in_sentence: bool = False) -> None: ...
    def begin(self, in_sentence: bool = False) -> None: ...
    def copy(self) -> TableState: ...
    @overload
    def read(self, token: int, /) -> tuple[float, int]: ...
    @overload
    def read(self, origin: TableState, token: int) -> tuple[float, int]: ...
    @overload
    def read_log(self, token: int, /) -> tuple[float, int]: ...
    @overload
    def read_log(self, origin: TableState, token: int) -> tuple[float, int]: ...
    @property
    def context(self) -> tuple[int, ...]: ...

class ArpaReader:
    def __init__(self, most: int) -> None: ...
    @property
    def line(self) -> int: ...
    def feed(self, data: bytes | memoryview) -> None: ...
    def finish(self) -> tuple[NgramTable, list[str], tuple[int, ...]]: ...
