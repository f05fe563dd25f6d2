"""Opening, versions, reading, and error messages."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.polls import n_calls

from ngramdb.engine.storage.directory import MemoryDirectory, RealDirectory
from ngramdb.engine.storage.manifest import FileRef
from ngramdb.engine.storage.store import Store
from ngramdb.errors import (
    CorruptionError,
    FormatVersionError,
    LockedError,
    NotADatabase,
    ReadOnlyError,
    StorageError,
)
from ngramdb.segments.container import Container, ContainerWriter


@pytest.fixture(params=["real", "memory"])
def directory(request, tmp_path):
    return RealDirectory(tmp_path / "db") if request.param == "real" else MemoryDirectory()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "db"


def overwrite(path, offset, data):
    content = bytearray(path.read_bytes())
    content[offset : offset + len(data)] = data
    path.write_bytes(content)


def segment_path(path, manifest, i=0):
    return path / manifest.corpora["wiki"].segments[i].file.name


def test_a_new_database_is_empty_and_has_version_one(directory):
    store = Store.open(directory)
    assert store.manifest.version == 1
    assert store.manifest.corpora == {}
    assert store.manifest.action == "create database"
    assert list(store.check()) == []
    assert not store.refresh()


def test_a_database_comes_back_with_the_same_id(directory):
    first = Store.open(directory)
    assert Store.open(directory).database_id == first.database_id
    assert len(first.database_id) == 32


def test_commits_are_numbered_kept_and_readable(directory, writes):
    store = Store.open(directory)
    writes.commit(store, b"one")
    writes.commit(store, b"two", b"three")
    assert store.manifest.version == 3
    assert writes.payloads(store) == [b"one", b"two", b"three"]
    assert [manifest.version for manifest in store.versions()] == [1, 2, 3]
    assert store.versions()[-1] == store.manifest
    assert list(store.check()) == []
    again = Store.open(directory, read_only=True)
    assert writes.payloads(again) == [b"one", b"two", b"three"]
    assert again.manifest == store.manifest


def test_a_manifest_stays_while_others_write(directory, writes):
    store = Store.open(directory)
    writes.commit(store, b"one")
    before = store.manifest
    writes.commit(store, b"two")
    assert before.version == 2
    assert store.manifest.version == 3
    entry = before.corpora["wiki"].segments[0]
    assert bytes(store.read(entry.file, "SEGM").section("payload")) == b"one"


def test_another_store_sees_a_commit_after_refresh(directory, writes):
    writer, reader = Store.open(directory), Store.open(directory, read_only=True)
    writes.commit(writer, b"one")
    assert reader.manifest.version == 1
    assert reader.refresh()
    assert reader.manifest.version == 2
    assert not reader.refresh()
    for i in range(3):
        writes.commit(writer, b"%d" % i)
    assert reader.refresh()
    assert reader.manifest.version == 5


def test_a_reader_notices_that_a_commit_was_taken_back(path, writes):
    store = Store.open(RealDirectory(path))
    writes.commit(store, b"one")
    second = writes.commit(store, b"two")
    (path / "manifests" / f"{second.version:010d}.manifest").unlink()
    assert store.refresh()
    assert store.manifest.version == 2
    time.sleep(0.02)  # the next manifest must not look like the one that was taken back
    other = Store.open(RealDirectory(path))
    writes.commit(other, b"three")
    assert store.refresh()
    assert writes.payloads(store) == [b"one", b"three"]


def test_a_reader_notices_that_its_version_was_replaced_by_another_of_the_same_number(path, writes):
    store = Store.open(RealDirectory(path))
    second = writes.commit(store, b"two")
    (path / "manifests" / f"{second.version:010d}.manifest").unlink()
    time.sleep(0.02)
    writes.commit(Store.open(RealDirectory(path)), b"replacement")
    assert store.manifest.version == 2
    assert store.refresh()
    assert writes.payloads(store) == [b"replacement"]


def test_a_container_is_opened_once(directory, writes):
    store = Store.open(directory)
    ref = writes.commit(store, b"one").corpora["wiki"].segments[0].file
    assert store.read(ref, "SEGM") is store.read(ref, "SEGM")


def test_arrays_stay_valid_after_the_store_and_the_file_are_gone(path, writes):
    store = Store.open(RealDirectory(path))
    payload = np.arange(100_000, dtype=np.uint32)
    ref = writes.commit(store, payload.tobytes()).corpora["wiki"].segments[0].file
    array = store.read(ref, "SEGM").array("payload")
    store.close()
    shutil.rmtree(path)
    assert array.view("<u4").sum() == payload.sum()


def test_a_closed_store_says_so(directory):
    store = Store.open(directory)
    store.close()
    store.close()
    for call in (
        lambda: store.manifest,
        store.refresh,
        store.versions,
        store.begin().__enter__,
        lambda: list(store.check()),
    ):
        with pytest.raises(StorageError, match="has been closed"):
            call()


def test_opening_and_refreshing_cost_little_whatever_is_in_the_database(path, writes):
    store = Store.open(RealDirectory(path))

    def costs():
        opened = n_calls(lambda: Store.open(RealDirectory(path), read_only=True))
        store.refresh()
        return opened, n_calls(store.refresh)

    writes.commit(store, b"x")
    few = costs()
    for i in range(40):
        writes.commit(store, b"x" * 1000 * i)
    many = costs()
    assert many[0] - few[0] < 40 * 100
    assert many[1] == few[1] < 50


# Other files at the path of the database


def test_a_missing_database_is_not_made_unless_asked_for(path):
    for options in ({"read_only": True}, {"create": False}):
        with pytest.raises(StorageError, match="no such database or folder") as caught:
            Store.open(RealDirectory(path), **options)
        assert caught.value.path == str(path)
        assert not path.exists()


def test_a_missing_parent_folder_is_named(tmp_path):
    with pytest.raises(StorageError, match="the parent folder does not exist"):
        Store.open(RealDirectory(tmp_path / "typo" / "db"))


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StorageError, match="link: a dangling symbolic link"):
        Store.open(RealDirectory(tmp_path / "link"))
    (tmp_path / "nowhere").mkdir()
    assert Store.open(RealDirectory(tmp_path / "link")).manifest.version == 1


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_in_the_place_of_the_database_is_refused(path, read_only):
    path.write_text("a file")
    with pytest.raises(NotADatabase, match="this is a file"):
        Store.open(RealDirectory(path), read_only=read_only)
    assert path.read_text() == "a file"


@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_of_something_else_is_refused_and_left_alone(path, read_only):
    path.mkdir()
    (path / "letter.txt").write_text("dear")
    with pytest.raises(NotADatabase, match=r"other files, such as 'letter\.txt'"):
        Store.open(RealDirectory(path), read_only=read_only)
    assert os.listdir(path) == ["letter.txt"]


def test_an_empty_folder_becomes_a_database_but_not_read_only(path):
    path.mkdir()
    with pytest.raises(NotADatabase, match="holds no database yet"):
        Store.open(RealDirectory(path), read_only=True)
    assert os.listdir(path) == []
    assert Store.open(RealDirectory(path)).manifest.version == 1


def test_a_database_that_lost_its_marker_is_not_made_anew(path, writes):
    writes.commit(Store.open(RealDirectory(path)), b"precious")
    (path / "NGRAMDB").unlink()
    with pytest.raises(NotADatabase, match=r"such as 'segments'|parts of a database"):
        Store.open(RealDirectory(path))
    shutil.rmtree(path / "segments")
    with pytest.raises(NotADatabase, match=r"parts of a database, such as manifests/0000000002\.manifest"):
        Store.open(RealDirectory(path))
    assert (path / "manifests" / "0000000002.manifest").exists()


def test_a_database_that_lost_its_manifests_says_so(path):
    Store.open(RealDirectory(path))
    shutil.rmtree(path / "manifests")
    with pytest.raises(CorruptionError, match="lost its manifests"):
        Store.open(RealDirectory(path))


def newer(path, offset, packed):
    """Rewrites a field of a file's header as a newer program would have."""
    overwrite(path, offset, packed)
    header = path.read_bytes()[:60]
    overwrite(path, 60, struct.pack("<I", zlib.crc32(header)))


@pytest.mark.parametrize("name", ["NGRAMDB", "manifests/0000000001.manifest"])
def test_a_newer_database_is_refused_with_both_versions(path, name):
    Store.open(RealDirectory(path))
    newer(path / name, 12, struct.pack("<I", 7))
    with pytest.raises(FormatVersionError, match=r"format version 7, .* up to version 1") as caught:
        Store.open(RealDirectory(path))
    assert (caught.value.found, caught.value.supported) == (7, 1)


def rewritten(path, **options):
    """Writes a container again with other feature flags."""
    old = Container.open(memoryview(path.read_bytes()), str(path))
    directory = MemoryDirectory()
    writer = ContainerWriter(directory.create("a"), old.kind, **options)
    for name, place in old.sections.items():
        writer.add(name, old.section(name), place.dtype)
    writer.finish(old.properties)
    path.write_bytes(directory.open_read("a"))


@pytest.mark.parametrize("name", ["NGRAMDB", "manifests/0000000001.manifest"])
def test_an_unknown_writer_flag_lets_readers_in_and_keeps_writers_out(path, name):
    Store.open(RealDirectory(path))
    rewritten(path / name, writer_flags=1 << 40)
    store = Store.open(RealDirectory(path))
    for _ in range(2):
        with pytest.raises(FormatVersionError, match="to write a successor of"), store.begin():
            pass


# Damage


def test_a_damaged_newest_manifest_is_named_with_the_versions_there_are(path, writes):
    store = Store.open(RealDirectory(path))
    writes.commit(store, b"one")
    last = writes.commit(store, b"two")
    name = path / "manifests" / f"{last.version:010d}.manifest"
    overwrite(name, 80, b"\xff")
    with pytest.raises(
        CorruptionError, match=r"0000000003\.manifest.*earlier ones that are kept: 1, 2\."
    ) as c:
        Store.open(RealDirectory(path))
    assert c.value.path == str(name)
    assert c.value.offset == 0
    name.rename(path.parent / "damaged")
    assert writes.payloads(Store.open(RealDirectory(path))) == [b"one"]


def test_a_manifest_of_another_version_or_database_is_found(path, tmp_path, writes):
    Store.open(RealDirectory(path))
    other = tmp_path / "other"
    Store.open(RealDirectory(other))
    shutil.copy(path / "manifests/0000000001.manifest", path / "manifests/0000000002.manifest")
    with pytest.raises(CorruptionError, match="holds version 1, but its name is that of version 2"):
        Store.open(RealDirectory(path))
    os.remove(path / "manifests/0000000002.manifest")
    shutil.copy(other / "manifests/0000000001.manifest", path / "manifests/0000000001.manifest")
    with pytest.raises(CorruptionError, match="belongs to database"):
        Store.open(RealDirectory(path))


def test_a_damaged_older_manifest_harms_only_those_who_ask_for_it(path, writes):
    store = Store.open(RealDirectory(path))
    writes.commit(store, b"one")
    overwrite(path / "manifests/0000000001.manifest", 80, b"\xff")
    store = Store.open(RealDirectory(path))
    writes.commit(store, b"two")
    assert writes.payloads(store) == [b"one", b"two"]
    with pytest.raises(CorruptionError, match=r"0000000001\.manifest"):
        store.versions()
    assert [finding.file for finding in store.check()] == ["manifests/0000000001.manifest"]


def test_a_version_that_is_gone_is_told_from_old_ones_that_were_let_go(path, writes):
    store = Store.open(RealDirectory(path))
    store.keep_versions = 6
    for payload in (b"one", b"two", b"three", b"four", b"five", b"six", b"seven"):
        writes.commit(store, payload)
    names = [f"manifests/{version:010d}.manifest" for version in range(9)]
    assert sorted(name.name for name in (path / "manifests").iterdir()) == [Path(n).name for n in names[3:]]
    assert list(store.check()) == []
    (path / names[3]).unlink()  # as a commit might have done
    assert list(store.check()) == []
    (path / names[6]).unlink()
    (finding,) = store.check()
    assert finding.file == names[6] and finding.offset is None
    assert "the manifest of version 6 is gone, though the older version 5 is kept" in finding.message
    (path / names[5]).unlink()
    (finding,) = Store.open(RealDirectory(path), read_only=True).check()
    assert finding.file == names[5]
    assert "the manifests of versions 5 to 6 are gone, though the older version 4 is kept" in finding.message


def test_versions_that_a_writer_lets_go_of_during_a_check_are_no_holes(path, writes):
    class Racing(RealDirectory):
        """A writer releases versions 1 and 2 while their folder is listed: only the first is still seen."""

        is_raced = False

        def list(self, prefix=""):
            found = sorted(super().list(prefix))
            if self.is_raced and prefix == "manifests/":
                for name in found[:2]:
                    self.remove(name)
                return [found[0], *found[2:]]
            return found

    directory = Racing(path)
    store = Store.open(directory)
    for payload in (b"one", b"two", b"three"):
        writes.commit(store, payload)
    directory.is_raced = True
    assert list(store.check()) == []
    directory.is_raced = False
    assert [manifest.version for manifest in store.versions()] == [3, 4]


def test_a_swapped_file_is_found_though_it_is_sound(path, writes):
    store = Store.open(RealDirectory(path))
    manifest = writes.commit(store, b"one", b"two")
    one, two = (segment_path(path, manifest, i) for i in (0, 1))
    one_bytes, two_bytes = one.read_bytes(), two.read_bytes()
    assert len(one_bytes) == len(two_bytes)
    one.write_bytes(two_bytes)
    with pytest.raises(CorruptionError, match="another file than the one that was written here"):
        writes.payloads(Store.open(RealDirectory(path)))
    findings = list(store.check())
    assert [finding.file for finding in findings] == [manifest.corpora["wiki"].segments[0].file.name]


def test_a_vanished_file_is_named(path, writes):
    store = Store.open(RealDirectory(path))
    manifest = writes.commit(store, b"one")
    segment_path(path, manifest).unlink()
    with pytest.raises(StorageError, match="the file is missing, but the database needs it"):
        writes.payloads(store)
    (finding,) = store.check()
    assert "is missing" in finding.message
    assert finding.offset is None


def test_a_file_of_another_kind_is_refused(directory, writes):
    store = Store.open(directory)
    ref = writes.commit(store, b"one").corpora["wiki"].segments[0].file
    with pytest.raises(CorruptionError, match="kind VOCB"):
        store.read(ref, "VOCB")
    with pytest.raises(CorruptionError, match="another size"):
        store.read(FileRef(ref.name, ref.size + 1, ref.crc), "SEGM")
    store.read(ref, "SEGM")
    with pytest.raises(CorruptionError, match="another file"):
        store.read(FileRef(ref.name, ref.size, ref.crc ^ 1), "SEGM")


def test_a_flipped_byte_of_any_file_is_found_by_check_or_by_opening(path, writes):
    writes.commit(Store.open(RealDirectory(path)), b"some payload", b"more")
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "LOCK"]
    assert len(files) == 5
    for file in files:
        sound = file.read_bytes()
        for offset in range(0, len(sound), 7):  # every byte of one file: test_container_damage
            overwrite(file, offset, bytes([sound[offset] ^ 0x20]))
            try:
                findings = list(Store.open(RealDirectory(path), read_only=True).check())
            except StorageError as error:
                assert error.path == str(file)
            else:
                assert [finding.file for finding in findings] == [str(file.relative_to(path))]
            file.write_bytes(sound)
    assert list(Store.open(RealDirectory(path)).check()) == []


def test_check_names_file_and_offset_and_goes_on(path, writes):
    store = Store.open(RealDirectory(path))
    manifest = writes.commit(store, b"x" * 200_000, b"y" * 200_000)
    for i in (0, 1):
        overwrite(segment_path(path, manifest, i), 70_000 * (i + 1), b"!")
    findings = list(store.check())
    assert [(finding.file, finding.offset) for finding in findings] == [
        (manifest.corpora["wiki"].segments[0].file.name, 65536),
        (manifest.corpora["wiki"].segments[1].file.name, 131072),
    ]
    assert "expected crc32 0x" in findings[0].message


# Rights


def test_a_read_only_store_refuses_to_write(directory, writes):
    writes.commit(Store.open(directory), b"one")
    store = Store.open(directory, read_only=True)
    with pytest.raises(ReadOnlyError, match="opened read-only"), store.begin():
        pass


def test_a_read_only_store_leaves_no_trace(path, writes):
    writes.commit(Store.open(RealDirectory(path)), b"one")
    (path / "LOCK").unlink()

    def state():
        return sorted((str(file), file.stat().st_mtime_ns) for file in path.rglob("*"))

    before = state()
    store = Store.open(RealDirectory(path), read_only=True)
    assert writes.payloads(store) == [b"one"]
    store.refresh()
    list(store.check())
    assert state() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_the_right_to_write_can_be_read_but_not_written(path, writes):
    writes.commit(Store.open(RealDirectory(path)), b"one")
    for folder in (path, path / "segments", path / "manifests"):
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    (path / "LOCK").chmod(stat.S_IRUSR)
    try:
        store = Store.open(RealDirectory(path))
        assert writes.payloads(store) == [b"one"]
        with pytest.raises(StorageError, match="Permission denied"), store.begin():
            pass
    finally:
        for folder in (path, path / "segments", path / "manifests"):
            folder.chmod(stat.S_IRWXU)


def test_the_second_writer_of_the_same_process_is_refused(directory):
    store = Store.open(directory)
    with store.begin():
        with pytest.raises(LockedError) as caught, Store.open(directory).begin():
            pass
        assert caught.value.holder == os.getpid()
    with store.begin():
        pass


def test_a_reader_that_removes_an_old_version_is_not_taken_for_a_writer(directory, monkeypatch):
    """Versions in use are removed by who reads them last, under the writer's lock; a writer waits."""
    store = Store.open(directory)
    store.keep_versions = 1
    store._in_use = store.manifest.version + 1  # held by nobody
    removing, go_on = threading.Event(), threading.Event()
    really = store._let_go

    def slow():
        removing.set()
        assert go_on.wait(60)
        really()

    monkeypatch.setattr(store, "_let_go", slow)
    reader = threading.Thread(target=store.let_go)
    reader.start()
    assert removing.wait(60)
    assert not store.let_go()  # a second reader continues
    threading.Timer(0.05, go_on.set).start()
    with store.begin(0.0):
        pass
    reader.join()
    assert store.let_go()


def test_a_version_that_another_thread_removes_meanwhile_is_no_error(monkeypatch):
    store = Store.open(MemoryDirectory())
    store._in_use = 1

    class Deferred:
        def __enter__(self):
            store._in_use = None  # as another thread does before this one has the lock

        def __exit__(self, *_):
            pass

    monkeypatch.setattr("ngramdb.engine.storage.store.interrupts.Deferred", Deferred)
    assert store.let_go()
