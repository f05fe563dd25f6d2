"""One writer's work: what a commit takes, what an end without one leaves, and what crashes left before."""

from __future__ import annotations

import gc
import subprocess
import sys
from dataclasses import replace

import pytest
from support.faulty_directory import FaultyDirectory

from ngramdb.engine.storage.directory import MemoryDirectory, RealDirectory
from ngramdb.engine.storage.manifest import FileRef
from ngramdb.engine.storage.store import Store
from ngramdb.errors import InvalidArgument, StorageError


@pytest.fixture(params=["real", "memory"])
def store(request, tmp_path):
    return Store.open(RealDirectory(tmp_path / "db") if request.param == "real" else MemoryDirectory())


def data_files(store):
    return [name for name in store.directory.list() if name.partition("/")[0] in ("segments", "vocabularies")]


def test_leaving_without_a_commit_leaves_nothing(store, writes):
    with pytest.raises(RuntimeError), store.begin() as transaction:
        writes.segment(transaction)
        transaction.create_file("vocabularies", "vocabulary")[1].write(b"unfinished")
        raise RuntimeError
    assert data_files(store) == []
    assert store.manifest.version == 1


def test_a_commit_removes_the_files_that_it_does_not_refer_to(store, writes):
    with store.begin() as transaction:
        kept, dropped = writes.segment(transaction, b"kept"), writes.segment(transaction, b"dropped")
        transaction.commit({"wiki": writes.corpus(kept)}, "keep one")
        assert data_files(store) == [kept.file.name]
    assert dropped.file.name not in data_files(store)
    assert writes.payloads(store) == [b"kept"]


def test_one_transaction_may_commit_several_times(store, writes):
    with store.begin() as transaction:
        one = writes.segment(transaction, b"one")
        assert transaction.commit({"wiki": writes.corpus(one)}, "first").version == 2
        assert store.manifest.version == 2
        two = writes.segment(transaction, b"two", 1)
        assert transaction.manifest.version == 2
        assert transaction.commit({"wiki": writes.corpus(one, two)}, "second").version == 3
        writes.segment(transaction, b"never committed")
    assert writes.payloads(store) == [b"one", b"two"]
    assert len(data_files(store)) == 2


def test_a_transaction_sees_the_newest_version_even_if_its_store_did_not(store, writes):
    other = Store.open(store.directory)
    writes.commit(other, b"one")
    writes.commit(store, b"two")
    assert store.manifest.version == 3
    assert writes.payloads(store) == [b"one", b"two"]


def test_a_transaction_that_is_over_says_so(store, writes):
    with store.begin() as transaction:
        pass
    transaction.close()
    with pytest.raises(StorageError, match="the transaction has ended"):
        transaction.create_file("segments", "segment")
    with pytest.raises(StorageError, match="the transaction has ended"):
        transaction.commit({}, "nothing")


def test_an_entry_that_cannot_be_right_is_refused_and_the_transaction_goes_on(store, writes):
    with store.begin() as transaction:
        entry = writes.segment(transaction, b"payload")
        name, file = transaction.create_file("segments", "segment")
        file.write(b"unfinished")

        def refused(corpus, match, error=InvalidArgument):
            with pytest.raises(error, match=match):
                transaction.commit({"wiki": corpus}, "try")

        refused(writes.corpus(replace(entry, file=FileRef(name, 10, 0))), "not synced and closed")
        refused(writes.corpus(replace(entry, file=entry.file._replace(size=1))), "but the entry records 1")
        missing = FileRef("segments/" + "0" * 32 + ".segment", 10, 0)
        refused(writes.corpus(replace(entry, file=missing)), "No such file", StorageError)
        refused(replace(writes.corpus(entry), next_doc_id=0), "cannot be committed")
        refused(replace(writes.corpus(entry), name="other"), "another's name")
        refused(replace(writes.corpus(entry), options={"x": object()}), "cannot be committed")
        transaction.commit({"wiki": writes.corpus(entry)}, "at last")
    assert writes.payloads(store) == [b"payload"]


def test_a_file_of_an_older_version_can_be_taken_up_again(store, writes):
    old = writes.commit(store, b"one").corpora
    with store.begin() as transaction:
        transaction.commit({}, "drop wiki")
    assert len(data_files(store)) == 1
    with store.begin() as transaction:
        transaction.commit(old, "restore wiki")
    assert writes.payloads(store) == [b"one"]


def test_files_go_only_into_the_folders_for_data(store):
    with store.begin() as transaction:
        for folder in ("manifests", "", "..", "other"):
            with pytest.raises(InvalidArgument, match="not a folder for data"):
                transaction.create_file(folder, "segment")


def test_the_next_writer_removes_what_crashes_left_and_nothing_else(store, writes):
    writes.commit(store, b"one")
    with store.begin() as transaction:
        transaction.commit({}, "drop wiki")  # its file is needed by version 2 only
    orphans = [
        "segments/" + "1" * 32 + ".segment",
        "vocabularies/" + "2" * 32 + ".vocabulary",
        "tokenizers/" + "3" * 32 + ".tokenizer",
        "manifests/0000000004.manifest.0123abcd.tmp",
        "NGRAMDB.0123abcd.tmp",
    ]
    foreign = ["segments/README", "segments/notes.segment", "manifests/old.tmp", "elsewhere/a", "notes"]
    for name in orphans + foreign:
        file = store.directory.create(name)
        file.close()
    with Store.open(store.directory).begin():  # as another process would
        left = store.directory.list()
    assert not set(orphans) & set(left)
    assert set(foreign) <= set(left)
    assert len([name for name in data_files(store) if name not in foreign]) == 1
    assert [manifest.version for manifest in store.versions()] == [1, 2, 3]
    assert list(store.check()) == []


def test_nothing_is_removed_while_a_kept_version_cannot_be_read(store, writes):
    writes.commit(store, b"one")
    with store.begin() as transaction:
        transaction.commit({}, "drop wiki")
    name = "manifests/0000000001.manifest"
    data = bytearray(store.directory.open_read(name))
    data[80] ^= 1
    store.directory.remove(name)
    file = store.directory.create(name)
    file.write(data)
    file.close()
    orphan = "segments/" + "1" * 32 + ".segment"
    store.directory.create(orphan).close()
    with store.begin():
        assert orphan in store.directory.list()


def test_files_of_segments_of_other_kinds_are_verified_whatever_their_letters(store, writes):
    with store.begin() as transaction:
        entry = replace(writes.segment(transaction, letters="OTHR"), kind="other")
        transaction.commit({"wiki": writes.corpus(entry)}, "a segment of another kind")
    assert list(store.check()) == []


def searches(directory):
    """Count how often a writer has listed the segments to look for orphans."""
    return directory.operations.count("list segments/")


def test_a_writer_looks_for_orphans_once_but_again_if_some_may_be_left(writes):
    directory = FaultyDirectory()
    store = Store.open(directory)
    for i in range(5):
        writes.commit(store, b"%d" % i)
    assert searches(directory) == 1
    with store.begin() as transaction:
        writes.segment(transaction, b"not committed")
        directory.fail_next()  # removing its file
    assert len(data_files(store)) == 6
    writes.commit(store, b"5")
    assert len(data_files(store)) == 6
    n = searches(directory)
    writes.commit(store, b"6")
    assert searches(directory) == n


def test_a_transaction_that_was_dropped_bars_nobody_and_its_files_go(tmp_path, writes):
    store = Store.open(RealDirectory(tmp_path / "db"))
    writes.commit(store, b"one")
    transaction = store.begin()
    transaction.__enter__().create_file("segments", "segment")
    del transaction
    gc.collect()
    writes.commit(store, b"two")
    assert len(data_files(store)) == 2


def test_a_writer_removes_what_another_process_left(tmp_path, writes):
    store = Store.open(RealDirectory(tmp_path / "db"))
    writes.commit(store, b"one")
    killed = (
        "import os, sys; from ngramdb.engine.storage.directory import RealDirectory; "
        "from ngramdb.engine.storage.store import Store; "
        "transaction = Store.open(RealDirectory(sys.argv[1])).begin(); "
        "transaction.__enter__().create_file('segments', 'segment'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", killed, str(tmp_path / "db")], check=True)
    assert len(data_files(store)) == 2
    writes.commit(store, b"two")
    assert writes.payloads(store) == [b"one", b"two"] and len(data_files(store)) == 2


def test_old_versions_go_with_their_files_without_a_look_at_all_files(writes):
    directory = FaultyDirectory()
    store = Store.open(directory)
    store.keep_versions = 2
    for i in range(6):
        with store.begin() as transaction:
            segment = writes.segment(transaction, b"%d" % i)
            transaction.commit({"wiki": writes.corpus(segment)}, "replace")
    assert len(data_files(store)) == 2
    assert searches(directory) == 1
