"""A process that is forked while other threads query and write can query and write too; nothing hangs.

Each of these runs in a process of its own (alone.py).
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from support.alone import run_alone, status_of_child
from support.foreign_indexes import write_infini_gram

import ngramdb
from ngramdb.errors import LockedError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
N = 1000
FORKS = 12


def ask(db, corpus):
    """Use everything that takes locks: refreshing, tokenizers, models, metadata; each answer is known."""
    assert db.execute('COUNT "war" FROM w').fetchall() == [(N,)]
    assert corpus.count_many(["war and", "the x"] * 20).tolist() == [N, 0] * 20
    assert corpus.prob("and", "the war", model="kneser_ney") > 0.1
    assert len(corpus.kwic("war", limit=2).fetchall()) == 2


def children_of_a_process_with_threads(folder, where):
    with ngramdb.connect(*([Path(folder) / "w.ngdb"] if where == "on disk" else [])) as db:
        corpus = db.create_corpus("w")
        corpus.append(["the war and the peace"] * N)
        ended = threading.Event()
        failures = []

        def read():
            try:
                while not ended.is_set():
                    ask(db, corpus)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        statuses = []
        for _ in range(FORKS):
            time.sleep(0.02)
            statuses.append(status_of_child(lambda: ask(db, corpus)))
        ended.set()
        for thread in threads:
            thread.join()
        assert (statuses, failures) == ([0] * FORKS, [])


@pytest.mark.parametrize("where", ["on disk", "in memory"])
def test_children_of_a_process_with_threads_answer(tmp_path, where):
    run_alone(children_of_a_process_with_threads, tmp_path, where)


def child_beside_a_writing_thread(folder):
    with ngramdb.connect(Path(folder) / "w.ngdb") as db:
        corpus = db.create_corpus("w")
        corpus.append(["a b"])
        begun, ended = threading.Event(), threading.Event()

        def documents():
            begun.set()
            ended.wait()
            yield "c d"

        def write_too():
            with pytest.raises(LockedError):
                corpus.append(["e f"])
            assert corpus.count("a b") == 1

        thread = threading.Thread(target=lambda: corpus.append(documents()))
        thread.start()
        begun.wait()
        status = status_of_child(write_too)
        ended.set()
        thread.join()
        assert (status, corpus.n_documents) == (0, 2)
        assert status_of_child(lambda: corpus.append(["e f"])) == 0
        assert db.refresh() and corpus.count("e f") == 1


def test_a_child_writes_or_is_told_that_its_parent_does(tmp_path):
    run_alone(child_beside_a_writing_thread, tmp_path)


def child_with_attached_corpora(folder):
    write_infini_gram(Path(folder) / "index", [[5, 6, 7], [5, 6]])
    with ngramdb.connect(Path(folder) / "w.ngdb") as db:
        attached = db.attach(str(Path(folder) / "index"), name="pile")
        ended = threading.Event()
        thread = threading.Thread(target=ended.wait)
        thread.start()

        def look():
            assert attached.count([5, 6]) == 2
            assert db.execute("SHOW CORPORA").to_dicts()[0]["corpus"] == "pile"

        status = status_of_child(look)
        ended.set()
        thread.join()
        assert status == 0


def test_attached_corpora_are_there_in_a_child(tmp_path):
    run_alone(child_with_attached_corpora, tmp_path)


def child_without_its_files(folder):
    with ngramdb.connect(Path(folder) / "w.ngdb") as db, ngramdb.connect() as other:
        corpus = db.create_corpus("w")
        corpus.append(["a b"])
        assert corpus.count("a b") == 1
        other.create_corpus("o").append(["c"])
        shutil.rmtree(Path(folder) / "w.ngdb")
        ended = threading.Event()
        thread = threading.Thread(target=ended.wait)
        thread.start()

        def look():
            assert corpus.count("a b") == 1
            assert other.execute('COUNT "c"').fetchall() == [(1,)]

        status = status_of_child(look)
        ended.set()
        thread.join()
        assert status == 0


def test_a_child_of_a_database_whose_files_are_gone_goes_on_with_what_is_open(tmp_path):
    run_alone(child_without_its_files, tmp_path)
