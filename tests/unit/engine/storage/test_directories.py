"""Guarantees of every directory: on disk, in memory, and one that fails on purpose while it does not."""

from __future__ import annotations

import threading
import time

import pytest
from support.faulty_directory import FaultyDirectory

from ngramdb.engine.storage.directory import MemoryDirectory, RealDirectory
from ngramdb.errors import InvalidArgument, LockedError


@pytest.fixture(params=["real", "memory", "faulty"])
def directory(request, tmp_path):
    if request.param == "real":
        made = RealDirectory(tmp_path / "db")
        made.make_root()
        return made
    return MemoryDirectory() if request.param == "memory" else FaultyDirectory()


def put(directory, name, data=b""):
    file = directory.create(name)
    file.write(data)
    file.sync()
    file.close()


def test_a_new_directory_is_empty(directory):
    assert directory.root_entries() == []
    assert directory.list() == []
    assert directory.list("segments/") == []


@pytest.mark.parametrize("size", [0, 1, 4096, 300_000, 2_000_000])
def test_what_was_written_is_read(directory, size):
    data = bytes(range(251)) * (size // 251 + 1)
    file = directory.create("segments/a.segment")
    for start in range(0, size, 123_457):
        file.write(memoryview(data)[start : min(size, start + 123_457)])
    file.write(bytearray(b"end"))
    file.sync()
    file.close()
    file.close()
    view = directory.open_read("segments/a.segment")
    assert view == data[:size] + b"end"
    assert view.readonly
    assert directory.size("segments/a.segment") == size + 3


def test_an_empty_file_reads_as_no_bytes(directory):
    put(directory, "empty")
    assert bytes(directory.open_read("empty")) == b""
    assert directory.size("empty") == 0


def test_names_are_listed_by_folder_and_prefix_in_order(directory):
    for name in ("b", "a", "segments/2", "segments/10", "segmentsx", "manifests/1"):
        put(directory, name)
    assert directory.list() == ["a", "b", "manifests/1", "segments/10", "segments/2", "segmentsx"]
    assert directory.list("segments/") == ["segments/10", "segments/2"]
    assert directory.list("segments/1") == ["segments/10"]
    assert directory.list("segments") == ["segments/10", "segments/2", "segmentsx"]
    assert directory.list("nothing/") == []
    assert directory.root_entries() == ["a", "b", "manifests", "segments", "segmentsx"]


def test_a_name_is_taken_only_once(directory):
    put(directory, "a", b"first")
    with pytest.raises(FileExistsError):
        directory.create("a")
    assert bytes(directory.open_read("a")) == b"first"


def test_publishing_moves_a_name_and_never_replaces_a_file(directory):
    put(directory, "manifests/1.tmp", b"one")
    directory.publish("manifests/1.tmp", "manifests/1")
    directory.sync_folder("manifests")
    assert directory.list() == ["manifests/1"]
    put(directory, "manifests/2.tmp", b"two")
    with pytest.raises(FileExistsError):
        directory.publish("manifests/2.tmp", "manifests/1")
    assert bytes(directory.open_read("manifests/1")) == b"one"
    assert directory.exists("manifests/2.tmp")


def test_a_reader_keeps_a_file_that_is_removed(directory):
    put(directory, "a", b"x" * 10_000)
    view = directory.open_read("a")
    directory.remove("a")
    assert not directory.exists("a")
    assert bytes(view) == b"x" * 10_000


def test_a_file_that_is_not_there_is_reported_as_such(directory):
    assert not directory.exists("a")
    assert directory.identity("a") is None
    for call in (directory.size, directory.open_read, directory.remove):
        with pytest.raises(FileNotFoundError):
            call("a")
    with pytest.raises(FileNotFoundError):
        directory.publish("a", "b")


def test_the_identity_of_a_name_changes_with_the_file(directory):
    put(directory, "a", b"one")
    first = directory.identity("a")
    assert directory.identity("a") == first
    directory.remove("a")
    time.sleep(0.02)  # on disk, an inode can be given to the next file, but then its time differs
    put(directory, "a", b"two")
    assert directory.identity("a") != first


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "/etc/passwd", "../a", "a/../b", "a/b/c", "a//b", ".hidden", "a\n", "a\0", "ä", "a/"],
)
def test_no_name_leads_out_of_the_directory(directory, name):
    calls = [directory.create, directory.size, directory.open_read, directory.remove]
    for call in calls:
        with pytest.raises(InvalidArgument, match="cannot be a file's name"):
            call(name)


def test_one_writer_at_a_time(directory):
    with directory.lock_writer() as lock:
        with pytest.raises(LockedError) as caught:
            directory.lock_writer()
        assert caught.value.holder is not None
        lock.release()
        lock.release()
        directory.lock_writer().release()


def test_a_second_writer_waits_as_long_as_it_was_told(directory):
    lock = directory.lock_writer()
    start = time.monotonic()
    with pytest.raises(LockedError):
        directory.lock_writer(timeout_s=0.2)
    assert time.monotonic() - start > 0.15
    timer = threading.Timer(0.1, lock.release)
    timer.start()
    directory.lock_writer(timeout_s=None).release()
    timer.join()


def test_a_lock_that_is_dropped_is_free_again(tmp_path):
    directory = RealDirectory(tmp_path)
    lock = directory.lock_writer()
    del lock
    directory.lock_writer().release()


@pytest.mark.parametrize("other", ["real", "memory"])
def test_a_file_of_another_directory_is_taken_in_under_a_new_name(directory, tmp_path, other):
    source = MemoryDirectory() if other == "memory" else RealDirectory(tmp_path / "other")
    source.make_root()
    put(source, "segments/old", b"content")
    directory.take_in("segments/new", source, "segments/old")
    assert bytes(directory.open_read("segments/new")) == b"content"
    directory.remove("segments/new")
    assert bytes(source.open_read("segments/old")) == b"content"
    put(directory, "segments/taken")
    with pytest.raises(FileExistsError):
        directory.take_in("segments/taken", source, "segments/old")
    with pytest.raises(FileNotFoundError):
        directory.take_in("segments/more", source, "segments/absent")
