"""What a question costs when nothing of the index is in memory: bytes read and time, beside infini-gram.

    python benchmarks/cold.py --scratch /some/folder --tokens 100_000_000 --segments 1 2

makes a corpus by a block bootstrap of GPT-2 ids (documents of fragments of 20 to 200 tokens drawn at random
from `small.jsonl.gz`, 3 % of the tokens replaced by draws from all of them), builds ngramdb with one and with
two segments and, where it is installed, infini-gram; `--scratch` keeps them. Then, 200 times for each system:
the files are dropped from the page cache, the index is opened, and one n-gram of a random place is counted.
Printed are medians and tenths of the bytes that the process read from the disk (`/proc/self/io`), of major
page faults, and of the time, each of the count alone, after opening; and the time of opening. Linux only.

Not measured: what a disk's own cache or a hypervisor's keeps; times depend on it, bytes do not.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from peerbench.bootstrap import bootstrap
from peerbench.corpus import TokenCorpus, load_tokens, write_peer_files
from peerbench.layout import Layout
from peerbench.systems import InfiniGram

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"

Count = Callable[[list[int]], int]


@dataclass(frozen=True)
class Sample:
    """One cold count."""

    n_bytes: int
    faults: int
    count_ms: float
    open_ms: float


def questions(corpus: TokenCorpus, n: int, how_many: int, seed: int) -> Iterator[list[int]]:
    """n-grams of random places, some across the ends of documents, which occur nowhere."""
    places = np.random.default_rng(seed).integers(0, corpus.n_tokens - n, how_many)
    return (corpus.ids[place : place + n].tolist() for place in places)


# ---- the systems ------------------------------------------------------------------------------------------


def ngramdb_of(path: Path, corpus: TokenCorpus, n_segments: int) -> Callable[[], Count]:
    """Builds the database if it isn't there; what opens it."""
    import ngramdb

    if not path.exists():
        with ngramdb.connect(path) as db:
            db.settings["auto_compact"] = False
            db.settings["segment_tokens"] = -(-corpus.n_tokens // n_segments) + 100_000
            db.create_corpus("bench", tokenizer="tokens").append(corpus.documents())

    def opened() -> Count:
        count: Count = ngramdb.connect(path, read_only=True).corpus("bench").count
        return count

    return opened


def infinigram_of(folder: Path, corpus: TokenCorpus) -> Callable[[], Count] | None:
    """The same of infini-gram; None where it isn't installed."""
    try:
        import infini_gram  # noqa: F401
    except ImportError:
        return None
    if not (folder / "table.0").exists():
        write_peer_files(corpus, folder)
        code = "import json, sys; from peerbench.builders import build_infinigram as b; b(sys.argv[1], 2)()"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        subprocess.run([sys.executable, "-c", code, str(folder)], check=True, env=environment)

    def opened() -> Count:
        engine = InfiniGram(folder, corpus).operations["count"]
        return lambda ids: int(engine(ids)["count"])

    return opened


# ---- measuring --------------------------------------------------------------------------------------------


def drop(folder: Path) -> None:
    """Takes the folder's files out of the page cache; pages that are mapped somewhere stay."""
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def bytes_read() -> int:
    """What this process has had read from disks so far."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["read_bytes"])


def cold_count(opened: Callable[[], Count], folder: Path, ids: list[int]) -> Sample:
    gc.collect()  # the last one's maps go
    drop(folder)
    began = time.perf_counter_ns()
    count = opened()
    ready = time.perf_counter_ns()
    faults, n_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_majflt, bytes_read()
    asked = time.perf_counter_ns()
    count(ids)
    answered = time.perf_counter_ns()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - faults
    return Sample(bytes_read() - n_bytes, faults, (answered - asked) / 1e6, (ready - began) / 1e6)


def row(name: str, samples: list[Sample]) -> str:
    def spread(values: list[Any], form: str) -> str:
        low, middle, high = np.percentile(values, [10, 50, 90])
        return f"{middle:{form}} ({low:{form}}–{high:{form}})"

    return (
        "| "
        + " | ".join(
            [
                name,
                spread([sample.n_bytes / 1e6 for sample in samples], ".3f"),
                spread([sample.faults for sample in samples], ".0f"),
                spread([sample.count_ms for sample in samples], ".2f"),
                spread([sample.open_ms for sample in samples], ".1f"),
            ]
        )
        + " |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder of small.jsonl.gz and gpt2.tokenizer.json"
    )
    parser.add_argument("--scratch", type=Path, required=True, help="where ids and indexes are kept")
    parser.add_argument("--tokens", type=int, default=100_000_000)
    parser.add_argument("--segments", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--counts", type=int, default=200)
    parser.add_argument("--n", type=int, nargs="+", default=[5], help="tokens of an n-gram")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.scratch.mkdir(parents=True, exist_ok=True)
    base = load_tokens(
        given.data / "small.jsonl.gz", given.data / "gpt2.tokenizer.json", Layout(given.scratch, "small")
    )
    corpus = bootstrap(base, given.tokens, given.seed)
    print(f"{corpus.n_tokens:,} tokens in {corpus.n_documents:,} documents", flush=True)
    systems: dict[str, tuple[Path, Callable[[], Count]]] = {}
    for n_segments in given.segments:
        path = given.scratch / f"{given.tokens}_{n_segments}.ngdb"
        systems[f"ngramdb, {n_segments} segment{'s' * (n_segments > 1)}"] = (
            path,
            ngramdb_of(path, corpus, n_segments),
        )
    folder = given.scratch / f"{given.tokens}_infinigram"
    peer = infinigram_of(folder, corpus)
    if peer is not None:
        systems["infini-gram"] = folder, peer
    for n in given.n:
        print(f"\n| n = {n} | MB read | page faults | count, ms | opening, ms |\n|---|---|---|---|---|")
        for k, (name, (place, opened)) in enumerate(systems.items()):
            opened()([0])  # libraries are loaded
            every = questions(corpus, n, given.counts, given.seed + k)
            print(row(name, [cold_count(opened, place, ids) for ids in every]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
