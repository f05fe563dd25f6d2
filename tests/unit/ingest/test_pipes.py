"""Pipes, sockets and devices in place of a file to load; and pipes that a shell passes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys

import pytest

import ngramdb
from ngramdb.cli.shell.script import run_file
from ngramdb.cli.shell.session import Shell
from ngramdb.errors import LoadError, NgramdbError, QueryCancelled
from ngramdb.ingest.sources import Source, expand
from ngramdb.ingest.streams import Limits, Meter, read_chunks
from ngramdb.strict_reading import inherited_descriptor

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="takes FIFOs and alarms")

PATIENCE_S = 20


@pytest.fixture(autouse=True)
def hurried():
    def give_up(number, frame):
        raise AssertionError("still waiting")

    old = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


@pytest.fixture(params=["FIFO", "socket", "device", "linked FIFO"])
def strange(request, tmp_path, monkeypatch):
    """A path that can be given for a file, and what it is."""
    path, what = tmp_path / "in.jsonl", request.param
    if what == "FIFO":
        os.mkfifo(path)
    elif what == "socket":
        monkeypatch.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
    return path, {"FIFO": "named pipe", "linked FIFO": "named pipe"}.get(what, what)


@pytest.fixture
def db():
    with ngramdb.connect() as opened:
        opened.create_corpus("c")
        yield opened


def test_what_is_no_file_is_refused_at_once(strange, db):
    path, what = strange
    message = rf"cannot be read: it is a {what}.*, not a regular file; pass a pipe as standard input"
    for given in (path, f"{path.parent}/in*"):
        with pytest.raises(LoadError, match=message):
            expand(given)
        with pytest.raises(LoadError, match=message):
            db.corpus("c").load(given)
        with pytest.raises(NgramdbError, match=message):
            db.execute("COPY c FROM ?", [str(given)])
    # Something else has taken the place of the file since it was found.
    with pytest.raises(LoadError, match=f"it is a {what}"):
        list(read_chunks(Source(str(path), "in", "jsonl"), Limits(), Meter()))


def test_a_folder_gives_its_regular_files(strange, db):
    path, _ = strange
    (path.parent / "b.jsonl").write_text('{"text": "a"}\n')
    found = [source.name for source in expand(path.parent)]
    assert found == ["b.jsonl"]


def test_a_script_is_a_file(strange):
    path, what = strange
    with pytest.raises(OSError, match=f"it is a {what}"):
        run_file(Shell(None), str(path))


@pytest.mark.parametrize(
    ("path", "descriptor"),
    [
        ("/dev/fd/63", 63),
        ("/dev/stdin", 0),
        ("/proc/self/fd/7", 7),
        ("/dev/fd/x", None),
        ("/dev/fd", None),
        ("/dev/fd/1/2", None),
        ("/dev/stdin2", None),
        ("fd/3", None),
    ],
)
def test_paths_that_stand_for_descriptors_are_known(path, descriptor):
    assert inherited_descriptor(path) == descriptor


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="the system names no descriptors")
def test_a_pipe_that_is_open_already_is_read(db):
    reading, writing = os.pipe()
    os.write(writing, b"one two\n")
    os.close(writing)
    db.corpus("c").load(f"/dev/fd/{reading}")
    os.fstat(reading)  # still the caller's
    os.close(reading)
    assert db.corpus("c").count("one two") == 1
    with pytest.raises(LoadError, match=r"no such file|cannot be read"):
        db.corpus("c").load("/dev/fd/987")


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="the system names no descriptors")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("standard", [True, False])
def test_waiting_for_a_pipe_that_nobody_writes_to_can_be_stopped(db, threads, standard, monkeypatch):
    reading, writing = os.pipe()
    try:
        path = f"/dev/fd/{reading}"
        if standard:
            monkeypatch.setattr(sys, "stdin", os.fdopen(os.dup(reading)))
            path = "-"
        db.settings["threads"] = threads
        with pytest.raises(QueryCancelled):
            db.execute("COPY c FROM ?", [path], timeout=0.3)
    finally:
        os.close(writing)
        os.close(reading)
    assert db.corpus("c").count_docs() == 0


@pytest.mark.skipif(shutil.which("bash") is None, reason="takes bash")
def test_a_shell_hands_over_the_output_of_a_command(tmp_path):
    command = f'{sys.executable} -m ngramdb load db c --format jsonl <(printf \'{{"text": "one two"}}\\n\')'
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    with ngramdb.connect(tmp_path / "db") as db:
        assert db.corpus("c").count("one two") == 1
