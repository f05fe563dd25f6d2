"""Connections and corpora go to other processes: by path, name and version."""

from __future__ import annotations

import copy
import multiprocessing
import operator
import os
import pickle

import pytest
from support.connections import connection_of
from support.subwords import write_tokenizer

import ngramdb
from ngramdb import lm
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
    db = connection_of(corpus)
    db.settings["threads"], db.settings["timeout"] = 1, 7
    db.use("c")
    monkeypatch.chdir("/")
    one, again, connection = pickle.loads(pickle.dumps((corpus, corpus, db)))
    assert one is again and one._bound.database is connection._database
    assert (one.name, one.count("a"), connection.version) == ("c", 3, db.version)
    assert dict(connection.settings) == dict(db.settings) and connection.current_corpus == "c"
    one.append(["a"])
    db.refresh()
    assert corpus.count("a") == 4  # it may write if the first one may
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
    connection_of(corpus).drop_corpus("c")
    with pytest.raises(BindError, match="no corpus 'c'"):
        pickle.loads(pickled)
    newer = pickle.dumps(connection_of(corpus))
    connection_of(corpus).close()
    with pytest.raises(ngramdb.ExecutionError, match="closed"):
        pickle.dumps(connection_of(corpus))
    os.rename(tmp_path / "db", tmp_path / "gone")
    with pytest.raises(StorageError):
        pickle.loads(newer)
    assert not (tmp_path / "db").exists()
    with ngramdb.connect(tmp_path / "db"), pytest.raises(StorageError, match="this is an older copy"):
        pickle.loads(newer)


@pytest.mark.parametrize("again", [lambda it: pickle.loads(pickle.dumps(it)), copy.copy, copy.deepcopy])
def test_a_result_is_pickled_as_data(corpus, again):
    corpus.append([{"text": f"a {n}", "n": n} for n in range(1200)])
    for statement in (
        "DOCS LIMIT 1100",
        'KWIC "a"',
        'DIST GIVEN "a"',
        'COUNT "x"',
        "SHOW CORPORA",
        "DESCRIBE c",
    ):
        expected = connection_of(corpus).execute(statement).fetchall()
        result = connection_of(corpus).execute(statement)
        first = result.fetchmany(1)
        one = again(result)
        assert first + one.fetchall() == expected == first + result.fetchall()
        for name in ("columns", "types", "summary", "n_rows", "exact", "snapshot", "notes", "cautions"):
            assert getattr(one, name) == getattr(result, name)
        assert repr(one) == repr(result)
        if len(expected) > 1:
            with pytest.raises(ngramdb.ExecutionError, match="rows can be read once"):
                one.df()
    result = connection_of(corpus).execute("DOCS")
    result.close()
    with pytest.raises(ngramdb.ExecutionError, match="closed"):
        again(result)


@pytest.mark.parametrize("kind", ["words", "chars", "bytes", "tokens", "json"])
def test_a_tokenizer_is_pickled_with_its_vocabulary(tmp_path, kind):
    spec = str(write_tokenizer(tmp_path / "tokenizer.json")) if kind == "json" else kind
    with ngramdb.connect() as db:
        for texts in ([], ["a fox", "ein Füchslein, fox"]):
            corpus = db.create_corpus(f"c{len(texts)}", spec)
            corpus.append([[1, 2]] if kind == "tokens" else texts)
            tokenizer = corpus.tokenizer
            for one in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
                assert one.n_vocabulary == tokenizer.n_vocabulary and one.kind == kind
                if kind != "tokens":
                    for text in ("fox a", "Füchslein xyzzy", ""):
                        assert one.encode(text).tolist() == tokenizer.encode(text).tolist()
                    ids = tokenizer.encode(texts[0] if texts else "")
                    assert one.decode(ids) == tokenizer.decode(ids)
                    one.encode_batch([b"many other words"])
                    assert tokenizer.encode("other").tolist() == corpus.tokenizer.encode("other").tolist()
        assert corpus.count([0, 0, 0]) == 0


def test_what_holds_files_open_says_what_to_pickle_instead(corpus):
    for spec in (lm.NGram(), lm.KneserNey(3), lm.Backoff(0.4)):
        model = corpus.language_model(spec)
        with pytest.raises(NotSupportedError, match="pickle the corpus"):
            pickle.dumps(model)
        there, spec = pickle.loads(pickle.dumps((corpus, model.spec)))
        assert there.language_model(spec).prob([0], 1) == model.prob([0], 1)
    with pytest.raises(NotSupportedError, match="pickle the connection"):
        pickle.dumps(connection_of(corpus).snapshot)
