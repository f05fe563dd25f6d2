"""Every format of text with byte order marks, in other encodings, padded, and with blank lines."""

from __future__ import annotations

import bz2
import gzip
import lzma
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ngramdb.errors import LoadError
from ngramdb.ingest.documents import ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import read_documents
from ngramdb.ingest.sources import expand

TEXT = "café or tea"
# Text of a file of each format before, between and after its lines.
FORMATS: dict[str, list[str]] = {
    "jsonl": [f'{{"text": "{TEXT}"}}'],
    "lines": [TEXT],
    "text": [TEXT],
    "csv": ["text,n", f"{TEXT},1"],
    "tsv": ["text\tn", f"{TEXT}\t1"],
    "vrt": ["<text>", *TEXT.split(), "</text>"],
}
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}
# White space of Unicode, in lines of its own.
BLANK = ["", " ", "\t", "\u3000", " \u3000 ", "\u00a0", "\u2003", "\u2028", "\u0085", "\r"]


def content(kind: str, blank: str | None = None) -> str:
    lines = FORMATS[kind]
    if blank is not None:
        lines = [line for pair in zip(lines, [blank] * len(lines), strict=True) for line in pair]
    return "\n".join(lines) + "\n"


def read(path: Path, kind: str, data: bytes) -> list[str]:
    path.write_bytes(data)
    found = read_documents(expand(path, kind))
    return [(one.text or b"").decode().strip() for one in found]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_byte_order_mark_is_no_text(tmp_path: Path, kind: str) -> None:
    assert read(tmp_path / "a", kind, BOM_UTF8 + content(kind).encode()) == [TEXT]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_text_of_wide_characters_is_named_by_its_encoding(
    tmp_path: Path, kind: str, encoding: str, packed: bool
) -> None:
    data = content(kind).encode(encoding)
    data = gzip.compress(data) if packed else data
    with pytest.raises(LoadError, match=rf"a.*is encoded in {encoding[:6].upper()}.*iconv -f UTF-"):
        read(tmp_path / "a", kind, data)
    errors = ErrorLog()
    assert (
        list(read_documents(expand([tmp_path / "a"] * 2, kind), ReadOptions(on_error="skip"), errors)) == []
    )
    assert errors.files == 2 and "is encoded in" in errors.reasons[0]


@pytest.mark.parametrize("kind", FORMATS)
def test_bytes_of_latin_1_are_named_with_their_place(tmp_path: Path, kind: str) -> None:
    with pytest.raises(LoadError, match=r"invalid UTF-8: byte 0xe9 at offset \d+ .*iconv -f LATIN1"):
        read(tmp_path / "a", kind, content(kind).encode("latin-1"))


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_bytes_of_latin_1_in_a_columns_name_are_named(tmp_path: Path, kind: str) -> None:
    data = content(kind).replace("n", "né", 1).encode("latin-1")
    with pytest.raises(LoadError, match="invalid UTF-8: byte 0xe9 at offset 1 of a column's name"):
        read(tmp_path / "a", kind, data)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", COMPRESSIONS)
@pytest.mark.parametrize("padding", [b"\n", b"\r\n", b"\0\0\n", b"\0" * 512])
def test_line_ends_and_zeros_behind_compressed_data_are_ignored(
    tmp_path: Path, kind: str, name: str, padding: bytes
) -> None:
    packed = COMPRESSIONS[name](content(kind).encode())
    assert read(tmp_path / "a", kind, packed + padding) == [TEXT]
    with pytest.raises(LoadError):
        read(tmp_path / "a", kind, packed + padding + b"other")


@pytest.mark.parametrize("kind", ["jsonl", "lines", "vrt"])
@pytest.mark.parametrize("blank", BLANK, ids=ascii)
def test_lines_of_white_space_are_no_documents(tmp_path: Path, kind: str, blank: str) -> None:
    assert read(tmp_path / "a", kind, content(kind, blank).encode()) == [TEXT]
