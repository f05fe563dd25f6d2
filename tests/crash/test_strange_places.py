"""Links, pipes, sockets, devices and folders in the place of every file and folder of a database.

A database is tried with each of them in each place, through every operation. Whatever is there: nothing
behind a link changes, nothing waits for the other end of a pipe, and no exception is raised but ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
from pathlib import Path

import pytest

import ngramdb
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.store import Store
from ngramdb.errors import ExecutionError, NgramdbError, StorageError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="takes FIFOs, links and alarms")

#: Longer than all operations on so small a database take, by a factor of some ten.
PATIENCE_S = 120

#: Passes over errors of ours in what is tried.
tolerant = contextlib.suppress

TOKENIZER = {
    "version": "1.0",
    "pre_tokenizer": {"type": "Whitespace"},
    "model": {"type": "WordLevel", "vocab": {"?": 0, "w1": 1, "w2": 2, "w3": 3}, "unk_token": "?"},
}


def make(path: Path, scratch: Path) -> None:
    """Two corpora, several segments and versions, removals, statistics: files in every folder."""
    definition = scratch / "tokenizer.json"
    definition.write_text(json.dumps(TOKENIZER))
    with ngramdb.connect(path) as db:
        db.settings["auto_compact"] = False
        words = db.create_corpus("words")
        words.append({"text": f"w1 w2 w{i}", "n": i} for i in range(9))
        words.append({"text": f"w3 w1 w{i}", "n": i} for i in range(9))
        words.delete("doc_id = 3")
        words.analyze()
        db.create_corpus("pieces", tokenizer=str(definition)).append(["w1 w2 w3", "w2 w1"])


def operate(path: Path, scratch: Path) -> None:
    """Every operation; those that cannot be done raise an error of ours, and the others are done."""
    use(path, scratch, read_only=True)
    use(path, scratch, read_only=False)
    # Creating a database at a place that is already in use.
    with contextlib.suppress(StorageError), Store.open(RealDirectory(path)).begin(0.0):
        pass


def use(path: Path, scratch: Path, read_only: bool) -> None:
    lines = scratch / "lines.jsonl"
    lines.write_text('{"text": "w2 w3 w4"}\n{"text": "w1"}\n')
    with tolerant(NgramdbError), ngramdb.connect(path, read_only=read_only) as db:
        for statement in STATEMENTS:
            with tolerant(NgramdbError):
                db.execute(statement.replace("LINES", str(lines)), []).fetchall()
        for verb in VERBS:
            with tolerant(NgramdbError):
                verb(db)


STATEMENTS = [
    'COUNT "w1 w2" FROM words',
    "DOCS WHERE n > 3 FROM words",
    'KWIC "w2" FROM pieces LIMIT 3',
    'PROB "w2" GIVEN "w1" USING KNESER_NEY FROM words',
    "SHOW VERSIONS",
    "SHOW REMOVALS FROM words",
    "CHECK",
    "CREATE CORPUS more",
    "COPY words FROM 'LINES'",
    'DELETE DOCS WHERE "w5" FROM words',
    "SET keep_versions = 2",
    "ANALYZE words",
    "ALTER CORPUS words ADD CORPUS more",
    "COMPACT words",
    "RESTORE CORPUS words TO VERSION 12",
    "COPY (DOCS FROM words) TO 'LINES.jsonl'",
    "DROP CORPUS pieces",
]
VERBS = [
    lambda db: db.corpus("words").append([{"text": "w1 w9"}]),
    lambda db: db.corpus("words").append(["one more"]),
    lambda db: db.corpus("words").compact(),
    lambda db: db.create_corpus("last"),
    lambda db: db.drop_corpus("words"),
]


def state(path: Path) -> dict[str, object]:
    """All that a writer could change: names, contents, rights, times, number of names."""
    found: dict[str, object] = {}
    for one in sorted(path.rglob("*")):
        status = one.lstat()
        content = one.read_bytes() if one.is_file() else None
        found[str(one.relative_to(path))] = (
            content,
            status.st_mode,
            status.st_ino,
            status.st_nlink,
            status.st_mtime_ns,
        )
    return found


def places(path: Path) -> list[str]:
    """Every folder, and of each kind of file the first and the last."""
    folders = [one.name for one in path.iterdir() if one.is_dir()]
    files = [one.name for one in path.iterdir() if one.is_file()]
    for folder in folders:
        inside = sorted(f"{folder}/{one.name}" for one in (path / folder).iterdir())
        files += {inside[0], inside[-1]}
    return sorted(folders) + sorted(files)


def counterpart(other: Path, place: str) -> Path:
    """Return the part of the other database that corresponds to `place` in this one."""
    folder, _, last = place.rpartition("/")
    if not folder or (other / place).exists():
        return other / place
    return sorted((other / folder).iterdir())[-1 if last > "8" else 0]


@contextlib.contextmanager
def hurried():
    def give_up(number, frame):
        raise AssertionError(f"still waiting after {PATIENCE_S} s")

    old = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Two databases that nobody changes."""
    folder = tmp_path_factory.mktemp("sound")
    for name in ("mine", "other"):
        make(folder / name, folder)
    return folder


def put_aside(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink()


def test_nothing_behind_a_link_changes_whatever_place_it_stands_in(sound, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(sound / "other", other)
    before = state(other)
    for place in places(sound / "mine"):
        mine = tmp_path / "mine"
        shutil.copytree(sound / "mine", mine)
        put_aside(mine / place)
        (mine / place).symlink_to(counterpart(other, place))
        with hurried():
            operate(mine, tmp_path)
        assert state(other) == before, place
        shutil.rmtree(mine)


@pytest.mark.parametrize("how", ["every file", "every folder", "all but the marker", "unfinished"])
def test_nothing_behind_links_in_many_places_changes(sound, tmp_path, how):
    other, mine = tmp_path / "other", tmp_path / "mine"
    shutil.copytree(sound / "other", other)
    if how == "unfinished":  # a folder that looks like a creation cut short, behind a link
        shutil.rmtree(other)
        Store.open(RealDirectory(other)).close()
        (other / "manifests" / "0000000001.manifest.0123abcd.tmp").write_bytes(b"of another writer")
        mine.mkdir()
        (mine / "manifests").symlink_to(other / "manifests")
    elif how == "every file":
        for one in other.rglob("*"):
            if one.is_file():
                (mine / one.relative_to(other)).parent.mkdir(parents=True, exist_ok=True)
                (mine / one.relative_to(other)).symlink_to(one)
    else:
        shutil.copytree(sound / "mine", mine)
        for folder in [one for one in mine.iterdir() if one.is_dir()]:
            shutil.rmtree(folder)
            folder.symlink_to(other / folder.name)
        if how == "all but the marker":
            (mine / "NGRAMDB").unlink()
    before = state(other)
    with hurried():
        operate(mine, tmp_path)
    assert state(other) == before


def test_a_database_whose_files_are_links_is_read_and_its_successor_leaves_them_alone(sound, tmp_path):
    # As caches and version control of large files lay one out.
    mine = tmp_path / "mine"
    for one in (sound / "mine").rglob("*"):
        if one.is_file() and one.name != "LOCK":
            (mine / one.relative_to(sound / "mine")).parent.mkdir(parents=True, exist_ok=True)
            (mine / one.relative_to(sound / "mine")).symlink_to(one)
    before = state(sound / "mine")
    with ngramdb.connect(mine) as db:
        assert db.corpus("words").count("w1 w2") == 9 - 1 + 1
        assert db.execute("CHECK").fetchall() == []
        db.settings["keep_versions"] = 1
        db.corpus("words").append(["w1 w2"])
        db.corpus("words").compact()
        assert db.corpus("words").count("w1 w2") == 10
        assert db.execute("CHECK").fetchall() == []
    assert state(sound / "mine") == before


def test_a_linked_folder_is_named_and_what_to_do_about_it(sound, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(sound / "mine", mine)
    shutil.rmtree(mine / "segments")
    (mine / "segments").symlink_to(sound / "other" / "segments")
    with ngramdb.connect(mine) as db:
        with pytest.raises(
            StorageError, match=r"its folder segments is a symbolic link.* replace the link by"
        ):
            db.create_corpus("new")
        with pytest.raises(StorageError, match="its folder segments is a symbolic link"):
            db.corpus("words").count("w1")
    shutil.rmtree(mine / "manifests")
    (mine / "manifests").symlink_to(sound / "other" / "manifests")
    with pytest.raises(StorageError, match="its folder manifests is a symbolic link"):
        ngramdb.connect(mine)


KINDS = ["FIFO", "socket", "device", "folder", "dangling link", "circular link", "linked FIFO", "file"]


def put(kind: str, place: Path) -> None:
    if kind == "FIFO":
        os.mkfifo(place)
    elif kind == "socket":
        # Its path would be too long for a socket.
        here = Path.cwd()
        os.chdir(place.parent)
        try:
            socket.socket(socket.AF_UNIX).bind(place.name)
        finally:
            os.chdir(here)
    elif kind == "device":
        place.symlink_to("/dev/zero")
    elif kind == "folder":
        place.mkdir()
    elif kind == "dangling link":
        place.symlink_to("nowhere")
    elif kind == "circular link":
        place.symlink_to(place.name)
    elif kind == "linked FIFO":
        os.mkfifo(place.parent.parent / "pipe")
        place.symlink_to(place.parent.parent / "pipe")
    else:
        place.write_bytes(b"something else")


@pytest.mark.parametrize("kind", KINDS)
def test_strange_things_in_the_place_of_files_and_folders_are_errors_and_nothing_waits(sound, tmp_path, kind):
    for place in places(sound / "mine"):
        folder = tmp_path / place.replace("/", "-")
        folder.mkdir()
        mine = folder / "mine"
        shutil.copytree(sound / "mine", mine)
        put_aside(mine / place)
        put(kind, mine / place)
        with hurried():
            operate(mine, folder)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("FIFO", "it is a named pipe"),
        ("socket", "it is a socket"),
        ("device", "it is a device"),
        ("folder", "folder"),
    ],
)
@pytest.mark.parametrize("place", ["NGRAMDB", "LOCK", "newest manifest", "segment"])
def test_what_stands_in_the_place_of_a_file_is_named(sound, tmp_path, kind, what, place):
    mine = tmp_path / "mine"
    shutil.copytree(sound / "mine", mine)
    if place == "newest manifest":
        name = sorted((mine / "manifests").iterdir())[-1]
    elif place == "segment":
        with ngramdb.connect(mine, read_only=True) as db:
            name = mine / db.snapshot.manifest.corpora["words"].segments[0].file.name
    else:
        name = mine / place
    name.unlink()
    put(kind, name)
    if (kind, place) == ("device", "LOCK"):
        what = "symbolic link"
    with hurried(), pytest.raises(StorageError, match=what), ngramdb.connect(mine) as db:
        db.corpus("words").count("w1")
        db.create_corpus("new")


WRITERS = {
    "export": lambda db, place: db.corpus("words").export(place),
    "export as a table": lambda db, place: db.corpus("words").export(place, format="parquet"),
    "removals": lambda db, place: db.corpus("words").export_removals(place),
    "ARPA": lambda db, place: db.corpus("words").export_arpa(place, 2),
    "report": lambda db, place: db.corpus("words").decontaminate("exam.jsonl", report=place, dry_run=True),
    "COPY": lambda db, place: db.execute(f"COPY (DOCS FROM words) TO '{place}'"),
}


def _unread(stat: os.stat_result) -> tuple[int, ...]:
    """Everything but the access time of a link: resolving a link changes it."""
    return (stat.st_mode, stat.st_ino, stat.st_nlink, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


@pytest.mark.parametrize("kind", ["FIFO", "socket", "device", "linked FIFO", "open file"])
@pytest.mark.parametrize("writer", WRITERS)
def test_files_that_are_written_take_the_place_of_files_alone(sound, tmp_path, writer, kind, monkeypatch):
    """As root, writing to /dev/stdout would take that from the whole machine."""
    (tmp_path / "folder").mkdir()
    place = tmp_path / "folder" / "out.jsonl"
    if kind == "open file":
        place.symlink_to("/proc/self/fd/1")
    else:
        put(kind, place)
    (tmp_path / "exam.jsonl").write_text('{"text": "w1 w2"}')
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sound / "mine", tmp_path / "mine")
    before = _unread(place.lstat())
    refused = pytest.raises(ExecutionError, match="this is a device, a pipe or a socket, not a file")
    with ngramdb.connect(tmp_path / "mine") as db, hurried(), refused:
        WRITERS[writer](db, place)
    assert _unread(place.lstat()) == before and os.listdir(place.parent) == ["out.jsonl"]


def test_a_file_that_is_written_anew_keeps_its_permissions(sound, tmp_path):
    place = tmp_path / "out.jsonl"
    place.write_text("before")
    place.chmod(0o600)
    shutil.copytree(sound / "mine", tmp_path / "mine")
    with ngramdb.connect(tmp_path / "mine") as db:
        db.corpus("words").export(place)
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.read_text().startswith("{")


def test_a_lock_file_that_has_another_name_too_is_not_written(tmp_path):
    letter = tmp_path / "letter"
    letter.write_text("dear all")
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("a")
    (tmp_path / "db" / "LOCK").unlink()
    os.link(letter, tmp_path / "db" / "LOCK")
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("b")
    assert letter.read_text() == "dear all"


def test_every_operation_works_where_nothing_strange_is(sound, tmp_path, monkeypatch):
    shutil.copytree(sound / "mine", tmp_path / "mine")
    monkeypatch.setattr(sys.modules[__name__], "tolerant", lambda *kinds: contextlib.nullcontext())
    use(tmp_path / "mine", tmp_path, read_only=False)
