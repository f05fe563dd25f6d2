"""Batches of documents, and reading one ahead."""

from __future__ import annotations

import threading

import pytest

from ngramdb.engine.loading import encoding as module
from ngramdb.engine.loading.encoding import batches, read_ahead
from ngramdb.errors import LoadError


def shapes(stream):
    return [(len(batch.documents), batch.n_bytes, batch.has_ids) for batch in stream]


def test_batches_end_at_a_number_of_documents_or_bytes(monkeypatch, make_document):
    monkeypatch.setattr(module, "BATCH_DOCUMENTS", 3)
    monkeypatch.setattr(module, "BATCH_TEXT_BYTES", 10)
    monkeypatch.setattr(module, "BATCH_ID_BYTES", 8)
    texts = [make_document(text) for text in ("a", "b", "c", "d" * 9, "e", "f" * 50, "", "g")]
    assert shapes(batches(iter(texts))) == [(3, 3, False), (2, 10, False), (1, 50, False), (2, 1, False)]
    ids = [make_document(one) for one in ([1], [], [2], [3, 4], [5])]
    assert shapes(batches(iter(ids))) == [(3, 8, True), (1, 8, True), (1, 4, True)]
    assert shapes(batches(iter([]))) == []


def test_ids_and_text_never_share_a_batch(make_document):
    documents = [make_document(one) for one in ("a", [1, 2], [3], [], "b", "c")]
    found = list(batches(iter(documents)))
    assert shapes(found) == [(1, 1, False), (3, 12, True), (2, 2, False)]
    assert [document for batch in found for document in batch.documents] == documents


def test_a_document_with_neither_names_its_place(make_document):
    bad = make_document([1])
    bad.ids, bad.source, bad.line = None, "file.jsonl", 7
    with pytest.raises(LoadError, match=r"file\.jsonl, line 7"):
        list(batches(iter([bad])))


@pytest.mark.parametrize("in_background", [False, True])
def test_reading_ahead_changes_nothing(monkeypatch, make_document, in_background):
    monkeypatch.setattr(module, "BATCH_DOCUMENTS", 2)
    documents = [make_document(str(i)) for i in range(21)]
    with read_ahead(batches(iter(documents)), in_background) as ready:
        found = [document for batch in ready for document in batch.documents]
    assert found == documents


@pytest.mark.parametrize("in_background", [False, True])
def test_an_error_of_the_stream_comes_after_the_batches_before_it(make_document, in_background):
    def stream():
        yield from batches(iter([make_document("a")]))
        raise KeyError("later")

    found = []
    with pytest.raises(KeyError, match="later"), read_ahead(stream(), in_background) as ready:
        for batch in ready:
            found.append(batch)
    assert shapes(found) == [(1, 1, False)]


def test_the_next_batch_is_read_meanwhile(make_document):
    asked = threading.Event()

    def stream():
        yield from batches(iter([make_document("a")]))
        asked.set()
        yield from batches(iter([make_document("b")]))

    with read_ahead(stream(), True) as ready:
        iterator = iter(ready)
        next(iterator)
        assert asked.wait(timeout=60)
        assert shapes(iterator) == [(1, 1, False)]


def test_leaving_early_does_not_wait_for_a_read_that_never_ends(make_document):
    release, ended = threading.Event(), threading.Event()

    def stream():
        yield from batches(iter([make_document("a")]))
        release.wait(timeout=60)
        ended.set()

    with pytest.raises(ZeroDivisionError), read_ahead(stream(), True) as ready:
        next(iter(ready))
        raise ZeroDivisionError
    assert not ended.is_set()
    release.set()
