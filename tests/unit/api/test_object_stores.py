"""Databases in object stores: the answers of a local one, in few requests, whatever the store does."""

from __future__ import annotations

from pathlib import Path

import builds
import numpy as np
import object_store
import pytest

import ngramdb
from ngramdb.engine.storage.directory import object_store as stores
from ngramdb.engine.storage.directory import remote

QUESTIONS = (
    *builds.QUESTIONS,
    'COUNT "the" GROUP BY kind PER MILLION',
    'DIST GIVEN "of" TOP 10',
    'DIST BEFORE "cat" TOP 5',
    'PROB "cat" GIVEN "the a" USING BACKOFF',
    'COLLOCATES OF "cat" WINDOW 3 TOP 10',
    'DISPERSION OF "cat" BY DOCUMENTS',
    'GENERATE GIVEN "the" TOKENS 8 SEED 4',
    'KWIC "the" ORDER BY right LIMIT 7',
    'DOCS WHERE "the" AND "dog" WITHIN 3 TOKENS',
    "DOCS WHERE kind = 'a' ORDER BY n DESC LIMIT 5",
    'DOCS WHERE "sat on" MATCH TEXT',
    "SHOW SEGMENTS",
    "CHECK",
)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(stores, "PAUSE_S", 0.001)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch, object_store.serving(patch, cache) as server:
        yield server


@pytest.fixture
def small(tmp_path, monkeypatch):
    object_store.in_small_parts(monkeypatch, tmp_path / "cache")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NGRAMDB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make(path: Path, n_documents: int = 60, removed: bool = True) -> Path:
    with ngramdb.connect(path) as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("c", segment_tokens=1024)
        corpus.load(builds.write_files(path.parent / f"{path.name}.files", n_documents))
        if removed:
            db.execute("DELETE DOCS WHERE n = 12 OR n = 30 FROM c")
    return path


def answers(db, questions=QUESTIONS):
    db.use("c")
    found = []
    for question in questions:
        try:
            found.append((question, db.execute(question).fetchall()))
        except ngramdb.QueryError as error:
            raise AssertionError(str(error)) from error
    return found


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return make(tmp_path_factory.mktemp("local") / "local.ngdb", 300)


@pytest.fixture(scope="module")
def expected(local):
    with ngramdb.connect(local, read_only=True) as db:
        return answers(db)


def test_a_folder_by_its_url_answers_as_the_folder(local, expected, cache, small):
    with ngramdb.connect(f"file://{local}", read_only=True) as db:
        assert answers(db) == expected


def test_a_bucket_answers_as_the_folder(server, local, expected, small):
    url = object_store.put(local, "whole.ngdb")
    with ngramdb.connect(url, read_only=True) as db:
        assert answers(db) == expected


@pytest.mark.parametrize(
    "question", ['COUNT "a cat"', 'KWIC "new7"', 'DIST GIVEN "a" USING KNESER_NEY TOP 20']
)
def test_a_cold_question_finds_what_it_needs(local, expected, small, question):
    with ngramdb.connect(f"file://{local}", read_only=True) as db:
        db.use("c")
        with ngramdb.connect(local, read_only=True) as before:
            before.use("c")
            assert db.execute(question).fetchall() == before.execute(question).fetchall()


def segments(path: Path) -> int:
    return len(list((path / "segments").iterdir()))


def test_opening_takes_few_requests_and_so_does_a_cold_count(server, tmp_path):
    rng = np.random.default_rng(3)
    with ngramdb.connect(tmp_path / "ids.ngdb") as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("ids", tokenizer="tokens")
        for _ in range(2):
            corpus.append([np.minimum(rng.zipf(1.2, 4000), 30_000).astype(np.uint16) for _ in range(150)])
    largest = max(path.stat().st_size for path in (tmp_path / "ids.ngdb" / "segments").iterdir())
    assert largest > 3 * remote.WHOLE, "several ranges"
    url = object_store.put(tmp_path / "ids.ngdb", "ids.ngdb")
    ngrams = [[1, 2, 1], [3, 4], [5], [1] * 5, [17, 2, 1, 1, 9], [400, 3], [2000], [1, 2, 3, 4, 5]]
    with ngramdb.connect(tmp_path / "ids.ngdb") as db:
        expected = [db.corpus("ids").count(ngram) for ngram in ngrams]
    assert sum(expected) > 0
    for i, (ngram, count) in enumerate(zip(ngrams, expected, strict=True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("NGRAMDB_CACHE", str(tmp_path / f"cold{i}"))
            server.requests.clear()
            with ngramdb.connect(url, read_only=True) as db:
                db.refresh()
                assert len(server.requests) <= 5, server.requests
                server.requests.clear()
                assert db.corpus("ids").count(ngram) == count
                assert len(server.requests) <= 4 * segments(tmp_path / "ids.ngdb"), server.requests
                server.requests.clear()
                assert db.corpus("ids").count(ngram) == count
                assert not server.requests
            with ngramdb.connect(url, read_only=True) as db:
                db.refresh()
                server.requests.clear()
                assert db.corpus("ids").count(ngram) == count
                assert not server.requests, "what was fetched is kept"
