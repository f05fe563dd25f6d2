"""Any change to the bytes of a container is found, by opening it or by verifying it."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.errors import CorruptionError, StorageError
from ngramdb.segments.container import BLOCK_SIZE, SMALL_BLOCK_SIZE, Container, ContainerWriter


def make(n_values, block_size=BLOCK_SIZE):
    directory = MemoryDirectory()
    writer = ContainerWriter(directory.create("a.segment"), "SEGM", block_size=block_size)
    writer.add("values", np.arange(n_values, dtype=np.uint32))
    writer.add("text", b"abc")
    info = writer.finish({"n": n_values})
    return bytes(directory.open_read("a.segment")), info


SMALL, SMALL_INFO = make(50)
LARGE, LARGE_INFO = make(4 * BLOCK_SIZE // 4)
FINE, FINE_INFO = make(4 * BLOCK_SIZE // 4, SMALL_BLOCK_SIZE)


def read_all(data, info=None):
    container = Container.open(memoryview(data), "a.segment", "SEGM", info)
    container.verify()
    return container


def flipped(data, offset, mask):
    changed = bytearray(data)
    changed[offset] ^= mask
    return bytes(changed)


def test_the_undamaged_files_are_sound():
    assert read_all(SMALL, SMALL_INFO).array("values").tolist() == list(range(50))
    read_all(LARGE, LARGE_INFO)


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_of_a_small_file_is_found(mask):
    for offset in range(len(SMALL)):
        with pytest.raises(StorageError):
            read_all(flipped(SMALL, offset, mask))


def test_every_flipped_byte_of_header_and_footer_is_found_by_opening():
    for offset in [*range(64), *range(len(SMALL) - 64, len(SMALL))]:
        with pytest.raises(StorageError):
            Container.open(memoryview(flipped(SMALL, offset, 0x10)), "a.segment")


def test_every_truncation_and_extension_of_a_small_file_is_found_by_opening():
    for length in range(len(SMALL)):
        with pytest.raises(CorruptionError):
            Container.open(memoryview(SMALL[:length]), "a.segment")
    for extra in (1, 64, 128):
        with pytest.raises(CorruptionError):
            Container.open(memoryview(SMALL + bytes(extra)), "a.segment")


@pytest.mark.parametrize(("data", "size"), [(LARGE, BLOCK_SIZE), (FINE, SMALL_BLOCK_SIZE)])
def test_random_flips_in_a_file_of_several_blocks_name_the_block(data, size):
    rng = np.random.default_rng(3)
    table = len(data) - 64 - 4 * (len(data) // size + 1)
    for offset in rng.integers(64, table - 4096, 200).tolist():
        with pytest.raises(CorruptionError) as caught:
            read_all(flipped(data, offset, 1 << int(rng.integers(8))))
        assert caught.value.offset == offset // size * size
        assert isinstance(caught.value.expected, int)
        assert isinstance(caught.value.found, int)
        assert caught.value.expected != caught.value.found
        assert caught.value.path == "a.segment"


def test_the_first_of_several_bad_blocks_is_named():
    data = flipped(flipped(LARGE, 2 * BLOCK_SIZE + 5, 1), 3 * BLOCK_SIZE + 5, 1)
    with pytest.raises(CorruptionError, match=rf"block 2 at byte {2 * BLOCK_SIZE} is damaged") as caught:
        read_all(data)
    assert caught.value.offset == 2 * BLOCK_SIZE


def test_zeroed_pages_and_swapped_blocks_are_found():
    for page in range(0, len(LARGE) // 4096):
        changed = bytearray(LARGE)
        changed[page * 4096 : (page + 1) * 4096] = bytes(4096)
        with pytest.raises(StorageError):
            read_all(bytes(changed))
    one, two = LARGE[BLOCK_SIZE : 2 * BLOCK_SIZE], LARGE[2 * BLOCK_SIZE : 3 * BLOCK_SIZE]
    with pytest.raises(CorruptionError, match="block 1"):
        read_all(LARGE[:BLOCK_SIZE] + two + one + LARGE[3 * BLOCK_SIZE :])


def test_a_range_is_verified_by_the_blocks_that_it_touches_and_no_others():
    bad = 5 * SMALL_BLOCK_SIZE + 17
    container = Container.open(memoryview(flipped(FINE, bad, 1)), "a.segment", "SEGM", FINE_INFO)
    container.verify_range(0, 5 * SMALL_BLOCK_SIZE)
    container.verify_range(6 * SMALL_BLOCK_SIZE, 20 * SMALL_BLOCK_SIZE)
    for start, stop in [(bad, bad + 1), (0, 5 * SMALL_BLOCK_SIZE + 1), (6 * SMALL_BLOCK_SIZE - 1, 10**5)]:
        with pytest.raises(CorruptionError, match=rf"block 5 at byte {5 * SMALL_BLOCK_SIZE} is damaged"):
            container.verify_range(start, stop)


def test_a_file_made_of_two_files_is_found():
    other, _ = make(50)
    assert len(other) == len(SMALL)
    with pytest.raises(CorruptionError, match="footer of another file"):
        read_all(SMALL[:64] + other[64:])


def test_damage_after_opening_is_found_by_verify():
    for offset in (3, 40, 100, len(SMALL) - 80, len(SMALL) - 20):
        buffer = bytearray(SMALL)
        container = Container.open(memoryview(buffer), "a.segment")
        container.verify()
        buffer[offset] ^= 1
        with pytest.raises(CorruptionError):
            container.verify()
