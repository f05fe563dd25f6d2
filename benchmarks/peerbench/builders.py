"""Builds one index inside a process of its own, and says what that took.

Run by `builds.py` as `python -m peerbench.builders <builder> <JSON arguments>`. The last line of standard
output is JSON: wall and CPU seconds of the build alone (interpreter start and imports are left out), and the
resident memory before it and at its peak. Inputs are in the page cache: they were just written or read.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

# Memory, in GiB, that infini-gram's builder may plan with: enough for a single batch of parts.
INFINIGRAM_MEMORY_GIB = 8


def build_infinigram(folder: str, cpus: int) -> Callable[[], None]:
    """infini-gram's own suffix-array steps over `tokenized.0` and `offset.0`, already in the folder."""
    from infini_gram import indexing

    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    options = f"--data_dir {folder} --save_dir {folder} --token_dtype u16 --cpus {cpus} --ulimit {open_files}"
    sys.argv = ["indexing", *options.split(), "--mem", str(INFINIGRAM_MEMORY_GIB)]
    run: Callable[[], None] = indexing.main
    return run


def build_tokengrams(token_file: str, index_file: str) -> Callable[[], None]:
    """tokengrams' `MemmapIndex` over the same token file."""
    from tokengrams import MemmapIndex

    return lambda: MemmapIndex.build(token_file, index_file)


def build_ngramdb_ids(database: str, ids: str, offsets: str, segment_tokens: int) -> Callable[[], None]:
    """A `tokens` corpus from arrays of ids, through `Corpus.append`: one commit, synced to disk."""
    import ngramdb

    lengths = np.diff(np.load(offsets)).tolist()

    def build() -> None:
        with ngramdb.connect(database) as connection:
            made = connection.create_corpus("bench", tokenizer="tokens", segment_tokens=segment_tokens)
            made.append((document, {}) for document in read_documents(ids, lengths))

    import_everything()
    return build


def import_everything() -> None:
    """A tiny build in memory: modules are imported when they are needed, and that is no part of a build."""
    import ngramdb

    with ngramdb.connect() as connection:
        connection.create_corpus("bench", tokenizer="tokens").append([(np.arange(3, dtype=np.uint16), {})])


def read_documents(path: str, lengths: list[int]) -> Iterator[np.ndarray]:
    """Documents from an .npy file of ids, one at a time: nothing of the input stays in memory."""
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        for length in lengths:
            yield np.fromfile(file, dtype=np.uint16, count=length)


def build_ngramdb_text(database: str, jsonl: str, tokenizer: str) -> Callable[[], None]:
    """The whole path with default options: unzip, parse, tokenize, index, through `Corpus.load`."""
    import ngramdb

    def build() -> None:
        with ngramdb.connect(database) as connection:
            made = connection.create_corpus("bench", tokenizer=tokenizer)
            made.load(jsonl)

    import_everything()
    return build


BUILDERS: dict[str, Callable[..., Callable[[], None]]] = {
    "infini-gram": build_infinigram,
    "tokengrams": build_tokengrams,
    "ngramdb-ids": build_ngramdb_ids,
    "ngramdb-text": build_ngramdb_text,
}


def memory_bytes(field: str) -> int:
    """A field of this process's `/proc/self/status`, for example `VmRSS`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


def cpu_seconds() -> float:
    """CPU time of this process and of the children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    build = BUILDERS[sys.argv[1]](**json.loads(sys.argv[2]))
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = memory_bytes("VmRSS")
    cpu_start, start = cpu_seconds(), time.perf_counter()
    build()
    report: dict[str, Any] = {
        "wall_s": time.perf_counter() - start,
        "cpu_s": cpu_seconds() - cpu_start,
        "memory_before": before,
        "memory_peak": memory_bytes("VmHWM"),
    }
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
