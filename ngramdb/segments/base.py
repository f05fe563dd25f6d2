"""The interface of segments of any kind: all that other packages use of one.

A kind of segment is a class below `Segment` that opens its files and has an index (a class below
`_cext.segment.segment_index.SegmentIndex`); it is entered in `ngramdb.segments.segment`. What every kind
must implement is abstract here; the rest has a default that a kind overrides if its files hold more, or if it
is faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.errors import CorruptionError
from ngramdb.fork_safety import cached_property
from ngramdb.segments.container.layout import NO_BREAKS
from ngramdb.segments.forms import changed_form
from ngramdb.segments.metadata import MetadataReader, Overlay

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ngramdb._cext.segment.segment_index import TokenIds
    from ngramdb.segments.container import Container, ContainerWriter


Numbers = NDArray[np.uint32]


class Breaks(NamedTuple):
    """Places where documents are broken: no n-gram crosses one, and a sentence ends there.

    A document with breaks is one document with one text; its ids and lengths do not include the breaks.

    tokens : (b,) int64, ascending, the tokens before which a document is broken: places in the concatenated
        tokens of some documents, none of them a document's first token
    bytes : (b,) int64, the number of bytes of the document's text before each; 0 in documents without a text
    """

    tokens: NDArray[np.int64]
    bytes: NDArray[np.int64]

    def check(self, offsets: NDArray[np.int64]) -> None:
        """Raise ValueError if these are not breaks of documents with these (n + 1,) token offsets."""
        tokens = self.tokens
        if len(tokens) != len(self.bytes):
            raise ValueError(f"{len(tokens)} breaks have {len(self.bytes)} places in texts")
        if not len(tokens):
            return
        ends = np.isin(tokens, offsets)
        if (np.diff(tokens) <= 0).any() or tokens[0] < 0 or tokens[-1] >= offsets[-1] or ends.any():
            raise ValueError("breaks must ascend, each between two tokens of one document")


NONE_BROKEN = Breaks(NO_BREAKS, NO_BREAKS)


class DerivedFiles(Protocol):
    """Files with data derived from a segment, which may be missing at any time."""

    def open(self, what: str, kind: str, properties: Mapping[str, Any]) -> Container | None: ...
    def write(
        self,
        what: str,
        kind: str,
        properties: Mapping[str, Any],
        fill: Callable[[ContainerWriter, Any], object],
    ) -> Container | None: ...


class TextPiece(NamedTuple):
    """The text of a piece of a document, and how many of the document's characters and tokens precede it."""

    content: bytes
    n_characters: int
    n_tokens: int


class Decoder(Protocol):
    """The part of a tokenizer that segments use: the text of token ids."""

    def decode_exact(self, ids: TokenIds, /) -> bytes | None: ...


class Segment(ABC):
    """One immutable segment; `path` names it in errors.

    Documents are numbered from 0. The id of document i is `first_doc_id + i`, or, where ids have gaps,
    `ids[i]`.

    Parameters
    ----------
    path : the name of the segment in errors
    n_tokens, n_documents : its size
    first_doc_id : the id of document 0, if ids have no gaps
    """

    #: The number of breaks in its documents.
    n_breaks = 0

    def __init__(self, path: str, n_tokens: int, n_documents: int, first_doc_id: int) -> None:
        self.path = path
        self.n_tokens = n_tokens
        self.n_documents = n_documents
        self.first_doc_id = first_doc_id

    # ---- abstract

    @property
    @abstractmethod
    def index(self) -> SegmentIndex:
        """The kernel's index of the segment. Raises CorruptionError if its files contradict themselves."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """The size of its files in bytes."""

    @abstractmethod
    def check(self) -> None:
        """Verify checksums and invariants. Raises CorruptionError with the place and the fault."""

    # ---- memory

    def read_along(self, wanted: bool) -> None:
        """Read its files into memory as a whole once they are in use, if `wanted`. A no-op by default."""
        return None

    def read_for_pass(self) -> None:
        """Read the files into memory now, before a pass over all of them. A no-op by default."""
        return None

    def parts_to_read(self, room: int) -> list[tuple[int, int]]:
        """Byte ranges (start, stop) to keep in memory, at most `room` bytes; the most used come first."""
        return []

    def read_part(self, start: int, stop: int) -> None:
        """Read a part of the files into memory, as far as possible. A no-op by default."""
        return None

    def resident_bytes(self) -> int:
        """Bytes of its files that are in memory; 0 by default."""
        return 0

    # ---- texts and metadata

    #: Files with data derived from its documents, or None if there cannot be any.
    cache: DerivedFiles | None = None

    #: Opens the file of fields that changed after loading, or None.
    overlay: Callable[[], Overlay] | None = None

    @property
    def own_metadata(self) -> memoryview | bytes:
        """The metadata in the segment's own file, as of `MetadataBuilder.finish`; none by default."""
        return b""

    @cached_property
    def metadata(self) -> MetadataReader:
        """The documents' metadata, with all later changes."""
        overlay = None if self.overlay is None else self._opened_overlay
        return MetadataReader(self.own_metadata, self.n_documents, self.path, overlay)

    @cached_property
    def changes(self) -> Overlay | None:
        """The opened file of changed fields, or None."""
        return None if self.overlay is None else self.overlay()

    def _opened_overlay(self) -> Overlay | None:
        return self.changes

    @property
    def has_texts(self) -> bool:
        """True if documents can have a text besides their ids."""
        return True

    @property
    def stores_texts(self) -> bool:
        """True if the text of some document is stored because its ids do not decode to it."""
        return False

    def stored_text(self, i: int) -> bytes | None:
        """Return the stored text of document i; None if its ids decode to it, or without a text."""
        return None

    def form(self, i: int) -> bytes | None:
        """Return the form of document i's JSON line (`ngramdb.ingest.readers.lines`), or None if unknown."""
        form, changes = self.own_form(i), self.changes
        if form is None or changes is None or not changes.formless[i]:
            return form
        try:
            return changed_form(form, self.metadata.row(i))
        except (AttributeError, TypeError, ValueError) as error:
            raise CorruptionError(
                f"{self.path}: the stored line of document {self.doc_id(i)} is damaged: {error!r}",
                path=self.path,
            ) from error

    def own_form(self, i: int) -> bytes | None:
        """Return the form in which document i was loaded; none by default."""
        return None

    def verify_metadata(self) -> None:
        """Verify the metadata before it is carried into another file. Raises CorruptionError."""
        self.metadata.check()

    def text(self, i: int, tokenizer: Decoder) -> bytes | None:
        """Return the text of document i, byte for byte as loaded; None for documents loaded as token ids.

        Parameters
        ----------
        i : the document's number
        tokenizer : decodes the document's ids if its text is not stored
        """
        stored = self.stored_text(i)
        return stored if stored is not None else tokenizer.decode_exact(self.document(i))

    def text_pieces(self, i: int, content: bytes) -> list[TextPiece]:
        """Return the pieces of the text of document i, `content`: one, or one more than it has breaks.

        Nothing that is looked for in texts crosses a break. Cost of a broken document: a pass over its text.
        """
        if not self.n_breaks:
            return [TextPiece(content, 0, 0)]
        tokens, places = self.breaks_of(np.array([i], dtype=np.uint32))
        pieces, n_characters = [], 0
        bounds = pairwise([0, *places.tolist(), len(content)])
        for (start, stop), n_tokens in zip(bounds, [0, *tokens.tolist()], strict=True):
            pieces.append(TextPiece(content[start:stop], n_characters, n_tokens))
            n_characters += len(content[start:stop].decode("utf-8", "surrogateescape"))
        return pieces

    # ---- tokens

    def document(self, i: int) -> NDArray[np.uint32]:
        """Token ids of document i: (length,) uint32."""
        ids: NDArray[np.uint32] = self.index.document(i)
        return ids

    def document_length(self, i: int) -> int:
        """Return the number of tokens of document i."""
        return int(self.index.document_length(i))

    def lengths(self, numbers: Numbers) -> NDArray[np.int64]:
        """Numbers of tokens of documents: (n,) int64."""
        starts, stops = self.index.document_bounds(numbers)
        lengths: NDArray[np.int64] = stops.astype(np.int64) - starts.astype(np.int64)
        return lengths

    def token_ids(self, numbers: Numbers) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Token ids of documents, to be copied into another file.

        Parameters
        ----------
        numbers : (n,) uint32, ascending

        Returns
        -------
        Flat (m,) uint32 and offsets (n + 1,) int64.

        Raises
        ------
        CorruptionError
            The segment's files contradict themselves.
        """
        documents = [self.document(i) for i in numbers.tolist()]
        offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
        np.cumsum([len(document) for document in documents], out=offsets[1:])
        return np.concatenate([np.empty(0, dtype=np.uint32), *documents]), offsets

    def breaks(self, i: int) -> NDArray[np.int64]:
        """Return the tokens of document i before which it is broken: (k,) int64, ascending."""
        return self.breaks_of(np.array([i], dtype=np.uint32)).tokens

    def pieces(self, i: int) -> list[NDArray[np.uint32]]:
        """Return the token ids of the pieces of document i: one array, or one more than it has breaks."""
        ids = self.document(i)
        return np.split(ids, self.breaks(i)) if self.n_breaks else [ids]

    def breaks_of(self, numbers: Numbers) -> Breaks:
        """Return where documents (ascending) are broken, as places in their concatenated tokens.

        Nowhere by default.
        """
        return NONE_BROKEN

    def n_symbols(self, numbers: Numbers) -> NDArray[np.int64]:
        """Numbers of tokens and separators of documents: (n,) int64."""
        return self.lengths(numbers) + 1

    def largest_id(self) -> int:
        """Return the largest token id, or -1 without tokens."""
        documents = (self.document(i) for i in range(self.n_documents))
        return max((int(ids.max()) for ids in documents if len(ids)), default=-1)

    # ---- sentences

    @property
    def has_sentences(self) -> bool:
        """True if the sentences of any document are known; False by default."""
        return False

    @property
    def sentences(self) -> NDArray[np.uint8] | None:
        """Return a bit per position, set for those that begin a sentence (`ngramdb.segments.text`).

        None where those of some document are not known.
        """
        return None

    def sentence_flags(self, numbers: Numbers) -> NDArray[np.bool_]:
        """Return the concatenated bits of documents (ascending), as far as any are known."""
        raise NotImplementedError

    # ---- ids of documents

    @property
    def ids(self) -> NDArray[np.int64] | None:
        """The documents' ids, ascending, if they have gaps; else None."""
        return None

    def doc_id(self, i: int) -> int:
        """Return the id of document i."""
        return self.first_doc_id + i if self.ids is None else int(self.ids[i])

    def doc_ids(self, numbers: NDArray[Any] | None = None) -> NDArray[np.int64]:
        """Return the ids of documents by their numbers, by default of all in order: (n,) int64."""
        if numbers is None:
            numbers = np.arange(self.n_documents)
        if self.ids is None:
            return np.asarray(numbers).astype(np.int64) + self.first_doc_id
        return self.ids[numbers]

    def local_of(self, doc_id: int) -> int | None:
        """Return the number of the document with this id, None if it is not in the segment."""
        if self.ids is None:
            i = doc_id - self.first_doc_id
            return i if 0 <= i < self.n_documents else None
        i = int(np.searchsorted(self.ids, doc_id))
        return i if i < len(self.ids) and self.ids[i] == doc_id else None

    def locals_of(self, doc_ids: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the local numbers of those of the documents that are in the segment: (k,) uint32, ascending.

        Parameters
        ----------
        doc_ids : ids of documents, ascending

        Notes
        -----
        Cost: one binary search per id, independent of the number of documents.
        """
        if self.ids is None:
            start, stop = np.searchsorted(doc_ids, [self.first_doc_id, self.first_doc_id + self.n_documents])
            return (doc_ids[start:stop] - self.first_doc_id).astype(np.uint32)
        places = np.searchsorted(self.ids, doc_ids)
        inside = places < len(self.ids)
        places, wanted = places[inside], doc_ids[inside]
        numbers: NDArray[np.uint32] = places[self.ids[places] == wanted].astype(np.uint32)
        return numbers


# ---- Documents of a segment that are carried over into another one.


# Documents or symbols that are carried over at a time.
CHUNK_DOCUMENTS = 8192
CHUNK_SYMBOLS = 1 << 22


class Part(NamedTuple):
    """Documents `numbers` (ascending) of a segment.

    `new_ids[id]` replaces their token ids if given.
    """

    segment: Segment
    numbers: Numbers
    new_ids: NDArray[np.uint32] | None = None

    @property
    def is_whole(self) -> bool:
        return len(self.numbers) == self.segment.n_documents

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Symbols of each document, its separators included: (n,) int64."""
        return self.segment.n_symbols(self.numbers)

    @property
    def n_symbols(self) -> int:
        return int(self.lengths.sum())

    @property
    def breaks(self) -> Breaks:
        """The breaks of its documents."""
        return self.segment.breaks_of(self.numbers)


def chunks(part: Part, most: int = CHUNK_SYMBOLS) -> Iterator[Numbers]:
    """Yield the part's documents in pieces of CHUNK_DOCUMENTS and `most` symbols at most, one at least."""
    symbols = np.cumsum(part.lengths)
    start = 0
    while start < len(part.numbers):
        before = int(symbols[start - 1]) if start else 0
        stop = int(np.searchsorted(symbols, before + most, side="right"))
        stop = min(max(stop, start + 1), start + CHUNK_DOCUMENTS)
        interrupts.check()
        yield part.numbers[start:stop]
        start = stop


def breaks_of_parts(parts: Sequence[Part]) -> Breaks:
    """Return the breaks of the documents of all parts, one part after the other."""
    found, before = [NONE_BROKEN], 0
    for part in parts:
        tokens, places = part.breaks
        found.append(Breaks(tokens + before, places))
        before += part.n_symbols - len(part.numbers) - len(tokens)
    return Breaks(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def runs(numbers: Numbers) -> Iterator[tuple[int, int]]:
    """Yield the first and the last document of each run of neighbours among ascending numbers."""
    if not len(numbers):
        return
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    firsts = numbers[np.concatenate([[0], breaks])]
    lasts = numbers[np.concatenate([breaks - 1, [len(numbers) - 1]])]
    yield from zip(firsts.tolist(), lasts.tolist(), strict=True)


@contextmanager
def rows_of_documents(parts: Sequence[Part]) -> Iterator[None]:
    """Turn the ValueError of a kernel whose arrays do not fit the documents into a CorruptionError."""
    try:
        yield
    except ValueError as error:
        paths = [part.segment.path for part in parts]
        which = f"segment {paths[0]}" if len(paths) == 1 else f"one of the segments {', '.join(paths)}"
        raise CorruptionError(
            f"{which} is damaged: its arrays do not fit its documents ({error}); restore the file "
            "from a backup, or load its documents again",
            path=paths[0],
        ) from error
