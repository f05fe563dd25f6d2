"""WARC files of web archives, above all WET: the texts that Common Crawl has taken out of pages.

A document is a record that holds text: a conversion (all of WET), or a page or resource of type text/plain.
Other records, such as pages in HTML, are skipped. Pages are decoded according to their HTTP headers (RFC
9112, section 7; RFC 9110, sections 8.3.2 and 8.4.1), unless the crawler has decoded them and kept the
headers.
A text is in UTF-8 unless its type declares another charset.

A record is a line with the version, lines of headers, an empty line, the number of bytes given by its
Content-Length, and two line ends (WARC 1.1, ISO 28500:2017, section 4).
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ngramdb.errors import LoadError, ResourceError
from ngramdb.formats import named
from ngramdb.ingest.documents import Document, ErrorLog, invalid_utf8
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter, decompressed, read_chunks

UNIT = named("warc").unit
# No lines of headers are longer.
MOST_OF_HEADERS = 1 << 20
_VERSION = b"WARC/"
# The beginning of a chunk: its number of bytes in hexadecimal, and extensions.
_CHUNK_HEAD = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_COMPRESSED = frozenset(("gzip", "x-gzip", "zstd"))
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([^\s;"']+)""", re.IGNORECASE)
# Python searches for modules by the names of charsets; IANA's have at most 40 characters (RFC 2978).
_NAME_OF_CHARSET = re.compile(r"[A-Za-z0-9!#$%&'+^_`{}~:.()-]{1,40}")
# Codecs for parts of Python programs and for domains, as `codecs.CodecInfo` names them.
_SHOWN_OF_CHARSET = 40
_OF_OTHER_TEXT = frozenset(("unicode-escape", "raw-unicode-escape", "undefined", "idna", "punycode"))
_FIELDS = {
    "url": "warc-target-uri",
    "date": "warc-date",
    "record_id": "warc-record-id",
    "language": "warc-identified-content-language",
}


@dataclass(frozen=True)
class _Record:
    """A record: its number, its headers by their names in small letters, and its content.

    The content is None if it is not wanted.
    """

    number: int
    headers: dict[str, str]
    content: bytes | None


def read_warc(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield the documents of one WARC or WET file; `Document.line` is the number of the record.

    Raises LoadError with file and record at the first damaged text or record, and
    ResourceError at a text that is too long, unless `options.on_error` is "skip": then `errors` counts it.
    Pages that cannot be decoded are skipped and counted in a note. Raises LoadError if no record holds text.
    """
    skip = options.on_error == "skip"
    n_records, n_texts = 0, 0
    unread: Counter[str] = Counter()
    try:
        for record in _Records(source, options, meter):
            n_records = record.number
            text, fault = _text(record, options, unread)
            if text is None:
                continue
            n_texts += 1
            if record.number <= source.after_line:
                continue
            fault = fault or _fault(text, options)
            if fault is None:
                yield Document(
                    text, None, _metadata(record, options), source.label, record.number, None, UNIT
                )
                continue
            error = LoadError(fault, source=source.label, line=record.number, unit=UNIT)
            if skip:
                errors.add(error)
            elif fault.startswith("longer"):
                raise ResourceError(str(error), limit=options.limits.document_bytes, asked=len(text))
            else:
                raise error
    except LoadError as error:
        if not skip or isinstance(error.__cause__, OSError):
            raise
        errors.add_file(error)
        return
    for reason, n in unread.items():
        errors.remark(f"{n:,} text/plain record{'' if n == 1 else 's'} of {source.label} left out: {reason}")
    if not (n_texts or unread):
        raise LoadError(
            f"none of its {n_records:,} records contains text; convert pages in HTML to text first, "
            "as in the WET files of Common Crawl",
            source=source.label,
        )


class _Records:
    """The records of a file; only the contents of those that may hold text are kept."""

    def __init__(self, source: Source, options: ReadOptions, meter: Meter) -> None:
        self._source = source
        self._most = options.limits.document_bytes
        self._chunks = read_chunks(source, options.limits, meter)
        self._rest = bytearray()
        self._number = 0

    def __iter__(self) -> Iterator[_Record]:
        while (head := self._head()) is not None:
            self._number += 1
            headers = self._headers(head)
            n_bytes = self._length(headers)
            # A longer text is read as far as that shows.
            wanted = headers.get("warc-type") in ("conversion", "response", "resource")
            content = self._taken(n_bytes, min(n_bytes, self._most + MOST_OF_HEADERS) if wanted else 0)
            if self._taken(4, 4) != b"\r\n\r\n":
                raise self._error("two line ends are missing after its content: its Content-Length is wrong")
            yield _Record(self._number, headers, content if wanted else None)

    def _head(self) -> bytes | None:
        """Read the lines before the content; None at the end of the file."""
        while (stop := self._rest.find(b"\r\n\r\n")) < 0 and len(self._rest) < MOST_OF_HEADERS:
            if not self._more():
                if self._number and not self._rest.strip():
                    return None
                break
        if not self._rest.startswith(_VERSION) or stop < 0:
            if not self._rest and not self._number:
                raise LoadError(
                    "is empty, which a web archive never is: it was cut short", source=self._source.label
                )
            self._number += 1
            begins = bytes(self._rest[:20])
            cut = " or was cut short" if self._number > 1 or begins.startswith(_VERSION) else ""
            raise self._error(f"is not a WARC record{cut}: it begins with {begins!r}")
        head = bytes(self._rest[:stop])
        del self._rest[: stop + 4]
        return head

    def _headers(self, head: bytes) -> dict[str, str]:
        lines = head.decode("utf-8", "replace").split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def _length(self, headers: dict[str, str]) -> int:
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            raise self._error(f"its Content-Length is {length!r}, not a number")
        return int(length)

    def _taken(self, n_bytes: int, n_kept: int) -> bytes:
        """Read the next bytes, and return the first of them."""
        kept = bytearray()
        left = n_bytes
        while left:
            if not self._rest and not self._more():
                raise self._error(f"{left:,} of {n_bytes:,} bytes are missing: the file was cut short")
            part = self._rest[:left]
            del self._rest[: len(part)]
            left -= len(part)
            kept += part[: max(n_kept - len(kept), 0)]
        return bytes(kept)

    def _more(self) -> bool:
        chunk = next(self._chunks, None)
        self._rest += chunk or b""
        return chunk is not None

    def _error(self, message: str) -> LoadError:
        return LoadError(message, source=self._source.label, line=self._number, unit=UNIT)


def _text(record: _Record, options: ReadOptions, unread: Counter[str]) -> tuple[bytes | None, str | None]:
    """Return the text of a record or None, and a message if the text is damaged.

    `unread` counts the texts of type text/plain that cannot be decoded, by the reason.
    """
    content, kind = record.content, record.headers.get("warc-type")
    if content is None or kind != "response":
        content_type = record.headers.get("content-type", "")
        if content is None or (kind == "conversion" and _charset(content_type) is None):
            return content, None
        if kind == "resource" and not _is_plain(content_type):
            return None, None
        return _decoded_text(content, content_type, options, unread), None
    head, _, body = content.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")[1:]
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    content_type = headers.get("content-type", "")
    if not _is_plain(content_type):
        return None, None
    most = options.limits.document_bytes
    try:
        for encoding in reversed(_encodings(headers)):
            if len(body) <= most:  # else it is refused anyway, and may be incomplete
                body = _decoded(body, encoding, most)
    except LookupError as error:
        unread[f"the encoding {error.args[0]!r} is not supported"] += 1
        return None, None
    except (LoadError, zlib.error) as error:
        return body, f"damaged: {error.message if isinstance(error, LoadError) else error}"
    return _decoded_text(body, content_type, options, unread), None


def _decoded_text(text: bytes, content_type: str, options: ReadOptions, unread: Counter[str]) -> bytes | None:
    """Return a text in the charset that its type declares as UTF-8; None if it is not valid, for `unread`."""
    charset = _charset(content_type) or "utf-8"
    if len(text) > options.limits.document_bytes:  # it is refused anyway, and may be incomplete
        return text
    try:
        codec = codecs.lookup(charset) if _NAME_OF_CHARSET.fullmatch(charset) else None
        if codec is None or codec.name in _OF_OTHER_TEXT:
            raise LookupError(charset)
        if codec.name not in ("utf-8", "ascii"):  # of which the second is a part of the first
            return text.decode(charset).encode()
        text.decode()
        return text
    except LookupError:  # also for codecs of Python that are not of texts
        unread[f"the charset {charset[:_SHOWN_OF_CHARSET]!r} is not supported"] += 1
    except UnicodeError:
        unread[f"not valid {charset}"] += 1
    return None


def _charset(content_type: str) -> str | None:
    """Return the charset that a type declares, in small letters."""
    found = _CHARSET.search(content_type)
    return None if found is None else found[1].lower()


def _encodings(headers: dict[str, str]) -> list[str]:
    """Return the encodings of a body in the order in which they were applied."""
    values = (headers.get(name, "") for name in ("content-encoding", "transfer-encoding"))
    names = (name.strip().lower() for value in values for name in value.split(","))
    return [name for name in names if name not in ("", "identity")]


def _decoded(body: bytes, encoding: str, most: int) -> bytes:
    """Return a body without an encoding, or at least its first `most` + 1 bytes.

    A body that plainly is not in the encoding is returned as it is.

    Raises LoadError or zlib.error for damaged data, LookupError for an unknown encoding.
    """
    if encoding == "chunked":
        return _unchunked(body)
    if encoding == "deflate":
        is_zlib = body[:1] == b"\x78" and int.from_bytes(body[:2], "big") % 31 == 0
        stream = zlib.decompressobj(15 if is_zlib else -15)
        found = stream.decompress(body, most + 1)
        if not stream.eof and len(found) <= most:
            raise LoadError("the deflate data end too early")
        return found
    if encoding not in _COMPRESSED:
        raise LookupError(encoding)
    unpacked = bytearray()
    for chunk in decompressed(iter((body,)), ""):
        unpacked += chunk
        if len(unpacked) > most:
            break
    return bytes(unpacked)


def _unchunked(body: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while True:
        head = _CHUNK_HEAD.match(body, at)
        if head is None:
            if not parts:
                return body
            raise LoadError(f"no chunk begins at byte {at:,} of a body in chunks")
        n_bytes = int(head[1], 16)
        if n_bytes == 0:
            return b"".join(parts)
        at = head.end() + n_bytes
        if at > len(body):
            raise LoadError(f"{at - len(body):,} bytes of a chunk are missing")
        parts.append(body[head.end() : at])
        at += 2


def _is_plain(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "text/plain"


def _fault(text: bytes, options: ReadOptions) -> str | None:
    """Describe what is wrong with a text; None if it is valid."""
    if len(text) > options.limits.document_bytes:
        return f"longer than {options.limits.most}"
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return invalid_utf8(error, error.start, "")
    return None


def _metadata(record: _Record, options: ReadOptions) -> dict[str, str]:
    kept = (
        _FIELDS
        if options.metadata is None
        else {name: _FIELDS[name] for name in _FIELDS if name in options.metadata}
    )
    return {name: record.headers[header] for name, header in kept.items() if header in record.headers}
