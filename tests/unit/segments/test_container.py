"""Writing containers and reading them back."""

from __future__ import annotations

import gc
import json
import struct
import zlib

import numpy as np
import pytest

from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.errors import CorruptionError, FormatVersionError, InvalidArgument
from ngramdb.segments.container import BLOCK_SIZE, SMALL_BLOCK_SIZE, Container, ContainerWriter, FileInfo


def make(fill=lambda writer: None, properties=None, kind="SEGM", **options):
    """The bytes of a container that `fill` has put sections into, and its FileInfo."""
    directory = MemoryDirectory()
    writer = ContainerWriter(directory.create("a.segment"), kind, **options)
    fill(writer)
    info = writer.finish(properties or {})
    return bytes(directory.open_read("a.segment")), info


def opened(data, **options):
    return Container.open(memoryview(data), "a.segment", **options)


def test_sections_and_properties_come_back():
    def fill(writer):
        writer.add("tokens", np.array([1, 2, 65535], dtype=np.uint16))
        writer.add("text", b"some bytes")
        writer.add("nothing", np.zeros(0, dtype=np.int64))

    properties = {"n_tokens": 3, "name": "größe", "nested": {"list": [1, None, True, 0.5]}}
    data, info = make(fill, properties)
    container = opened(data, kind="SEGM", expect=info)
    assert container.array("tokens").tolist() == [1, 2, 65535]
    assert container.array("tokens").dtype == np.dtype("<u2")
    assert bytes(container.section("text")) == b"some bytes"
    assert container.array("nothing").shape == (0,)
    assert container.array("nothing").dtype == np.dtype("<i8")
    assert container.properties == properties
    assert list(container.sections) == ["tokens", "text", "nothing"]
    assert container.has("text") and not container.has("texts")
    assert container.kind == "SEGM"
    assert container.info == info == FileInfo(len(data), info.crc)
    container.verify()


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"])
def test_every_type_comes_back_in_little_endian_order(dtype):
    values = np.arange(7).astype(dtype)
    data, _ = make(lambda writer: writer.add("values", values))
    assert opened(data).array("values").tolist() == values.tolist()
    swapped = values.astype(np.dtype(dtype).newbyteorder(">"))
    again, _ = make(lambda writer: writer.add("values", swapped))
    assert bytes(opened(again).section("values")) == bytes(opened(data).section("values"))


def test_a_container_without_sections_is_sound():
    data, info = make()
    opened(data, expect=info).verify()
    assert opened(data).properties == {}


def test_a_section_written_in_chunks_equals_one_written_at_once():
    values = np.random.default_rng(1).integers(0, 2**32, 50_000, dtype=np.uint32)

    def in_chunks(writer):
        writer.begin("values", "u4")
        for start in range(0, len(values), 777):
            writer.write(values[start : start + 777])
        writer.end()

    whole, info = make(lambda writer: writer.add("values", values), file_id=b"f" * 16)
    chunked, chunked_info = make(in_chunks, file_id=b"f" * 16)
    assert chunked == whole
    assert chunked_info == info


@pytest.mark.parametrize("block_size", [BLOCK_SIZE, SMALL_BLOCK_SIZE, 2 * SMALL_BLOCK_SIZE])
@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, BLOCK_SIZE - 193, BLOCK_SIZE, 3 * BLOCK_SIZE + 1])
def test_sections_are_aligned_followed_by_zeros_and_verified_at_any_length(length, block_size):
    def fill(writer):
        writer.add("first", b"\xff" * length)
        writer.add("second", b"\xff")

    data, info = make(fill, block_size=block_size)
    container = opened(data, expect=info)
    assert container.block_size == block_size
    for place in container.sections.values():
        stop = place.offset + place.length
        assert place.offset % 64 == 0
        assert data[stop : stop + 64] == bytes(64)
    container.verify()


@pytest.mark.parametrize("block_size", [0, 1, 2048, 4095, 5000, 2 * BLOCK_SIZE, -4096])
def test_a_block_has_a_size_that_readers_know(block_size):
    with pytest.raises(InvalidArgument, match="a block must have 4096, 8192, 16384, 32768, 65536 bytes, not"):
        make(block_size=block_size)


def test_programs_that_know_one_size_of_blocks_are_told_of_another():
    reader_flags = [struct.unpack_from("<Q", make(block_size=size)[0], 16)[0] for size in (65536, 4096)]
    assert reader_flags == [0, 1 << 3]


def test_the_checksums_are_those_of_zlib():
    data, _ = make(lambda writer: writer.add("a", bytes(range(256)) * 200), block_size=SMALL_BLOCK_SIZE)
    (table_offset,) = struct.unpack_from("<Q", data, len(data) - 56)
    blocks = [data[i : min(i + 4096, table_offset)] for i in range(0, table_offset, 4096)]
    assert data[table_offset:-64] == struct.pack(f"<{len(blocks)}I", *map(zlib.crc32, blocks))


def test_two_dimensional_arrays_are_stored_row_by_row():
    data, _ = make(lambda writer: writer.add("rows", np.array([[1, 2], [3, 4]], dtype=np.int32)))
    assert opened(data).array("rows").tolist() == [1, 2, 3, 4]


def test_arrays_are_read_only_views_that_keep_the_buffer_alive():
    data, _ = make(lambda writer: writer.add("values", np.arange(1000, dtype=np.uint32)))
    buffer = bytearray(data)
    values = opened(buffer).array("values")
    assert not values.flags.writeable
    with pytest.raises(BufferError):
        buffer.append(0)
    gc.collect()
    assert int(values.sum()) == 499500


def test_a_missing_section_is_an_error_that_names_those_there_are():
    data, _ = make(lambda writer: writer.add("tokens", b""))
    with pytest.raises(CorruptionError, match="no section 'token'; the file has tokens"):
        opened(data).array("token")


def test_the_writer_refuses_what_could_not_be_read_back():
    def refused(fill, match):
        with pytest.raises(InvalidArgument, match=match):
            make(fill)

    refused(lambda w: [w.add("a", b""), w.add("a", b"")], "exists already")
    refused(lambda w: w.add("", b""), "1 to 200 characters")
    refused(lambda w: w.add("a", b"", dtype="u3"), "dtype 'u3'")
    refused(lambda w: w.add("a", np.zeros(3, dtype=complex)), "dtype 'c16'")
    refused(lambda w: w.add("a", b"123", dtype="u2"), "are not a multiple of")
    refused(lambda w: w.add("a", np.arange(10)[::2]), "C-contiguous")
    refused(lambda w: w.add("a", np.arange(3, dtype="u4"), dtype="u2"), "does not fit")
    refused(lambda w: w.begin("a"), "has not ended")
    refused(lambda w: w.write(b"x"), "no section has been begun")
    with pytest.raises(InvalidArgument, match="JSON object"):
        make(properties={"when": object()})
    with pytest.raises(InvalidArgument, match="JSON object"):
        make(properties={"nan": float("nan")})
    with pytest.raises(InvalidArgument, match="kind"):
        make(kind="segm")


def test_another_kind_size_or_checksum_than_expected_is_corruption():
    data, info = make(lambda writer: writer.add("a", b"abc"))
    other, other_info = make(lambda writer: writer.add("a", b"abd"))
    assert info.size == other_info.size
    with pytest.raises(CorruptionError, match="kind SEGM") as caught:
        opened(data, kind="MNFT")
    assert (caught.value.expected, caught.value.found) == ("MNFT", "SEGM")
    with pytest.raises(CorruptionError, match="another file"):
        opened(other, expect=info)
    with pytest.raises(CorruptionError, match="another size") as caught:
        opened(data, expect=FileInfo(info.size + 1, info.crc))
    assert (caught.value.expected, caught.value.found) == (info.size + 1, info.size)


def reheaded(data, offset, packed):
    """`data` with bytes of the header changed, and the header's checksum made right again."""
    header = bytearray(data[:60])
    header[offset : offset + len(packed)] = packed
    return bytes(header) + struct.pack("<I", zlib.crc32(header)) + data[64:]


def test_a_newer_format_is_refused_with_both_versions():
    data, _ = make()
    with pytest.raises(
        FormatVersionError, match="format version 2, and this ngramdb reads up to version 1"
    ) as c:
        opened(reheaded(data, 12, struct.pack("<I", 2)))
    assert (c.value.found, c.value.supported) == (2, 1)


def test_an_unknown_reader_flag_is_refused_and_a_writer_flag_is_reported():
    data, _ = make(reader_flags=1 << 5 | 1 << 40)
    with pytest.raises(FormatVersionError, match="feature bits 5, 40"):
        opened(data)
    data, _ = make(writer_flags=1 << 3)
    assert opened(data).writer_flags == 8


def with_toc(toc, sections_stop=64):
    """A container whose checksums are all right and whose table of contents is `toc`."""
    head, _ = make()
    text = toc if isinstance(toc, bytes) else json.dumps(toc).encode()
    body = head[:64] + bytes(sections_stop - 64) + text
    body += bytes(-len(body) % 64)
    crcs = [zlib.crc32(body[i : i + BLOCK_SIZE]) for i in range(0, len(body), BLOCK_SIZE)]
    table = struct.pack(f"<{len(crcs)}I", *crcs)
    footer = struct.pack(
        "<QQIIIII16s8s",
        sections_stop,
        len(body),
        len(text),
        len(crcs),
        BLOCK_SIZE,
        zlib.crc32(text),
        zlib.crc32(table),
        head[32:48],
        head[:8],
    )
    return body + table + footer + struct.pack("<I", zlib.crc32(footer))


def section(offset=64, length=4, dtype="u4"):
    return {"offset": offset, "length": length, "dtype": dtype}


def toc(**sections):
    return {"sections": sections, "properties": {}}


def test_the_crafted_containers_of_these_tests_are_otherwise_sound():
    data = with_toc(toc(a=section(), b=section(192)), 320)
    container = opened(data)
    container.verify()
    assert container.array("b").tolist() == [0]


@pytest.mark.parametrize(
    ("contents", "match"),
    [
        (toc(a=section(offset=65)), "not a multiple of 64"),
        (toc(a=section(offset=0)), "are invalid"),
        (toc(a=section(offset=-64)), "are invalid"),
        (toc(a=section(length=-4)), "are invalid"),
        (toc(a=section(length=True)), "are invalid"),
        (toc(a=section(length=4.0)), "are invalid"),
        (toc(a=section(length=10**30)), "sections' space"),
        (toc(a=section(offset=2**62)), "sections' space"),
        (toc(a=section(length=256)), "sections' space"),
        (toc(a=section(length=5)), "not a multiple of"),
        (toc(a=section(dtype="<u4")), "dtype"),
        (toc(a=section(dtype="O")), "dtype"),
        (toc(a=section(dtype=["u4"])), "dtype"),
        (toc(a=section(), b=section()), "overlaps"),
        (toc(a=section(length=64), b=section(offset=128)), "overlaps"),
        (toc(a=[]), "not a JSON object"),
        (toc(**{"": section()}), "0 characters"),
        (b'{"sections":{"a":{"offset":64,"length":0,"dtype":"u1"},"a":{}},"properties":{}}', "occurs twice"),
        ({"sections": {}}, "properties"),
        ({"properties": {}}, "sections"),
        ([], "sections"),
        (b"", "is invalid"),
        (b"{", "is invalid"),
        (b"\xff\xfe", "is invalid"),
        (b'{"sections":{},"properties":{"x":NaN}}', "not a JSON number"),
        (b"[" * 100_000, "is invalid"),
        (b'{"sections":{},"properties":{"x":' + b"9" * 5000 + b"}}", "is invalid"),
    ],
)
def test_a_table_of_contents_that_lies_is_corruption(contents, match):
    with pytest.raises(CorruptionError, match=match) as caught:
        opened(with_toc(contents, 320))
    assert caught.value.offset == 320


def test_bytes_other_than_zero_after_a_section_are_found_by_verify():
    data = bytearray(with_toc(toc(a=section(length=0)), 320))
    data[100] = 7
    table = len(data) - 68
    data[table : table + 4] = struct.pack("<I", zlib.crc32(data[:table]))
    footer = data[-64:-4]
    footer[32:36] = struct.pack("<I", zlib.crc32(data[table : table + 4]))
    data[-64:] = footer + struct.pack("<I", zlib.crc32(footer))
    with pytest.raises(CorruptionError, match="other than zero after section 'a'"):
        opened(data).verify()


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (0, struct.pack("<Q", 128)),
        (0, struct.pack("<Q", 65)),
        (0, struct.pack("<Q", 2**63)),
        (8, struct.pack("<Q", 2**64 - 64)),
        (8, struct.pack("<Q", 64)),
        (16, struct.pack("<I", 2**32 - 1)),
        (20, struct.pack("<I", 2**32 - 1)),
        (20, struct.pack("<I", 0)),
        (24, struct.pack("<I", 0)),
        (24, struct.pack("<I", 4096)),
        (36, b"0" * 16),
    ],
)
def test_a_footer_that_lies_is_corruption_even_with_the_right_checksum(offset, value):
    data = with_toc(toc(a=section()), 320)
    footer = bytearray(data[-64:-4])
    footer[offset : offset + len(value)] = value
    with pytest.raises(CorruptionError, match=r"contradicts itself|another file"):
        opened(data[:-64] + bytes(footer) + struct.pack("<I", zlib.crc32(footer)))
