from collections.abc import Iterable

from numpy import bool_, int32, int64, uint32
from numpy.typing import NDArray

UNICODE_VERSION: str

def boundaries(text: bytes) -> NDArray[int64]: ...
def mark_words(texts: Iterable[bytes], offsets: NDArray[int64]) -> NDArray[bool_]: ...
def mark_words_at(text: bytes, starts: NDArray[int64], n: int) -> NDArray[bool_]: ...
def mark_places(
    texts: Iterable[bytes], offsets: NDArray[int64], places: NDArray[int64]
) -> NDArray[bool_]: ...
def mark_spelled(
    texts: Iterable[bytes],
    ids: NDArray[uint32],
    offsets: NDArray[int64],
    lengths: NDArray[uint32],
    leads: NDArray[int32],
) -> NDArray[bool_] | None: ...
