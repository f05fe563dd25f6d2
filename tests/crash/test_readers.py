"""Readers in other processes and threads, beside a writer that continuously merges, removes and releases
versions."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import ngramdb
from ngramdb.api.connection import Connection
from ngramdb.api.database import Database
from ngramdb.engine.corpus.view import CorpusView
from ngramdb.engine.storage.directory import MemoryDirectory, RealDirectory
from ngramdb.engine.storage.store import Store

# Commits, and versions that a reader has to see among them.
N_COMMITS = 60
N_SEEN = 5
N_PROCESSES = 3
N_THREADS = 3

# Every version has as many "left" as "right", and each in as many documents.
READ = """
import sys, threading, time
import ngramdb

ended = threading.Thread(target=sys.stdin.read)
ended.start()
versions = set()
with ngramdb.connect(sys.argv[1], read_only=True) as db:
    c = db.corpus("c")
    while ended.is_alive():
        db.refresh()
        snapshot = db.snapshot
        time.sleep(0.002)  # now its files may go, if anybody lets them
        view = snapshot.view("c")
        left, right = (view.index.count(view.tokenizer.encode(word)) for word in ("left", "right"))
        documents = sum(segment.n_documents - len(view.removed(i)) for i, segment in enumerate(view.segments))
        assert left == right, (left, right)
        assert documents == view.n_documents
        versions.add(snapshot.version)
        if len(versions) == int(sys.argv[2]):
            print("seen", flush=True)
            versions.add(None)
"""


def write(db, is_enough):
    """Commit without a pause until it is enough; return the number of versions."""
    db.settings["keep_versions"] = 1
    c = db.corpus("c")
    first, n = db.version, 0
    while n < N_COMMITS or not is_enough():
        n += 1
        c.append([f"left right number{n}", f"right then left number{n}"])
        if n % 5 == 0:
            c.delete(f'"number{n - 3}"')
        if n % 17 == 0:
            c.compact()
    return db.version - first


def test_readers_in_other_processes_see_whole_versions_only(tmp_path):
    path = tmp_path / "db"
    with ngramdb.connect(path) as db:
        db.create_corpus("c").append(["left right"])
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", READ, str(path), str(N_SEEN)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(N_PROCESSES)
        ]
        seen = [threading.Thread(target=reader.stdout.readline) for reader in readers]
        for thread in seen:
            thread.start()
        write(db, lambda: not any(thread.is_alive() for thread in seen))
        for reader in readers:
            _, errors = reader.communicate(timeout=120)
            assert reader.returncode == 0, errors
        assert db.execute("CHECK").fetchall() == []
        # Without readers, the next commits release everything that was kept for them.
        db.corpus("c").append(["left right"])
        db.corpus("c").append(["left right"])
    store = Store.open(RealDirectory(path))
    assert len(store.versions()) <= 2
    needed = {name for manifest in store.versions() for name in manifest.files()}
    assert set(store.directory.list("segments/")) <= needed


def test_readers_in_threads_see_whole_versions_only():
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["left right"])
        stop = threading.Event()
        problems: list[object] = []

        def read():
            try:
                while not stop.is_set():
                    rows = db.execute('COUNT DOCS WHERE "left" AND NOT "right"').fetchall()
                    if rows != [(0,)]:
                        problems.append(rows)
            except Exception as error:
                problems.append(error)

        threads = [threading.Thread(target=read) for _ in range(N_THREADS)]
        for thread in threads:
            thread.start()
        write(db, lambda: True)
        stop.set()
        for thread in threads:
            thread.join()
        assert problems == []


@pytest.mark.parametrize("kind", ["memory", "real"])
def test_a_version_that_is_read_is_kept_until_it_is_not(tmp_path, kind):
    directory = MemoryDirectory() if kind == "memory" else RealDirectory(tmp_path / "db")
    with Connection(Database(Store.open(directory))) as db:
        db.create_corpus("c").append(["one"])
        other = Store.open(directory, read_only=True)
        view = CorpusView(other, other.manifest.corpora["c"])
        held = other.manifest.version
        db.settings["keep_versions"] = 1
        for _ in range(3):
            db.corpus("c").append(["more"])
            db.corpus("c").compact()
        kept = [manifest.version for manifest in other.versions()]
        assert kept[0] == held
        assert view.index.count(view.tokenizer.encode("one")) == 1
        del view
        other.refresh()
        db.corpus("c").append(["more"])
        db.corpus("c").append(["more"])
        assert held not in [manifest.version for manifest in other.versions()]
