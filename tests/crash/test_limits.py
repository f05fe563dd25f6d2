"""Devices that are full or read-only, memory and descriptors that run out, files that vanish: a clear error,
and an unchanged database. Each scenario runs in its own process, whose limits end with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

import ngramdb

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX systems")

BEGIN = """
import os, resource, sys
import ngramdb
from ngramdb.errors import ReadOnlyError, ResourceError, StorageError

path = sys.argv[1]

def documents(n):
    return [{"text": " ".join(f"w{i * k % 9973}" for k in range(100)), "n": i} for i in range(n)]

def fails(kind, words, work):
    try:
        work()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError("no error")

def sound(db, n):
    c = db.corpus("c")
    assert c.n_documents == n == c.count_docs('"w0"') == len(db.execute("DOCS").fetchall())
    assert db.execute("CHECK").fetchall() == []
"""

FULL = """
with ngramdb.connect(path) as db:
    c = db.create_corpus("c")
    c.append(documents(200))
    fails(StorageError, "free some space", lambda: c.append(documents(8000)))
    sound(db, 200)
    c.append(documents(50))
    sound(db, 250)
    n = 250
    try:
        while True:
            c.append(documents(300))
            n += 300
    except StorageError as error:
        assert "free some space" in str(error)
    sound(db, n)
    fails(ngramdb.errors.ExecutionError, "No space left", lambda: c.export(path + ".jsonl"))
    assert os.listdir(os.path.dirname(path)) == ["db"]
"""

READ_ONLY = """
with ngramdb.connect(path, read_only=True) as db:
    n = db.corpus("c").n_documents
    sound(db, n)
    fails(ReadOnlyError, "opened read-only", lambda: db.corpus("c").append(["x"]))
with ngramdb.connect(path) as db:
    fails(StorageError, "read_only=True", lambda: db.corpus("c").delete("n < 5"))
    sound(db, n)
"""

# Only one of two parts fits. The space of the failed one is released.
FULL_PARTS = """
out, files = os.path.dirname(path) + "/out", sys.argv[2]
ngramdb.build(out, files, (0, 2))
before = set(os.listdir(out))
fails(StorageError, "free some space", lambda: ngramdb.build(out, files, (1, 2)))
assert ngramdb.missing(out, 2) == [1] and set(os.listdir(out)) == before
fails(ngramdb.errors.NgramdbError, "missing", lambda: ngramdb.commit(path, "c", out))
"""

ROOM_FOR_PARTS = """
out, files = os.path.dirname(path) + "/out", sys.argv[2]
assert ngramdb.missing(out, 2) == [1]
ngramdb.build(out, files, (1, 2))
ngramdb.commit(path, "c", out)
with ngramdb.connect(path) as db:
    sound(db, 700)
"""

TOO_LARGE = """
with ngramdb.connect(path) as db:
    c = db.create_corpus("c")
    c.append(documents(50))
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    fails(StorageError, "too large", lambda: c.append(documents(3000)))
    sound(db, 50)
    c.append(documents(20))
    sound(db, 70)
"""

NO_MEMORY = """
with ngramdb.connect(path) as db:
    c = db.create_corpus("c")
    c.append(documents(50))
    sound(db, 50)
    more = documents(60_000)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 40_000_000,) * 2)
    fails(ResourceError, "memory ran out", lambda: c.append(more))
    sound(db, 50)
"""

LARGE = """
import random

with ngramdb.connect(path) as db:
    letters = random.Random(1)
    text = "".join(letters.choices("abcdefghij", k=1_500_000))
    c = db.create_corpus("c", tokenizer="bytes")
    c.append([{"text": text, "k": 1}, {"text": text[:500_000], "k": 2}])
"""

NO_MEMORY_FOR_ANSWERS = """
import random

out = sys.argv[3]
with ngramdb.connect(path, read_only=True) as db:
    db.settings["threads"] = 1
    c = db.corpus("c")
    text = "".join(random.Random(1).choices("abcdefghij", k=1_500_000))
    db.use("c")
    many = [[i % 10] for i in range(1_000_000)]

    # Each answer once with little to do, and once with much.
    def answers(n, text, many, result):
        return {
            "NGRAMS": lambda: db.execute(f"NGRAMS {n}").fetchall(),
            "GROUP BY": lambda: db.execute(f"COUNT *{{{n}}} GROUP BY FORM").fetchall(),
            "KEYWORDS": lambda: db.execute(f"KEYWORDS WHERE k = 1 AGAINST REST NGRAMS {n}").fetchall(),
            "COPY": lambda: db.execute(f"COPY (COUNT *{{{n}}} GROUP BY FORM) TO '{out}.csv'"),
            "counts": lambda: c.counts(many).fetchall(),
            "match_lengths": lambda: c.match_lengths(text),
            "export_arpa": lambda: c.export_arpa(out + ".arpa", order=n),
            "df": lambda: result.df(),
            "arrow": lambda: result.arrow(),
            "to_dicts": lambda: result.to_dicts(),
        }

    small = answers(2, text[:50], many[:5], db.execute("NGRAMS 1"))
    small[sys.argv[2]]()
    large = answers(12, text, many, db.execute("NGRAMS 6"))[sys.argv[2]]
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 4_000_000, resource.RLIM_INFINITY))
    fails(ResourceError, "memory ran out", large)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    assert c.count("a") > 0
"""

MEMORY_LIMIT = """
with ngramdb.connect(path) as db:
    c = db.create_corpus("c")
    c.append(documents(50))
    db.settings["memory_limit"] = "20MB"
    fails(ResourceError, "memory_limit is", lambda: c.append(documents(3000)))
    sound(db, 50)
"""

NO_DESCRIPTORS = """
with ngramdb.connect(path) as db:
    c = db.create_corpus("c")
    c.append(documents(50))
    sound(db, 50)
    assert c.count("w0") > 0  # the first call imports a module, which takes a descriptor
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    assert c.count("w0") > 0
    fails(StorageError, "ulimit -n", lambda: c.append(documents(5)))
    for descriptor in taken:
        os.close(descriptor)
    c.append(documents(5))
    sound(db, 55)
"""

VANISHED = """
with ngramdb.connect(path) as db:
    db.settings["auto_compact"] = False
    c = db.create_corpus("c")
    c.append(documents(5))
    c.append(documents(5))
    name = db.execute("SHOW SEGMENTS").fetchone()[1]
os.rename(os.path.join(path, name), path + ".aside")
with ngramdb.connect(path) as db:
    c = db.corpus
    fails(StorageError, "the file is missing", lambda: c("c").count("w0"))
    fails(StorageError, "the file is missing", lambda: c("c").compact())
    assert any("the file is missing" in row[3] for row in db.execute("CHECK").fetchall())
os.rename(path + ".aside", os.path.join(path, name))
with ngramdb.connect(path) as db:
    sound(db, 10)
"""


def tell(story: str, path: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + story, path, *arguments], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("story", ["TOO_LARGE", "MEMORY_LIMIT", "NO_DESCRIPTORS", "VANISHED"])
def test_a_limit_is_a_clear_error_and_does_no_harm(story, tmp_path):
    tell(globals()[story], str(tmp_path / "db"))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the limit is set above what is in use")
def test_memory_that_runs_out_is_a_clear_error_and_does_no_harm(tmp_path):
    tell(NO_MEMORY, str(tmp_path / "db"))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A database whose answers are large, to be read."""
    path = str(tmp_path_factory.mktemp("large") / "db")
    tell(LARGE, path)
    return path


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the limit is set above what is in use")
@pytest.mark.parametrize(
    "answer",
    [
        "NGRAMS",
        "GROUP BY",
        "KEYWORDS",
        "COPY",
        "counts",
        "match_lengths",
        "export_arpa",
        "df",
        "arrow",
        "to_dicts",
    ],
)
def test_an_answer_that_does_not_fit_into_memory_is_a_clear_error(answer, large, tmp_path):
    tell(NO_MEMORY_FOR_ANSWERS, large, answer, str(tmp_path / "out"))


def tell_on_a_small_device(folder, size, *steps, arguments=()):
    """Commands of the shell and stories, with a file system in memory that only they see; it is `folder`."""
    unshare = shutil.which("unshare")
    folder.mkdir()
    mount = f"mount -t tmpfs -o size={size} tmpfs {folder}"
    if unshare is None or subprocess.run([unshare, "-rm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("a file system cannot be mounted here")
    commands, stories = [mount], []
    for step in steps:
        if step.startswith("mount "):
            commands.append(step)
        else:
            stories.append(BEGIN + step)
            commands.append(f'"$0" -c "${{{len(stories)}}}" {folder}/db {" ".join(map(str, arguments))}')
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", " && ".join(commands), sys.executable, *stories],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_full_and_a_read_only_device_are_clear_errors_and_do_no_harm(tmp_path):
    folder = tmp_path / "device"
    tell_on_a_small_device(folder, "3m", FULL, f"mount -o remount,bind,ro {folder}", READ_ONLY)


def test_a_full_folder_of_parts_is_a_clear_error_and_the_part_is_built_when_there_is_room(tmp_path):
    folder, files = tmp_path / "device", tmp_path / "files.jsonl"
    texts = (" ".join(f"w{i * k % 997}" for k in range(500)) for i in range(700))
    files.write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    ngramdb.build(tmp_path / "measured", files, (0, 2))
    n_bytes = sum(file.stat().st_size for file in (tmp_path / "measured").rglob("*") if file.is_file())
    room, grow = 3 * n_bytes // 2, f"mount -o remount,size={100 * n_bytes} {folder}"
    tell_on_a_small_device(folder, room, FULL_PARTS, grow, ROOM_FOR_PARTS, arguments=[files])
