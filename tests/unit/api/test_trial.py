"""Trials: a connection whose commits are dropped."""

from __future__ import annotations

import os

import pytest

import ngramdb
from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.directory.overlay import OverlayDirectory


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_trial_sees_its_changes_and_nobody_else_does(tmp_path, where):
    with ngramdb.connect(None if where == "memory" else tmp_path / "db.ngdb") as db:
        corpus = db.create_corpus("c")
        for text in ("a b", "a b", "c"):
            corpus.append([text])
        files, version = sorted(os.walk(tmp_path)), db.version
        db.settings["match"] = "text"
        with db.trial() as trial:
            tried = trial.corpus("c")
            assert tried.delete_duplicates() == 1
            assert tried.n_documents == 2 and tried.count("b") == 1
            assert trial.settings["match"] == "text"
            corpus.append(["d"])  # is not seen there, and takes no lock of it
            tried.append(["e", "f"])
            tried.compact()
            assert [row["text"] for row in tried.docs().to_dicts()] == ["a b", "c", "e", "f"]
            assert trial.execute("CHECK").fetchall() == []
            tried.restore(version)
            assert tried.n_documents == 3
        assert [row["text"] for row in corpus.docs().to_dicts()] == ["a b", "a b", "c", "d"]
        assert db.version == version + 1 and db.execute("CHECK").fetchall() == []
        assert where == "memory" or sorted(os.walk(tmp_path)) != files


def test_a_trial_of_a_database_that_is_only_read(tmp_path):
    ngramdb.connect(tmp_path / "db.ngdb").create_corpus("c").append(["a", "a"])
    before = {path: os.stat(path).st_mtime_ns for path in tmp_path.rglob("*")}
    with ngramdb.connect(tmp_path / "db.ngdb", read_only=True) as db, db.trial() as trial:
        assert trial.corpus("c").delete('"a"') == 2
        assert db.corpus("c").n_documents == 2
    assert {path: os.stat(path).st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_files_of_an_overlay():
    below, above = MemoryDirectory({"a/x": b"1", "y": b"2"}), MemoryDirectory()
    directory = OverlayDirectory(below, above)
    below.create("a/later").close()
    with pytest.raises(FileExistsError):
        directory.create("y")
    directory.remove("y")
    assert not directory.exists("y") and below.exists("y")
    file = directory.create("y")
    file.write(b"3")
    file.close()
    with pytest.raises(FileExistsError):
        directory.publish("y", "a/x")
    assert (bytes(directory.open_read("y")), bytes(directory.open_read("a/x"))) == (b"3", b"1")
    assert directory.list() == ["a/x", "y"] and directory.list("a/") == ["a/x"]
    assert directory.root_entries() == ["a", "y"]
    assert below.list() == ["a/later", "a/x", "y"] and above.list() == ["y"]
