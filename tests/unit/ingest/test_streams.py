"""Streams are decompressed by what they hold, never end silently, and never grow without bound."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import tracemalloc

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.errors import LoadError, ResourceError
from ngramdb.ingest.readers.lines import LineReader
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Limits, Meter, read_chunks


def content(path, limits=None, meter=None):
    chunks = list(read_chunks(Source(str(path), "x", "text"), limits or Limits(), meter or Meter()))
    assert all(chunks)
    return b"".join(chunks)


def written(tmp_path, data, name="f"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def pseudo_text(n_bytes, seed=3):
    rng = random.Random(seed)
    return bytes(rng.choices(b"etaoin shrdlu\n", k=n_bytes))


def zstd(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


def _streamed_zstd(data):
    stream = zstandard.ZstdCompressor().compressobj()
    return stream.compress(data) + stream.flush()


SKIPPABLE = b"\x53\x2a\x4d\x18\x03\x00\x00\x00abc"

WRAPPERS = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "gzip, three members": lambda data: b"".join(map(gzip.compress, (data[:1000], b"", data[1000:]))),
    "gzip, padded with zeros": lambda data: (
        gzip.compress(data[:9]) + bytes(70_000) + gzip.compress(data[9:]) + bytes(9)
    ),
    "zstd": zstd,
    "zstd, three frames": lambda data: zstd(data[:1000]) + zstd(b"") + zstd(data[1000:]),
    "zstd, skippable frames": lambda data: (
        SKIPPABLE + zstd(data[:5]) + SKIPPABLE + zstd(data[5:]) + SKIPPABLE
    ),
    "zstd, without a size": _streamed_zstd,
    "bzip2": bz2.compress,
    "bzip2, three streams": lambda data: b"".join(map(bz2.compress, (data[:1000], b"", data[1000:]))),
    "xz": lzma.compress,
    "xz, three streams": lambda data: b"".join(map(lzma.compress, (data[:1000], b"", data[1000:]))),
    "xz, padded with zeros": lambda data: lzma.compress(data[:9]) + bytes(64) + lzma.compress(data[9:]),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("n_bytes", [1, 15, 300_000])
def test_content_comes_whole_whatever_the_compression_and_the_name(tmp_path, wrapper, n_bytes):
    data = pseudo_text(n_bytes)
    wrapped = WRAPPERS[wrapper](data)
    meter = Meter()
    assert content(written(tmp_path, wrapped, "misnamed.gz"), meter=meter) == data
    assert meter.bytes_read == len(wrapped)


@pytest.mark.parametrize("wrapper", [name for name in WRAPPERS if name != "plain"])
def test_compressed_data_cut_short_anywhere_are_an_error_or_a_whole_part(tmp_path, wrapper):
    data = pseudo_text(3000)
    wrapped = WRAPPERS[wrapper](data)
    n_errors = 0
    for stop in range(4, len(wrapped), max(7, len(wrapped) // 300)):
        path = written(tmp_path, wrapped[:stop])
        try:
            found = content(path)
        except LoadError as error:
            assert error.source == str(path)
            n_errors += 1
        else:
            # The cut fell between two members or frames, or into the padding behind one.
            assert data.startswith(found)
            assert "," in wrapper
    assert n_errors > 5


@pytest.mark.parametrize(
    "compress",
    [gzip.compress, lambda data: zstd(data, write_checksum=True), bz2.compress, lzma.compress],
)
def test_damaged_compressed_data_are_an_error(tmp_path, compress):
    wrapped = bytearray(compress(pseudo_text(5000)))
    wrapped[len(wrapped) // 2] ^= 0x55
    with pytest.raises(LoadError, match=r"damaged (gzip|Zstandard|bzip2|xz) data"):
        content(written(tmp_path, bytes(wrapped)))


@pytest.mark.parametrize("compress", [gzip.compress, zstd, bz2.compress, lzma.compress])
def test_other_bytes_behind_compressed_data_are_an_error(tmp_path, compress):
    with pytest.raises(LoadError, match="damaged"):
        content(written(tmp_path, compress(b"hello") + b"garbage that is long enough"))


def test_an_empty_file_is_empty_unless_its_name_says_it_is_compressed(tmp_path):
    assert content(written(tmp_path, b"", "a.txt")) == b""
    with pytest.raises(LoadError, match="cut short"):
        content(written(tmp_path, b"", "a.gz"))
    assert content(written(tmp_path, gzip.compress(b""), "b.gz")) == b""


@pytest.mark.parametrize(
    ("magic", "kind"),
    [(b"PAR1", "Parquet"), (b"PK\x03\x04", "zip"), (b"\xfd7zXZ\x00", "xz"), (b"BZh91AY&SY", "bzip2")],
)
def test_other_formats_are_named(tmp_path, magic, kind):
    with pytest.raises(LoadError, match=kind):
        content(written(tmp_path, magic + bytes(40)))


def test_text_may_begin_like_bzip2(tmp_path):
    assert content(written(tmp_path, b"BZh is how it begins")) == b"BZh is how it begins"


def test_a_missing_file_and_a_folder_are_load_errors(tmp_path):
    with pytest.raises(LoadError, match="cannot be read: No such file"):
        content(tmp_path / "none")
    with pytest.raises(LoadError, match="cannot be read: it is a folder"):
        content(tmp_path)


@pytest.mark.parametrize(
    ("compress", "n_bytes", "most"),
    [
        (gzip.compress, 1 << 25, 4 << 20),
        (zstd, 1 << 28, 150 << 20),  # returns the output of some input, however large
        (bz2.compress, 1 << 25, 4 << 20),
        (lzma.compress, 1 << 25, 16 << 20),
    ],
)
def test_a_decompression_bomb_is_stopped_in_little_memory(tmp_path, compress, n_bytes, most):
    path = written(tmp_path, compress(bytes(n_bytes)))
    limits = Limits(document_bytes=1 << 20, expansion=100)
    meter = Meter()
    tracemalloc.start()
    try:
        with pytest.raises(ResourceError, match="decompression bomb"):
            for _ in read_chunks(Source(str(path), "x", "text"), limits, meter):
                pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most


def test_highly_compressible_data_within_the_limits_are_read(tmp_path):
    data = b"the same line again\n" * 50_000
    assert content(written(tmp_path, zstd(data)), Limits(document_bytes=len(data), expansion=1)) == data


def test_standard_input_is_read_and_left_open(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(b"hello")))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert content("-") == b"hello"
    assert not stdin.buffer.closed


def test_data_that_trickle_in_are_recognised(monkeypatch):
    class Trickle(io.RawIOBase):
        def __init__(self, data):
            self.data = data

        def read(self, _n=-1):
            self.data, byte = self.data[1:], self.data[:1]
            return byte

    class Stdin:
        buffer = Trickle(gzip.compress(b"slow"))

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert content("-") == b"slow"


def test_a_closed_standard_input_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(LoadError, match="standard input: it is closed"):
        content("-")


@settings(deadline=None)
@given(st.lists(st.text(alphabet="a\n\r", min_size=1).map(str.encode), max_size=8))
def test_lines_are_those_of_the_joined_chunks(chunks):
    whole = b"".join(chunks)
    reader = LineReader(chunks, "x", Limits(100))
    lines = list(reader)
    expected = whole.split(b"\n")
    if expected[-1] == b"":
        expected.pop()
    assert lines == expected
    assert reader.number == len(expected)
    assert reader.unterminated == (whole != b"" and not whole.endswith(b"\n"))


@pytest.mark.parametrize("chunks", [[b"ab\n", b"cd", b"ef"], [b"ab\ncdef\n"], [b"ab\nc", b"def\n"]])
def test_a_line_beyond_the_limit_is_an_error_with_its_number(chunks):
    with pytest.raises(ResourceError, match="x, line 2: longer than 3 bytes") as caught:
        list(LineReader(chunks, "x", Limits(3)))
    assert caught.value.limit == 3
    assert caught.value.asked == 4


def test_an_error_of_the_stream_gets_the_line(tmp_path):
    path = written(tmp_path, gzip.compress(b"one\ntwo\nthree" * 9000)[:-8])
    lines = LineReader(
        read_chunks(Source(str(path), "x", "text"), Limits(), Meter()), str(path), Limits(1 << 20)
    )
    with pytest.raises(LoadError, match="cut short") as caught:
        list(lines)
    assert caught.value.line == lines.number + 1 > 10_000
