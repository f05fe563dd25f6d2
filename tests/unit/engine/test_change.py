"""A change of a corpus: the lock from begin to the end of the block, and one commit or nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ngramdb.engine.changes.change import Change, WriteOptions
from ngramdb.engine.loading.writer import load_documents
from ngramdb.errors import BindError, InvalidArgument, LockedError

OPTIONS = WriteOptions(segment_tokens=10**6)


@pytest.fixture
def store(database):
    database.create()
    database.load([[1], [2, 2], [3]])
    return database.store


def begin(store, name="c", options=OPTIONS):
    return Change.begin(store, name, f"change {name}", options)


def numbers(*values):
    return [np.array(values, dtype=np.uint32)]


def test_what_is_removed_is_counted_and_committed_once(store):
    before = store.manifest.version
    with begin(store) as change:
        change.remove(numbers(1), [{"id": "b"}], statement="DELETE …", reason="why")
        assert (change.documents, change.tokens) == (1, 2)
        assert store.manifest.version == before
        assert change.view.n_documents == 3  # the corpus as it was
        outcome = change.commit()
    assert (outcome.documents, outcome.tokens, outcome.version) == (1, 2, before + 1)
    manifest = store.manifest
    assert (manifest.version, manifest.action) == (before + 1, "change c")
    assert manifest.corpora["c"].n_documents == 2


def test_a_change_of_nothing_makes_no_version(store):
    before = store.manifest.version
    with begin(store) as change:
        change.remove(numbers())
        assert change.commit().version == before
    assert store.manifest.version == before


def test_nothing_happens_without_a_commit(database, store):
    before, files = store.manifest.version, database.files()
    with begin(store) as change:
        change.remove(numbers(0))
    with pytest.raises(ZeroDivisionError), begin(store) as change:
        change.remove(numbers(0))
        raise ZeroDivisionError
    assert (store.manifest.version, database.files()) == (before, files)


def test_the_lock_is_held_to_the_end_of_the_block_and_no_longer(store):
    with begin(store) as change:
        with pytest.raises(LockedError), begin(store):
            pass
        change.remove(numbers(0))
        change.commit()
        with pytest.raises(LockedError), begin(store):
            pass
    with begin(store) as change:
        assert change.view.n_documents == 2
    with pytest.raises(BindError, match="no corpus 'x'"), begin(store, "x"):
        pass
    with begin(store):  # the lock was given back
        pass


def test_a_document_is_removed_once(store):
    with begin(store) as change:
        change.remove(numbers(0))
        change.commit()
    with begin(store) as change, pytest.raises(InvalidArgument, match="removed before"):
        change.remove(numbers(0, 1))


def test_other_corpora_are_those_of_the_same_version_or_of_an_earlier_one(database, store):
    first = store.manifest.version
    database.create("other")
    with begin(store) as change:
        assert change.other("other").name == "other"
        assert change.other("c", first).n_documents == 3
        with pytest.raises(BindError, match="no corpus 'x'; it may have been dropped meanwhile"):
            change.other("x")
        with pytest.raises(BindError, match=f"no corpus 'other' in version {first}"):
            change.other("other", first)


def test_the_corpus_s_own_length_of_segments_comes_first(store, make_document):
    with store.begin() as transaction:
        entry = replace(transaction.manifest.corpora["c"], options={"segment_tokens": 4})
        transaction.commit({"c": entry}, "set an option")
    with begin(store, options=WriteOptions(10**6, auto_compact=False)) as change:
        assert change.segment_tokens == 4
        assert load_documents(change, iter([make_document([1, 2, 3])] * 4)).segments == 4
