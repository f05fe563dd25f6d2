"""Layout of a container: constants shared by the writer and the reader (byte tables: FORMAT.md)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.sort.construction import MAX_SYMBOLS, write_symbols

#: A byte above 127 and a CR LF pair: a copy through a 7-bit or a text-mode channel shows at once.
MAGIC = b"\x89NGRDB\r\n"
FORMAT_VERSION = 1
#: Feature bits. FORMAT.md, "Versions and features", defines each of them.
DOCUMENT_SETS = 1 << 0
STATISTICS = 1 << 1
SEGMENT_KINDS = 1 << 2
SMALL_BLOCKS = 1 << 3
LOAD_RECORDS = 1 << 4
FREQUENT_NGRAMS = 1 << 5
KEPT_VERSIONS = 1 << 6
DROPPED_CORPORA = 1 << 7
BROKEN_DOCUMENTS = 1 << 8
CHANGED_FIELDS = 1 << 9
#: Those that this program understands.
KNOWN_READER_FLAGS = DOCUMENT_SETS | SEGMENT_KINDS | SMALL_BLOCKS | BROKEN_DOCUMENTS | CHANGED_FIELDS
KNOWN_WRITER_FLAGS = (
    DOCUMENT_SETS
    | STATISTICS
    | SEGMENT_KINDS
    | SMALL_BLOCKS
    | LOAD_RECORDS
    | FREQUENT_NGRAMS
    | KEPT_VERSIONS
    | DROPPED_CORPORA
    | CHANGED_FIELDS
)
#: The kind of segments that FORMAT.md describes; a manifest entry without a kind has this one.
NATIVE = "native"

#: Bytes. A cache line, so that an aligned vector load never straddles two lines.
ALIGNMENT = 64
#: Zero bytes after each section: a kernel may read a full vector past the end of an array.
TAIL = 64
#: Bytes per checksum of files that are read whole: the table is 1/16384 of the file.
BLOCK_SIZE = 65536
#: The same of files that are read at random places: a page of most systems, so that a look-up reads and
#: verifies one page at each place; the table is 1/1024 of the file.
SMALL_BLOCK_SIZE = 4096
#: Powers of two that a file may have.
BLOCK_SIZES = tuple(1 << shift for shift in range(12, 17))
#: Bytes. Smaller sections are verified when they are first used as a whole (some milliseconds at most); of
#: larger ones a question may need a few pages only, and `verify` reads them all.
VERIFIED_AT_USE = 16 * 2**20
#: Bytes. A real table of contents has a few kB; a larger claim is damage and must not cost memory.
MAX_TOC_LENGTH = 64 * 2**20
MAX_NAME_LENGTH = 200

HEADER = struct.Struct("<8s4sIQQ16s12x")
FOOTER = struct.Struct("<QQIIIII16s8s")
CRC = struct.Struct("<I")
HEADER_SIZE = HEADER.size + CRC.size
FOOTER_SIZE = FOOTER.size + CRC.size

DTYPES = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8")


def item_size(dtype: str) -> int:
    """Bytes of one element of a section's dtype ("u4" has 4)."""
    return int(dtype[1:])


class FileInfo(NamedTuple):
    """Identity of a finished file: its size in bytes, and the crc32 in its footer."""

    size: int
    crc: int


class Section(NamedTuple):
    """Position of a section: bytes from the start of the file, and the type of its elements."""

    offset: int
    length: int
    dtype: str


class Source(Protocol):
    """Brings bytes of a file that lies elsewhere into the buffer that stands for it. Raises StorageError.

    Arrays of at most `together` bytes are brought as a whole; for a place in a larger one, some `around` are.
    """

    together: int
    around: int

    def __call__(self, start: int, stop: int, table_start: int, table_stop: int, again: bool, /) -> None:
        """Fetch bytes [start, stop) and [table_start, table_stop); with `again` even if present already."""

    def need(self, start: int, stop: int, /) -> None:
        """Have bytes [start, stop) there."""

    def forget(self) -> None:
        """Have nothing there: what is kept here cannot be right."""

    @property
    def n_present(self) -> int:
        """Number of bytes that are present."""


# ---- The token stream of a segment: documents as symbols, each document followed by a separator, with one at
# each place where the document is broken (`segments.base.Breaks`).


Symbols = NDArray[Any]
# Arrays of 8, 16 or 32 bits per element.
TokenIds: TypeAlias = NDArray[np.unsignedinteger[Any]]

WIDTHS = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))


def piece_offsets(offsets: NDArray[np.int64], breaks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the offsets of the pieces of documents: (n + b + 1,) int64, of n documents with b breaks.

    offsets : (n + 1,) int64, document k is tokens offsets[k]:offsets[k + 1]
    breaks : (b,) int64, ascending, the tokens within documents before which they are broken
    """
    return np.sort(np.concatenate([offsets, breaks])) if len(breaks) else offsets


def break_positions(offsets: NDArray[np.int64], breaks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of breaks among the symbols of documents: (b,) int64. Parameters as above."""
    documents = np.searchsorted(offsets, breaks, side="right") - 1
    positions: NDArray[np.int64] = breaks + documents + np.arange(len(breaks))
    return positions


NO_BREAKS: NDArray[np.int64] = np.empty(0, dtype=np.int64)


class SymbolStream(NamedTuple):
    """The symbols of documents.

    symbols : (n_tokens + n_documents + n_breaks,), in the narrowest width
    starts : (n_documents + 1,) uint32, ascending from 0 to the number of symbols
    gap : the id that no document has (FORMAT.md, "Tokens")
    breaks : (n_breaks,) uint32, the positions of separators within documents, ascending
    """

    symbols: Symbols
    starts: NDArray[np.uint32]
    gap: int
    breaks: NDArray[np.uint32]


class SymbolBuilder:
    """Collects documents of token ids in one array, in the narrowest width that holds them so far.

    Invariant: the array holds `id + 1`; which id is the gap is decided at the end, when all ids are known.
    Room for `capacity` symbols is reserved at once (memory is taken when it is written to), so that nothing
    need be copied together: freed pieces would stay with the allocator while suffixes are sorted.
    """

    def __init__(self, capacity: int = 1 << 16) -> None:
        # Nothing yet: the first documents show how wide symbols must be.
        self._symbols: Symbols = np.empty(0, dtype=WIDTHS[0])
        self._capacity = capacity
        self._n_symbols = 0
        self._lengths: list[NDArray[np.int64]] = []
        self._breaks: list[NDArray[np.int64]] = []
        self._largest = 0
        self.n_tokens = 0
        self.n_documents = 0
        self.n_breaks = 0

    def add(self, ids: TokenIds, offsets: NDArray[np.int64], breaks: NDArray[np.int64] = NO_BREAKS) -> None:
        """Add documents ids[offsets[k]:offsets[k + 1]]; (m,), and (n + 1,) int64 from 0 to m.

        breaks : (b,) int64, ascending, the tokens before which a document is broken, none of them a first one
        """
        pieces = piece_offsets(offsets, breaks)
        self._largest = max(self._largest, int(ids.max()) + 1 if ids.size else 0)
        start, stop = self._n_symbols, self._n_symbols + ids.size + len(pieces) - 1
        self._make_room(stop)
        if self._largest > np.iinfo(np.uint32).max:
            # Symbol 2**32 fits none of the widths; a gap below it will be found at the end.
            self._symbols[start:stop] = np.insert(ids.astype(np.uint64) + 1, pieces[1:], 0)
        else:
            write_symbols(np.ascontiguousarray(ids), np.ascontiguousarray(pieces), self._symbols[start:stop])
        self._n_symbols = stop
        lengths = np.diff(offsets)
        if len(breaks):
            self._breaks.append(start + break_positions(offsets, breaks))
            np.add.at(lengths, np.searchsorted(offsets, breaks, side="right") - 1, 1)
        self._lengths.append(lengths)
        self.n_tokens += ids.size
        self.n_documents += len(offsets) - 1
        self.n_breaks += len(breaks)

    def finish(self) -> SymbolStream:
        """Return the stream; the builder cannot be used afterwards."""
        width, gap = self._choose_width()
        symbols = self._symbols[: self._n_symbols]
        if self._largest > np.iinfo(width).max:
            symbols = symbols - (symbols > gap + 1)
        stream = symbols.astype(width, copy=False)
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *self._lengths])
        lengths[1:] += 1
        breaks = np.concatenate([NO_BREAKS, *self._breaks]).astype(np.uint32)
        return SymbolStream(stream, np.cumsum(lengths).astype(np.uint32), gap, breaks)

    def _make_room(self, n_symbols: int) -> None:
        """Grow the array to this many symbols, wide enough for the largest one."""
        width = next((w for w in WIDTHS if self._largest <= np.iinfo(w).max), np.dtype(np.uint64))
        capacity = max(self._symbols.size, self._capacity)
        if n_symbols > capacity:
            capacity = max(n_symbols, 2 * capacity)
        if width.itemsize > self._symbols.itemsize or capacity > self._symbols.size:
            grown = np.empty(capacity, dtype=max(width, self._symbols.dtype, key=lambda w: w.itemsize))
            grown[: self._n_symbols] = self._symbols[: self._n_symbols]
            self._symbols = grown

    def _choose_width(self) -> tuple[np.dtype[Any], int]:
        """Return the narrowest width that holds all symbols, and the gap that makes it do so."""
        return narrowest(self._largest - 1, self._smallest_absent)

    def _smallest_absent(self, last: int) -> int | None:
        """Return the smallest id in 0..last that no document has."""
        present = np.unique(self._symbols[: self._n_symbols])
        ids = present[present > 0].astype(np.int64) - 1
        steps = np.flatnonzero(ids != np.arange(ids.size))
        absent = int(steps[0]) if steps.size else int(ids.size)
        return absent if absent <= last else None


def narrowest(largest_id: int, smallest_absent: Callable[[int], int | None]) -> tuple[np.dtype[Any], int]:
    """Return the narrowest width for ids up to the largest one (-1 without ids), and the gap.

    `smallest_absent(last)` returns the smallest id in 0..last that no document has, or None if there is
    none, only when it takes that one as the gap to make a width do.
    """
    for width in WIDTHS:
        last = int(np.iinfo(width).max)
        if largest_id < last:
            return width, last
        if largest_id == last:
            gap = smallest_absent(last)
            if gap is not None:
                return width, gap
    raise AssertionError("unreachable: 2**32 - 1 symbols cannot have 2**32 different ids")


def recoded(symbols: Symbols, gap: int, width: np.dtype[Any], new_gap: int) -> Symbols:
    """Symbols of one gap as those of another gap and width: a new array.

    Ids that do not fit the width become arbitrary symbols.
    """
    ids = symbols.astype(np.uint64)
    ids -= (symbols != 0) & (ids <= gap)
    ids += (symbols != 0) & (ids < new_gap)
    recoded: Symbols = ids.astype(width)
    return recoded


def dense_ranks(stream: Symbols) -> tuple[Symbols, int]:
    """Return the stream in the form for suffix sorting, and a bound on its symbols.

    Sorting takes 8 bytes a possible symbol. Few but large ids are replaced by their ranks first: that keeps
    their order.
    """
    n_symbols = int(stream.max()) + 1 if stream.size else 1
    if n_symbols <= min(max(4 * stream.size, 1 << 20), MAX_SYMBOLS):
        return stream, n_symbols
    distinct, ranks = np.unique(stream, return_inverse=True)
    # The separator stays 0: it is the smallest symbol, and every document has one.
    return ranks.astype(np.uint32), len(distinct)
