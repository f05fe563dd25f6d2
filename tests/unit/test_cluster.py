"""Loads on a cluster of Ray, which runs on this machine's cores: the same corpus, errors and lost workers."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from builds import answers, loaded, write_files

import ngramdb
from ngramdb import cluster
from ngramdb.cli.main import main
from ngramdb.errors import InvalidArgument, LoadError, NotSupportedError

QUESTIONS = ("DOCS", 'COUNT "the"', "NGRAMS 2 TOP 1000", 'KWIC "a"')


@pytest.fixture(scope="module")
def started():
    """Ray on two cores, for all tests of this module: it takes seconds to start."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path / "files")


def test_without_ray_an_error_says_what_to_install(tmp_path, files, monkeypatch):
    class Missing:
        def __getattr__(self, name):
            raise ModuleNotFoundError("No module named 'ray'", name="ray")

    monkeypatch.setattr(cluster, "ray", Missing())
    with pytest.raises(NotSupportedError, match=r"pip install 'ngramdb\[ray\]'"):
        cluster.load(tmp_path / "db", "c", files)
    assert not (tmp_path / "db").exists()


def test_a_load_on_a_cluster_is_one_load(started, tmp_path, files, subwords_file):
    seen = []
    report = cluster.load(tmp_path / "db", "c", files, parts=3, tokenizer=subwords_file, progress=seen.append)
    assert (report.parts, report.documents) == (3, 60)
    assert [one.done for one in seen] == [1, 2, 3] and seen[-1].documents == 60 and seen[-1].fraction == 1
    assert report.elapsed > seen[-1].elapsed
    again = cluster.load(tmp_path / "db", "c", files, parts=2)
    assert again.documents == 60 and sorted(os.listdir(tmp_path)) == ["db", "files", "tokenizer.json"]
    with ngramdb.connect(tmp_path / "db") as db, ngramdb.connect() as other:
        corpus = other.create_corpus("c", tokenizer=subwords_file)
        for _ in range(2):
            corpus.load(files)
        assert answers(db, "c", QUESTIONS) == answers(other, "c", QUESTIONS)


def test_the_flag_of_the_command(tmp_path, files, monkeypatch, capsys):
    asked = []

    def record(*arguments, **options):
        asked.append((arguments, options))
        options["progress"](cluster.ClusterProgress(1, 2, 3, 4, 0.5))
        return ngramdb.CommitReport(2, 60, 1234, 2, 2, 0.5, ("a note",))

    monkeypatch.setattr(cluster, "load", record)
    command = ["load", "db", "c", str(files), "--threads", "2", "--text", "kind", "--cluster"]
    assert main([*command, "ray=auto"]) == 0
    printed = "c: 2 parts, 60 documents, 1,234 tokens in 500 ms, version 2\n"
    assert capsys.readouterr() == (printed, "note: a note\n")
    (arguments, options) = asked[0]
    assert arguments == ("db", "c", [str(files)]) and options["address"] == "auto"
    assert options["text"] == "kind" and options["settings"]["threads"] == 2
    assert main([*command, "ray"]) == 0 and asked[1][1]["address"] is None
    assert main([*command, "slurm"]) == 2
    assert main([*command, "ray", "--resume"]) == 2
    assert "--resume goes with a load on one machine" in capsys.readouterr().err


@pytest.fixture
def subwords_file(tmp_path):
    from subwords import write_tokenizer

    return write_tokenizer(tmp_path / "tokenizer.json")


def test_errors_of_a_task_are_ours_and_a_load_goes_on_with_what_is_there(started, tmp_path, files):
    (files / "f.jsonl").write_text("no json\n")
    with pytest.raises(LoadError, match=r"f\.jsonl, line 1"):
        cluster.load(tmp_path / "db", "c", files, parts=3)
    assert not (tmp_path / "db").exists()
    report = cluster.load(tmp_path / "db", "c", files, parts=3, on_error="skip")
    assert report.documents == 60
    with pytest.raises(InvalidArgument, match="keeps its own tokenizer"):
        cluster.load(tmp_path / "db", "c", files, tokenizer="bytes")
    with pytest.raises(InvalidArgument, match="at least 1"):
        cluster.load(tmp_path / "db", "d", files, parts=0)


def test_workers_that_are_killed_are_replaced(started, tmp_path, monkeypatch):
    files = write_files(tmp_path / "files", 300)
    killed = tmp_path / "killed"
    killed.mkdir()
    build = cluster._build

    def killed_once(out, paths, shard, arguments):
        mark = killed / str(shard[0])
        if mark.exists():
            return build(out, paths, shard, arguments)
        mark.touch()

        def kill_at_work():
            lock = f"part-{shard[0]}"
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline and not any(lock in name for name in os.listdir(out)):
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGKILL)

        threading.Thread(target=kill_at_work).start()
        build(out, paths, shard, arguments)
        return time.sleep(60)  # the work was quicker than the one that kills

    monkeypatch.setattr(cluster, "_build", killed_once)
    report = cluster.load(tmp_path / "db", "c", files, parts=3, retries=5)
    assert report.documents == 300 and len(os.listdir(killed)) == 3
    with ngramdb.connect(tmp_path / "db") as db:
        assert answers(db, "c", QUESTIONS) == loaded(files, "words", QUESTIONS)
