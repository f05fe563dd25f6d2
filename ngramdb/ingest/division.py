"""Which bytes of a load's files each of n workers reads: the same for whoever asks, and in the files' order.

All files one after the other are cut into n parts of equal size. An uncompressed file of lines is cut where
a part ends, at the next beginning of a line; any other file belongs as a whole to the part that has its
middle. So the documents of part 0, part 1, … one after the other are those of one load of all files.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO

from ngramdb import formats, interrupts
from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import MAGIC_BYTES, compression_of
from ngramdb.opening import open_named

# Of these a document's line number is among its metadata.
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
    """The pieces that part `part` of 0 … n_parts - 1 reads, in order; none where there is too little.

    Raises
    ------
    InvalidArgument
        a file that cannot be read again, or whose size nobody knows
    LoadError
        a file that cannot be read

    Cost: a status of each file, and a few reads of those that are cut. Of a file of the format `lines` that
    is cut, what stands before the piece is read to count its lines.
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
    """The SHA-256 of the files' names, sizes and formats, in order.

    Names are relative to what was asked for, so that workers may find the files under different paths.
    """
    hashed = hashlib.sha256()
    for source in sources:
        line = f"{_size(source)}:{source.format}:{source.name}\n"
        hashed.update(line.encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def content_digest(piece: Piece) -> str | None:
    """The SHA-256 of a piece's bytes as stored; None for a file by URL. Cost: reads them."""
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
    """What changes when a file is written to; nothing is known of files by URL."""
    if source.is_remote:
        return ()
    try:
        status = os.stat(source.path)
    except OSError:  # reading it has failed, or will
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def is_cut(source: Source) -> bool:
    """Whether a file may be divided among parts."""
    if source.is_remote or not formats.named(source.format).is_cut:
        return False
    with _opened(source) as file:
        return compression_of(file.read(MAGIC_BYTES)) is None


def _size(source: Source) -> int:
    if not source.can_be_read_again:
        raise InvalidArgument(
            f"{source.label} cannot be read again, so that it cannot be divided among workers; "
            "save it as a file"
        )
    size = source.n_bytes
    if size is None:
        raise InvalidArgument(
            f"{source.label}: its size is unknown, by which files are divided among workers; "
            "copy it to a folder first"
        )
    return size


def _cut(whole: Piece, lo: int, hi: int) -> Piece:
    """The lines of a file that begin at its bytes from lo on, before hi."""
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
    """Where the first line begins that begins at a place or after it; the file's end if there is none."""
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
