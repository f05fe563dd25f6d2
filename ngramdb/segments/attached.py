"""Segments in other programs' files, read in place: a text, and a table of pointers to its suffixes.

The names and contents of such a program's files are defined in a module of its own (`infini_gram`,
`tokengrams`), which checks their sizes and gives them as `TableFiles`; the order of their rows is known in
the kernel (`_cext/include/ngramdb/segment/table_segment.hpp`). Nothing here writes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.base import files
from ngramdb._cext.segment.kinds import TableIndex
from ngramdb.errors import CorruptionError, InvalidArgument
from ngramdb.fork_safety import cached_property
from ngramdb.interrupts import check
from ngramdb.registries import DTYPE_BYTES, INFINI_GRAM_VERSIONS
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
            files.advise(array.data, "usual" if wanted else "at random")

    def parts_to_read(self, room: int) -> list[tuple[int, int]]:
        return [(0, min(room, sum(map(len, self._searched))))]

    def read_part(self, start: int, stop: int) -> None:
        for array in self._searched:
            if start < len(array) and stop > 0:
                files.advise(array.data, "now", max(start, 0), min(stop, len(array)))
            start, stop = start - len(array), stop - len(array)

    def _release(self) -> None:
        """Let the pages that have been read no longer count as this process's memory.

        After reads all over the files: each of them maps up to 16 pages, so that sampling maps whole files.
        """
        for array in self._searched:
            files.advise(array.data, "done")

    def resident_bytes(self) -> int:
        return sum(files.resident(array.data) for array in self._searched)

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


# ---- infini-gram's files: what they are called, how they are laid out, and which sizes must agree.
#
# Version 4 has numbered files, a number for each shard, in one folder: `tokenized.0` (a separator, all ones,
# and the tokens of each document), `table.0` (pointers to bytes, packed), `offset.0` (where documents begin),
# and perhaps `metadata.0` with `metaoff.0`. Version 5 has the same files, with the tokens of each document in
# reverse. Version 6 has a folder for each shard, without numbers. The files do not declare the width of
# tokens; it follows from the sizes, since pointers are as wide as the text needs.


OpenFile = Callable[[str], memoryview]

# Documents whose offsets are looked at when an index is opened.
_LOOKED_AT = 64
_NUMBERED = re.compile(r"(tokenized|table|offset)\.(0|[1-9][0-9]*)")


def shards_of(
    folder: str,
    dtype: str | None,
    version: int | None,
    open_file: OpenFile,
    identity_of: Callable[..., str],
) -> list[TableFiles]:
    """Return the shards of the index in a folder, by their numbers or names.

    Parameters
    ----------
    dtype : u8, u16 or u32; None: derived from the sizes
    version : 5 if documents are stored in reverse (the files do not declare it); None: by file names
    open_file : maps the file at a path; raises FileNotFoundError
    identity_of : what a cache knows files by

    Raises
    ------
    InvalidArgument
        The folder has no such index, or one of another version.
    CorruptionError
        A file is missing, or sizes and offsets contradict each other.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise InvalidArgument(f"cannot read the folder {folder!r}: {error.strerror}") from error
    is_reversed = INFINI_GRAM_VERSIONS[version or 4]

    def shard(place: str, suffix: str) -> TableFiles:
        _check_version(place, suffix, version)
        return replace(_shard(place, suffix, dtype, open_file, identity_of), is_reversed=is_reversed)

    if "tokenized" in names:
        return [shard(folder, "")]
    numbers = sorted({int(found[2]) for name in names if (found := _NUMBERED.fullmatch(name))})
    if numbers:
        if numbers != list(range(len(numbers))):
            missing = next(i for i in range(numbers[-1]) if i not in numbers)
            raise CorruptionError(
                f"{folder}: shard {missing} is missing: tokenized.{missing} not found",
                path=folder,
            )
        return [shard(folder, f".{number}") for number in numbers]
    inner = [name for name in names if os.path.exists(os.path.join(folder, name, "tokenized"))]
    if not inner:
        raise InvalidArgument(
            f"{folder!r} is not an infini-gram index: it has neither tokenized.0 (version 4 or 5) "
            "nor tokenized (version 6)"
        )
    return [shard(os.path.join(folder, name), "") for name in inner]


def _check_version(folder: str, suffix: str, version: int | None) -> None:
    """Raise InvalidArgument if files are not named as in that version.

    Documents of version 6 may be stored in reverse, too: then give 5.
    """
    named = 6 if suffix == "" else 4
    if version not in (None, 5, named):
        raise InvalidArgument(
            f"{os.path.join(folder, 'tokenized' + suffix)} is named as in version {named}, not {version}; "
            "leave VERSION out, or give VERSION 5 if documents are stored in reverse"
        )


def _shard(
    folder: str, suffix: str, dtype: str | None, open_file: OpenFile, identity_of: Callable[..., str]
) -> TableFiles:
    path = os.path.join(folder, f"tokenized{suffix}")
    opened: dict[str, memoryview] = {}
    for name in ("tokenized", "table", "offset", "metadata", "metaoff"):
        file = os.path.join(folder, name + suffix)
        try:
            opened[name] = open_file(file)
        except FileNotFoundError as error:
            if name in ("metadata", "metaoff"):
                continue
            raise CorruptionError(
                f"{file} is missing: an index has tokenized, table and offset for each shard", path=file
            ) from error
    size = sum(map(len, opened.values()))
    text_bytes, table = opened["tokenized"], np.frombuffer(opened["table"], dtype=np.uint8)
    width = _token_bytes(path, len(text_bytes), len(table), dtype)
    text: NDArray[Any] = np.frombuffer(text_bytes, dtype=f"<u{width}")
    offsets = _whole_numbers(opened["offset"], os.path.join(folder, f"offset{suffix}"))
    separator = int(np.iinfo(text.dtype).max)
    _check_offsets(os.path.join(folder, f"offset{suffix}"), offsets, text, separator)
    starts = None
    metadata, metaoff = (os.path.join(folder, name + suffix) for name in ("metadata", "metaoff"))
    if "metadata" in opened and "metaoff" in opened:
        starts = _whole_numbers(opened["metaoff"], metaoff)
        if len(starts) != len(offsets):
            raise contradiction(metaoff, f"it has {len(starts):,} entries for {len(offsets):,} documents")
        _check_last_line(metadata, opened["metadata"], int(starts[-1]))
    elif "metadata" in opened or "metaoff" in opened:
        missing, other = (metaoff, metadata) if "metadata" in opened else (metadata, metaoff)
        raise CorruptionError(
            f"{missing} is missing: metadata need both files, and {other} exists", path=missing
        )
    identity = identity_of(path, os.path.join(folder, f"table{suffix}"))
    lines = opened.get("metadata")
    return TableFiles(path, text, table, True, True, separator, offsets, size, identity, lines, starts)


def pointer_bytes(n_bytes: int) -> int:
    """Return the width of pointers to `n_bytes` bytes: log256 rounded up, but at least 1."""
    return max(1, ((n_bytes - 1).bit_length() + 7) // 8)


def _token_bytes(path: str, n_text: int, n_table: int, dtype: str | None) -> int:
    """Return the width of tokens. Raises CorruptionError if the sizes of text and table fit none."""
    if n_text == 0:
        raise contradiction(path, "it is empty")
    fitting = [width for width in DTYPE_BYTES.values() if width * n_table == n_text * pointer_bytes(n_text)]
    if not fitting:
        raise contradiction(
            path,
            f"its {n_text:,} bytes and the {n_table:,} bytes of its table do not belong to one index: a "
            f"token has 1, 2 or 4 bytes, and a pointer to it {pointer_bytes(n_text)}",
        )
    if dtype is not None and fitting != [DTYPE_BYTES[dtype]]:
        found = next(name for name, width in DTYPE_BYTES.items() if width == fitting[0])
        raise contradiction(path, f"its tokens are {found} by the size of its table, not {dtype}")
    return fitting[0]


def _check_last_line(path: str, lines: memoryview, start: int) -> None:
    """Raise CorruptionError if the last document's metadata, which begins at `start`, is incomplete."""
    last = bytes(lines[start:])
    if not last:
        raise contradiction(path, f"it has {len(lines):,} bytes, and its last line begins at {start:,}")
    if last.endswith(b"\n"):
        return
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        raise contradiction(path, "it ends in the middle of a line") from None


def _whole_numbers(data: memoryview, path: str) -> NDArray[np.uint64]:
    if len(data) % 8:
        raise contradiction(path, f"its {len(data):,} bytes are not a multiple of 8")
    return np.frombuffer(data, dtype="<u8")


def _check_offsets(path: str, offsets: NDArray[np.uint64], text: NDArray[Any], separator: int) -> None:
    """Check some of the offsets: each is that of a separator, the first one the beginning of the text."""
    width = text.dtype.itemsize
    # Not np.unique, which imports numpy.ma: that takes longer than all else here.
    looked_at = np.linspace(0, len(offsets) - 1, min(_LOOKED_AT, len(offsets))).astype(np.int64)
    found = offsets[looked_at]
    places = found // np.uint64(width)
    if not len(offsets) or found[0] != 0 or (found[1:] <= found[:-1]).any():
        raise contradiction(path, "its offsets do not ascend from 0")
    if (places >= len(text)).any() or (found % np.uint64(width)).any() or (text[places] != separator).any():
        raise contradiction(path, "an offset is not that of a separator in the text")


# ---- tokengrams' files: a file of tokens, and beside it its suffix array, as 8-byte numbers of tokens.


_POINTER_BYTES = 8


def files_of(
    path: str,
    index: str | None,
    dtype: str | None,
    separator: int | None,
    open_file: Callable[[str], memoryview],
    identity_of: Callable[..., str],
) -> list[TableFiles]:
    """Return the index of a file of tokens, as one shard.

    Parameters
    ----------
    index : the file of the suffix array; None: the tokens' file with the ending .idx
    dtype : u16 or u32; None: derived from the sizes
    separator : the token that ends documents; None: all is one document
    open_file : maps the file at a path; raises FileNotFoundError
    identity_of : what a cache knows files by

    Raises
    ------
    InvalidArgument
        A file is missing.
    CorruptionError
        Their sizes contradict each other.
    """
    index = index or f"{os.path.splitext(path)[0]}.idx"
    try:
        data, table = open_file(path), open_file(index)
    except FileNotFoundError as error:
        raise InvalidArgument(
            f"file not found: {error.filename!r}; a tokengrams index is a file of tokens and one of "
            "pointers, beside it or named by INDEX"
        ) from error
    n_tokens, rest = divmod(len(table), _POINTER_BYTES)
    width = len(data) // n_tokens if n_tokens else 0
    if rest or width not in DTYPE_BYTES.values() or width * n_tokens != len(data):
        raise contradiction(
            path, f"its {len(data):,} bytes and the {len(table):,} of {index} do not belong to one index"
        )
    if dtype is not None and DTYPE_BYTES[dtype] != width:
        raise contradiction(path, f"its tokens have {width} bytes by the size of {index}, not {dtype}")
    if separator is not None and separator >= 256**width:
        raise InvalidArgument(f"SEPARATOR {separator} does not fit the {width}-byte tokens of {path}")
    text: NDArray[Any] = np.frombuffer(data, dtype=f"<u{width}")
    pointers = np.frombuffer(table, dtype=np.uint8)
    size = len(data) + len(table)
    return [TableFiles(path, text, pointers, False, False, separator, None, size, identity_of(path, index))]
