"""Pages in plain text in a web archive, in the encodings of HTTP, and damaged."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand
from ngramdb.ingest.streams import Limits

TEXT = "zwei Wörter\n".encode() * 3


def in_chunks(body: bytes, size: int = 5) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%X;x=y\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def archive(path: Path, *pages: tuple[str, bytes]) -> Path:
    """Write a file with the pages: HTTP headers and body."""
    records = []
    for headers, body in pages:
        http = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{headers}\r\n".encode() + body
        head = f"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: {len(http)}\r\n\r\n"
        records.append(head.encode() + http + b"\r\n\r\n")
    path.write_bytes(b"".join(records))
    return path


def texts(path: Path, **options: object) -> tuple[list[bytes | None], ErrorLog]:
    errors = ErrorLog()
    found = read_documents(expand(path), ReadOptions(**options), errors)  # type: ignore[arg-type]
    return [one.text for one in found], errors


CHUNKED = "Transfer-Encoding: chunked\r\n"
ENCODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "identity": ("Content-Encoding: identity\r\n", bytes),
    "chunked": (CHUNKED, in_chunks),
    "gzip": ("Content-Encoding: gzip\r\n", gzip.compress),
    "x-gzip": ("Content-Encoding: X-GZIP\r\n", gzip.compress),
    "zstd": ("Content-Encoding: zstd\r\n", zstandard.compress),
    "deflate": ("Content-Encoding: deflate\r\n", zlib.compress),
    "raw deflate": ("Content-Encoding: deflate\r\n", raw_deflate),
    "gzip in chunks": (f"Content-Encoding: gzip\r\n{CHUNKED}", lambda text: in_chunks(gzip.compress(text))),
    "one header": ("Transfer-Encoding: gzip, chunked\r\n", lambda text: in_chunks(gzip.compress(text))),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_pages_are_decoded_as_their_headers_say(tmp_path: Path, name: str) -> None:
    headers, encode = ENCODINGS[name]
    path = archive(tmp_path / "a.warc", (headers, encode(TEXT)), (headers, encode(b"")))
    found, errors = texts(path)
    assert found == [TEXT, b""] and not errors.remarks


@pytest.mark.parametrize("name", [name for name in ENCODINGS if "deflate" not in name])
def test_pages_that_the_crawler_has_decoded_are_texts_as_they_are(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path / "a.warc", (ENCODINGS[name][0], TEXT))
    assert texts(path)[0] == [TEXT]


@pytest.mark.parametrize("name", [name for name in ENCODINGS if name != "identity"])
def test_pages_cut_short_are_named(tmp_path: Path, name: str) -> None:
    headers, encode = ENCODINGS[name]
    path = archive(tmp_path / "a.warc", (headers, encode(TEXT)[:-9]), (headers, encode(TEXT)))
    with pytest.raises(LoadError, match="record 1: damaged"):
        texts(path)
    found, errors = texts(path, on_error="skip")
    assert found == [TEXT] and errors.count == 1


@pytest.mark.parametrize("name", ENCODINGS)
def test_pages_that_unpack_beyond_the_limit_are_refused(tmp_path: Path, name: str) -> None:
    headers, encode = ENCODINGS[name]
    path = archive(tmp_path / "a.warc", (headers, encode(b"a" * 10_000)), (headers, encode(TEXT)))
    limits = Limits(document_bytes=1000)
    with pytest.raises(ResourceError, match="record 1: longer than"):
        texts(path, limits=limits)
    assert texts(path, limits=limits, on_error="skip")[0] == [TEXT]


def test_pages_in_other_encodings_are_counted(tmp_path: Path) -> None:
    brotli = "Content-Encoding: br\r\n"
    path = archive(tmp_path / "a.warc", (brotli, b"?"), ("", TEXT), (brotli, b"?"))
    found, errors = texts(path)
    assert found == [TEXT]
    assert list(errors.remarks) == [
        f"2 text/plain records of {path} left out: the encoding 'br' is not supported"
    ]
