"""A load that is killed again and again, and resumed each time, loads every document once and in order."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
import time

import pytest

import ngramdb

N_DOCUMENTS = 800
LOAD = (
    "import sys; from ngramdb.cli.main import main; print('ready', flush=True); sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture
def files(tmp_path):
    """A folder of files of a few to a thousand documents."""
    folder = tmp_path / "files"
    folder.mkdir()
    rng = random.Random(5)
    n, k = 0, 0
    while n < N_DOCUMENTS:
        size = min(rng.choice([1, 3, 200, 500]), N_DOCUMENTS - n)
        lines = "".join(
            json.dumps({"text": f"document {i} of many words", "n": i}) + "\n" for i in range(n, n + size)
        )
        path = folder / f"{k:03}.jsonl{'.gz' if k % 2 else ''}"
        path.write_bytes(gzip.compress(lines.encode()) if k % 2 else lines.encode())
        n, k = n + size, k + 1
    return folder


def numbers(path) -> list[int]:
    """The field n of all documents, in the order of their ids."""
    with ngramdb.connect(path, read_only=True) as db:
        if "c" not in db.corpora():
            return []
        segments = db.corpus("c")._bound.current().segments
        rows = (row for one in segments for row in one.metadata.rows(range(one.n_documents)))
        return [row["n"] for row in rows]


def versions(path) -> int:
    """Return the number of commits."""
    return max(
        (int(one.name.split(".")[0]) for one in path.glob("manifests/*") if one.name[0].isdigit()), default=0
    )


@pytest.mark.parametrize("seed", [3])
def test_a_load_that_is_killed_goes_on_without_a_gap_and_without_doubles(tmp_path, files, seed):
    rng = random.Random(seed)
    path = tmp_path / "db.ngdb"
    command = [
        sys.executable,
        "-c",
        LOAD,
        "load",
        str(path),
        "c",
        str(files),
        "--commit-every",
        "40",
        "--resume",
    ]
    n_kills, n_seen, stopped_at = 0, 0, set()
    while n_kills < 16:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        awaited = versions(path) + rng.choice((0, 1, 2, 9))  # however long the machine takes over a commit
        while versions(path) < awaited and child.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0.0, 0.05))
        if child.poll() is not None:
            break
        child.kill()
        child.communicate()
        n_kills += 1
        if path.exists() and (path / "NGRAMDB").exists():
            found = numbers(path)
            assert found == list(range(len(found))) and len(found) >= n_seen
            assert len(found) % 40 == 0 or len(found) == N_DOCUMENTS
            n_seen = len(found)
            stopped_at.add(n_seen)
    else:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, error = child.communicate(timeout=120)
    assert child.returncode == 0, error.decode()
    assert numbers(path) == list(range(N_DOCUMENTS))
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert b"c: 0 documents" in done.stdout and b"nothing was left to load" in done.stderr
    with ngramdb.connect(path) as db:
        assert db.execute("CHECK").fetchall() == []
    assert stopped_at - {0, N_DOCUMENTS}
