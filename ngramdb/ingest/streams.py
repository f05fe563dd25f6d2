"""Bytes of a file, a pipe or standard input, decompressed on the way, in bounded memory.

Compression is detected by the first bytes, not by the name: gzip (any number of members), Zstandard (any
number of frames, also skippable ones), bzip2 and xz (any number of streams). A truncated or damaged stream is
an error, never a silent end.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import queue
import select
import stat
import sys
import weakref
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np

from ngramdb import interrupts
from ngramdb.errors import LoadError, ResourceError
from ngramdb.formats import COMPRESSIONS, format_of_beginning
from ngramdb.ingest import remote
from ngramdb.strict_reading import open_named

if TYPE_CHECKING:
    from ngramdb.ingest.sources import Source

# Bytes per read of the operating system; four times as much made gzip 8 % slower.
BLOCK_BYTES = 1 << 16
# The most that one step of gzip may give.
CHUNK_BYTES = 1 << 18
# A Zstandard block of four bytes can stand for 128 KiB and the library gives all that its input makes,
# so 2 KiB at a time bound one step to 64 MiB.
ZSTD_STEP_BYTES = 2048
# `zstd --long=31` needs this much history; the default of the library (128 MiB) refuses such files.
ZSTD_WINDOW_BYTES = 1 << 31
# Interval at which a wait for a pipe checks for interruption, in milliseconds.
PATIENCE_MS = 50
# Advice for text in another encoding, whose name is inserted.
CONVERT = "convert it to UTF-8 first (`iconv -f {} -t UTF-8`)"
# Bytes at the beginning of a file that identify every compression below.
MAGIC_BYTES = 16

# Padding after compressed data: tapes and streams of xz are padded with zeros, and editors add a line end.
_PADDING = b"\0\r\n"
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
# After a first byte of 0x50 to 0x5f.
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
_XZ = b"\xfd7zXZ\x00"
_BZIP2 = b"BZh"
# Text may begin with "BZh" as well. What follows the digit begins a block, or ends an empty file.
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
# Memory limit for xz files: those of `xz -9` take 65 MiB, and a header can request any amount.
XZ_MEMORY_BYTES = 1 << 28
_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x04\x22\x4d\x18": "an lz4 file",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a load, so that a decompression bomb cannot fill memory or disk.

    document_bytes : the longest document, in bytes of text.
    line_bytes : the longest line of formats whose lines have more than text, such as JSON lines.
    expansion : how many times its compressed size a file may grow to, once it has passed `document_bytes`.
    gzip reaches 1,032 at most, and text rarely 20; a Zstandard bomb passes 30,000.
    reason : why documents may not be longer, if not because of `document_bytes`.
    """

    document_bytes: int = 1 << 30
    expansion: int = 1000
    reason: str = ""
    line_bytes: int = 1 << 30

    @property
    def of_lines(self) -> Limits:
        """The same limits with the longest line in the place of the longest document."""
        return replace(self, document_bytes=max(self.document_bytes, self.line_bytes))

    @property
    def most(self) -> str:
        """The limit on the size of a document, worded for messages."""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.document_bytes:,} bytes, the most for one document{why}"


@dataclass(slots=True)
class Meter:
    """The position of reading, for progress displays: compressed bytes, over all files.

    `total_bytes` is the number of all bytes, None if unknown (`sources.total_size`). `line` is the first line
    of the document yielded last, by which a resumed load recognizes the place; None in formats without lines.
    """

    bytes_read: int = 0
    total_bytes: int | None = None
    line: bytes | None = None


def read_chunks(source: Source, limits: Limits, meter: Meter) -> Iterator[bytes]:
    """Yield a source's content, decompressed, in non-empty pieces.

    Raises LoadError when the file cannot be read, is damaged, ends too early or has a compression that is
    not understood; ResourceError when it expands beyond `limits`.
    Cost: memory for one piece and the decompressor's window.
    """
    before = meter.bytes_read
    n_bytes = 0
    try:
        with _open(source) as file:
            if source.stop is not None:
                yield from _between(file, source, source.stop, meter)
                return
            for chunk in decompressed(_blocks(file, meter), source.label):
                n_bytes += len(chunk)
                if n_bytes > limits.document_bytes:
                    _check_expansion(source.label, n_bytes, meter.bytes_read - before, limits.expansion)
                yield chunk
    except OSError as error:
        raise LoadError(f"cannot be read: {error.strerror or error}", source=source.label) from error


def text_chunks(source: Source, limits: Limits, meter: Meter) -> Iterator[bytes]:
    """Yield the content of a file of text, as `read_chunks`, without a byte order mark at its beginning.

    Raises LoadError also for a file in UTF-16 or UTF-32, known by its byte order mark, or by its zero bytes.
    """
    chunks = read_chunks(source, limits, meter)
    if source.start == 0:
        first = b""
        for chunk in chunks:
            first += chunk
            if len(first) >= MAGIC_BYTES:
                break
        if (encoding := _wide_encoding(first)) is not None:
            raise LoadError(f"is encoded in {encoding}; {CONVERT.format(encoding)}", source=source.label)
        first = first.removeprefix(BOM_UTF8)
        if first:
            yield first
    yield from chunks


def _wide_encoding(first: bytes) -> str | None:
    """Return the encoding of a text with two or four bytes per character that begins so, else None."""
    if first.startswith((BOM_UTF32_LE, BOM_UTF32_BE)):
        return "UTF-32"
    if first.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "UTF-16"
    head = first[:MAGIC_BYTES]
    if len(head) < 8:
        return None
    even, odd = head[::2], head[1::2]
    if any(even) and not any(odd):  # of UTF-32, too
        return "UTF-16LE" if all(even) else "UTF-32LE"
    if any(odd) and not any(even):
        return "UTF-16BE" if all(odd) else "UTF-32BE"
    return None


class ChunkFile(io.RawIOBase):
    """Pieces of a file's content as a file, for libraries that read one.

    failure : the LoadError that ended reading, which a library may have hidden; n_bytes : how much was read.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.failure: LoadError | None = None
        self.n_bytes = 0
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the content goes: what is read at once is a block to Arrow.

        A row may lie across two blocks and no more, so that short ones would refuse rows that are not long.
        """
        view, n = memoryview(buffer).cast("B"), 0
        while n < len(view) and self._has_rest():
            piece = self._rest[: len(view) - n]
            view[n : n + len(piece)] = piece
            self._rest = self._rest[len(piece) :]
            n += len(piece)
        if n == 0 and self.failure is not None:
            del view, buffer  # the traceback would keep them
            raise self.failure
        self.n_bytes += n
        return n

    def _has_rest(self) -> bool:
        """Return True if there is more; an error is raised once everything before it has been read."""
        while not self._rest and self.failure is None:
            try:
                self._rest = memoryview(next(self._chunks))
            except StopIteration:
                return False
            except LoadError as error:
                self.failure = error
        return len(self._rest) > 0


class Loans:
    """Buffers lent to a library's threads, and those of them that were dropped."""

    def __init__(self) -> None:
        self._lent: list[weakref.ref[Any]] = []
        self._dropped: queue.SimpleQueue[object] = queue.SimpleQueue()

    def note(self, lent: Any) -> None:
        # The callback is not Python code: a thread that drops the object runs nothing after it.
        self._lent.append(weakref.ref(lent, self._dropped.put))

    def wait(self, timeout_s: float) -> None:
        """Wait until all is dropped, but no longer than `timeout_s` seconds for one object."""
        n_dropped = 0
        with suppress(queue.Empty):
            while n_dropped < len(self._lent):
                self._dropped.get(timeout=timeout_s)
                n_dropped += 1


class LentFile(io.RawIOBase):
    """A `ChunkFile` that a library reads in threads of its own.

    A thread that calls Python while the process ends crashes it, also to drop a block that it has read. So
    lenders call `end`, drop what has the file, and wait for `loans`.
    """

    def __init__(self, file: ChunkFile, loans: Loans) -> None:
        self._file: ChunkFile | None = file
        self._loans = loans
        loans.note(self)

    def readable(self) -> bool:
        return True

    def read(self, n_bytes: int = -1, /) -> Any:
        """Return an array of at most this many bytes."""
        file, loans = self._file, self._loans
        block = np.empty(n_bytes, dtype=np.uint8)
        try:
            block = block[: 0 if file is None else file.readinto(block)]
        except BaseException:
            del self, block  # the traceback would keep them
            raise
        loans.note(block)
        return block

    def end(self) -> None:
        """Have nothing more to read."""
        self._file = None


def _check_expansion(label: str, n_bytes: int, n_compressed: int, expansion: int) -> None:
    if n_bytes > expansion * n_compressed:
        raise ResourceError(
            f"{label}: {n_compressed:,} compressed bytes have grown to {n_bytes:,}, over {expansion:,} times "
            "as many; this looks like a decompression bomb",
            limit=expansion * n_compressed,
            asked=n_bytes,
        )


@contextmanager
def _open(source: Source) -> Iterator[BinaryIO]:
    if source.is_stdin:
        if sys.stdin is None:  # so Python has it when the descriptor was closed from the start
            raise LoadError("it is closed", source=source.label)
        # Unbuffered, and not ours to close: a thread held up in sys.stdin's own buffer would abort the
        # interpreter at its exit.
        try:
            descriptor = sys.stdin.fileno()
        except (AttributeError, OSError):  # something else was put in its place
            yield sys.stdin.buffer
            return
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            yield file
    elif source.is_remote:
        with remote.opened(source.path) as file:
            yield file
    else:
        with open(open_named(source.path), "rb", buffering=0) as file:
            yield file


def _read(file: BinaryIO) -> bytes:
    """Read the next bytes, b"" at the end. Interruptible work does not wait long for a pipe."""
    while interrupts.current() is not None and not _is_ready(file):
        interrupts.check()
    return file.read(BLOCK_BYTES)


def _is_ready(file: BinaryIO) -> bool:
    """Return True if a read will not block, after waiting for a moment."""
    try:
        descriptor = file.fileno()
        if sys.platform == "win32" or stat.S_ISREG(os.fstat(descriptor).st_mode):
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(PATIENCE_MS))
    except OSError:  # no file of the system's
        return True


def _blocks(file: BinaryIO, meter: Meter) -> Iterator[bytes]:
    """Yield the file's raw bytes; the first block has at least MAGIC_BYTES unless the file is shorter."""
    first = b""
    while len(first) < MAGIC_BYTES:
        block = _read(file)
        if not block:
            break
        first += block
    block = first
    while block:
        meter.bytes_read += len(block)
        yield block
        block = _read(file)


def _between(file: BinaryIO, source: Source, stop: int, meter: Meter) -> Iterator[bytes]:
    """Yield the bytes of a piece of an uncompressed file."""
    file.seek(source.start)
    left = stop - source.start
    while left:
        block = file.read(min(BLOCK_BYTES, left))
        if not block:
            raise LoadError("is shorter than it was when it was divided", source=source.label)
        left -= len(block)
        meter.bytes_read += len(block)
        yield block


def decompressed(blocks: Iterator[bytes], label: str) -> Iterator[bytes]:
    """Yield the content of data whose first bytes identify their compression, or the data themselves.

    Raises LoadError, with the source `label`, for damaged data and for other compressions.
    """
    first = next(blocks, b"")
    whole = chain((first,), blocks)
    compression = compression_of(first)
    if compression == "gzip":
        return _gunzip(whole, label)
    if compression == "Zstandard":
        return _unzstd(whole, label)
    if compression == "xz":
        return _unpacked(whole, label, "xz", lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY_BYTES))
    if compression == "bzip2":
        return _unpacked(whole, label, "bzip2", bz2.BZ2Decompressor)
    _refuse_foreign(first, label)
    return whole if first else iter(())


def _refuse_foreign(first: bytes, label: str) -> None:
    kind = next((kind for magic, kind in _FOREIGN.items() if first.startswith(magic)), None)
    if kind is not None:
        raise LoadError(
            f"is {kind}; files are read plain or compressed by gzip, Zstandard, bzip2 or xz", source=label
        )
    if (found := format_of_beginning(first)) is not None:
        raise LoadError(f"is {found.kind}; give the format {found.name} to read it as such", source=label)
    if not first and label.endswith(COMPRESSIONS):
        raise LoadError("is empty, which no compressed file is: it was cut short", source=label)


def _gunzip(blocks: Iterable[bytes], label: str) -> Iterator[bytes]:
    member: zlib._Decompress | None = None
    try:
        for block in blocks:
            rest = block
            while rest:
                if member is None:
                    rest = rest.lstrip(_PADDING)
                    if not rest:
                        break
                    member = zlib.decompressobj(wbits=31)
                chunk = member.decompress(rest, CHUNK_BYTES)
                if chunk:
                    yield chunk
                if member.eof:
                    rest, member = member.unused_data, None
                else:
                    rest = member.unconsumed_tail
    except zlib.error as error:
        raise LoadError(f"damaged gzip data: {error}", source=label) from error
    if member is not None:
        raise LoadError("the gzip data end too early: the file was cut short", source=label)


def _unzstd(blocks: Iterable[bytes], label: str) -> Iterator[bytes]:
    # Imported when a file needs it: 10 ms that most sessions never spend.
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_BYTES)
    # Not stream_reader: it ends silently if a frame was cut short.
    frame: zstandard.ZstdDecompressionObj | None = None
    try:
        for block in blocks:
            for start in range(0, len(block), ZSTD_STEP_BYTES):
                rest = block[start : start + ZSTD_STEP_BYTES]
                while rest := rest if frame else rest.lstrip(_PADDING):
                    frame = frame or decompressor.decompressobj()
                    chunk = frame.decompress(rest)
                    if chunk:
                        yield chunk
                    rest, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    except zstandard.ZstdError as error:
        raise LoadError(f"damaged Zstandard data: {error}", source=label) from error
    if frame is not None:
        raise LoadError("the Zstandard data end too early: the file was cut short", source=label)


def compression_of(first: bytes) -> str | None:
    """Return the compression of a file that begins with these bytes, or None."""
    if first.startswith(_GZIP):
        return "gzip"
    if first.startswith(_ZSTD) or _is_skippable(first):
        return "Zstandard"
    return "xz" if _is_xz(first) else "bzip2" if _is_bzip2(first) else None


class _Decompressor(Protocol):
    """The common interface of the standard library's decompressors of bzip2 and xz: one stream each."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def _unpacked(
    blocks: Iterable[bytes], label: str, name: str, make: Callable[[], _Decompressor]
) -> Iterator[bytes]:
    """Yield the content of one stream after the other; each step gives CHUNK_BYTES at most."""
    stream: _Decompressor | None = None
    try:
        for block in blocks:
            rest = block
            while rest or (stream is not None and not stream.needs_input):
                if stream is None:
                    rest = rest.lstrip(_PADDING)
                    if not rest:
                        break
                    stream = make()
                chunk = stream.decompress(rest, CHUNK_BYTES)
                if chunk:
                    yield chunk
                rest, stream = (stream.unused_data, None) if stream.eof else (b"", stream)
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise LoadError(f"damaged {name} data: {error}", source=label) from None
    if stream is not None:
        raise LoadError(f"the {name} data end too early: the file was cut short", source=label)


def _is_xz(first: bytes) -> bool:
    """Return True for an xz file, even if it was cut short."""
    return first.startswith(_XZ) or (len(first) > 2 and _XZ.startswith(first))


def _is_bzip2(first: bytes) -> bool:
    """Return True for a bzip2 file, even if it was cut short."""
    begins = first.startswith(_BZIP2) and first[3:4].isdigit()
    return begins and any(block.startswith(first[4:10]) for block in _BZIP2_BLOCKS)


def _is_skippable(first: bytes) -> bool:
    return first[1:4] == _ZSTD_SKIPPABLE and 0x50 <= first[0] <= 0x5F
