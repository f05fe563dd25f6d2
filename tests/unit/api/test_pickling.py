"""Connections and corpora go to other processes: by path, name and version."""

from __future__ import annotations

import copy
import multiprocessing
import operator
import os
import pickle

import pytest

import ngramdb
from ngramdb.errors import BindError, NotSupportedError, StorageError


@pytest.fixture
def corpus(tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        corpus = db.create_corpus("c")
        corpus.append(["a b a", "a c"])
        yield corpus


def test_a_corpus_goes_to_other_processes(corpus):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(os.getpid).get(timeout=120) != os.getpid()
        for word, n in {"a": 3, "b": 1, "x": 0}.items():
            # A function of this module could not be imported by every child.
            found = pool.map_async(operator.methodcaller("count", word), [corpus])
            assert found.get(timeout=120) == [n]


def test_what_comes_back_is_the_same_corpus_of_the_same_database(corpus, monkeypatch, tmp_path):
    db = corpus._connection
    db.settings["threads"], db.settings["timeout"] = 1, 7
    db.use("c")
    monkeypatch.chdir("/")
    one, again, connection = pickle.loads(pickle.dumps((corpus, corpus, db)))
    assert one is again and one._connection is connection
    assert (one.name, one.count("a"), connection.version) == ("c", 3, db.version)
    assert dict(connection.settings) == dict(db.settings) and connection.current_corpus == "c"
    one.append(["a"])
    db.refresh()
    assert corpus.count("a") == 4  # it may write where the first one may
    copied = copy.copy(db)
    assert copied is not db and copied.corpora() == ["c"]
    with ngramdb.connect(tmp_path / "db", read_only=True) as reading, pytest.raises(ngramdb.ReadOnlyError):
        pickle.loads(pickle.dumps(reading.corpus("c"))).append(["x"])


def test_what_cannot_be_opened_elsewhere_is_refused(corpus, tmp_path):
    with ngramdb.connect() as memory:
        for what in (memory, memory.create_corpus("c")):
            with pytest.raises(NotSupportedError, match="in memory lives in one process"):
                pickle.dumps(what)
    pickled = pickle.dumps(corpus)
    corpus._connection.drop_corpus("c")
    with pytest.raises(BindError, match="no corpus 'c'"):
        pickle.loads(pickled)
    newer = pickle.dumps(corpus._connection)
    corpus._connection.close()
    with pytest.raises(ngramdb.ExecutionError, match="closed"):
        pickle.dumps(corpus._connection)
    os.rename(tmp_path / "db", tmp_path / "gone")
    with pytest.raises(StorageError):
        pickle.loads(newer)
    assert not (tmp_path / "db").exists()
    with ngramdb.connect(tmp_path / "db"), pytest.raises(StorageError, match="this is an older copy"):
        pickle.loads(newer)
