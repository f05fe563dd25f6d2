"""The text column gives back every stored text, and nothing for a damaged file but an error."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.errors import CorruptionError
from ngramdb.segments import text as text_module
from ngramdb.segments.recent import Recent
from ngramdb.segments.text import FRAME_BYTES, TextBuilder, TextReader


class Sections:
    """The sections of a container, from memory."""

    def __init__(self, sections):
        self.arrays = {name: np.array(data).astype(dtype) for name, (data, dtype) in sections.items()}

    def has(self, name):
        return name in self.arrays

    def array(self, name):
        return self.arrays[name]

    sliced = array

    def verify_part(self, name, start, stop):
        pass


def built(texts):
    builder = TextBuilder()
    for text in texts:
        builder.add(text)
    return Sections(builder.sections())


def noise(n_bytes, seed=7):
    return random.Random(seed).randbytes(n_bytes)


@settings(deadline=None)
@given(st.lists(st.none() | st.binary(max_size=60), max_size=40), st.integers(1, 50))
def test_every_text_comes_back_whatever_the_frame_size(texts, frame_bytes):
    before = text_module.FRAME_BYTES
    text_module.FRAME_BYTES = frame_bytes
    try:
        reader = TextReader(built(texts), len(texts))
        assert [reader.text(i) for i in range(len(texts))] == texts
        reader.check()
    finally:
        text_module.FRAME_BYTES = before


@given(st.lists(st.lists(st.none() | st.sampled_from([b"", b"ab", b"c" * 9]), max_size=6), max_size=8))
def test_texts_added_together_are_stored_as_one_by_one(parts):
    builder = TextBuilder()
    for texts in parts:
        builder.extend(texts)
    together = Sections(builder.sections()).arrays
    alone = built([text for texts in parts for text in texts]).arrays
    assert {name: data.tolist() for name, data in together.items()} == {
        name: data.tolist() for name, data in alone.items()
    }


def test_texts_around_the_frame_size_come_back_in_any_order():
    sizes = [0, 1, FRAME_BYTES - 2, 1, FRAME_BYTES, FRAME_BYTES + 1, 3 * FRAME_BYTES, 5, 0]
    texts = [noise(size, seed) for seed, size in enumerate(sizes)]
    reader = TextReader(built(texts), len(texts))
    order = [*range(len(texts))] * 2
    random.Random(1).shuffle(order)
    assert all(reader.text(i) == texts[i] for i in order)


def test_an_empty_stored_text_is_not_a_missing_one():
    reader = TextReader(built([b"", None, b"x", None]), 4)
    assert [reader.text(i) for i in range(4)] == [b"", None, b"x", None]
    assert [reader.has_text(i) for i in range(4)] == [True, False, True, False]


def test_only_empty_texts_are_stored_without_a_frame():
    sections = built([b"", b""])
    assert len(sections.array("text.frames")) == 0
    assert [TextReader(sections, 2).text(i) for i in range(2)] == [b"", b""]


def test_nothing_is_written_when_no_text_needs_storing():
    sections = built([None, None])
    assert sections.arrays == {}
    reader = TextReader(sections, 2)
    assert reader.text(1) is None
    reader.check()


def test_a_document_beyond_the_last_is_an_index_error():
    for sections in (built([b"a"]), built([None])):
        with pytest.raises(IndexError):
            TextReader(sections, 1).text(1)
        with pytest.raises(IndexError):
            TextReader(sections, 1).text(-1)


def test_a_short_document_decompresses_only_the_frames_it_lies_in(monkeypatch):
    texts = [noise(FRAME_BYTES // 4, seed) for seed in range(40)]
    reader = TextReader(built(texts), len(texts))
    seen = []
    decompress = TextReader._decompress
    monkeypatch.setattr(TextReader, "_decompress", lambda self, k: seen.append(k) or decompress(self, k))
    assert reader.text(21) == texts[21]
    assert seen == [5]
    # Each frame is decompressed once.
    assert [reader.text(i) for i in range(40)] == texts
    assert seen == [5, *(k for k in range(10) if k != 5)]


def test_raw_text_is_not_kept_while_building():
    builder = TextBuilder()
    for _ in range(64):
        builder.add(b"abcdefgh" * (FRAME_BYTES // 8))
    assert builder.n_bytes < 2 * FRAME_BYTES


@pytest.mark.parametrize("name", ["text.offsets", "text.stored", "text.frame_offsets", "text.frames"])
def test_a_section_cut_short_is_corruption(name):
    sections = built([noise(1000), b"b", None])
    sections.arrays[name] = sections.arrays[name][:-1]
    with pytest.raises(CorruptionError, match="damaged text column"):
        TextReader(sections, 3, path="x.segment").check()


def test_a_frame_that_claims_a_huge_size_is_refused_before_anything_is_allocated():
    import zstandard

    sections = built([b"a" * 100])
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 24))
    sections.arrays["text.frames"] = np.frombuffer(bomb, dtype=np.uint8)
    sections.arrays["text.frame_offsets"] = np.array([0, len(bomb)], dtype=np.uint64)
    with pytest.raises(CorruptionError, match="expected 100, found 16777216"):
        TextReader(sections, 1).text(0)


def test_any_flipped_bit_gives_an_error_or_the_right_text():
    texts = [b"some text to keep " * 20, noise(300)]
    rng = random.Random(5)
    for _ in range(1500):
        sections = built(texts)
        frames = sections.arrays["text.frames"]
        frames[rng.randrange(len(frames))] ^= 1 << rng.randrange(8)
        reader = TextReader(sections, 2)
        try:
            assert [reader.text(0), reader.text(1)] == texts
        except CorruptionError:
            continue


def test_any_damaged_offset_gives_an_error_and_never_a_crash():
    rng = random.Random(6)
    n_errors = 0
    for _ in range(1500):
        sections = built([noise(FRAME_BYTES), b"b" * 100, None, b"c"])
        array = sections.arrays[rng.choice(["text.offsets", "text.frame_offsets"])]
        array[rng.randrange(len(array))] ^= np.uint64(1 << rng.randrange(64))
        try:
            reader = TextReader(sections, 4)
            reader.check()
            for i in range(4):
                reader.text(i)
        except CorruptionError:
            n_errors += 1
    assert n_errors > 1000


def test_values_used_last_are_kept_up_to_a_number_of_bytes():
    recent = Recent(10)
    for k in range(4):
        recent.keep((0, k), "four", 4)
    assert [recent.get((0, k)) for k in range(4)] == [None, None, "four", "four"]
    for key, value, n_bytes in (((0, 2), "four", 4), ((1, 0), "two", 2), ((1, 1), "one", 1)):
        recent.keep(key, value, n_bytes)
    assert recent.get((0, 3)) is None
    assert [recent.get(key) for key in ((0, 2), (1, 0), (1, 1))] == ["four", "two", "one"]


def test_a_frame_is_decompressed_once_for_documents_in_any_order(monkeypatch):
    texts = [noise(FRAME_BYTES, seed) for seed in range(3)]
    reader, other = TextReader(built(texts), 3), TextReader(built(texts[::-1]), 3)
    assert [reader.text(i) for i in range(3)] == texts
    assert [other.text(i) for i in range(3)] == texts[::-1]
    damaged = CorruptionError("damaged", path=None, expected=0, found=0)
    monkeypatch.setattr(TextReader, "_decompress", lambda reader, k: (_ for _ in ()).throw(damaged))
    assert [reader.text(i) for i in (2, 0, 1, 0)] == [texts[i] for i in (2, 0, 1, 0)]
    with pytest.raises(CorruptionError):
        reader.check()
