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


CHARSETS = {
    "utf-8": "schön 日本語",
    "us-ascii": "plain",
    "iso-8859-1": "schön",
    "windows-1252": "“schön”",
    "iso-2022-jp": "日本語",
    "shift_jis": "日本語",
    "gb18030": "日本語",
    "utf-16le": "schön",
    "utf-16": "schön",
    "koi8-r": "привет",
}


def page(content_type: str, body: bytes, kind: str = "response") -> bytes:
    """A record of the kind, with the type of its text in the headers for that kind."""
    http = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode() if kind == "response" else b""
    of_record = "application/http; msgtype=response" if kind == "response" else content_type
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: {of_record}\r\n"
    return f"{head}Content-Length: {len(http) + len(body)}\r\n\r\n".encode() + http + body + b"\r\n\r\n"


@pytest.mark.parametrize("kind", ["response", "resource", "conversion"])
@pytest.mark.parametrize("charset", CHARSETS)
def test_texts_are_in_the_charset_that_their_type_declares(tmp_path: Path, charset: str, kind: str) -> None:
    path, body = tmp_path / "a.warc", CHARSETS[charset].encode(charset)
    forms = (f"charset={charset}", f'Charset = "{charset.upper()}"', f"format=flowed; charset='{charset}'")
    path.write_bytes(b"".join(page(f"text/plain; {form}", body, kind) for form in forms))
    found, errors = texts(path)
    assert found == [CHARSETS[charset].encode()] * 3 and not errors.remarks


def test_a_body_is_decompressed_before_it_is_decoded(tmp_path: Path) -> None:
    headers = "Content-Encoding: gzip\r\nContent-Type: text/plain; charset=utf-16\r\n"
    found, _ = texts(archive(tmp_path / "a.warc", (headers, gzip.compress("ü".encode("utf-16")))))
    assert found == ["ü".encode()]


@pytest.mark.parametrize(
    ("declared", "body", "reason"),
    [
        ("; charset=utf-8", b"caf\xe9", "not valid utf-8"),
        ("", b"caf\xe9", "not valid utf-8"),
        ("; charset=us-ascii", b"caf\xe9", "not valid us-ascii"),
        ("; charset=utf-16le", b"a", "not valid utf-16le"),
        ("; charset=iso-2022-jp", b"\x1b$B\xff", "not valid iso-2022-jp"),
        ("; charset=utf-7", b"+2AA-", "not valid utf-7"),
        ("; charset=x-unknown", b"a", "the charset 'x-unknown' is not supported"),
        ("; charset=rot13", b"a", "the charset 'rot13' is not supported"),
        ("; charset=unicode_escape", b"a", "the charset 'unicode_escape' is not supported"),
        ("; charset=a\0b", b"a", "the charset 'a\\x00b' is not supported"),
        ("; charset=" + "u" * 99, b"a", f"the charset '{'u' * 40}' is not supported"),
    ],
)
@pytest.mark.parametrize("kind", ["response", "resource"])
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_pages_that_are_not_in_their_charset_are_counted_and_end_no_load(
    tmp_path: Path, declared: str, body: bytes, reason: str, kind: str, on_error: str
) -> None:
    path = tmp_path / "a.warc"
    bad = page(f"text/plain{declared}", body, kind)
    path.write_bytes(bad + page("text/plain", TEXT) + bad)
    found, errors = texts(path, on_error=on_error)
    assert found == [TEXT] and not errors.count
    assert list(errors.remarks) == [f"2 text/plain records of {path} left out: {reason}"]
