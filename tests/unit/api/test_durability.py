"""`SET durability`: commits without fsync, made durable when the connection is closed."""

from __future__ import annotations

import os

import pytest

import ngramdb
from ngramdb.engine.storage.directory import RealDirectory, real
from ngramdb.engine.storage.unsynced import read_mark
from ngramdb.errors import CorruptionError, InvalidArgument


@pytest.fixture
def syncs(monkeypatch):
    """The descriptors that were synced."""
    found = []

    class Os:
        def __getattr__(self, name):
            return found.append if name == "fsync" else getattr(os, name)

    monkeypatch.setattr(real, "os", Os())
    return found


def test_normal_commits_sync_nothing_until_the_connection_is_closed(tmp_path, syncs):
    with ngramdb.connect(tmp_path / "db") as db:
        corpus = db.create_corpus("c")
        db.execute("SET durability = 'normal'")
        corpus.append(["the first one"])
        db.execute('DELETE DOCS WHERE "first" FROM c')  # makes the last folder
        syncs.clear()
        for i in range(5):
            corpus.append([f"number {i}"])
        db.execute('DELETE DOCS WHERE "number 3" FROM c')
        assert syncs == [] and (tmp_path / "db" / "UNSYNCED").exists()
        # Another connection, as another process, reads what was committed.
        with ngramdb.connect(tmp_path / "db", read_only=True) as other:
            assert other.corpus("c").count("number") == 4
    assert syncs and not (tmp_path / "db" / "UNSYNCED").exists()
    with ngramdb.connect(tmp_path / "db") as db:
        assert db.corpus("c").count("number") == 4
        assert db.execute("CHECK").fetchall() == []


def test_the_first_full_commit_makes_those_before_durable(tmp_path, syncs):
    with ngramdb.connect(tmp_path / "db") as db:
        corpus = db.create_corpus("c")
        db.settings["durability"] = "normal"
        corpus.append(["one"])
        db.settings["durability"] = "full"
        assert (tmp_path / "db" / "UNSYNCED").exists()
        corpus.append(["two"])
        assert not (tmp_path / "db" / "UNSYNCED").exists()


def test_versions_beyond_those_to_keep_go_when_commits_are_made_durable(tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        db.settings["durability"], db.settings["keep_versions"] = "normal", 4
        corpus = db.create_corpus("c")
        for i in range(20):
            corpus.append([f"number {i}"])
            assert len(db.execute("SHOW VERSIONS").fetchall()) <= 2 * 4
    with ngramdb.connect(tmp_path / "db") as db:
        assert len(db.execute("SHOW VERSIONS").fetchall()) == 4
        assert db.corpus("c").count("number") == 20


def test_a_load_with_many_commits_is_made_durable_in_between(tmp_path):
    (tmp_path / "lines.jsonl").write_text('{"text": "a b"}\n' * 12)
    with ngramdb.connect(tmp_path / "db") as db:
        db.settings["durability"], db.settings["keep_versions"] = "normal", 3
        db.create_corpus("c").load(tmp_path / "lines.jsonl", commit_every=1)
        mark = read_mark(RealDirectory(tmp_path / "db"))
        assert 0 <= db.version - mark.durable < 3


def test_after_a_crash_of_the_machine_a_damaged_version_is_passed_over(tmp_path, monkeypatch):
    db = ngramdb.connect(tmp_path / "db")
    corpus = db.create_corpus("c")
    db.settings["durability"] = "normal"
    corpus.append(["one"])
    corpus.append(["one two"])
    newest = sorted((tmp_path / "db" / "manifests").iterdir())[-1]
    newest.write_bytes(bytes(newest.stat().st_size))
    monkeypatch.setattr(real, "_boot", lambda: "another boot")
    for read_only in (True, False, False):
        with ngramdb.connect(tmp_path / "db", read_only=read_only) as after:
            assert after.corpus("c").count("one") == 1
            assert after.execute("CHECK").fetchall() == []
    with ngramdb.connect(tmp_path / "db") as after:
        after.corpus("c").append(["three"])
        assert [after.corpus("c").count(word) for word in ("one", "two", "three")] == [1, 0, 1]


def test_values_that_do_not_exist_are_refused():
    with ngramdb.connect() as db, pytest.raises(InvalidArgument, match="full"):
        db.settings["durability"] = "off"


@pytest.fixture
def unsynced(tmp_path):
    """A database with unsynced commits whose mark is damaged, as a process leaves it that is killed."""
    open_db = ngramdb.connect(tmp_path / "db")
    corpus = open_db.create_corpus("c")
    open_db.settings["keep_versions"] = 2
    open_db.keep_version("first")
    for durability in ("full", "full", "full", "normal"):  # versions between the first and the last two go
        open_db.settings["durability"] = durability
        corpus.append(["one"])
    mark = tmp_path / "db" / "UNSYNCED"
    mark.write_bytes(bytes(mark.stat().st_size))
    yield tmp_path / "db"
    del open_db


def test_with_a_damaged_mark_all_versions_are_verified_and_kept(unsynced):
    for read_only in (True, False):
        with ngramdb.connect(unsynced, read_only=read_only) as db:
            assert db.corpus("c").count("one") == 4
            assert db.execute("COUNT \"one\" FROM c AT VERSION 'first'").fetchone() == (0,)
            assert db.execute("CHECK").fetchall() == []
    with ngramdb.connect(unsynced) as db:
        db.corpus("c").append(["one"])
        assert not (unsynced / "UNSYNCED").exists()
        assert db.corpus("c").count("one") == 5


def test_with_a_damaged_mark_a_damaged_version_is_an_error_and_stays(unsynced):
    newest = sorted((unsynced / "manifests").iterdir())[-1]
    newest.write_bytes(bytes(newest.stat().st_size))
    for read_only in (True, False):
        with pytest.raises(CorruptionError, match=newest.name):
            ngramdb.connect(unsynced, read_only=read_only)
    assert newest.exists()
