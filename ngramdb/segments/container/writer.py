"""Writes a container: append-only, one pass, checksums on the way."""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_pattern
from ngramdb.segments.container.layout import (
    ALIGNMENT,
    BLOCK_SIZE,
    BLOCK_SIZES,
    CRC,
    DTYPES,
    FOOTER,
    FOOTER_SIZE,
    FORMAT_VERSION,
    HEADER,
    MAGIC,
    MAX_NAME_LENGTH,
    MAX_TOC_LENGTH,
    SMALL_BLOCKS,
    TAIL,
    FileInfo,
    Section,
    item_size,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ngramdb._cext.base.checksums import BlockSums

Bytes: TypeAlias = "bytes | bytearray | memoryview | npt.NDArray[Any]"
_KIND = lazy_pattern(r"[A-Z0-9]{4}")
# Bytes whose checksum is made while they are written: a millisecond of work.
_WORTH_A_THREAD = 1 << 21
# Bytes copied from a scratch file at a time.
_PIECE = 1 << 22


class Sink(Protocol):
    """The destination of a container: append-only; `sync` makes written bytes survive a power failure.

    It may have `scratch`, which makes a `Scratch` on the same disk; and `ahead`, which makes an `Ahead` of
    it or returns None, with `pass_over`, which skips what was written ahead.
    """

    def write(self, data: bytes | memoryview, /) -> object: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


class Scratch(Protocol):
    """A file without a name, for what is needed for a while."""

    def write(self, data: bytes | memoryview, /) -> object: ...
    def seek(self, offset: int, /) -> object: ...
    def read(self, n: int, /) -> bytes: ...
    def close(self) -> None: ...


class Ahead(Protocol):
    """Bytes of a file behind those that have been written; `end` hands over what it keeps."""

    def write(self, data: bytes | memoryview, /) -> object: ...
    def end(self) -> object: ...


class ContainerWriter:
    """Writes one container, section by section; the file counts only once `finish` has returned.

    Parameters
    ----------
    file : the destination; this object closes it in `finish`, and only there.
    kind : four characters A-Z or 0-9, the kind of file (`SEGM`, `MNFT`, …).
    reader_flags, writer_flags : feature bits that a program must know to read, or to replace, the file.
    file_id : 16 bytes, drawn at random if not given.
    block_size : bytes per checksum, one of `BLOCK_SIZES`.
    Cost: a checksum over all bytes; memory for one chunk and 4 bytes per block written.
    """

    def __init__(
        self,
        file: Sink,
        kind: str,
        *,
        reader_flags: int = 0,
        writer_flags: int = 0,
        file_id: bytes | None = None,
        block_size: int = BLOCK_SIZE,
    ) -> None:
        from ngramdb._cext.base import checksums

        if block_size not in BLOCK_SIZES:
            raise InvalidArgument(
                f"a block must have {', '.join(map(str, BLOCK_SIZES))} bytes, not {block_size!r}"
            )
        if not _KIND.fullmatch(kind):
            raise InvalidArgument(f"a container's kind must be four characters A-Z or 0-9, not {kind!r}")
        self._file = file
        self._file_id = os.urandom(16) if file_id is None else file_id
        self._sections: dict[str, Section] = {}
        self._open_section: tuple[str, int, str] | None = None
        self._sums = checksums.BlockSums(block_size)
        reader_flags |= SMALL_BLOCKS if block_size != BLOCK_SIZE else 0
        header = HEADER.pack(
            MAGIC, kind.encode("ascii"), FORMAT_VERSION, reader_flags, writer_flags, self._file_id
        )
        #: The file's first bytes. A copy in the properties spares who reads its end asking for them, too.
        self.header = header + CRC.pack(zlib.crc32(header))
        self._put(self.header)

    @property
    def offset(self) -> int:
        """Bytes written so far."""
        return self._sums.n_bytes

    def add(self, name: str, data: Bytes, dtype: str | None = None) -> None:
        """Write a whole section. `dtype` is that of the array if not given, and "u1" for plain bytes.

        Raises InvalidArgument for an array that is not C-contiguous or whose type differs from `dtype`.
        """
        self.begin(name, dtype if dtype is not None else _dtype_of(data))
        self.write(data)
        self.end()

    def begin(self, name: str, dtype: str = "u1") -> None:
        """Start a section that `write` fills chunk by chunk until `end`."""
        if self._open_section is not None:
            raise InvalidArgument(f"section {self._open_section[0]!r} has not ended")
        if name in self._sections:
            raise InvalidArgument(f"section {name!r} exists already")
        if not 0 < len(name) <= MAX_NAME_LENGTH:
            raise InvalidArgument(f"a section's name has 1 to {MAX_NAME_LENGTH} characters")
        if dtype not in DTYPES:
            raise InvalidArgument(f"unknown dtype {dtype!r}; expected one of {', '.join(DTYPES)}")
        self._open_section = (name, self.offset, dtype)

    def write(self, chunk: Bytes) -> None:
        """Append bytes, or the elements of an array of the section's type, to the section that was begun."""
        if self._open_section is None:
            raise InvalidArgument("no section has been begun")
        self._put(_as_bytes(chunk, self._open_section[2]))

    def end(self) -> None:
        """End the section that was begun."""
        if self._open_section is None:
            raise InvalidArgument("no section has been begun")
        name, start, dtype = self._open_section
        length = self.offset - start
        if length % item_size(dtype):
            raise InvalidArgument(
                f"section {name!r}: {length} bytes are not a multiple of the size of {dtype}"
            )
        self._sections[name] = Section(start, length, dtype)
        self._open_section = None
        self._put(bytes(TAIL))
        self._align()

    def following(self, n_bytes: int, start: int | None = None) -> int:
        """Return the offset of the section after one of `n_bytes` bytes at `start`.

        Without `start` that is the section that was begun, or would be now.
        """
        if start is None:
            start = self.offset if self._open_section is None else self._open_section[1]
        end = start + n_bytes + TAIL
        return end + -end % ALIGNMENT

    def ahead(self, name: str, dtype: str, offset: int) -> AheadSection | None:
        """Open a section that any thread may write while earlier ones are written; None if unsupported.

        offset : where it will begin: `following`
        """
        ahead: Callable[[int], Ahead | None] | None = getattr(self._file, "ahead", None)
        file = None if ahead is None else ahead(offset)
        return None if file is None else AheadSection(self, file, name, dtype, offset, self._sums.block_size)

    def add_ahead(
        self, section: AheadSection, n_bytes: int, first: bytearray, sums: BlockSums, rest: bytearray
    ) -> None:
        """Count a section as written, at its turn: bytes, the checksums of whole blocks, and bytes."""
        self.begin(section.name, section.dtype)
        if self.offset != section.offset:
            raise InvalidArgument(f"section {section.name!r} begins at {self.offset}, not {section.offset}")
        self._file.pass_over(n_bytes)  # type: ignore[attr-defined]
        self._sums.add(first)
        self._sums.append(sums)
        self._sums.add(rest)
        self.end()

    def later(self, name: str, dtype: str = "u1") -> LaterSection:
        """Add a section whose content is produced while another one is written."""
        return LaterSection(self, name, dtype, self._scratch)

    def _scratch(self) -> Scratch:
        scratch: Callable[[], Scratch] | None = getattr(self._file, "scratch", None)
        if scratch is not None:
            return scratch()
        import tempfile

        return tempfile.TemporaryFile()

    def finish(self, properties: Mapping[str, Any] | None = None, synced: bool = True) -> FileInfo:
        """Write the table of contents, the checksums and the footer; sync it if `synced`, and close the file.

        `properties` is any JSON object. Returns what a later reader passes as `expect`.
        """
        if self._open_section is not None:
            raise InvalidArgument(f"section {self._open_section[0]!r} has not ended")
        toc = _encode_toc(self._sections, properties or {})
        toc_offset = self.offset
        self._put(toc)
        self._align()
        table_offset = self.offset
        table = self._sums.table()
        footer = FOOTER.pack(
            toc_offset,
            table_offset,
            len(toc),
            len(table) // 4,
            self._sums.block_size,
            zlib.crc32(toc),
            zlib.crc32(table),
            self._file_id,
            MAGIC,
        )
        crc = zlib.crc32(footer)
        self._file.write(table + footer + CRC.pack(crc))
        if synced:
            self._file.sync()
        self._file.close()
        return FileInfo(table_offset + len(table) + FOOTER_SIZE, crc)

    def _align(self) -> None:
        self._put(bytes(-self.offset % ALIGNMENT))

    def _put(self, data: bytes | memoryview) -> None:
        """Write bytes and add them to the checksum, in parallel if there are many."""
        view = memoryview(data)
        if len(view) < _WORTH_A_THREAD:
            if len(view):
                self._file.write(view)
            self._sums.add(view)
            return

        from concurrent import futures

        with futures.ThreadPoolExecutor(1, thread_name_prefix="ngramdb-checksum") as pool:
            summing = pool.submit(self._sums.add, view)
            self._file.write(view)
            summing.result()


class AheadSection:
    """A section's content, written to its place before the writer is there. For one thread at a time."""

    def __init__(
        self, writer: ContainerWriter, file: Ahead, name: str, dtype: str, offset: int, block_size: int
    ) -> None:
        from ngramdb._cext.base import checksums

        self.name = name
        self.dtype = dtype
        self.offset = offset
        self._writer = writer
        self._file = file
        self._block_size = block_size
        # Bytes of the block that it shares with what is before, whole blocks, and bytes of another one.
        self._n_first = -offset % block_size
        self._first = bytearray()
        self._sums = checksums.BlockSums(block_size)
        self._rest = bytearray()
        self._n_bytes = 0

    def write(self, chunk: Bytes) -> None:
        """Append bytes, or elements of an array of the section's type."""
        view = _as_bytes(chunk, self.dtype)
        self._file.write(view)
        self._n_bytes += len(view)
        n = self._n_first - len(self._first)
        self._first += view[:n]
        view = view[n:]
        if self._rest:
            n = self._block_size - len(self._rest)
            self._rest += view[:n]
            view = view[n:]
            if len(self._rest) < self._block_size:
                return
            self._sums.add(self._rest)
        whole = len(view) // self._block_size * self._block_size
        self._sums.add(view[:whole])
        self._rest = bytearray(view[whole:])

    def add(self) -> None:
        """Add the section to the file when it is its turn; no other section may be open."""
        self._file.end()
        self._writer.add_ahead(self, self._n_bytes, self._first, self._sums, self._rest)


class LaterSection:
    """A section's content, kept until it is its turn: in memory, from IN_MEMORY bytes on in a file."""

    IN_MEMORY = 1 << 26

    def __init__(
        self, writer: ContainerWriter, name: str, dtype: str, scratch: Callable[[], Scratch]
    ) -> None:
        self._writer = writer
        self._name = name
        self._dtype = dtype
        self._scratch = scratch
        self._file: Scratch | None = None
        self._chunks: list[memoryview] = []
        self._n_waiting = 0

    def write(self, chunk: Bytes) -> None:
        """Append bytes, or elements of an array of the section's type, which stays as it is."""
        self._chunks.append(_as_bytes(chunk, self._dtype))
        self._n_waiting += len(self._chunks[-1])
        if self._n_waiting < self.IN_MEMORY:
            return
        if self._file is None:
            self._file = self._scratch()
        for waiting in self._chunks:
            self._file.write(waiting)
        self._chunks, self._n_waiting = [], 0

    def add(self) -> None:
        """Write the section; no other one may have been begun."""
        self._writer.begin(self._name, self._dtype)
        if self._file is not None:
            with contextlib.closing(self._file) as file:
                file.seek(0)
                while copied := file.read(_PIECE):
                    self._writer.write(copied)
        for chunk in self._chunks:
            self._writer.write(chunk)
        self._writer.end()


def _encode_toc(sections: Mapping[str, Section], properties: Mapping[str, Any]) -> bytes:
    toc = {
        "sections": {name: place._asdict() for name, place in sections.items()},
        "properties": dict(properties),
    }
    try:
        text = json.dumps(toc, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"a container's properties must be a JSON object: {error}") from error
    if len(text) > MAX_TOC_LENGTH:
        raise InvalidArgument(f"the table of contents takes {len(text)} bytes, more than {MAX_TOC_LENGTH}")
    return text


def _dtype_of(data: Bytes) -> str:
    import numpy as np

    return f"{data.dtype.kind}{data.dtype.itemsize}" if isinstance(data, np.ndarray) else "u1"


def _as_bytes(data: Bytes, dtype: str) -> memoryview:
    """Return the bytes of `data` in file order, without a copy on a little-endian machine."""
    import numpy as np

    if isinstance(data, np.ndarray):
        if not data.flags.c_contiguous:
            raise InvalidArgument("an array must be C-contiguous to be written")
        if _dtype_of(data) not in (dtype, "u1"):
            raise InvalidArgument(f"an array of {data.dtype} does not fit a section of {dtype}")
        data = data.astype(data.dtype.newbyteorder("<"), copy=False).reshape(-1)
        return data.view(np.uint8).data
    view = memoryview(data)
    if not view.c_contiguous:
        raise InvalidArgument("a buffer must be contiguous to be written")
    return view.cast("B") if view.nbytes else memoryview(b"")
