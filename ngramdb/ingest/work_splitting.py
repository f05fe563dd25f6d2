"""The division of a load's files among n workers, in the order of the files and without coordination.

All files one after the other are cut into n parts of equal size. An uncompressed file of lines is cut where
a part ends, at the next beginning of a line; any other file belongs as a whole to the part that has its
middle. So the documents of part 0, part 1, … one after the other are those of one load of all files.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO

from ngramdb import formats, interrupts
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.formats import named
from ngramdb.ingest.readers.arrow_data import n_arrow_rows, n_parquet_rows
from ngramdb.ingest.readers.jsonl import BYTE_ORDER_MARK
from ngramdb.ingest.readers.lines import LineReader, opened
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import MAGIC_BYTES, Limits, Meter, compression_of, read_chunks
from ngramdb.strict_reading import open_named

# Formats whose documents have their line numbers as metadata.
NUMBERED = ("lines",)
BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Piece:
    """Bytes of one file: all of it where `source.stop` is None. `file` is the file's number among all."""

    file: int
    source: Source
    file_bytes: int

    @property
    def start(self) -> int:
        return self.source.start

    @property
    def stop(self) -> int:
        return self.file_bytes if self.source.stop is None else self.source.stop


def divided(sources: Sequence[Source], part: int, n_parts: int) -> list[Piece]:
    """Return the pieces that part `part` of 0 … n_parts - 1 reads, in order; none if there is too little.

    Raises
    ------
    InvalidArgument
        a file that cannot be read again, or whose size nobody knows
    LoadError
        a file that cannot be read

    Cost: a status of each file, and a few reads of those that are cut. If a file of the format `lines` is
    cut, everything before the piece is read to count its lines.
    """
    sizes = [_size(source) for source in sources]
    total, begin = sum(sizes), 0
    lo, hi = total * part // n_parts, total * (part + 1) // n_parts
    is_last = part == n_parts - 1
    pieces = []
    for number, (source, size) in enumerate(zip(sources, sizes, strict=True)):
        middle, end = begin + size // 2, begin + size
        is_whole = lo <= begin and end <= hi
        is_beside = end <= lo or hi <= begin
        if size and not is_whole and not is_beside and is_cut(source):
            piece = _cut(Piece(number, source, size), lo - begin, hi - begin)
            if piece.start < piece.stop:
                pieces.append(piece)
        elif lo <= middle < hi or (is_last and middle >= hi):
            pieces.append(Piece(number, source, size))
        begin = end
    return pieces


def list_digest(sources: Sequence[Source]) -> str:
    """Return the SHA-256 of the files' names, sizes and formats, in order.

    Names are relative to the given paths, so that workers may find the files under different paths.
    """
    hashed = hashlib.sha256()
    for source in sources:
        line = f"{_size(source)}:{source.format}:{source.name}\n"
        hashed.update(line.encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def content_digest(piece: Piece) -> str | None:
    """Return the SHA-256 of a piece's bytes as stored; None for a file by URL. Cost: reads them."""
    if piece.source.is_remote:
        return None
    hashed = hashlib.sha256()
    with _opened(piece.source) as file:
        file.seek(piece.start)
        left = piece.stop - piece.start
        while left and (block := file.read(min(left, BLOCK_BYTES))):
            interrupts.check()
            hashed.update(block)
            left -= len(block)
    return hashed.hexdigest()


def state_of(source: Source) -> tuple[int, ...]:
    """Return values that change when a file is written to; () for files by URL."""
    if source.is_remote:
        return ()
    try:
        status = os.stat(source.path)
    except OSError:  # reading it has failed, or will
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def is_cut(source: Source) -> bool:
    """Return True if a file may be divided among parts."""
    if source.is_remote or not formats.named(source.format).is_cut:
        return False
    with _opened(source) as file:
        return compression_of(file.read(MAGIC_BYTES)) is None


def _size(source: Source) -> int:
    if not source.can_be_read_again:
        raise InvalidArgument(
            f"{source.label} cannot be read again, so it cannot be divided among workers; save it as a file"
        )
    size = source.n_bytes
    if size is None:
        raise InvalidArgument(
            f"{source.label}: its size, by which files are divided among workers, is unknown; "
            "copy it to a folder first"
        )
    return size


def _cut(whole: Piece, lo: int, hi: int) -> Piece:
    """Return the lines of a file that begin at its bytes from lo on, before hi."""
    size = whole.file_bytes
    with _opened(whole.source) as file:
        start, stop = (_line_from(file, place, size) for place in (lo, hi))
        if (start, stop) == (0, size):
            return whole
        before = 0
        if start and whole.source.format in NUMBERED:
            before = sum(block.count(b"\n") for block in _blocks(file, start))
    return replace(whole, source=replace(whole.source, start=start, stop=stop, lines_before=before))


def _line_from(file: BinaryIO, place: int, size: int) -> int:
    """Return the place of the first line that begins at a place or after it; the file's end if none does."""
    if place <= 0 or place >= size:
        return min(max(place, 0), size)
    at = place - 1
    file.seek(at)
    while block := file.read(BLOCK_BYTES):
        interrupts.check()
        found = block.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(block)
    return size


def _blocks(file: BinaryIO, stop: int) -> Iterator[bytes]:
    file.seek(0)
    while stop > 0 and (block := file.read(min(stop, BLOCK_BYTES))):
        interrupts.check()
        stop -= len(block)
        yield block


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    try:
        with open(open_named(source.path), "rb", buffering=0) as file:
            yield file
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror or error}", source=source.label) from error


# ---- Files that a load has read in part: recognizing them, and checking what was read.


# Bytes at the beginning that identify a file: its size may change when a line is corrected.
MOST_OF_BEGINNING = 1 << 16

_N_ROWS_OF = {"parquet": n_parquet_rows, "arrow": n_arrow_rows}


def beginning(source: Source) -> bytes:
    """Return a file's first line, without its line feed; the first 64 KiB if it is longer or unfinished."""
    if named(source.format).needs_seek:
        with opened(source) as file:
            return file.read(MOST_OF_BEGINNING)
    head = b""
    for chunk in read_chunks(source, Limits(), Meter()):
        head += chunk
        if b"\n" in head or len(head) > MOST_OF_BEGINNING:
            break
    return head.partition(b"\n")[0][:MOST_OF_BEGINNING]


def has_lines(source: Source, n_lines: int) -> bool:
    """Return True if a file has this many lines, or rows. Cost: reads them, unless the format counts rows.

    Returns True for files of token ids, whose number of documents is known only to their reader.
    """
    if named(source.format).needs_seek:
        return source.format not in _N_ROWS_OF or _N_ROWS_OF[source.format](source) >= n_lines
    n, is_open = 0, False
    for chunk in read_chunks(source, Limits(), Meter()):
        n += chunk.count(b"\n")
        if n >= n_lines:
            return True
        is_open = not chunk.endswith(b"\n")
    return n + is_open >= n_lines


def line_of(source: Source, number: int) -> bytes | None:
    """Return a line of a file, counted from 1, without its line feed; None if the file has fewer.

    Cost: reads the file until then.
    """
    lines = LineReader(read_chunks(source, Limits(), Meter()), source.label, Limits(), lambda too_long: None)
    return next((line for line in lines if lines.number == number), None)


def mark_of(line: bytes) -> int:
    """Return what a record keeps of a line: its CRC-32, without byte order mark and line end."""
    return zlib.crc32(line.removeprefix(BYTE_ORDER_MARK).removesuffix(b"\r"))
