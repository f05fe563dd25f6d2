"""A corpus at one version: opening, checks, and errors about damaged segments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from support.changes import delete_documents
from support.reference import ReferenceIndex

from ngramdb.engine.corpus.caches import MAX_OPEN, tokenizer_of
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.store import Store
from ngramdb.errors import CorruptionError, StorageError


def corrupted(database, part, flip=1):
    """A view of the corpus "c" in which one byte of the first segment's section is changed."""
    view = database.view()
    name = view.entry.segments[0].file.name
    place = database.store.read(view.entry.segments[0].file, "SEGM").sections[part]
    content = bytearray(database.directory.open_read(name))
    content[place.offset + place.length // 2] ^= flip
    return _replaced(database, name, bytes(content))


def _replaced(database, name, content):
    database.directory.remove(name)
    file = database.directory.create(name)
    file.write(content)
    file.sync()
    file.close()
    store = Store.open(database.directory)
    return CorpusView(store, store.manifest.corpora["c"])


def test_nothing_is_opened_before_it_is_asked_for(database):
    database.create(tokenizer="words")
    database.load(["a b c"])
    view = database.view()
    for name in database.files():
        database.directory.remove(name)
    # The size of the corpus is in the manifest.
    assert (view.n_tokens, view.n_documents) == (3, 1)


def test_a_view_gives_the_same_objects_every_time(database):
    database.create(tokenizer="words")
    database.load(["a b", "c"], segment_tokens=2)
    view = database.view()
    assert view.index is view.index and view.segments is view.segments and view.tokenizer is view.tokenizer
    assert view.index.segments == tuple(segment.index for segment in view.segments)
    assert database.view().tokenizer is view.tokenizer


def test_a_subtracted_segment_counts_negatively_and_has_no_documents(database):
    added, removed = [[1, 2, 1], [2, 2], [1, 2]], [[2, 2]]
    database.create()
    database.load(added)
    delete_documents(database.store, "c", lambda view: [np.array([1], dtype=np.uint32)], segment_tokens=10**6)
    view = database.view()
    assert view.removed(0).tolist() == [1]
    assert view.subtracted[0].doc_ids().tolist() == [1]
    oracle = ReferenceIndex(added, removed)
    assert (view.n_tokens, view.n_documents, len(view.segments)) == (5, 2, 1)
    for ngram in ([], [1], [2], [1, 2], [2, 2], [2, 1]):
        assert view.index.count(ngram) == oracle.count(ngram)
    view.check()


def test_a_manifest_that_contradicts_its_segment_is_found(database):
    database.create()
    database.load([[1, 2], [3]])
    entry = database.view().entry
    for change in ({"n_tokens": 4}, {"n_documents": 3}, {"first_doc_id": 1}):
        wrong = replace(entry, segments=(replace(entry.segments[0], **change),))
        with pytest.raises(CorruptionError, match="manifest"):
            CorpusView(database.store, wrong).index.count([1])


@pytest.mark.parametrize(
    "part", ["tokens", "suffix_array", "directory.tree", "directory.rest", "documents.starts", "metadata"]
)
def test_check_finds_a_changed_byte_in_any_section(database, make_document, part):
    database.create()
    database.load([make_document([i % 3, i % 5], number=i) for i in range(300)])
    database.view().check()
    with pytest.raises(CorruptionError):
        corrupted(database, part).check()


def test_check_looks_at_subtracted_segments_too(database):
    database.create()
    database.load([[i % 3, i % 5] for i in range(300)])
    view = corrupted(database, "suffix_array")
    negative = replace(view.entry, segments=(replace(view.entry.segments[0], sign=-1),))
    with pytest.raises(CorruptionError):
        CorpusView(view._store, negative).check()


def test_a_segment_that_is_gone_is_named(database):
    database.create()
    database.load([[1]])
    name = database.view().entry.segments[0].file.name
    database.directory.remove(name)
    store = Store.open(database.directory)
    view = CorpusView(store, store.manifest.corpora["c"])
    assert view.n_tokens == 1
    with pytest.raises(StorageError, match=name.rsplit("/", 1)[1]):
        view.index.count([1])


def test_many_threads_may_open_one_view(database):
    database.create(tokenizer="words")
    database.load([f"word{i % 7} common" for i in range(100)], segment_tokens=20)
    for _ in range(10):
        store = Store.open(database.directory)
        view = CorpusView(store, store.manifest.corpora["c"])

        def ask(_, view=view):
            ids = view.tokenizer.encode("common")
            return view.index.count(ids), sum(
                len(segment.index.docs_containing(ids)) for segment in view.segments
            )

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(ask, range(12))) == [(100, 100)] * 12


def test_as_many_tokenizers_stay_open_as_are_used_last(database):
    database.create(tokenizer="words")
    entries = []
    for i in range(MAX_OPEN + 5):
        database.load([f"word{i}"])
        entries.append(database.view().entry.tokenizer)
    newest = tokenizer_of(database.store, entries[-1])
    assert tokenizer_of(database.store, entries[-1]) is newest
    oldest = tokenizer_of(database.store, entries[0])
    assert oldest.encode("word0 word1").tolist() == [0, -1]
    assert newest.encode("word0 word1").tolist() == [0, 1]
