from typing import Any

from numpy import int64, uint8, uint32, uint64
from numpy.typing import NDArray
from typing_extensions import Self

from ngramdb._cext.base.interrupt import Interrupt

MAX_SYMBOLS: int

class CoreBudget:
    def __init__(self, n: int) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

def release(array: NDArray[uint8]) -> None: ...
def suffix_array(
    text: NDArray[Any],
    n_symbols: int,
    stop: Interrupt | None = None,
    cores: CoreBudget | None = None,
    lcp_width: int = 0,
) -> NDArray[uint32]: ...
def lcp_width_for(n_text: int) -> int: ...
def mark_lcps(
    text: NDArray[Any],
    rows: NDArray[uint32],
    width: int,
    stop: Interrupt | None = None,
    cores: CoreBudget | None = None,
) -> None: ...
def far_index(
    text: NDArray[Any],
    rows: NDArray[uint32],
    stride: int,
    lcp_width: int = 0,
    stop: Interrupt | None = None,
    cores: CoreBudget | None = None,
) -> tuple[NDArray[uint64], NDArray[uint8]]: ...
def first_wrong_row(
    text: NDArray[Any], rows: NDArray[uint32], lcp_width: int = 0, lcps: NDArray[uint8] | None = None
) -> int | None: ...
def write_symbols(ids: NDArray[Any], offsets: NDArray[int64], out: NDArray[Any]) -> None: ...
def tree_words(n_rows: int) -> int: ...
def key_directory(
    text: NDArray[Any], rows: NDArray[uint32], stop: Interrupt | None = None, lcp_width: int = 0
) -> tuple[NDArray[uint64], NDArray[uint64]]: ...
