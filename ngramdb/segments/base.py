"""What a segment of any kind answers: all that the rooms above may ask of one.

A kind of segment is a class below `Segment` that opens its files and has an index (a class below
`_cext.segment.segment_index.SegmentIndex`); it is entered in `ngramdb.segments.registry`. What it must answer
is abstract here; the rest has a default that a kind overrides where its files hold more, or where it knows a
faster way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.segments.metadata import MetadataReader

Numbers = NDArray[np.uint32]


class Decoder(Protocol):
    """What is asked of a tokenizer: the text that ids spell."""

    def decode_exact(self, ids: Any, /) -> bytes | None: ...


class Segment(ABC):
    """One immutable segment; `path` names it in errors.

    Documents are numbered from 0. Document i has the id `first_doc_id + i`, or, where ids have gaps, that of
    `ids`.
    """

    def __init__(self, path: str, n_tokens: int, n_documents: int, first_doc_id: int) -> None:
        self.path = path
        self.n_tokens = n_tokens
        self.n_documents = n_documents
        self.first_doc_id = first_doc_id

    # ---- what every kind must answer

    @property
    @abstractmethod
    def index(self) -> SegmentIndex:
        """The kernel's view of the segment. Raises CorruptionError when it cannot be right."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """Bytes of its files."""

    @abstractmethod
    def check(self) -> None:
        """Verify checksums and invariants. Raises CorruptionError naming what is wrong."""

    # ---- what of it is in memory

    def read_along(self, wanted: bool) -> None:
        """Whether its files get into memory as a whole once they are in use. Nothing by default."""
        return None

    def read_for_pass(self) -> None:
        """To be called before all of it is read: gets what is read along into memory now."""
        return None

    def parts_to_read(self, room: int) -> list[tuple[int, int]]:
        """Bytes (start, stop) worth having in memory, at most `room`; what every search reads comes first."""
        return []

    def read_part(self, start: int, stop: int) -> None:
        """Read a part into memory, or some of it."""
        return None

    def resident_bytes(self) -> int:
        """Bytes of its files that are in memory; none that are known by default."""
        return 0

    # ---- what stands beside the tokens

    @cached_property
    def metadata(self) -> MetadataReader:
        """The documents' metadata; none by default."""
        return MetadataReader(b"", self.n_documents, self.path)

    def stored_text(self, i: int) -> bytes | None:
        """What is stored of document i's text; None where its ids give it back, or where it has none."""
        return None

    def form(self, i: int) -> bytes | None:
        """The form of document i's line of JSON (`ngramdb.ingest.line_forms`), None where unknown."""
        return None

    def verify_metadata(self) -> None:
        """Verify the metadata before it is carried into another file. Raises CorruptionError."""
        self.metadata.check()

    def text(self, i: int, tokenizer: Decoder) -> bytes | None:
        """The text of document i, byte for byte as it came; None for documents that came as token ids."""
        stored = self.stored_text(i)
        return stored if stored is not None else tokenizer.decode_exact(self.document(i))

    # ---- tokens

    def document(self, i: int) -> NDArray[np.uint32]:
        """Token ids of document i: (length,) uint32."""
        ids: NDArray[np.uint32] = self.index.document(i)
        return ids

    def document_length(self, i: int) -> int:
        """Number of tokens of document i."""
        return int(self.index.document_length(i))

    def lengths(self, numbers: Numbers) -> NDArray[np.int64]:
        """Numbers of tokens of documents: (n,) int64."""
        starts, stops = self.index.document_bounds(numbers)
        lengths: NDArray[np.int64] = stops.astype(np.int64) - starts.astype(np.int64)
        return lengths

    def token_ids(self, numbers: Numbers) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Token ids of documents (ascending numbers), to be carried into another file.

        Flat (m,) uint32 and offsets (n + 1,) int64. Raises CorruptionError where they cannot be right.
        """
        documents = [self.document(i) for i in numbers.tolist()]
        offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
        np.cumsum([len(document) for document in documents], out=offsets[1:])
        return np.concatenate([np.empty(0, dtype=np.uint32), *documents]), offsets

    def largest_id(self) -> int:
        """The largest token id, -1 where there are no tokens."""
        documents = (self.document(i) for i in range(self.n_documents))
        return max((int(ids.max()) for ids in documents if len(ids)), default=-1)

    # ---- ids of documents

    @property
    def ids(self) -> NDArray[np.int64] | None:
        """The documents' ids where they have gaps, ascending; else None."""
        return None

    def doc_id(self, i: int) -> int:
        """The id of document i."""
        return self.first_doc_id + i if self.ids is None else int(self.ids[i])

    def doc_ids(self, numbers: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """The ids of these documents (local numbers), of all in order without any: (n,) int64."""
        if numbers is None:
            numbers = np.arange(self.n_documents)
        if self.ids is None:
            return np.asarray(numbers).astype(np.int64) + self.first_doc_id
        return self.ids[numbers]

    def local_of(self, doc_id: int) -> int | None:
        """The local number of the document with this id, None when it isn't here."""
        if self.ids is None:
            i = doc_id - self.first_doc_id
            return i if 0 <= i < self.n_documents else None
        i = int(np.searchsorted(self.ids, doc_id))
        return i if i < len(self.ids) and self.ids[i] == doc_id else None

    def locals_of(self, doc_ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The local numbers of those of the ids (ascending) that are here: (k,) uint32, ascending.

        Cost: k binary searches, whatever the number of documents.
        """
        if self.ids is None:
            start, stop = np.searchsorted(doc_ids, [self.first_doc_id, self.first_doc_id + self.n_documents])
            return (doc_ids[start:stop] - self.first_doc_id).astype(np.uint32)
        places = np.searchsorted(self.ids, doc_ids)
        inside = places < len(self.ids)
        places, wanted = places[inside], doc_ids[inside]
        numbers: NDArray[np.uint32] = places[self.ids[places] == wanted].astype(np.uint32)
        return numbers
