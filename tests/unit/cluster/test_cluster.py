"""Loads and questions on a cluster of Ray, which runs on this machine's cores: answers, and lost workers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import crews
from support.builds import answers, loaded, write_files
from support.crews import killed_once, own_process, wait_for_stop

import ngramdb
from ngramdb import cluster, interrupts, registries
from ngramdb.cli.main import main
from ngramdb.cluster import asking, crew, loading
from ngramdb.cluster import loading as merging
from ngramdb.cluster.crew import Job, MemberLost
from ngramdb.errors import InvalidArgument, LoadError, NotSupportedError
from ngramdb.segments.container import Container
from ngramdb.segments.far_index import KIND

QUESTIONS = ("DOCS", 'COUNT "the"', "NGRAMS 2 TOP 1000", 'KWIC "a"')


@pytest.fixture(scope="module")
def started():
    """Ray on two cores, for all tests of this module: it takes seconds to start."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(crews.__file__).parents[1]))  # for processes that Ray starts
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

    monkeypatch.setattr(crew, "ray", Missing())
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
    assert "--resume applies to a load on one machine" in capsys.readouterr().err


@pytest.fixture
def subwords_file(tmp_path):
    from support.subwords import write_tokenizer

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
    build = loading._build

    def killed_once(out, paths, shard, arguments):
        mark = killed / str(shard[0])
        if mark.exists():
            return build(out, paths, shard, arguments)
        mark.touch()

        def kill_at_work():
            lock = f"part-{shard[0]}"
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not any(lock in name for name in os.listdir(out)):
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGKILL)

        threading.Thread(target=kill_at_work).start()
        build(out, paths, shard, arguments)
        return time.sleep(60)  # the work was quicker than the one that kills

    monkeypatch.setattr(loading, "_build", killed_once)
    report = cluster.load(tmp_path / "db", "c", files, parts=3, retries=5)
    assert report.documents == 300 and len(os.listdir(killed)) == 3
    with ngramdb.connect(tmp_path / "db") as db:
        assert answers(db, "c", QUESTIONS) == loaded(files, "words", QUESTIONS)


def sections_of(path):
    """The bytes of a corpus's segments, in order: all but the random ids of their files."""
    with ngramdb.connect(path, read_only=True) as db:
        files = [one.file for one in db.snapshot.view("c").entry.segments]
        containers = [Container.open(memoryview((path / file.name).read_bytes()), "", KIND) for file in files]
        return [{name: bytes(one.section(name)) for name in one.sections} for one in containers]


def test_segments_are_merged_by_tasks_into_the_files_of_compact(started, segmented, tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    for copy in (here, there):
        shutil.copytree(segmented, copy)
    settings = {"segment_tokens": 4000}
    with ngramdb.connect(here) as db:
        db.settings["segment_tokens"] = settings["segment_tokens"]
        expected = db.corpus("c").compact()
    merge, mark = merging._merge, tmp_path / "killed"

    def killed_at_first(*arguments):
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return merge(*arguments)

    monkeypatch.setattr(merging, "_merge", killed_at_first)
    found = cluster.compact(there, "c", settings=settings)
    assert mark.exists() and found == expected and 1 < found.segments_after < 6 and found.documents_dropped
    assert sections_of(there) == sections_of(here)
    assert sorted(os.listdir(tmp_path)) == ["here", "killed", "there"]
    with ngramdb.connect(there) as db:
        assert db.execute("CHECK c").fetchall() == []
        # Nothing is left to be done, and nothing is committed.
        assert cluster.compact(there, "c", settings=settings).version == db.version
    with pytest.raises(ngramdb.BindError):
        cluster.compact(there, "d")


# ---- asking -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def segmented(tmp_path_factory):
    """A database of six segments, and documents that were removed."""
    folder = tmp_path_factory.mktemp("asked")
    files = write_files(folder / "files", 300)
    with ngramdb.connect(folder / "db") as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("c")
        for _ in range(2):
            for name in ("a.jsonl", "b.jsonl.gz", "c.jsonl"):
                corpus.load(files / name)
        db.execute("DELETE DOCS WHERE n IN (3, 10, 17, 150, 222) AND doc_id > 40 FROM c")
        assert len(db.snapshot.view("c").segments) == 6
    return folder / "db"


def processes(db):
    return [db._crew.ask([Job(member, own_process, ())])[0] for member in range(2)]


def test_questions_over_actors_have_the_answers_of_one_machine(started, segmented):
    with cluster.connect(segmented, actors=2) as db, ngramdb.connect(segmented) as other:
        assert answers(db, "c") == answers(other, "c")
        assert len({os.getpid(), *processes(db)}) == 3
        contexts, continuations = ["the", "a cat", "", "nowhere"] * 100, ["cat", "dog sat", "7", "mat"] * 100
        for model in registries.MODELS:
            found, expected = (
                one.corpus("c").prob_many(contexts, continuations, model=model) for one in (db, other)
            )
            assert repr(found) == repr(expected)
        # Writes are visible, here and to everybody who refreshes.
        db.execute("DELETE DOCS WHERE n = 1 FROM c")
        assert db.execute('COUNT "the"').fetchall() == other.execute('COUNT "the"').fetchall()
        other.execute("RESTORE CORPUS c TO VERSION ?", [other.version - 1])
        assert answers(db, "c") == answers(other, "c")
        question = f'COUNT "the" FROM c AT VERSION {other.version - 1}'
        assert db.execute(question).fetchall() == other.execute(question).fetchall()


def test_lost_actors_are_replaced_and_their_questions_answered(started, segmented, tmp_path):
    with ngramdb.connect(segmented) as other:
        expected = answers(other, "c")
    with cluster.connect(segmented, actors=2) as db:
        before = processes(db)
        mark = str(tmp_path / "killed")
        found = db._crew.ask([Job(member, killed_once, (mark,)) for member in range(2)])
        # The one that lives has answered for both, or the other's successor has, which may be there already.
        assert len(found) == 2 and set(found) & set(before) and db._crew.n_lost == 1
        assert answers(db, "c") == expected
        for pid in processes(db):  # all at once, between two questions
            os.kill(pid, signal.SIGKILL)
        assert answers(db, "c") == expected and db._crew.n_lost >= 3
        while len(db._crew.living()) < 2:
            time.sleep(0.01)
        assert not set(processes(db)) & set(before)


@pytest.mark.parametrize("name", ["ActorDiedError", "ObjectLostError", "NodeDiedError", "TaskCancelledError"])
def test_an_answer_that_was_lost_with_its_machine_is_asked_for_again(started, monkeypatch, name):
    kind = getattr(started.exceptions, name)

    class Lost(kind):
        def __init__(self):
            Exception.__init__(self, name)

        def __str__(self):
            return name

    def lost(reference):
        raise Lost

    monkeypatch.setattr(asking, "ray", SimpleNamespace(get=lost, exceptions=started.exceptions))
    with pytest.raises(kind if name == "TaskCancelledError" else MemberLost):
        asking._Actors.answer(None, None)


def test_work_of_actors_is_stopped_with_its_question(started, segmented, tmp_path):
    mark = str(tmp_path / "running")
    with cluster.connect(segmented, actors=1) as db:
        work = interrupts.Interrupt()

        def stop():
            while not os.path.exists(mark):
                time.sleep(0.001)
            work.set()

        threading.Thread(target=stop).start()
        with pytest.raises(ngramdb.Interrupted), work:
            db._crew.ask([Job(0, wait_for_stop, (mark,))])
        while os.path.exists(mark):
            time.sleep(0.001)
        assert db.execute("COUNT DOCS").fetchall()
    with pytest.raises(ngramdb.ExecutionError, match="connection is closed"):
        db.execute("COUNT DOCS")


DRIVER = """
import os, sys
from support import crews
from ngramdb import cluster
from ngramdb.cluster.crew import Job

db = cluster.connect(sys.argv[1], address=sys.argv[2], actors=2)
print(*(db._crew.ask([Job(i, crews.own_process, ())])[0] for i in range(2)), flush=True)
sys.stdin.read()
"""


def test_actors_end_with_a_driver_that_is_killed(started, segmented):
    address = started.get_runtime_context().gcs_address
    command = [sys.executable, "-c", DRIVER, str(segmented), address]
    tests = str(Path(crews.__file__).parents[1])
    driver = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": tests},
    )
    try:
        processes = driver.stdout.readline().split()
        assert len(processes) == 2
    finally:
        driver.kill()
        driver.communicate()
    while any(os.path.exists(f"/proc/{process}") for process in processes):
        time.sleep(0.01)
    with cluster.connect(segmented, actors=2) as db:  # their cores are free
        assert db.execute("COUNT DOCS").fetchall()


LOADER = """
import sys
from ngramdb import cluster

def told(progress):
    print(progress.done, flush=True)
    sys.stdin.read()

cluster.load(sys.argv[1], "c", sys.argv[2], parts=3, address=sys.argv[3], progress=told)
"""


def test_a_load_whose_driver_is_killed_goes_on(started, tmp_path, files):
    database = tmp_path / "db"
    address = started.get_runtime_context().gcs_address
    command = [sys.executable, "-c", LOADER, str(database), str(files), address]
    driver = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert driver.stdout.readline() == "1\n"
    finally:
        driver.kill()
        driver.communicate()
    if database.exists():
        with ngramdb.connect(database) as db:
            assert db.corpora() == []
    [out] = (tmp_path / "db.parts").iterdir()
    before = {name: (out / name).stat().st_mtime_ns for name in os.listdir(out) if name.endswith(".json")}
    assert before
    seen = []

    def told(progress):
        seen.append({name: (out / name).stat().st_mtime_ns for name in before})

    report = cluster.load(database, "c", files, parts=3, progress=told)
    assert all(found == before for found in seen)  # what was there was not built again
    assert report.documents == 60 and sorted(os.listdir(tmp_path)) == ["db", "files"]
    with ngramdb.connect(database) as db:
        assert answers(db, "c") == loaded(files)


def test_what_cannot_be_connected_to(started, segmented, tmp_path):
    with pytest.raises(ngramdb.StorageError):
        cluster.connect(tmp_path / "missing")
    for options in ({"actors": 0}, {"replicas": True}, {"replicas": "2"}):
        with pytest.raises(InvalidArgument, match="at least 1"):
            cluster.connect(segmented, **options)
