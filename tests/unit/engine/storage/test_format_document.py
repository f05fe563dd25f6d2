"""FORMAT.md is accurate: its example equals the output of the writer, byte for byte."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from ngramdb.engine.storage.directory import MemoryDirectory
from ngramdb.engine.storage.manifest import FileRef, LoadRecord, StatisticsEntry
from ngramdb.engine.storage.store import Store
from ngramdb.segments.container import Container, ContainerWriter

DOCUMENT = (Path(__file__).parents[4] / "FORMAT.md").read_text(encoding="utf-8")


def bytes_of_example():
    """The bytes of the hex dump; a "*" repeats the line before up to the next address."""
    data = b""
    dump = DOCUMENT.split("### Example")[1].split("```")[1]
    for line in dump.strip().splitlines():
        if line != "*":
            address, _, rest = line.partition("  ")
            while len(data) < int(address, 16):
                data += data[-16:]
            data += bytes.fromhex(rest[:47])
    return data


def test_the_example_is_what_the_writer_writes():
    directory = MemoryDirectory()
    writer = ContainerWriter(directory.create("example"), "SEGM", file_id=bytes(range(16)))
    writer.add("values", np.array([1, 2, 3], dtype=np.uint16))
    writer.finish({"n": 3})
    assert bytes(directory.open_read("example")) == bytes_of_example()


def test_the_example_can_be_read():
    container = Container.open(memoryview(bytes_of_example()), "example", "SEGM")
    container.verify()
    assert container.array("values").tolist() == [1, 2, 3]
    assert container.properties == {"n": 3}
    assert f"has {container.info.size} bytes" in DOCUMENT


def test_the_manifest_has_the_keys_that_are_described(writes):
    store = Store.open(MemoryDirectory())
    manifest = writes.commit(store, b"one")
    described = set(re.findall(r'"([a-z_]+)":', DOCUMENT.split("## Manifest")[1].split("## Versions")[0]))

    def keys(value):
        if isinstance(value, dict):
            return set(value).union(*(keys(item) for item in value.values()))
        return set().union(*(keys(item) for item in value)) if isinstance(value, list) else set()

    table = ((1, 0, 0, 0), (1, 0, 0, 0))
    frequent = ((1, 1, 1, 1, 0, 0, 1, 0, 0, 7),)
    statistics = StatisticsEntry(1.0, "c" * 64, 1, 1, 1, (1, 1), table, table, frequent)
    load = LoadRecord("a" * 64, "b" * 64, "c" * 64, 1, 2, 3, 4, "d" * 24)
    fields = FileRef("fields/" + "a" * 32 + ".fields", 1, 2)
    corpora = {
        name: replace(
            entry,
            statistics=statistics,
            loads=(load,),
            segments=tuple(replace(segment, fields=fields) for segment in entry.segments),
        )
        for name, entry in manifest.corpora.items()
    }
    dropped = {entry.id: entry.without_documents() for entry in corpora.values()}
    kept = {"before": replace(manifest, version=1)}
    named = replace(manifest, corpora=corpora, kept=kept, dropped=dropped)
    written = keys(json.loads(named.to_json()))
    assert written == described
