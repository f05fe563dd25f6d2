"""Segments in other programs' files, read in place: a text, and a table of pointers to its suffixes.

The names and contents of such a program's files are defined in a module of its own (`infini_gram`,
`tokengrams`), which checks their sizes and gives them as `TableFiles`; the order of their rows is known in
the kernel (`_cext/include/ngramdb/segment/table_segment.hpp`). Nothing here writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.base import pages
from ngramdb._cext.segment.table_index import TableIndex
from ngramdb.caching import cached_property
from ngramdb.errors import CorruptionError
from ngramdb.interrupts import check
from ngramdb.segments.base import Segment
from ngramdb.segments.metadata import MetadataReader
from ngramdb.segments.metadata_columns import pyarrow

#: The one field of documents' metadata: the JSON text that the files have.
FIELD = "metadata"
# Documents that CHECK reads between two interrupt checks, and rows.
_PIECE = 1024
_ROWS = 1 << 20


@dataclass(frozen=True)
class TableFiles:
    """The files of one shard, mapped (all arrays are the system's pages of files), their sizes checked.

    `path` names them in errors. `by_bytes`, `in_bytes`, `separator`, `offsets` and `is_reversed` are those of
    `TableIndex`; `metadata` and `metadata_starts` are lines of JSON, one per document, and their offsets.
    """

    path: str
    text: NDArray[Any]
    table: NDArray[np.uint8]
    by_bytes: bool
    in_bytes: bool
    separator: int | None
    offsets: NDArray[np.uint64] | None
    size_bytes: int
    #: The cache's key for these files.
    identity: str = ""
    metadata: memoryview | None = None
    metadata_starts: NDArray[np.uint64] | None = None
    is_reversed: bool = False

    def index(self) -> TableIndex:
        """Return the kernel's view of them. Raises CorruptionError if they contradict each other."""
        try:
            return TableIndex(
                self.text,
                self.table,
                self.by_bytes,
                self.in_bytes,
                self.separator,
                self.offsets,
                self.path,
                self.is_reversed,
            )
        except ValueError as error:
            raise self.corruption(str(error).removeprefix(f"{self.path}: ")) from error

    def corruption(self, what: str) -> CorruptionError:
        """Return the error for invalid files."""
        return contradiction(self.path, what)


def contradiction(path: str, what: str) -> CorruptionError:
    """Return the error for an invalid file."""
    return CorruptionError(f"{path}: {what}; build the index again, or copy its files again", path=path)


#: Returns search keys for an index without any: from a cache, or sampled now and then cached.
KeysOf = Callable[[TableFiles, TableIndex], NDArray[np.uint64]]


class AttachedSegment(Segment):
    """A shard as a segment. Its documents have the ids from `first_doc_id` on."""

    def __init__(self, files: TableFiles, index: TableIndex, first_doc_id: int, keys_of: KeysOf) -> None:
        super().__init__(files.path, index.n_tokens, index.n_documents, first_doc_id)
        self._files = files
        self._index = index
        self._keys_of = keys_of

    @cached_property
    def index(self) -> TableIndex:
        """The kernel's view of the segment. Raises CorruptionError when its table is not in order."""
        try:
            self._index.use_keys(self._keys_of(self._files, self._index))
        except ValueError as error:
            raise self._files.corruption(str(error).removeprefix(f"{self.path}: ")) from error
        self._release()
        return self._index

    # Without the keys that a search needs:

    def document_length(self, i: int) -> int:
        return self._index.document_length(i)

    def passage(self, i: int, start: int, stop: int) -> NDArray[np.uint32]:
        """Tokens [start, stop) of document i."""
        return self._index.document_tokens(i, start, stop)

    @property
    def size_bytes(self) -> int:
        return self._files.size_bytes

    @property
    def has_texts(self) -> bool:
        return False

    @property
    def token_bytes(self) -> int:
        """Bytes of a token in the files."""
        return self._files.text.dtype.itemsize

    # The sections that a search reads; the table comes first.

    @property
    def _searched(self) -> list[NDArray[np.uint8]]:
        return [self._files.table, self._files.text.view(np.uint8)]

    def read_along(self, wanted: bool) -> None:
        for array in self._searched:
            pages.advise(array.data, "usual" if wanted else "at random")

    def parts_to_read(self, room: int) -> list[tuple[int, int]]:
        return [(0, min(room, sum(map(len, self._searched))))]

    def read_part(self, start: int, stop: int) -> None:
        for array in self._searched:
            if start < len(array) and stop > 0:
                pages.advise(array.data, "now", max(start, 0), min(stop, len(array)))
            start, stop = start - len(array), stop - len(array)

    def _release(self) -> None:
        """Let the pages that have been read no longer count as this process's memory.

        After reads all over the files: each of them maps up to 16 pages, so that sampling maps whole files.
        """
        for array in self._searched:
            pages.advise(array.data, "done")

    def resident_bytes(self) -> int:
        return sum(pages.resident(array.data) for array in self._searched)

    @cached_property
    def metadata(self) -> MetadataReader:
        starts, lines = self._files.metadata_starts, self._files.metadata
        if starts is None or lines is None:
            return MetadataReader(b"", self.n_documents, self.path)
        return JsonMetadata(lines, starts, self.path)

    def check(self) -> None:
        """Verify that the rows are in order and every document and its metadata can be read.

        Raises CorruptionError naming what is wrong. Cost: a pass over the text and over the table.
        """
        index = self.index
        # One bit per token would take a gigabyte for eight billion tokens.
        found = sum(
            int(index.positions(row, min(row + _ROWS, index.n_tokens)).sum(dtype=np.uint64))
            for row in range(0, index.n_tokens, _ROWS)
        )
        starts, stops = index.document_bounds(np.arange(index.n_documents, dtype=np.uint32))
        lengths = (stops - starts).astype(np.uint64)
        firsts = starts.astype(np.uint64) * lengths
        expected = int((firsts + lengths * (lengths - np.minimum(lengths, 1)) // 2).sum(dtype=np.uint64))
        if (found - expected) % 2**64:
            raise self._files.corruption("rows of its table do not point to each token once")
        for i in range(self.n_documents):
            if i % _PIECE == 0:
                check()
            self.document(i)
        self.metadata.check()
        self._release()

    def largest_id(self) -> int:
        """Return the largest token id, or -1 without tokens. Cost: a pass over the text."""
        text, separator = self._files.text, self._files.separator
        largest = -1
        for start in range(0, len(text), 1 << 22):
            check()
            piece = text[start : start + (1 << 22)]
            if separator is not None:
                piece = piece[piece != separator]
            largest = max(largest, int(piece.max(initial=0)) if len(piece) else -1)
        self._release()
        return largest


class JsonMetadata(MetadataReader):
    """Lines of JSON, one per document, as one field: their text."""

    def __init__(self, lines: memoryview, starts: NDArray[np.uint64], path: str) -> None:
        super().__init__(b"", len(starts), path)
        self._lines = lines
        self._starts = starts
        self._file = path

    def fields(self) -> dict[str, str]:
        return {FIELD: "string"}

    def row(self, i: int) -> dict[str, Any]:
        return {FIELD: self.line(i).rstrip("\n")}

    def rows(self, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        for i in numbers:
            yield self.row(i)

    def column(self, path: str) -> Any:
        if path != FIELD:
            raise KeyError(path)
        arrow = pyarrow()
        lines = arrow.array([self.line(i).rstrip("\n") for i in range(len(self._starts))], arrow.string())
        return arrow.chunked_array([lines])

    def rest(self) -> Any | None:
        return None

    def line(self, i: int) -> str:
        """Return the line of document i, exactly as in the file, with its line end."""
        start = int(self._starts[i])
        stop = int(self._starts[i + 1]) if i + 1 < len(self._starts) else len(self._lines)
        if not start <= stop <= len(self._lines):
            raise contradiction(self._file, f"the metadata of document {i} does not lie within its file")
        try:
            return bytes(self._lines[start:stop]).decode()
        except UnicodeDecodeError as error:
            raise contradiction(self._file, f"the metadata of document {i} is not text in UTF-8") from error
