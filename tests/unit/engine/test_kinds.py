"""Segments are opened by the kind that the manifest names, and carried over whatever it is."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from support.changes import compact, delete_documents
from support.plain_kind import PlainSegment, make_plain

from ngramdb.engine.storage.manifest import Manifest
from ngramdb.errors import CorruptionError, FormatVersionError
from ngramdb.segments.base import Segment
from ngramdb.segments.container import SEGMENT_KINDS
from ngramdb.segments.segment import Kind, NativeSegment, register

DOCUMENTS = ["to be or not to be", "", "be that as it may", "to be", "it may be", "not to be that way"]


@pytest.fixture
def mixed(database):
    """Two native segments and two plain ones, one of the latter of removed documents."""
    database.create(tokenizer="words")
    for first in (0, 2, 4):
        database.load(DOCUMENTS[first : first + 2])
    gone = [np.array(numbers, dtype=np.uint32) for numbers in ([1], [], [0])]
    delete_documents(database.store, "c", lambda view: gone, segment_tokens=10**6, auto_compact=False)
    make_plain(database.store)
    return database


def test_a_segment_is_opened_by_its_kind(mixed):
    view = mixed.view()
    kinds = [type(segment) for segment in (*view.segments, *view.subtracted)]
    assert kinds == [NativeSegment, PlainSegment, NativeSegment, PlainSegment]
    assert view.index.count(view.tokenizer.encode("be")) == 5
    view.check()


def test_manifests_name_other_kinds_only(mixed):
    manifest = mixed.store.manifest
    entries = json.loads(manifest.to_json())["corpora"][0]["segments"]
    assert [entry.get("kind") for entry in entries] == [None, "plain", None, "plain"]
    assert Manifest.from_json(manifest.to_json(), "m") == manifest
    assert manifest.flags & manifest.writer_flags & SEGMENT_KINDS
    native = replace(manifest, corpora={})
    assert not native.flags & SEGMENT_KINDS


def test_a_name_that_is_none_is_corruption(mixed):
    text = mixed.store.manifest.to_json()
    with pytest.raises(CorruptionError, match="kind"):
        Manifest.from_json(text.replace(b'"plain"', b'"../x"'), "m")


def test_an_unknown_kind_is_named(mixed):
    with mixed.store.begin() as transaction:
        entry = transaction.manifest.corpora["c"]
        segments = tuple(replace(segment, kind="from-the-future") for segment in entry.segments)
        transaction.commit({"c": replace(entry, segments=segments)}, "a kind that nobody knows")
    view = mixed.view()
    assert view.n_documents == 4  # data in the manifest can be queried
    known = "'from-the-future'; this ngramdb supports .*native"
    with pytest.raises(FormatVersionError, match=known) as failed:
        view.index.count([1])
    assert failed.value.found == "from-the-future" and "native" in failed.value.supported
    assert failed.value.path.startswith(mixed.directory.description)


def test_a_name_has_one_kind():
    with pytest.raises(ValueError, match="'native'"):
        register(Kind("native", "OTHR", PlainSegment))


@pytest.mark.parametrize("whole", [True, False])
def test_segments_of_any_kind_are_merged_into_native_ones(mixed, whole):
    before = mixed.view()
    texts = [before.segments[1].text(i, before.tokenizer) for i in range(2)]
    segment_tokens = 10**6 if whole else 8
    compact(mixed.store, "c", segment_tokens=segment_tokens)
    after = mixed.view()
    assert all(isinstance(segment, NativeSegment) for segment in after.segments) or not whole
    assert not after.subtracted
    assert after.index.count(after.tokenizer.encode("be")) == 5
    found = [segment for segment in after.segments if segment.local_of(2) is not None]
    assert [found[0].text(found[0].local_of(k), after.tokenizer) for k in (2, 3)] == texts
    after.check()


def test_defaults_are_what_the_native_kind_answers(mixed):
    for segment in mixed.view().segments:
        if isinstance(segment, NativeSegment):
            numbers = np.arange(segment.n_documents, dtype=np.uint32)
            assert Segment.lengths(segment, numbers).tolist() == segment.lengths(numbers).tolist()
            for answer, expected in zip(
                Segment.token_ids(segment, numbers), segment.token_ids(numbers), strict=True
            ):
                assert answer.dtype == expected.dtype and answer.tolist() == expected.tolist()
            assert Segment.largest_id(segment) == segment.largest_id()
