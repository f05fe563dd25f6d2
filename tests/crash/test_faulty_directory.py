"""The directory that fails on purpose: unkind, but it keeps what was promised."""

from __future__ import annotations

import errno
import random

import pytest
from support.faulty_directory import FaultyDirectory, SimulatedCrash

from ngramdb.engine.storage.directory import MemoryDirectory


def contents(directory):
    return {name: bytes(directory.open_read(name)) for name in directory.list()}


def put(directory, name, data, sync=True):
    file = directory.create(name)
    file.write(data)
    if sync:
        file.sync()
    file.close()


def test_what_was_not_synced_is_gone():
    directory = FaultyDirectory()
    put(directory, "synced", b"data")
    put(directory, "unsynced-data", b"data", sync=False)
    directory.sync_folder()
    put(directory, "unsynced-name", b"data")
    assert contents(directory.crash()) == {"synced": b"data", "unsynced-data": b""}


def test_names_in_a_folder_are_synced_with_that_folder():
    directory = FaultyDirectory()
    put(directory, "segments/a", b"a")
    directory.sync_folder()
    assert contents(directory.crash()) == {}
    directory.sync_folder("segments")
    assert contents(directory.crash()) == {"segments/a": b"a"}
    directory.remove("segments/a")
    assert contents(directory.crash()) == {"segments/a": b"a"}
    directory.sync_folder("segments")
    assert contents(directory.crash()) == {}


def test_publishing_is_durable_once_the_folder_is_synced():
    directory = FaultyDirectory()
    put(directory, "m/1.tmp", b"one")
    directory.sync_folder("m")
    directory.publish("m/1.tmp", "m/1")
    assert contents(directory.crash()) == {"m/1.tmp": b"one"}
    directory.sync_folder("m")
    assert contents(directory.crash()) == {"m/1": b"one"}


def test_at_random_anything_may_survive_of_what_was_not_synced_but_all_of_what_was():
    directory = FaultyDirectory()
    put(directory, "kept", b"k" * 1000)
    directory.sync_folder()
    file = directory.create("torn")
    file.write(b"s" * 1000)
    file.sync()
    file.write(b"u" * 5000)
    outcomes = [contents(directory.crash(random.Random(seed), "random")) for seed in range(200)]
    assert all(outcome["kept"] == b"k" * 1000 for outcome in outcomes)
    torn = [outcome["torn"] for outcome in outcomes if "torn" in outcome]
    assert 50 < len(torn) < 150
    assert all(data[:1000] == b"s" * 1000 for data in torn)
    assert len({len(data) for data in torn}) > 20
    assert any(set(data[1000:]) - {0, ord("u")} for data in torn)


def test_a_failed_sync_loses_its_data_for_good():
    directory = FaultyDirectory()
    file = directory.create("a")
    file.write(b"data")
    directory.sync_folder()
    directory.fail_next()
    with pytest.raises(OSError):
        file.sync()
    file.sync()
    assert contents(directory.crash()) == {"a": b""}


def test_the_chosen_operation_fails_with_the_chosen_error_and_a_write_by_half():
    directory = FaultyDirectory(fail_at=2, error=errno.ENOSPC)
    file = directory.create("a")
    with pytest.raises(OSError) as caught:
        file.write(b"123456")
    assert caught.value.errno == errno.ENOSPC
    assert directory.operations == ["create a", "write a"]
    assert bytes(directory.open_read("a")) == b"123"
    put(directory, "b", b"works again")


def test_a_persistent_failure_leaves_only_looking():
    directory = FaultyDirectory(MemoryDirectory({"a": b"old"}), fail_at=1, persistent=True)
    for _ in range(3):
        with pytest.raises(OSError):
            directory.create("b")
    assert bytes(directory.open_read("a")) == b"old"
    assert directory.list() == ["a"]


def test_after_a_crash_nothing_happens_any_more():
    directory = FaultyDirectory(MemoryDirectory({"a": b"old"}), crash_at=2)
    directory.remove("a")
    for call in (lambda: directory.create("b"), lambda: directory.open_read("a"), directory.list):
        with pytest.raises(SimulatedCrash):
            call()
    assert contents(directory.crash()) == {"a": b"old"}


def test_the_directory_it_starts_from_is_left_alone():
    start = MemoryDirectory({"a": b"old"})
    directory = FaultyDirectory(start)
    directory.remove("a")
    put(directory, "b", b"new")
    assert contents(start) == {"a": b"old"}
