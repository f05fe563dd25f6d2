"""Reads a container in place, and believes nothing that it has not checked."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from ngramdb.errors import CorruptionError, FormatVersionError
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
    HEADER_SIZE,
    KNOWN_READER_FLAGS,
    MAGIC,
    MAX_NAME_LENGTH,
    MAX_TOC_LENGTH,
    SMALL_BLOCKS,
    TAIL,
    VERIFIED_AT_USE,
    FileInfo,
    Section,
    Source,
    item_size,
)
from ngramdb.strict_reading import parse_json

if TYPE_CHECKING:
    import numpy.typing as npt

    from ngramdb._cext.base import checksums as kernels

# Bytes that are verified at a time, so that Ctrl-C is heard in between.
_PIECE = 1 << 24


class Container:
    """A finished container, read in place: sections are views of the buffer, nothing is copied.

    Use `Container.open`. Immutable, and safe to share between threads. The buffer lives as long as the
    container or any view or array made from it.
    """

    def __init__(
        self,
        buffer: memoryview,
        path: str,
        footer: _Footer,
        header: _Header,
        toc: _Toc,
        source: Source | None = None,
    ) -> None:
        self._buffer = buffer
        self._source = source
        self._footer = footer
        self._header = header
        self._toc = toc
        self.path = path
        self._checksums: kernels.FileChecksums | None = None

    @classmethod
    def open(
        cls,
        buffer: memoryview,
        path: str,
        kind: str | None = None,
        expect: FileInfo | None = None,
        source: Source | None = None,
    ) -> Container:
        """Return a reader of the container that `buffer` holds from its first to its last byte.

        Parameters
        ----------
        buffer : the whole file, as bytes; writable memory is shown as read-only.
        path : what messages call the file.
        kind : the kind that the file must be of; None takes any.
        expect : size and checksum that the file must have, as the file that refers to it states.
        source : fetches missing bytes of a remote file; None if the buffer is complete.
        Raises CorruptionError when header, footer, table of contents or a section's bounds are wrong, or when
        it is another file than expected; FormatVersionError when only a newer program can read it.
        Cost: the same for every size of file; sections are not read.
        """
        buffer = buffer.toreadonly()
        if expect is not None and len(buffer) != expect.size:
            _damaged(path, "has another size than when it was written", len(buffer), expect.size, len(buffer))
        if len(buffer) < HEADER_SIZE + FOOTER_SIZE:
            least = HEADER_SIZE + FOOTER_SIZE
            _damaged(path, "is too short to be a container", len(buffer), least, len(buffer))
        if source is not None:
            return cls._open_from_its_end(buffer, path, kind, expect, source)
        header = _read_header(buffer, path, kind)
        footer = _read_footer(buffer, path, header, expect)
        return cls(buffer, path, footer, header, _read_toc(buffer, path, footer))

    @classmethod
    def _open_from_its_end(
        cls, buffer: memoryview, path: str, kind: str | None, expect: FileInfo | None, source: Source
    ) -> Container:
        """Open as `open` does; a header copied into the properties saves fetching the file's beginning."""
        source.need(len(buffer) - FOOTER_SIZE, len(buffer))
        footer = _read_footer(buffer, path, None, expect)
        source.need(footer.toc_offset, footer.toc_offset + footer.toc_length)
        toc = _read_toc(buffer, path, footer)
        copy = toc.properties.get("header")
        if not isinstance(copy, str) or len(copy) != 2 * HEADER_SIZE:
            source.need(0, HEADER_SIZE)
            copy = bytes(buffer[:HEADER_SIZE]).hex()
        try:
            header = _read_header(memoryview(bytes.fromhex(copy)), path, kind)
        except ValueError as error:
            raise CorruptionError(f"{path}: its properties lack the header: {error}", path=path) from error
        return cls(buffer, path, _read_footer(buffer, path, header, expect), header, toc, source)

    @property
    def kind(self) -> str:
        return self._header.kind

    @property
    def file_id(self) -> bytes:
        """The 16 random bytes that were drawn when the file was written."""
        return self._header.file_id

    @property
    def info(self) -> FileInfo:
        return FileInfo(len(self._buffer), self._footer.crc)

    @property
    def writer_flags(self) -> int:
        """Feature bits that a program must understand before it writes a successor of this file."""
        return self._header.writer_flags

    @property
    def properties(self) -> dict[str, Any]:
        """The JSON object that the writer passed to `finish`."""
        return self._toc.properties

    @property
    def sections(self) -> Mapping[str, Section]:
        """Every section's place and type, in file order."""
        return self._toc.sections

    def has(self, name: str) -> bool:
        return name in self._toc.sections

    def section(self, name: str) -> memoryview:
        """Return the section's bytes, read-only.

        Raises CorruptionError if the section is missing, or if it is small and damaged.
        """
        place = self._verified(name)
        return self._buffer[place.offset : place.offset + place.length]

    def array(self, name: str) -> npt.NDArray[Any]:
        """Return the section as a read-only one-dimensional array of its recorded type, not copied.

        Raises CorruptionError if the section is missing, or if it is small and damaged.
        """
        return self._array(self._verified(name))

    def _array(self, place: Section) -> npt.NDArray[Any]:
        import numpy as np

        dtype = np.dtype(place.dtype).newbyteorder("<")
        return np.frombuffer(
            self._buffer, dtype=dtype, count=place.length // dtype.itemsize, offset=place.offset
        )

    @property
    def block_size(self) -> int:
        """Bytes per checksum."""
        return self._footer.block_size

    @property
    def checksums(self) -> kernels.FileChecksums:
        """The checksums of the file's blocks, and which have been verified; made at first use, and kept."""
        from ngramdb._cext.base import checksums as kernels

        if self._checksums is None:
            footer, source = self._footer, self._source
            place = self._buffer, footer.table_offset, footer.block_size, self.path
            if source is None:
                self._checksums = kernels.FileChecksums(*place)
            else:
                self._checksums = kernels.FileChecksums(*place, source, source.together, source.around)
        return self._checksums

    def unverified(self, name: str) -> npt.NDArray[Any]:
        """Return what `array` returns, for readers that verify what they use by `checksums`.

        Raises CorruptionError if the section is missing, or the file was cut short since it was opened.
        """
        self._check_length()
        return self._array(self._place(name))

    def bring(self, first: str, last: str) -> None:
        """Fetch adjacent sections if they come in one request, or in a few requests per file."""
        if self._source is not None:
            start, last_place = self._place(first).offset, self._place(last)
            stop = last_place.offset + last_place.length
            if 0 < stop - start <= VERIFIED_AT_USE:
                self._source.need(start, stop)

    @property
    def is_remote(self) -> bool:
        """True if the file is remote, so that bytes not used before have to be waited for."""
        return self._source is not None

    @property
    def most_verified(self) -> int:
        """Bytes of a large section of which kernels verify what they use; of files elsewhere, of all."""
        return VERIFIED_AT_USE if self._source is None else len(self._buffer)

    def sliced(self, name: str) -> npt.NDArray[Any]:
        """Return what `array` returns, for readers of slices: they call `verify_range` before each read.

        Without that, slices of large sections are not verified; of files that lie elsewhere they are not
        there.
        """
        return self.array(name) if self._source is None else self._array(self._place(name))

    def verify_part(self, name: str, start: int, stop: int) -> None:
        """Check the blocks with elements [start, stop) of a section, each once in the container's life."""
        place = self._place(name)
        width = item_size(place.dtype)
        self.verify_range(place.offset + width * start, place.offset + width * stop)

    def read_along(self, wanted: bool) -> None:
        """Set whether the whole file is read into memory once searches have read many of its blocks.

        Files are mapped for random access: without this, only the requested blocks are ever read.
        """
        self.checksums.read_along(wanted and self._is_mapped())

    def prefer_large_pages(self) -> None:
        """Ask for large pages, with which what is not in memory is read by megabytes."""
        from ngramdb._cext.base import files

        if self._is_mapped():
            files.advise(self._buffer, "usual")
            files.advise(self._buffer, "large pages")

    def read_ahead(self, start: int, stop: int) -> None:
        """Read the file's bytes [start, stop) into memory. Verifies nothing; other threads run meanwhile."""
        from ngramdb._cext.base import files

        if self._source is not None:
            self._source.need(start, stop)
        if not self._is_mapped():
            return
        self._check_length()
        files.advise(self._buffer, "now", start, stop)

    def verify_beforehand(self, start: int, stop: int) -> None:
        """Check the blocks within the file's bytes [start, stop), so that no question has to.

        Damage is left to those who meet it. Nothing is done of a file that lies elsewhere.
        """
        if self._source is not None:
            return
        n_bytes = self.checksums.n_bytes
        self.checksums.verify_beforehand(min(start, n_bytes), min(stop, n_bytes))

    def done_with(self, start: int, stop: int) -> None:
        """Let the file's bytes [start, stop) no longer count as this process's memory."""
        from ngramdb._cext.base import files

        if self._is_mapped():
            files.advise(self._buffer, "done", start, stop)

    def resident_bytes(self) -> int:
        """Return the number of bytes of the file in memory, or fetched at all. Cost: about 10 ns per page."""
        from ngramdb._cext.base import files

        if self._source is not None:
            return self._source.n_present
        return files.resident(self._buffer) if self._is_mapped() else len(self._buffer)

    def verify(self) -> None:
        """Read the whole file and check every byte against its checksum.

        Raises CorruptionError naming the first bad block's byte offset, with the expected and found crc32.
        Cost: one pass over the file, without allocation; other threads run meanwhile.
        """
        self._check_length()
        footer = self._footer
        if self._source is not None:
            self._source.need(0, len(self._buffer))
        Container.open(self._buffer, self.path, self.kind, self.info)
        table_bytes = self._buffer[footer.table_offset : footer.table_offset + 4 * footer.n_blocks]
        found = zlib.crc32(table_bytes)
        if found != footer.table_crc:
            _damaged_crc(self.path, "the table of checksums", footer.table_offset, footer.table_crc, found)
        for start in range(0, footer.table_offset, _PIECE):
            self.checksums.verify(start, min(start + _PIECE, footer.table_offset), again=True)
        self._verify_tails()

    def verify_range(self, start: int, stop: int) -> None:
        """Check the blocks with the file's bytes [start, stop), each once in the container's life.

        Raises CorruptionError naming the first bad block's byte offset.
        """
        table_offset = self._footer.table_offset
        if not 0 <= start <= stop <= table_offset:
            _damaged(
                self.path,
                f"ends at byte {table_offset}, and bytes up to {stop} are asked for",
                start,
                None,
                None,
            )
        if not self.checksums.verified(start, stop):
            self._check_length()
            self.checksums.verify(start, stop)

    def _is_mapped(self) -> bool:
        return self._source is None and not isinstance(self._buffer.obj, (bytes, bytearray))

    def _check_length(self) -> None:
        """Raise CorruptionError if the file was cut short since it was mapped.

        Reading what is missing would end the process.
        """
        if not self._is_mapped():
            return  # what is in memory may be called by the file that it was made from
        try:
            size = os.stat(self.path).st_size
        except (OSError, ValueError):
            return  # its name is gone, and what is mapped stays
        if size < len(self._buffer):
            what = "was cut short while it was open"
            _damaged(self.path, what, size, len(self._buffer), size)

    def _verified(self, name: str) -> Section:
        place = self._place(name)
        if place.length <= VERIFIED_AT_USE or self._source is not None:
            # The zeros after it, too: kernels read them.
            self.verify_range(place.offset, place.offset + place.length + TAIL)
        return place

    def _verify_tails(self) -> None:
        for name, place in self._toc.sections.items():
            stop = place.offset + place.length
            if any(self._buffer[stop : stop + TAIL]):
                _damaged(self.path, f"has bytes other than zero after section {name!r}", stop, 0, None)

    def _place(self, name: str) -> Section:
        try:
            return self._toc.sections[name]
        except KeyError:
            raise CorruptionError(
                f"{self.path}: no section {name!r}; the file has {', '.join(self.sections) or 'none'}",
                path=self.path,
                expected=name,
            ) from None


class _Header(NamedTuple):
    kind: str
    reader_flags: int
    writer_flags: int
    file_id: bytes


class _Footer(NamedTuple):
    toc_offset: int
    table_offset: int
    toc_length: int
    n_blocks: int
    block_size: int
    toc_crc: int
    table_crc: int
    crc: int


class _Toc(NamedTuple):
    sections: dict[str, Section]
    properties: dict[str, Any]


def _read_header(buffer: memoryview, path: str, kind: str | None) -> _Header:
    magic, kind_bytes, version, reader_flags, writer_flags, file_id = HEADER.unpack_from(buffer, 0)
    if magic != MAGIC:
        _damaged(path, "does not begin as a file of ngramdb does", 0, MAGIC, magic)
    (expected,) = CRC.unpack_from(buffer, HEADER.size)
    found = zlib.crc32(buffer[: HEADER.size])
    if found != expected:
        _damaged_crc(path, "the header", 0, expected, found)
    if version > FORMAT_VERSION:
        raise FormatVersionError(
            f"{path}: the file has format version {version}, and this ngramdb reads up to version "
            f"{FORMAT_VERSION}; use a newer ngramdb",
            path=path,
            found=version,
            supported=FORMAT_VERSION,
        )
    if version == 0:
        _damaged(path, "has format version 0, which never existed", 12, FORMAT_VERSION, version)
    check_flags(path, "read", reader_flags, KNOWN_READER_FLAGS)
    name = kind_bytes.decode("ascii", "backslashreplace")
    if kind is not None and name != kind:
        _damaged(path, f"is of kind {name}, and a file of kind {kind} belongs here", 8, kind, name)
    return _Header(name, reader_flags, writer_flags, file_id)


def check_flags(path: str, verb: str, flags: int, known: int) -> None:
    """Raise FormatVersionError if `flags` has an unknown bit; `verb` is what was tried: read or write."""
    unknown = flags & ~known
    if unknown:
        bits = ", ".join(str(bit) for bit in range(64) if unknown >> bit & 1)
        raise FormatVersionError(
            f"{path}: to {verb} the file requires a program that supports feature bits {bits} (flags "
            f"{flags:#x}); this ngramdb supports flags {known:#x}; use a newer ngramdb",
            path=path,
            found=flags,
            supported=known,
        )


def _read_footer(buffer: memoryview, path: str, header: _Header | None, expect: FileInfo | None) -> _Footer:
    start = len(buffer) - FOOTER_SIZE
    fields = FOOTER.unpack_from(buffer, start)
    toc_offset, table_offset, toc_length, n_blocks, block_size, toc_crc, table_crc, file_id, magic = fields
    if magic != MAGIC:
        _damaged(path, "ends without a footer (cut short, or never finished)", start + 52, MAGIC, magic)
    (expected,) = CRC.unpack_from(buffer, start + FOOTER.size)
    found = zlib.crc32(buffer[start : start + FOOTER.size])
    if found != expected:
        _damaged_crc(path, "the footer", start, expected, found)
    if header is not None and file_id != header.file_id:
        _damaged(
            path, "has the footer of another file", start + 36, header.file_id.hex(), bytes(file_id).hex()
        )
    if expect is not None and found != expect.crc:
        _damaged(
            path, "is another file than the one that was written here", start, hex(expect.crc), hex(found)
        )
    sound = (
        block_size in BLOCK_SIZES
        and (header is None or (block_size != BLOCK_SIZE) == bool(header.reader_flags & SMALL_BLOCKS))
        and toc_offset >= HEADER_SIZE
        and toc_offset % ALIGNMENT == 0
        and toc_length <= MAX_TOC_LENGTH
        and table_offset == toc_offset + toc_length + -toc_length % ALIGNMENT
        and n_blocks == -(-table_offset // block_size)
        and start == table_offset + 4 * n_blocks
    )
    if not sound:
        _damaged(path, "has a footer that contradicts itself or the file's size", start, None, None)
    return _Footer(toc_offset, table_offset, toc_length, n_blocks, block_size, toc_crc, table_crc, found)


def _read_toc(buffer: memoryview, path: str, footer: _Footer) -> _Toc:
    start = footer.toc_offset
    raw = buffer[start : start + footer.toc_length]
    found = zlib.crc32(raw)
    if found != footer.toc_crc:
        _damaged_crc(path, "the table of contents", start, footer.toc_crc, found)
    try:
        toc = parse_json(bytes(raw))
        sections = {name: _section(name, fields) for name, fields in _object(toc, "sections").items()}
        _check_bounds(sections, footer.toc_offset)
        return _Toc(sections, _object(toc, "properties"))
    except ValueError as error:
        raise CorruptionError(
            f"{path}: the table of contents at byte {start} is invalid: {error}; "
            "restore the file from a backup",
            path=path,
            offset=start,
        ) from error


def _object(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get(key), dict):
        raise ValueError(f"missing JSON object {key!r}")
    return cast("dict[str, Any]", value[key])


def _section(name: str, fields: Any) -> Section:
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        raise ValueError(f"a section's name has {len(name)} characters")
    if not isinstance(fields, dict):
        raise ValueError(f"section {name!r} is not a JSON object")
    offset, length, dtype = fields.get("offset"), fields.get("length"), fields.get("dtype")
    if type(offset) is not int or type(length) is not int or offset < HEADER_SIZE or length < 0:
        raise ValueError(f"section {name!r}: offset {offset!r} and length {length!r} are invalid")
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"section {name!r}: unknown dtype {dtype!r}; expected one of {', '.join(DTYPES)}")
    if offset % ALIGNMENT:
        raise ValueError(f"section {name!r}: offset {offset} is not a multiple of {ALIGNMENT}")
    if length % item_size(dtype):
        raise ValueError(f"section {name!r}: {length} bytes are not a multiple of the size of {dtype}")
    return Section(offset, length, dtype)


def _check_bounds(sections: dict[str, Section], stop: int) -> None:
    """Raise ValueError unless the sections lie apart, each with its tail, before `stop`."""
    free_from = HEADER_SIZE
    for name, place in sorted(sections.items(), key=lambda item: item[1].offset):
        if place.offset < free_from:
            raise ValueError(f"section {name!r} at {place.offset} overlaps the one before, up to {free_from}")
        free_from = place.offset + place.length + TAIL
        if free_from > stop:
            raise ValueError(f"section {name!r} ends at {free_from}, and the sections' space at {stop}")


def _damaged(path: str, what: str, offset: int, expected: object, found: object) -> NoReturn:
    compared = "" if expected is None else f": expected {expected!r}"
    compared += "" if found is None else f", found {found!r}"
    raise CorruptionError(
        f"{path}: the file {what} (at byte {offset}){compared}; restore it from a backup",
        path=path,
        offset=offset,
        expected=expected,
        found=found,
    )


def _damaged_crc(path: str, part: str, offset: int, expected: int, found: int) -> NoReturn:
    raise CorruptionError(
        f"{path}: {part} at byte {offset} is damaged: expected crc32 {expected:#010x}, found {found:#010x}; "
        "restore the file from a backup",
        path=path,
        offset=offset,
        expected=expected,
        found=found,
    )
