"""Many threads read one store while one writes: every answer belongs to some committed version."""

from __future__ import annotations

import threading

import pytest

from ngramdb.engine.storage.directory import MemoryDirectory, RealDirectory
from ngramdb.engine.storage.store import Store

N_COMMITS = 20
N_READERS = 4


@pytest.mark.parametrize("own_store", [False, True], ids=["one store", "a store each"])
@pytest.mark.parametrize("kind", ["real", "memory"])
def test_readers_see_whole_versions_only_and_never_go_back(kind, own_store, tmp_path, writes):
    directory = RealDirectory(tmp_path / "db") if kind == "real" else MemoryDirectory()
    store = Store.open(directory)
    done = threading.Event()
    failures = []
    seen = []

    def read(reader):
        last = 0
        try:
            while not done.is_set() or last < N_COMMITS + 1:
                reader.refresh()
                manifest = reader.manifest
                assert manifest.version >= last
                last = manifest.version
                segments = manifest.corpora["wiki"].segments if "wiki" in manifest.corpora else ()
                assert len(segments) == manifest.version - 1
                for i, entry in enumerate(segments):
                    assert bytes(reader.read(entry.file, "SEGM").section("payload")) == b"payload %d" % i
            seen.append(last)
        except BaseException as error:
            failures.append(error)

    stores = [Store.open(directory, read_only=True) if own_store else store for _ in range(N_READERS)]
    threads = [threading.Thread(target=read, args=(reader,), daemon=True) for reader in stores]
    for thread in threads:
        thread.start()
    for i in range(N_COMMITS):
        writes.commit(store, b"payload %d" % i)
    done.set()
    for thread in threads:
        thread.join(timeout=60)
    assert failures == []
    assert seen == [N_COMMITS + 1] * N_READERS


def test_threads_that_write_take_turns_and_lose_nothing(tmp_path, writes):
    directory = RealDirectory(tmp_path / "db")
    store = Store.open(directory)

    def write(i):
        for j in range(5):
            with store.begin(timeout_s=None) as transaction:
                corpora = transaction.manifest.corpora
                old = corpora["wiki"].segments if "wiki" in corpora else ()
                new = writes.segment(transaction, b"%d %d" % (i, j), len(old))
                transaction.commit({"wiki": writes.corpus(*old, new)}, "append")

    threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(writes.payloads(store)) == sorted(b"%d %d" % (i, j) for i in range(4) for j in range(5))
    assert store.manifest.version == 21
