"""A writer that is killed: everything that it reported as committed is there, and nothing else shows."""

from __future__ import annotations

import random
import subprocess
import sys
import time

from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.store import Store

N_KILLS = 12

WRITE = """
import sys
import numpy  # imported by the first write otherwise, while the clock runs
from ngramdb.engine.storage.directory import RealDirectory
from ngramdb.engine.storage.manifest import CorpusEntry, FileRef, SegmentEntry, TokenizerEntry
from ngramdb.engine.storage.store import Store
from ngramdb.segments.container import ContainerWriter

store = Store.open(RealDirectory(sys.argv[1]))
print("ready", flush=True)
while True:
    with store.begin(timeout_s=10) as transaction:
        corpora = transaction.manifest.corpora
        old = corpora["wiki"].segments if "wiki" in corpora else ()
        new = []
        for i in (0, 1):
            name, file = transaction.create_file("segments", "segment")
            writer = ContainerWriter(file, "SEGM")
            writer.add("payload", b"%d" % (len(old) + i) * 5000)
            info = writer.finish({})
            n = len(old) + i
            new.append(SegmentEntry(FileRef(name, *info), 1, 1, 1, n, transaction.manifest.version + 1))
        tokenizer = TokenizerEntry("bytes", None, (), 256)
        entry = CorpusEntry("wiki", "0" * 32, tokenizer, (*old, *new), len(old) + 2, {})
        manifest = transaction.commit({"wiki": entry}, "append")
        print(manifest.version, flush=True)
"""


def test_killing_the_writer_loses_nothing_that_was_committed(tmp_path, writes):
    rng = random.Random(7)
    path = tmp_path / "db"
    last = 1  # an empty database, which is there once the child is ready
    awaited = 0
    for _ in range(N_KILLS):
        child = subprocess.Popen([sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        n_awaited = rng.choice((0, 0, 1, 3))  # commits, however long the machine takes over one
        reported = [int(child.stdout.readline()) for _ in range(n_awaited)]
        awaited += n_awaited
        time.sleep(rng.uniform(0.0, 0.03))
        child.kill()
        reported += [int(line) for line in child.communicate()[0].split(b"\n")[:-1]]
        store = Store.open(RealDirectory(path))
        version = store.manifest.version
        last = max([last, *reported])
        assert last <= version <= last + 1
        assert list(store.check()) == []
        n = 2 * (version - 1)
        assert writes.payloads(store) == [b"%d" % i * 5000 for i in range(n)]
        with store.begin(timeout_s=60):
            assert len(store.directory.list("segments/")) == n
        last = version
    assert last > awaited > 5
