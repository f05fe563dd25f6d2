"""Databases in object stores: the answers of a local one, in few requests, whatever the store does."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from concurrent import futures
from pathlib import Path

import numpy as np
import pytest
from support import builds, object_store

import ngramdb
from ngramdb.cli.main import main
from ngramdb.engine.corpus import grouped
from ngramdb.engine.storage.directory import object_store as stores
from ngramdb.engine.storage.directory import remote
from ngramdb.segments import far_index

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
    "CHECK",
)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(stores, "PAUSE_S", 0.001)
    monkeypatch.setattr(stores, "TRIES", 3)


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
    return make(tmp_path_factory.mktemp("local") / "local.ngdb", 150)


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
    ngrams = [[1, 2, 1], [5], [17, 2, 1, 1, 9], [2000]]
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


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """A segment, without and with a far index, and n-grams of all lengths with their counts."""
    folder = tmp_path_factory.mktemp("far")
    rng = np.random.default_rng(5)
    ids = np.minimum(rng.zipf(1.2, 400_000), 30_000).astype(np.uint16)
    with ngramdb.connect(folder / "near.ngdb") as db:
        db.create_corpus("c", tokenizer="tokens").append(np.split(ids, range(1000, len(ids), 1000)))
    shutil.copytree(folder / "near.ngdb", folder / "far.ngdb")
    with ngramdb.connect(folder / "far.ngdb") as db, pytest.MonkeyPatch.context() as patch:
        patch.setattr(far_index, "ROWS", 256)
        db.execute("SET far_index = on; COMPACT c")
        corpus = db.corpus("c")
        places = [(n, int(at)) for n in (2, 5, 9, 15, 1, 3) for at in rng.integers(0, 399, 2) * 1000]
        grams = [ids[at : at + n].tolist() for n, at in places]
        grams += [[1], [2, 1], [1, 1, 1], [1, 30_000, 29_998], [29_999, 7]]
        return folder, grams, corpus.count_many(grams).tolist()


@pytest.mark.parametrize(("name", "most"), [("near", 20), ("far", 4)])
def test_with_a_far_index_no_cold_count_takes_more_requests(server, far, monkeypatch, tmp_path, name, most):
    # Parts a 16th as large as they are: a segment of 400,000 tokens has a directory of as many as one of 6 M,
    # and its suffix array has hundreds.
    folder, grams, counts = far
    if name == "near":
        grams, counts = grams[:5], counts[:5]
    for attribute, value in (("UNIT", 4096), ("AROUND", 4), ("MOST", 8)):
        monkeypatch.setattr(stores, attribute, value)
    for attribute, value in (("WHOLE", 65_536), ("TOGETHER", 16_384), ("TAIL", 4096), ("TAIL_SHARE", 25)):
        monkeypatch.setattr(remote, attribute, value)
    url = object_store.put(folder / f"{name}.ngdb", f"{name}.ngdb")
    found = []
    for i, (gram, count) in enumerate(zip(grams, counts, strict=True)):
        monkeypatch.setenv("NGRAMDB_CACHE", str(tmp_path / f"cold{i}"))
        with ngramdb.connect(url, read_only=True) as db:
            db.refresh()
            server.requests.clear()
            assert db.corpus("c").count(gram) == count
            found.append(len(server.requests))
    assert max(found) <= most, found
    assert max(found) > 4 or name == "far", "the parts are too large for the test"


def test_a_far_index_answers_as_the_segment_and_gives_way_to_the_directory(far, small):
    folder, grams, counts = far
    with ngramdb.connect(f"file://{folder}/far.ngdb", read_only=True) as db:
        corpus = db.corpus("c")
        for _ in range(4):  # the first searches use the far index
            assert [corpus.count(gram) for gram in grams] == counts
        assert corpus.count_many(grams).tolist() == counts


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_cold_question_by_a_far_index_finds_what_it_needs(large, small, tmp_path, monkeypatch, question):
    path = tmp_path / "far.ngdb"
    shutil.copytree(large, path)
    monkeypatch.setattr(far_index, "ROWS", 64)
    with ngramdb.connect(path) as db:
        expected = db.execute(question).fetchall()
        db.execute("SET far_index = on; COMPACT c")
    with ngramdb.connect(f"file://{path}", read_only=True) as db:
        assert db.execute(question).fetchall() == expected


def once(kind):
    """A fault of every request when it is made first."""
    seen = set()

    def fault(request):
        is_new = request not in seen
        seen.add(request)
        return kind if is_new else None

    return fault


@pytest.mark.parametrize("kind", [500, 503, "reset", "short"])
def test_what_fails_for_a_moment_is_tried_again(server, local, expected, small, kind):
    url = object_store.put(local, "failing.ngdb")
    with server.failing(once(kind)), ngramdb.connect(url, read_only=True) as db:
        assert answers(db, QUESTIONS[3:6]) == expected[3:6]


@pytest.mark.parametrize(("kind", "said"), [(500, "tried 3 times"), ("reset", "tried 3 times"), (403, "")])
def test_a_store_that_is_gone_is_a_clear_error_and_the_next_question_is_answered(
    server, local, small, kind, said
):
    url = object_store.put(local, "gone.ngdb")
    with (
        server.failing(lambda request: kind),
        pytest.raises(ngramdb.StorageError, match=f"gone.ngdb.*{said}"),
    ):
        ngramdb.connect(url, read_only=True)
    with ngramdb.connect(url, read_only=True) as db:
        for statement in (
            'COUNT "a cat"',
            'KWIC "the"',
            "DOCS",
            'DIST GIVEN "a" USING KNESER_NEY TOP 3',
        ):
            with (
                server.failing(lambda request: kind if "segments" in request.path else None),
                pytest.raises(ngramdb.StorageError, match=rf"gone.ngdb/segments.*{said}"),
            ):
                db.execute(statement).fetchall()
        with ngramdb.connect(local, read_only=True) as before:
            assert answers(db, QUESTIONS[3:6]) == answers(before, QUESTIONS[3:6])


def test_an_object_that_is_gone_is_named(server, local, small):
    url = object_store.put(local, "lacking.ngdb")
    with (
        ngramdb.connect(url, read_only=True) as db,
        server.failing(lambda request: 404 if "segments" in request.path else None),
        pytest.raises(ngramdb.StorageError, match=r"segments/.*missing.*restore"),
    ):
        db.execute('COUNT "the"')
    with pytest.raises(ngramdb.StorageError, match="no such database"):
        ngramdb.connect("s3://bucket/nothing.ngdb", read_only=True)


def test_waiting_for_a_slow_store_ends_with_the_timeout(server, local, small):
    url = object_store.put(local, "slow.ngdb")
    released = threading.Event()
    with ngramdb.connect(url, read_only=True) as db:
        db.use("c")
        with server.failing(lambda request: None if released.wait(120) else 500):
            with pytest.raises(ngramdb.TimeoutExceeded):
                db.execute('COUNT "a cat"', timeout=0.2)
            released.set()
        assert db.execute('COUNT "a cat"').fetchone()[0] > 0


def test_a_stale_listing_does_not_hide_the_newest_version(server, tmp_path, cache, monkeypatch):
    path = make(tmp_path / "old.ngdb", removed=False)
    url = object_store.put(path, "stale.ngdb")
    old = stores.ObjectStore(url).stored()
    with ngramdb.connect(path) as db:
        db.execute("DELETE DOCS WHERE n = 12 FROM c")
        version, n_documents = db.version, db.corpus("c").n_documents
    object_store.put(path, "stale.ngdb")
    monkeypatch.setattr(stores.ObjectStore, "stored", lambda self: old)
    with ngramdb.connect(url, read_only=True) as db:
        assert db.corpus("c").n_documents == n_documents
        assert db.version == version


def test_a_newer_version_is_seen(server, tmp_path, cache, monkeypatch):
    monkeypatch.setattr(remote, "FRESH_S", 0.0)
    path = make(tmp_path / "db", removed=False)
    url = object_store.put(path, "newer.ngdb")
    with ngramdb.connect(url, read_only=True) as db:
        db.use("c")
        before = db.execute("DOCS").fetchall()
        with ngramdb.connect(path) as writing:
            writing.execute("DELETE DOCS WHERE n = 12 FROM c")
        object_store.put(path, "newer.ngdb")
        after = db.execute("DOCS").fetchall()
        assert len(after) == len(before) - 1


@pytest.mark.parametrize("how", ["refresh", "read", "write"])
def test_a_diverged_copy_in_place_of_the_database_is_noticed(server, tmp_path, cache, monkeypatch, how):
    path, copy = make(tmp_path / "one", removed=False), tmp_path / "two"
    shutil.copytree(path, copy)
    for folder, n in ((path, 12), (copy, 30)):
        with ngramdb.connect(folder) as db:
            db.execute(f"DELETE DOCS WHERE n = {n} FROM c")
    url = object_store.put(path, f"diverged-{how}.ngdb")
    with ngramdb.connect(url) as db:
        object_store.put(copy, f"diverged-{how}.ngdb")
        before = remote.ObjectStore(url).stored().keys()
        if how == "read":
            monkeypatch.setattr(remote, "FRESH_S", 0.0)
        with pytest.raises(ngramdb.DatabaseGone, match="is not the one that was opened"):
            if how == "refresh":
                db.refresh()
            elif how == "read":
                db.execute('COUNT "a" FROM c')
            else:
                db.corpus("c").append(["more"])
        assert remote.ObjectStore(url).stored().keys() == before
    with ngramdb.connect(url) as db:
        assert db.execute("CHECK").fetchall() == []


def test_refresh_looks_at_once(tmp_path, cache):
    path = make(tmp_path / "db", removed=False)
    with ngramdb.connect(f"file://{path}", read_only=True) as db:
        before = db.version
        assert not db.refresh()
        with ngramdb.connect(path) as writing:
            writing.execute("DELETE DOCS WHERE n = 12 FROM c")
        db.corpus("c").count("a")
        assert db.refresh() and db.version == before + 1


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.data"))


def test_damage_in_the_cache_is_mended_and_damage_in_the_store_is_told(
    server, local, expected, small, tmp_path
):
    url = object_store.put(local, "damaged.ngdb")
    with ngramdb.connect(url, read_only=True) as db:
        assert answers(db) == expected
    for path in kept(tmp_path / "cache"):
        size = path.stat().st_size
        path.write_bytes(bytes(size))  # as after a crash: the map is there, and the content is not
    with ngramdb.connect(url, read_only=True) as db:
        assert answers(db) == expected
    segment = next((local / "segments").iterdir())
    damaged = bytearray(segment.read_bytes())
    damaged[len(damaged) // 3] ^= 1
    system = pytest.importorskip("s3fs").S3FileSystem(skip_instance_cache=True)
    system.pipe_file(f"bucket/damaged.ngdb/segments/{segment.name}", bytes(damaged))
    with (
        ngramdb.connect(url, read_only=True) as db,
        pytest.raises(ngramdb.CorruptionError, match=segment.name),
    ):
        answers(db, ("DOCS", "NGRAMS 3 TOP 1000", 'DIST GIVEN "a" USING KNESER_NEY TOP 20'))


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in kept(folder))


def test_the_cache_stays_within_its_limit_and_what_is_open_stays_readable(local, expected, small, tmp_path):
    folder = tmp_path / "cache"
    with ngramdb.connect(f"file://{local}", read_only=True) as db:
        db.use("c")
        db.execute("SET cache_limit = 40000")
        begun = db.execute("DOCS")
        first = begun.fetchone()
        assert answers(db) == expected
        db.refresh()
        assert on_disk(folder) <= 40_000
        assert [first, *begun.fetchall()] == dict(expected)["DOCS"]
        assert answers(db) == expected


def test_a_full_local_disk_is_an_error_that_names_the_cache(local, expected, small, tmp_path):
    def full(fd, data, at):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with ngramdb.connect(f"file://{local}", read_only=True) as db:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "pwrite", full)
            with pytest.raises(ngramdb.StorageError, match=r"the cache .*SET cache_limit to less"):
                db.execute('COUNT "the" FROM c')
        assert answers(db, QUESTIONS[3:6]) == expected[3:6]


def test_of_two_writers_one_wins_and_the_other_is_told(server, tmp_path, cache):
    url = object_store.put(make(tmp_path / "db"), "raced.ngdb")
    with ngramdb.connect(url) as one, ngramdb.connect(url) as other:

        def documents():
            yield "the loser"
            other.corpus("c").append(["the winner"])

        with pytest.raises(ngramdb.ConflictError, match=r"another writer.*retry it"):
            one.corpus("c").append(documents())
        one.refresh()
        one.corpus("c").append(["the third"])
    with ngramdb.connect(url, read_only=True) as db:
        assert [db.corpus("c").count(name) for name in ("the winner", "the loser", "the third")] == [1, 0, 1]
        assert not db.execute("CHECK").fetchall()


@pytest.mark.parametrize("kind", ["lost", "reset", 500])
def test_a_commit_whose_answer_is_lost_is_done_once(server, tmp_path, cache, kind):
    url = object_store.put(make(tmp_path / "db"), f"lost-{kind}.ngdb")
    failed = []

    def fault(request):
        if request.method == "PUT" and "manifests" in request.path and not failed:
            failed.append(request)
            return kind
        return None

    with ngramdb.connect(url) as db, server.failing(fault):
        version = db.version
        db.corpus("c").append(["once only"])
        assert db.version == version + 1 and failed
    with ngramdb.connect(url, read_only=True) as db:
        assert db.corpus("c").count("once only") == 1


def test_a_commit_whose_outcome_is_not_known_removes_nothing(server, tmp_path, cache):
    url = object_store.put(make(tmp_path / "db"), "open.ngdb")
    begun = []

    def fault(request):
        if request.method == "PUT" and "manifests" in request.path:
            begun.append(request)
            return "lost"  # it is there, and nobody can find out
        return 500 if begun else None

    with ngramdb.connect(url) as db:
        corpus = db.corpus("c")
        with (
            server.failing(fault),
            pytest.raises(ngramdb.StorageError, match="open the database again to see"),
        ):
            corpus.append(["written down"])
    with ngramdb.connect(url, read_only=True) as db:
        assert db.corpus("c").count("written down") == 1
        assert not db.execute("CHECK").fetchall()


def test_a_store_that_overwrites_is_refused(server, tmp_path, cache, monkeypatch):
    url = object_store.put(make(tmp_path / "db"), "careless.ngdb")
    with ngramdb.connect(url) as db:
        system = db._database.store.directory._store._system
        put = system.pipe_file
        monkeypatch.setattr(system, "pipe_file", lambda path, data, mode: put(path, data))
        with pytest.raises(ngramdb.StorageError, match="If-None-Match"):
            db.corpus("c").append(["one"])
        assert db.corpus("c").count("one") == 0


def test_a_store_that_is_not_known_to_keep_writers_apart_is_for_reading(local, tmp_path, cache):
    refused = pytest.raises(ngramdb.StorageError, match="support put-if-absent")
    with ngramdb.connect(f"file://{local}") as db, refused:
        db.corpus("c").append(["one"])
    with pytest.raises(ngramdb.StorageError, match="support put-if-absent"):
        ngramdb.connect(f"file://{tmp_path / 'new.ngdb'}")
    assert not (tmp_path / "new.ngdb").exists()


def test_a_server_that_is_not_there_is_a_clear_error(cache):
    with pytest.raises(ngramdb.StorageError, match="cannot be opened"):
        ngramdb.connect("ftp://127.0.0.1:9/corpora.ngdb", read_only=True)


def test_parts_are_committed_into_a_bucket(server, tmp_path, cache, capsys):
    files = builds.write_files(tmp_path / "files")
    for i in range(3):
        ngramdb.build(tmp_path / "parts", files, shard=(i, 3), tokenizer="chars")
    arguments = ["commit", "s3://bucket/parts.ngdb", "c", str(tmp_path / "parts")]
    assert main(arguments) == 0
    assert "3 parts" in capsys.readouterr().out
    with ngramdb.connect("s3://bucket/parts.ngdb", read_only=True) as db:
        assert builds.answers(db, "c") == builds.loaded(files, "chars")
    assert main(["s3://bucket/parts.ngdb", "-c", 'DELETE DOCS WHERE n = 1 FROM c; COUNT "the"']) == 0
    assert main(["s3://bucket/none.ngdb", "-c", 'COUNT "the"']) == 1
    assert main(["check", "s3://bucket/parts.ngdb"]) == 0
    assert main(["warm", "s3://bucket/parts.ngdb", "c"]) == 0


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A segment of many parts, when these are small."""
    path = tmp_path_factory.mktemp("large") / "large.ngdb"
    rng = np.random.default_rng(11)
    words = np.array([*builds.WORDS, *(f"w{i}" for i in range(400))])
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        documents = []
        for i in range(300):
            ranks = np.minimum(rng.zipf(1.4, rng.integers(1, 250)) - 1, len(words) - 1)
            documents.append({"text": " ".join(words[ranks]), "n": i, "kind": "ab"[i % 2]})
        corpus.append(documents)
        assert corpus.n_tokens > 20_000
        db.execute("DELETE DOCS WHERE n = 12 FROM c")
    return path


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_cold_question_of_a_large_segment_finds_what_it_needs(large, small, question):
    with ngramdb.connect(large, read_only=True) as db:
        expected = db.execute(question).fetchall()
    with ngramdb.connect(f"file://{large}", read_only=True) as db:
        assert db.execute(question).fetchall() == expected


BATCHES = {
    "count_many": lambda c: c.count_many(["the", "a cat", "w7 the a", "w399"]).tolist(),
    "find": lambda c: [c.count("the a"), c.count("w3"), c.count("w398 w1")],
    "documents": lambda c: [c.document(i).ids.tolist() for i in (0, 11, 13, 150, 299)],
    "score": lambda c: c.score("the a w3 w9 cat sat", model="kneser_ney").prob.tolist(),
    "infgram": lambda c: c.score("the a w3 w9 cat sat", model="infgram").prob.tolist(),
    "trace": lambda c: list(c.trace("the a w3 w9 cat sat on the mat a w1")),
    "docs": lambda c: list(c.docs('"the" AND NOT "cat"', limit=20)),
    "sample": lambda c: list(c.sample(5, seed=2)),
    "ngrams": lambda c: list(c.ngrams(2, top=20)),
    "dist": lambda c: list(c.dist("the", top=10)),
}


@pytest.mark.parametrize("verb", BATCHES)
def test_a_cold_verb_of_a_large_segment_finds_what_it_needs(large, small, verb):
    with ngramdb.connect(large, read_only=True) as db:
        expected = BATCHES[verb](db.corpus("c"))
    with ngramdb.connect(f"file://{large}", read_only=True) as db:
        assert BATCHES[verb](db.corpus("c")) == expected


def test_a_cold_count_of_a_large_segment_fetches_a_small_part_of_it(large, small, tmp_path):
    with ngramdb.connect(f"file://{large}", read_only=True) as db:
        db.execute('COUNT "the a cat"')
    size = max(path.stat().st_size for path in (large / "segments").iterdir())
    maps = [path.with_suffix(".map").read_bytes() for path in kept(tmp_path / "cache")]
    fetched, units = max(((one.count(1), len(one)) for one in maps), key=lambda one: one[1])
    assert units == -(-size // 4096)
    assert 0 < fetched < units // 2


def test_threads_share_what_is_fetched(large, small):
    with ngramdb.connect(large, read_only=True) as db:
        expected = {question: db.execute(question).fetchall() for question in QUESTIONS}
    with ngramdb.connect(f"file://{large}", read_only=True) as db, futures.ThreadPoolExecutor(8) as pool:
        asked = [question for i in range(3) for question in (*QUESTIONS[i:], *QUESTIONS[:i])]
        found = pool.map(lambda question: (question, db.execute(question).fetchall()), asked)
        for question, rows in found:
            assert rows == expected[question], question


@pytest.mark.parametrize(
    "question", ['COUNT "the"', 'COUNT DOCS WHERE "the" AND "dog"', 'PROB "cat" GIVEN "the a" USING INFGRAM']
)
def test_segments_that_lie_elsewhere_are_waited_for_at_the_same_time(local, small, monkeypatch, question):
    n = segments(local)
    assert n > 3
    read, lock = stores.ObjectStore.read, threading.Lock()
    here, most = set(), 0
    beside = threading.Event()

    def slow(self, name, start, stop):
        nonlocal most
        if name.startswith("segments/"):
            with lock:
                here.add(name)
                most = max(most, len(here))
            if most > 1:
                beside.set()
            beside.wait(10)  # for another one, if there is one
            with lock:
                here.discard(name)
        return read(self, name, start, stop)

    with (
        ngramdb.connect(f"file://{local}", read_only=True) as db,
        ngramdb.connect(local, read_only=True) as near,
    ):
        db.use("c")
        near.use("c")
        db.execute("SHOW SEGMENTS").fetchall()
        db.corpus("c")._bound.current().index  # noqa: B018 - opens the segments
        monkeypatch.setattr(stores.ObjectStore, "read", slow)
        assert db.execute(question).fetchall() == near.execute(question).fetchall()
    assert most > 1


def test_an_index_whose_segments_are_here_asks_them_one_after_the_other(local, small, monkeypatch):
    monkeypatch.setattr(grouped, "WAITED_S", 1e9)  # no question is one that waited, however busy the machine
    with ngramdb.connect(f"file://{local}", read_only=True) as db:
        corpus = db.corpus("c")
        index = corpus._bound.current().index
        asked = []
        ask = index.ask
        index.ask = lambda questions: asked.append(questions) or ask(questions)
        for _ in range(grouped.QUESTIONS):
            corpus.count("the")
        before = len(asked)
        assert before
        corpus.count("the")
        assert len(asked) == before
