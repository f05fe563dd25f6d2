"""Segments made of others have the very bytes of one that is built of their documents, however done."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.indexes import packed
from support.large_segments import no_room_for_lcps

from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.segments import merged_arrays
from ngramdb.segments.base import Breaks, Part
from ngramdb.segments.builder import SegmentBuilder
from ngramdb.segments.container import Container
from ngramdb.segments.far_index import KIND
from ngramdb.segments.merging import Means, write_merged
from ngramdb.segments.segment import NativeSegment

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
# Ids at the ends of the widths: which of them occur decides on width and gap.
ALPHABETS = [
    [0],
    [0, 1],
    [0, 1, 2, 250],
    [253, 254, 255],
    [254, 255, 256],
    [65533, 65534, 65535],
    [7, 65535, 65536],
]
# Whether the system reports texts in memory as being in pages of 4 KB.
MEANS = [
    (Means(), None),
    *((Means(merges=True, threads=threads), None) for threads in (1, 2, 4)),
    *(
        (Means(merges=True, threads=threads, most_held=1 << 30), large)
        for threads in (1, 2)
        for large in (0, None)
    ),
]
NONE = (None, {}, None, ())
FORMAT = Path(__file__).parents[2] / "FORMAT.md"


@st.composite
def corpora(draw):
    """Segments of documents (ids, text, metadata, form, breaks), and which documents stay."""
    n_segments = draw(st.sampled_from([1, 2, 3, 9]))
    texts = st.sampled_from([None, b"", b"some text", b"x" * 300_000])
    fields = st.sampled_from([{}, {"a": 1}, {"a": "b", "c": None}])
    forms = st.sampled_from([None, b'A{"text":1}'])
    has_extras, is_broken = draw(st.booleans()), draw(st.booleans())
    pool: list[list[int]] = []
    segments = []
    for _ in range(n_segments):
        alphabet = draw(st.sampled_from(ALPHABETS))
        new = st.lists(st.sampled_from(alphabet), max_size=12)
        pool += draw(st.lists(new, min_size=1, max_size=3))
        places = st.sets(st.integers(1, 12), max_size=4) if is_broken else st.just(set())
        extras = (
            st.tuples(texts, fields, forms, places)
            if has_extras
            else st.tuples(*map(st.just, NONE[:3]), places)
        )
        segments.append(draw(st.lists(st.tuples(st.sampled_from(pool), extras), min_size=1, max_size=5)))
    kept = [
        draw(st.just([True] * len(one)) | st.lists(st.booleans(), min_size=len(one), max_size=len(one)))
        for one in segments
    ]
    return segments, kept


def opened(directory, name):
    return NativeSegment(Container.open(directory.open_read(name), name, KIND), name)


def built(documents, first_doc_id=0):
    builder = SegmentBuilder(first_doc_id)
    for ids, (text, fields, form, places) in documents:
        flat, offsets = packed([ids])
        width = next(w for w in (np.uint8, np.uint16, np.uint32) if max(ids, default=0) <= np.iinfo(w).max)
        breaks = np.array(sorted(place for place in places if place < len(ids)), dtype=np.int64)
        builder.add(flat.astype(width), offsets, [text], [fields], [form], breaks=Breaks(breaks, 3 * breaks))
    directory = MemoryDirectory()
    builder.write(directory.create("segments/a.segment"))
    return opened(directory, "segments/a.segment")


def sections_of(segment, without=()):
    """Names and bytes in file order, and properties."""
    container = segment._container
    places = sorted(container.sections.items(), key=lambda item: item[1].offset)
    found = [
        (name, place.dtype, bytes(container.section(name))) for name, place in places if name not in without
    ]
    # A copy of the header, which has the number that a file draws for itself.
    without = (*without, "header")
    return found, {k: v for k, v in container.properties.items() if k not in without}


@EXAMPLES
@given(
    corpora(),
    st.sampled_from([3, 40, 1 << 20]),
    st.booleans(),
    st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_merging_and_sorting_and_building_give_the_same_bytes(corpus, chunk_rows, beside, were_beside):
    segments, kept = corpus
    first, parts = 0, []
    for documents, marks, was_beside in zip(segments, kept, were_beside, strict=False):
        with no_room_for_lcps(was_beside):
            parts.append(Part(built(documents, first), np.flatnonzero(marks).astype(np.uint32)))
        first += len(documents)
    left = [
        document
        for documents, marks in zip(segments, kept, strict=True)
        for document, stays in zip(documents, marks, strict=True)
        if stays
    ]
    if not left:
        return
    ids = np.concatenate([part.segment.doc_ids(part.numbers) for part in parts])
    # Fields that only documents had which go stay columns.
    fields, fields_left = (
        {name for _, (_, names, *_) in all_of_them for name in names}
        for all_of_them in ([document for one in segments for document in one], left)
    )
    ids_differ = ("documents.ids", "first_doc_id", *(("metadata",) if fields != fields_left else ()))
    with no_room_for_lcps(beside):
        expected = sections_of(built(left), ids_differ)
    assert any(name == "far.lcps" for name, _, _ in expected[0]) == beside
    with pytest.MonkeyPatch.context() as patch, no_room_for_lcps(beside):
        patch.setattr(merged_arrays, "CHUNK_ROWS", chunk_rows)
        patch.setattr(merged_arrays, "HELD_FROM", 1)
        for means, large in MEANS:
            patch.setattr(merged_arrays, "bytes_in_large_pages", lambda large=large: large)
            directory = MemoryDirectory()
            write_merged(directory.create("segments/b.segment"), parts, means=means)
            found = opened(directory, "segments/b.segment")
            assert sections_of(found, ids_differ) == expected, means
            assert found.doc_ids().tolist() == ids.tolist()
            found.check()


def test_sections_are_written_in_the_order_of_the_format():
    table = FORMAT.read_text(encoding="utf-8").split("## Segment sections")[1].split("### Tokens")[0]
    described = re.findall(r"^\| `([a-z_.]+)", table, re.MULTILINE)
    extras = (b"text", {"a": 1}, b'A{"text":1}', {1})  # sentences are found by loads alone
    found, _ = sections_of(built([([1, 2], extras), ([3], extras)]))
    names = [
        name.split(".")[0] + "." if name.startswith(("text.", "form.")) else name for name, _, _ in found
    ]
    assert list(dict.fromkeys(names)) == [
        name
        for name in described
        if name not in ("documents.ids", "sentences") and not name.startswith("far.")
    ]


@pytest.mark.parametrize(("most_held", "n_held"), [(0, 0), (39, 0), (40, 2)])
def test_texts_are_held_as_far_as_there_is_room(monkeypatch, most_held, n_held):
    monkeypatch.setattr(merged_arrays, "HELD_FROM", 1)
    held = []
    copy = merged_arrays._NativePart.copy

    def noted(part, room, *rest):
        held.append(len(room))
        copy(part, room, *rest)

    monkeypatch.setattr(merged_arrays._NativePart, "copy", noted)
    segments = [built([([300, 2, 3] * 3, NONE)]), built([([2, 300, 1] * 3, NONE)], 1)]
    parts = [Part(segment, np.arange(1, dtype=np.uint32)) for segment in segments]
    means = Means(True, most_held=most_held)
    write_merged(MemoryDirectory().create("segments/d.segment"), parts, means=means)
    assert held == [10] * n_held  # two bytes each


def test_rows_are_reported_while_they_are_merged(monkeypatch):
    monkeypatch.setattr(merged_arrays, "CHUNK_ROWS", 10)
    segments = [built([([1, 2, 3] * 9, NONE)]), built([([2, 3, 1] * 9, NONE)], 1)]
    parts = [Part(segment, np.arange(1, dtype=np.uint32)) for segment in segments]
    reported: list[int] = []
    write_merged(
        MemoryDirectory().create("segments/c.segment"), parts, means=Means(True, 2, on_rows=reported.append)
    )
    assert sum(reported) == 54
    assert len(reported) > 2
