"""Exports that a signal ends: the old file stays whole; what they began goes at once, or with the next."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ngramdb

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows lacks these signals and locks")

# The command line, which waits for a line of its input in the middle of an export.
PAUSED = """
import sys
from ngramdb.api.verbs import exporting
from ngramdb.cli.main import main

def pause():
    print("writing", flush=True)
    sys.stdin.readline()

exporting.interrupts = type("interrupts", (), {"check": staticmethod(pause)})
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "db.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("c").append(["a b", "c d"])
    return path


def begun(database: Path, out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PAUSED, "export", str(database), "c", str(out)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "writing\n"
    return child


def ended(child: subprocess.Popen[str]) -> int:
    with child:
        child.communicate("\n", timeout=60)
    return child.returncode


def leftovers(out: Path) -> list[Path]:
    return list(out.parent.glob(f"{out.name}.*.tmp"))


def export(database: Path, out: Path) -> int:
    with ngramdb.connect(database, read_only=True) as db:
        return db.corpus("c").export(out)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_export_that_is_ended_leaves_nothing(database: Path, tmp_path: Path, number: int) -> None:
    out = tmp_path / "o.jsonl"
    out.write_text("old")
    child = begun(database, out)
    assert len(leftovers(out)) == 1
    child.send_signal(number)
    assert ended(child) == 128 + number
    assert out.read_text() == "old" and not leftovers(out)


def test_the_next_export_removes_what_a_killed_one_has_left(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    others = [tmp_path / name for name in ("o.jsonl.gz.01234567.tmp", "o.jsonl.tmp", "o.jsonl.0123.tmp")]
    for other in others:
        other.write_text("of somebody else")
    child = begun(database, out)
    (left,) = {*leftovers(out)} - {*others}
    child.kill()
    child.communicate()
    assert left.exists() and not out.exists()
    assert export(database, out) == 2
    assert not left.exists() and all(other.exists() for other in others)


def test_exports_of_one_file_at_a_time_do_not_harm_each_other(database: Path, tmp_path: Path) -> None:
    """None takes the file of another one for a leftover; who ends last has written the file."""
    out = tmp_path / "o.jsonl"
    child = begun(database, out)
    other = begun(database, out)
    assert len(leftovers(out)) == 2
    assert export(database, out) == 2
    assert len(leftovers(out)) == 2
    out.unlink()
    assert ended(child) == 0 and ended(other) == 0
    assert [json.loads(line)["text"] for line in out.read_text().splitlines()] == ["a b", "c d"]
    assert not leftovers(out)
