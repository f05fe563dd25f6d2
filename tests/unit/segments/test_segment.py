"""A segment's file: what was built is what is read, and `check` finds whatever is wrong."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.indexes import packed
from support.reference import ReferenceSegment

from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.errors import CorruptionError, QueryCancelled, ResourceError
from ngramdb.interrupts import Interrupt
from ngramdb.segments import builder as builder_module
from ngramdb.segments.base import Part
from ngramdb.segments.builder import SegmentBuilder
from ngramdb.segments.container import Container, ContainerWriter
from ngramdb.segments.far_index import KIND
from ngramdb.segments.merging import write_merged
from ngramdb.segments.segment import NativeSegment
from ngramdb.tokenizers.chars import BytesTokenizer

DOCUMENTS = [[1, 2, 3, 1, 2], [], [300, 1], [1, 2, 3, 1, 2], [2] * 70]
ARRAYS = ("tokens", "documents.starts", "suffix_array", "directory.tree", "directory.rest")


def built(documents, first_doc_id=0, texts=None, metadata=None, stop=None, batch=10**6):
    """The segment's file and its summary."""
    builder = SegmentBuilder(first_doc_id)
    for start in range(0, len(documents), batch):
        part = documents[start : start + batch]
        flat, offsets = packed(part)
        stored = texts[start : start + batch] if texts else [None] * len(part)
        fields = metadata[start : start + batch] if metadata else [{}] * len(part)
        builder.add(flat.astype(np.uint32), offsets, stored, fields)
    directory = MemoryDirectory()
    summary = builder.write(directory.create("segments/a.segment"), stop)
    return bytes(directory.open_read("segments/a.segment")), summary


def opened(content, path="a.segment"):
    return NativeSegment(Container.open(memoryview(content), path, KIND), path)


def rewritten(content, changes=None, properties=None, leave_out=()):
    """The same file with other sections or properties, all its checksums right."""
    container = Container.open(memoryview(content), "a.segment", KIND)
    directory = MemoryDirectory()
    writer = ContainerWriter(directory.create("segments/b.segment"), kind=KIND)
    for name in container.sections:
        if name not in leave_out:
            writer.add(name, (changes or {}).get(name, container.array(name)))
    writer.finish({**container.properties, **(properties or {})})
    return bytes(directory.open_read("segments/b.segment"))


def test_large_arrays_are_written_and_released_piece_by_piece(monkeypatch):
    # Pieces of several large pages: what is released before it is written would read as zeros.
    documents = [list(range(k, k + 900)) for k in range(1600)]
    whole, _ = built(documents)
    monkeypatch.setattr(builder_module, "PIECE", 5 << 17)
    in_pieces, _ = built(documents)
    sections = Container.open(memoryview(in_pieces), "a.segment", KIND)
    expected = Container.open(memoryview(whole), "a.segment", KIND)
    for name in ARRAYS:
        assert sections.array(name).tolist() == expected.array(name).tolist()
    opened(in_pieces).check()


def test_the_arrays_of_another_segment_outlive_the_writing_of_a_new_one():
    # All documents of one segment: the new one's rows are the old one's, as they lie in its file.
    content, _ = built([list(range(k, k + 900)) for k in range(40)])
    segment = opened(content)
    before = bytes(content)
    directory = MemoryDirectory()
    part = Part(segment, np.arange(segment.n_documents, dtype=np.uint32))
    summary = write_merged(directory.create("segments/b.segment"), [part])
    assert summary.n_tokens == segment.n_tokens
    assert content == before
    merged = opened(bytes(directory.open_read("segments/b.segment")))
    merged.check()
    assert merged.rows.tolist() == segment.rows.tolist()


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_what_was_built_is_what_is_read(batch):
    rng = random.Random(batch)
    for documents in (
        DOCUMENTS,
        [],
        [[]],
        [[rng.randrange(3) for _ in range(rng.randrange(9))] for _ in range(80)],
    ):
        content, summary = built(documents, first_doc_id=17, batch=batch)
        segment, reference = opened(content), ReferenceSegment(documents)
        numbers = (reference.n_tokens, len(documents), 17)
        assert (summary.n_tokens, summary.n_documents, summary.first_doc_id) == numbers
        assert (segment.n_tokens, segment.n_documents, segment.first_doc_id) == numbers
        assert summary.file == Container.open(memoryview(content), "a", KIND).info
        assert segment.size_bytes == len(content)
        assert [segment.document(i).tolist() for i in range(len(documents))] == documents
        assert [segment.document_length(i) for i in range(len(documents))] == list(map(len, documents))
        everything = segment.index.positions(0, segment.n_tokens)
        assert everything.tolist() == reference.positions(0, reference.n_tokens).tolist()
        segment.check()


def test_texts_come_from_the_file_or_from_the_ids():
    texts = [b"stored \xff bytes", None, b""]
    segment = opened(built([[104, 105], [104, 105], [104]], texts=texts)[0])
    assert [segment.text(i, BytesTokenizer()) for i in range(3)] == [b"stored \xff bytes", b"hi", b""]
    segment.check()


def test_metadata_belongs_to_its_document():
    rows = [{"a": 1, "b": {"c": "x"}}, {}, {"a": 2.5}, {"b": {"c": None}}, {"a": None}]
    segment = opened(built(DOCUMENTS, metadata=rows, batch=2)[0])
    assert [segment.metadata.row(i) for i in range(3)] == [{"a": 1, "b": {"c": "x"}}, {}, {"a": 2.5}]
    segment.check()


def test_opening_reads_none_of_the_arrays():
    content, _ = built(DOCUMENTS)
    whole = Container.open(memoryview(content), "a.segment", KIND)
    damaged = bytearray(content)
    for name in (*ARRAYS, "metadata"):
        place = whole.sections[name]
        damaged[place.offset : place.offset + place.length] = b"\xff" * place.length
    segment = opened(damaged)
    assert (segment.n_tokens, segment.n_documents) == (82, 5)
    with pytest.raises(CorruptionError):
        segment.index.find([1])


@pytest.mark.parametrize("name", ARRAYS[1:])
def test_check_finds_every_wrong_entry_though_all_checksums_are_right(name):
    content, _ = built(DOCUMENTS)
    right = Container.open(memoryview(content), "a.segment", KIND).array(name)
    opened(rewritten(content)).check()
    for i in range(len(right)):
        for change in (1, 2, 250):
            wrong = right.copy()
            wrong[i] ^= wrong.dtype.type(change)
            with pytest.raises(CorruptionError, match=r"a\.segment"):
                opened(rewritten(content, {name: wrong})).check()


def test_check_lets_other_tokens_pass_only_where_they_make_a_segment():
    content, _ = built(DOCUMENTS)
    right = Container.open(memoryview(content), "a.segment", KIND).array("tokens")
    n_passed = 0
    for i in range(len(right)):
        for change in (1, 2, 3, 250, 512):
            wrong = right.copy()
            wrong[i] ^= change
            segment = opened(rewritten(content, {"tokens": wrong}))
            try:
                segment.check()
            except CorruptionError:
                continue
            n_passed += 1
            again = built([segment.document(k).tolist() for k in range(segment.n_documents)])[0]
            for name in ARRAYS[1:4]:
                there = Container.open(memoryview(again), "a", KIND).array(name)
                assert np.array_equal(there, Container.open(memoryview(content), "a", KIND).array(name))
    assert 0 < n_passed < len(right)


@pytest.mark.parametrize("name", ARRAYS)
def test_sections_that_do_not_fit_together_are_found_when_opened(name):
    content, _ = built(DOCUMENTS)
    right = Container.open(memoryview(content), "a.segment", KIND).array(name)
    for wrong in (right[:-1], np.append(right, right[:1]), right[:0], right.astype(np.int64)):
        with pytest.raises(CorruptionError, match="damaged"):
            opened(rewritten(content, {name: wrong})).index.find([1])
    with pytest.raises(CorruptionError, match=name):
        opened(rewritten(content, leave_out=[name])).index.find([1])


@pytest.mark.parametrize("name", ["n_tokens", "n_documents", "first_doc_id", "gap"])
def test_properties_that_make_no_sense_are_found(name):
    content, _ = built(DOCUMENTS)
    for value in (-1, 2**63, 2**80, True, "1", None, 1.0):
        with pytest.raises(CorruptionError, match=name):
            opened(rewritten(content, properties={name: value})).index.find([1])
    if name in ("n_tokens", "n_documents"):
        with pytest.raises(CorruptionError):
            opened(rewritten(content, properties={name: 81})).check()


def test_a_gap_that_the_width_does_not_have_is_found():
    content, _ = built(DOCUMENTS)
    for gap in (2**16, 2**32, 2**63 - 1):
        with pytest.raises(CorruptionError, match="gap"):
            opened(rewritten(content, properties={"gap": gap})).index.find([1])


def test_a_stop_token_ends_the_building():
    stop = Interrupt()
    stop.set()
    with pytest.raises(QueryCancelled):
        built(DOCUMENTS, stop=stop)


def test_more_symbols_than_a_segment_holds_are_refused(monkeypatch):
    monkeypatch.setattr(builder_module, "MAX_SYMBOLS", 7)
    built([[1, 2], [3], []])
    for documents in ([[1, 2], [3], [4, 5]], [[1] * 7], [[]] * 8):
        for batch in (1, 10):
            with pytest.raises(ResourceError) as caught:
                built(documents, batch=batch)
            assert caught.value.limit == 7 and caught.value.asked > 7
