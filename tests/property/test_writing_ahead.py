"""Sections that are written ahead, in any order and in pieces, make the file that is written in turn."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.engine.storage.directory import MemoryDirectory, RealDirectory, real
from ngramdb.errors import InvalidArgument
from ngramdb.segments.container import BLOCK_SIZE, SMALL_BLOCK_SIZE, Container, ContainerWriter

NAME = "a.segment"
LENGTHS = st.sampled_from([0, 1, 63, 64, 4095, 4096, 4097, 9000, 70_000]) | st.integers(0, 20_000)
# The length of each section, and whether it is written ahead of those before it.
SECTIONS = st.lists(st.tuples(LENGTHS, st.booleans()), min_size=1, max_size=6)


def content_of(lengths):
    random = np.random.default_rng(7)
    return [random.integers(0, 256, n, dtype=np.uint8) for n in lengths]


def pieces_of(data, size):
    return [data[i : i + size] for i in range(0, len(data), size)]


@given(
    SECTIONS,
    st.sampled_from([1, 1000, 4096, 100_000]),
    st.sampled_from([4096, 8192, 1 << 21]),
    st.sampled_from([SMALL_BLOCK_SIZE, BLOCK_SIZE]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=80, derandomize=True, deadline=None)
def test_the_file_is_the_same(sections, size, huge_page, block_size, random):
    size = max(size, sum(length for length, _ in sections) // 200)
    contents = content_of(length for length, _ in sections)
    options = {"kind": "SEGM", "file_id": bytes(16), "block_size": block_size}
    memory = MemoryDirectory()
    plain = ContainerWriter(memory.create(NAME), **options)
    for i, data in enumerate(contents):
        plain.add(f"s{i}", data)
    expected = plain.finish({"x": 1})
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "_HUGE_PAGE", huge_page)
        writer = ContainerWriter(RealDirectory(folder).create(NAME), **options)
        place = writer.offset
        ahead, waiting = {}, []
        for i, (data, (_, is_ahead)) in enumerate(zip(contents, sections, strict=True)):
            if is_ahead:
                ahead[i] = writer.ahead(f"s{i}", "u1", place)
                waiting.append((ahead[i], pieces_of(data, size)))
            place = writer.following(len(data), place)
        waiting = [(section, pieces) for section, pieces in waiting if pieces]
        while waiting:
            section, pieces = random.choice(waiting)
            section.write(pieces.pop(0))
            waiting = [(section, pieces) for section, pieces in waiting if pieces]
        for i, data in enumerate(contents):
            if i in ahead:
                ahead[i].add()
            else:
                writer.begin(f"s{i}", "u1")
                for piece in pieces_of(data, size):
                    writer.write(piece)
                writer.end()
        found = writer.finish({"x": 1})
        written = (Path(folder) / NAME).read_bytes()
    assert written == bytes(memory.open_read(NAME)) and found == expected
    Container.open(memoryview(written), NAME, kind="SEGM", expect=found).verify()


def test_a_section_that_does_not_begin_where_it_was_said_is_refused(tmp_path):
    writer = ContainerWriter(RealDirectory(tmp_path).create(NAME), "SEGM")
    ahead = writer.ahead("late", "u1", writer.following(10))
    ahead.write(b"abc")
    writer.add("early", bytes(1000))
    with pytest.raises(InvalidArgument, match="section 'late' begins at"):
        ahead.add()


def test_a_file_that_cannot_write_ahead_says_so():
    writer = ContainerWriter(MemoryDirectory().create(NAME), "SEGM")
    assert writer.ahead("late", "u1", writer.following(10)) is None
