"""The logger `ngramdb`: what it records, and that it costs programs without `logging` nothing."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import ngramdb


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.DEBUG, "ngramdb")
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records]


def test_databases_commits_and_statements_are_recorded(tmp_path, said):
    path = tmp_path / "x.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("c").append(["a b"])
        db.execute('COUNT "a"; DOCS').fetchall()
        with pytest.raises(ngramdb.BindError):
            db.execute('COUNT "a" FROM nowhere')
    levels, messages = zip(*said(), strict=True)
    assert levels == ("DEBUG", "INFO", "INFO", "DEBUG", "DEBUG", "DEBUG")
    assert messages[0] == f"opened {path} at version 1"
    assert messages[1:3] == (
        f"committed version 2 of {path}: create corpus c",
        f"committed version 3 of {path}: append to c",
    )
    assert [message.partition(" s: ")[2] for message in messages[3:]] == [
        'COUNT "a"',
        "DOCS",
        'COUNT "a" FROM nowhere (BindError)',
    ]


def test_slow_statements_are_warnings_once_each(db, wiki, said):
    db.settings["slow_statement"] = 1e-9
    db.execute("DOCS").fetchall()
    wiki.kwic("language").fetchall()
    warned = [message for level, message in said() if level == "WARNING"]
    assert len(warned) == 2 and warned[0].startswith("slow, 0.") and warned[0].endswith("s: DOCS")


def test_slow_rows_are_warned_of_at_their_end(db, wiki, said, monkeypatch):
    db.settings["slow_statement"] = 3600
    result = db.execute("DOCS")
    db.settings["slow_statement"] = 1e-9
    assert not [level for level, _ in said() if level == "WARNING"]
    result.fetchall()
    assert [level for level, _ in said() if level == "WARNING"] == ["WARNING"]


def test_repairs_are_warnings(tmp_path, said):
    path = tmp_path / "x.ngdb"
    with ngramdb.connect(path) as db:
        corpus = db.create_corpus("c")
        corpus.append(["a b"])
        (segment,) = (path / "segments").iterdir()
        (path / "segments" / ("f" * len(segment.stem) + segment.suffix)).write_bytes(b"left")
    with ngramdb.connect(path) as db:
        db.corpus("c").append(["c d"])
    assert [message for level, message in said() if level == "WARNING"] == [
        f"repaired {path}: removed 1 files that an interrupted writer left"
    ]


def test_nothing_is_printed_without_handlers():
    program = "import logging, ngramdb; from ngramdb.lazy import WARNING, log; log(WARNING, 'x %d', 1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
