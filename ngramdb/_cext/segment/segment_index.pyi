from collections.abc import Sequence
from typing import Any

from numpy import int64, integer, uint8, uint32, uint64
from numpy.typing import NDArray

from ngramdb._cext.base.checksums import FileChecksums

TokenIds = Sequence[int] | NDArray[integer[Any]]
Offsets = Sequence[int] | NDArray[integer[Any]]
# Of 32 bits where the segment's text is short enough for that, else of 64.
Positions = NDArray[Any]

CONDITION_CODES: dict[str, int]

class SegmentIndex:
    name: str
    n_tokens: int
    n_documents: int
    n_positions: int
    position_type: type[uint32] | type[uint64]
    in_token_order: bool
    is_nested: bool
    def find(self, ids: TokenIds) -> tuple[int, int]: ...
    def find_ends(self, ids: TokenIds) -> tuple[int, int]: ...
    def positions(self, lo: int, hi: int) -> Positions: ...
    def ranges(self, flat: TokenIds, offsets: Offsets) -> NDArray[uint64]: ...
    def places(self, flat: TokenIds, offsets: Offsets) -> Positions: ...
    def docs_of(self, lo: int, hi: int) -> NDArray[uint32]: ...
    def docs_containing(self, ids: TokenIds) -> NDArray[uint32]: ...
    def filter_docs(self, docs: NDArray[uint32], ids: TokenIds) -> NDArray[uint32]: ...
    def docs_among(self, lo: int, hi: int, docs: NDArray[uint32], few: bool) -> NDArray[uint32]: ...
    def docs_where(
        self,
        code: list[int],
        grams: Sequence[TokenIds],
        costs: tuple[float, float, float, int],
        trace: list[Any] | None = None,
    ) -> tuple[NDArray[uint32], bool]: ...
    def document_length(self, document: int) -> int: ...
    def document(self, document: int) -> NDArray[uint32]: ...
    def document_tokens(self, document: int, start: int, stop: int) -> NDArray[uint32]: ...
    def document_bounds(self, docs: NDArray[uint32]) -> tuple[Positions, Positions]: ...
    def documents_at(self, positions: Positions) -> NDArray[uint32]: ...
    def tokens_at(self, positions: Positions, ahead: int) -> NDArray[int64]: ...
    def scan(self, starts: Positions, stops: Positions, ids: TokenIds) -> Positions: ...
    def count_by_document(self, lo: int, hi: int) -> tuple[NDArray[uint32], NDArray[uint32]]: ...

class SuffixIndex(SegmentIndex):
    arrays: tuple[Any, ...]
    def __init__(
        self,
        tokens: NDArray[Any],
        suffix_array: NDArray[uint32],
        tree: NDArray[uint64],
        rest: NDArray[uint64],
        doc_starts: NDArray[uint32],
        gap: int,
        name: str = "",
        lcp_width: int = 0,
        checksums: FileChecksums | None = None,
        most_verified: int = 0,
        far: tuple[NDArray[uint64], NDArray[uint8], int] | None = None,
    ) -> None: ...
