"""Where the bytes of a container lie: constants that writer and reader share (byte tables: FORMAT.md)."""

from __future__ import annotations

import struct
from typing import NamedTuple, Protocol

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
#: Those that this program understands.
KNOWN_READER_FLAGS = DOCUMENT_SETS | SEGMENT_KINDS | SMALL_BLOCKS
KNOWN_WRITER_FLAGS = (
    DOCUMENT_SETS | STATISTICS | SEGMENT_KINDS | SMALL_BLOCKS | LOAD_RECORDS | FREQUENT_NGRAMS | KEPT_VERSIONS
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
    """What identifies a finished file: its size in bytes, and the crc32 in its footer."""

    size: int
    crc: int


class Section(NamedTuple):
    """Where a section lies: bytes from the start of the file, and the type of its elements."""

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
        """Have bytes [start, stop) and [table_start, table_stop) there; with `again` bring them anew."""

    def need(self, start: int, stop: int, /) -> None:
        """Have bytes [start, stop) there."""

    def forget(self) -> None:
        """Have nothing there: what is kept here cannot be right."""

    @property
    def n_present(self) -> int:
        """How many bytes are there."""
