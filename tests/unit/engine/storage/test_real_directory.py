"""Features of a directory on disk only: links, permissions, foreign files, other processes."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import stat
import subprocess
import sys

import pytest
from support.alone import run_alone

from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.directory.local_files import begin_writing
from ngramdb.errors import InvalidArgument, LockedError


@pytest.fixture
def directory(tmp_path):
    made = RealDirectory(tmp_path / "db")
    made.make_root()
    return made


def put(directory, name, data=b"data"):
    with contextlib.closing(directory.create(name)) as file:
        file.write(data)


def test_what_is_written_early_is_written_once(directory):
    # Larger than a huge page and than one write, in pieces that do not end at the end of a page.
    pieces = [bytes([k]) * (5 * 2**20 + 77 * k) for k in range(4)]
    with contextlib.closing(directory.create("large")) as file:
        for piece in pieces:
            file.write(piece)
        file.sync()
    assert bytes(directory.open_read("large")) == b"".join(pieces)


def test_a_wish_to_write_early_that_cannot_be_fulfilled_is_no_error():
    begin_writing(-1, 0, 4096)
    reading, writing = os.pipe()
    begin_writing(writing, 0, 4096)
    os.close(reading)
    os.close(writing)


def test_nothing_is_made_before_it_is_needed(tmp_path):
    directory = RealDirectory(tmp_path / "db")
    assert directory.root_entries() is None
    assert directory.list() == []
    assert not (tmp_path / "db").exists()
    directory.make_root()
    directory.make_root()
    assert directory.root_entries() == []


def test_a_missing_parent_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        RealDirectory(tmp_path / "no" / "db").make_root()


def test_the_path_is_fixed_when_the_directory_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    directory = RealDirectory("db")
    directory.make_root()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    put(directory, "a")
    assert (tmp_path / "db" / "a").read_bytes() == b"data"
    assert directory.description == str(tmp_path / "db")


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800"])
def test_an_impossible_path_is_refused(path):
    with pytest.raises(InvalidArgument):
        RealDirectory(path)


def test_files_are_made_with_the_users_own_rights(directory):
    old = os.umask(0o027)
    try:
        put(directory, "segments/a")
        directory.lock_writer().release()
    finally:
        os.umask(old)
    root = directory.description
    assert stat.S_IMODE(os.stat(f"{root}/segments/a").st_mode) == 0o640
    assert stat.S_IMODE(os.stat(f"{root}/segments").st_mode) == 0o750
    assert stat.S_IMODE(os.stat(f"{root}/LOCK").st_mode) == 0o640


def test_nothing_is_written_through_a_link_to_a_file(directory, tmp_path):
    target = tmp_path / "target"
    os.symlink(target, f"{directory.description}/a")
    with pytest.raises(FileExistsError):
        directory.create("a")
    os.symlink(target, f"{directory.description}/LOCK")
    with pytest.raises(OSError) as caught:
        directory.lock_writer()
    assert caught.value.errno == errno.ELOOP
    assert not target.exists()


def test_nothing_is_written_through_a_link_to_a_folder(directory, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", f"{directory.description}/segments")
    with pytest.raises(OSError) as caught:
        directory.create("segments/a")
    assert caught.value.errno == errno.ELOOP
    assert os.listdir(tmp_path / "elsewhere") == []


def test_mapped_files_hold_no_descriptor_and_cannot_be_written(directory):
    def next_descriptor():
        fd = os.open(os.devnull, os.O_RDONLY)
        os.close(fd)
        return fd

    for k in range(20):
        put(directory, f"a{k}", bytes([k]) * 5000)
    before = next_descriptor()
    views = [directory.open_read(f"a{k}") for k in range(20)]
    assert next_descriptor() == before
    for k, view in enumerate(views):
        directory.remove(f"a{k}")
        assert view.readonly and view.format == "B" and bytes(view) == bytes([k]) * 5000
    part = views[3][4990:]
    del views, view
    assert bytes(part) == bytes([3]) * 10


def test_a_folder_cannot_be_mapped(directory):
    os.mkdir(f"{directory.description}/a")
    with pytest.raises(OSError):
        directory.open_read("a")


def test_foreign_names_are_not_listed(directory):
    put(directory, "segments/a")
    for name in (".hidden", "segments/.nfs0001", "segments/with blank"):
        with open(f"{directory.description}/{name}", "w"):
            pass
    os.makedirs(f"{directory.description}/segments/folder/deeper")
    os.symlink(f"{directory.description}/segments", f"{directory.description}/linked")
    assert directory.list() == ["linked", "segments/a", "segments/folder"]
    assert directory.root_entries() == [".hidden", "linked", "segments"]


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_publishing_works_where_there_are_no_hard_links(directory, monkeypatch, error):
    def no_links(source, target, **_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "link", no_links)
    put(directory, "manifests/1.tmp", b"one")
    directory.publish("manifests/1.tmp", "manifests/1")
    assert directory.list() == ["manifests/1"]
    put(directory, "manifests/2.tmp", b"two")
    with pytest.raises(FileExistsError):
        directory.publish("manifests/2.tmp", "manifests/1")
    assert bytes(directory.open_read("manifests/1")) == b"one"


def test_publishing_succeeds_when_only_the_answer_to_its_request_was_lost(directory, monkeypatch):
    link = os.link

    def link_and_repeat(source, target, **given):
        link(source, target, **given)
        link(source, target, **given)

    monkeypatch.setattr(os, "link", link_and_repeat)
    put(directory, "manifests/1.tmp", b"one")
    directory.publish("manifests/1.tmp", "manifests/1")
    assert directory.list() == ["manifests/1"]


def test_a_failed_write_is_not_repeated_by_closing(directory, monkeypatch):
    written = []
    file = directory.create("a")
    file.write(b"buffered")

    def full(fd, data):
        written.append(bytes(data))
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError):
        file.sync()
    file.close()
    assert written == [b"buffered"]


def test_a_closed_file_takes_no_more(directory):
    file = directory.create("a")
    file.close()
    with pytest.raises(ValueError):
        file.write(b"x" * 10**6)
    with pytest.raises(ValueError):
        file.sync()


def test_a_view_outlives_every_other_reference(directory):
    put(directory, "a", b"abc" * 1000)
    view = directory.open_read("a")[3:6]
    del directory
    assert bytes(view) == b"abc"


def garbage_that_reads_a_map(folder):
    read = []

    def reading(view):
        try:
            yield
        finally:
            read.append(bytes(view[:4]))

    def make():
        begun = reading(RealDirectory(folder).open_read("large"))
        next(begun)
        cycle = [begun]
        cycle.append(cycle)

    make()
    gc.collect()
    assert read == [b"data"]


def test_a_map_is_there_as_long_as_garbage_that_reads_it(directory):
    put(directory, "large", b"data" * 2**20)
    run_alone(garbage_that_reads_a_map, directory.description)


def test_a_folder_that_cannot_be_synced_is_passed_over_but_a_real_fault_is_not(directory, monkeypatch):
    def failing(error):
        def fsync(fd):
            raise OSError(error, os.strerror(error))

        return fsync

    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL))
    directory.sync_folder()
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(OSError):
        directory.sync_folder()


HOLD = """
import sys, time
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.directory.local_files import begin_writing
lock = RealDirectory(sys.argv[1]).lock_writer()
print("locked", flush=True)
sys.stdin.read()
"""


def test_the_lock_excludes_other_processes_names_the_holder_and_ends_with_it(directory):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, directory.description], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout.readline() == b"locked\n"
    with pytest.raises(LockedError, match=rf"being written by process {child.pid} on ") as caught:
        directory.lock_writer(timeout_s=0.05)
    assert caught.value.holder == child.pid
    child.kill()
    child.communicate()
    directory.lock_writer(timeout_s=60).release()


def test_what_is_written_in_the_lock_file_decides_nothing(directory):
    for text in (b"", b"1 elsewhere\n", b"no number", b"\xff\xfe"):
        with open(f"{directory.description}/LOCK", "wb") as file:
            file.write(text)
        with directory.lock_writer():
            pass


def test_a_holder_that_cannot_be_named_is_still_a_holder(directory):
    with directory.lock_writer():
        os.truncate(f"{directory.description}/LOCK", 0)
        with pytest.raises(LockedError, match="being written by another writer") as caught:
            directory.lock_writer()
        assert caught.value.holder is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="takes fork")
def test_a_forked_child_does_not_release_its_parents_lock(directory):
    lock = directory.lock_writer()
    child = os.fork()
    if child == 0:
        lock.release()
        os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(LockedError):
        directory.lock_writer()
    lock.release()
    directory.lock_writer().release()


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_a_file_that_cannot_be_linked_is_copied(tmp_path, monkeypatch, number):
    source, target = RealDirectory(tmp_path / "a"), RealDirectory(tmp_path / "b")
    for directory in (source, target):
        directory.make_root()
    with contextlib.closing(source.create("segments/old")) as file:
        file.write(b"content")

    def refuse(*_, **__):
        raise OSError(number, "no links here")

    target.take_in("segments/linked", source, "segments/old")
    monkeypatch.setattr(os, "link", refuse)
    target.take_in("segments/copied", source, "segments/old")
    assert bytes(target.open_read("segments/copied")) == b"content"
    places = [tmp_path / "b" / "segments" / name for name in ("linked", "copied")]
    assert [place.stat().st_nlink for place in places] == [2, 1]


def test_of_a_symbolic_link_the_content_is_taken_in(tmp_path):
    source, target = RealDirectory(tmp_path / "a"), RealDirectory(tmp_path / "b")
    for directory in (source, target):
        directory.make_root()
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "a" / "segments").mkdir()
    (tmp_path / "a" / "segments" / "old").symlink_to(tmp_path / "file")
    target.take_in("segments/new", source, "segments/old")
    (tmp_path / "file").write_bytes(b"changed")
    assert bytes(target.open_read("segments/new")) == b"content"
