"""Curation on web text with planted copies: repeated windows found in one segment and in several.

    python benchmarks/curation.py DATA [--length 50] [--planted 0.1] [--segments 1,16] [--threads 1]
    python benchmarks/curation.py DATA --near [--documents 2000]
    python benchmarks/curation.py DATA --text

DATA is a folder with `medium.jsonl.gz`; with `gpt2.tokenizer.json` in it, tokens are GPT-2's. A tenth of the
documents (`--planted`) get a copy of a stretch of another document. Printed are the time per token of a pass
over the suffix arrays that exist already, in a process that does nothing else, the memory that it takes
beyond them (of its own, without pages of files), what is cut, and the windows that are left twice, of which
there must be none. With `--near`, near duplicates are measured instead, in less than a minute; see
`near_duplicates.py`. With `--text`, the whole way from text to cut text: load, CUT DUPLICATES, export.

    python benchmarks/curation.py --deliveries

1,200 documents are compared with 5,000, 20,000 and 80,000 (AGAINST): the cost of the first comparison, which
keeps keys of these documents, and of the next one.

    python benchmarks/curation.py --labels 1000000

Rows of Parquet with a string key, a number and a text, in random order, are joined with as many short
documents (ADD FIELDS), and two fields are computed from them (UPDATE): rows per second, and per second of
CPU.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time

import near_duplicates
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peerbench.machine import ForeignLoad, description, verdict

import ngramdb
from ngramdb.curation.windows import Ranges, duplicate_ranges

SEED = 7


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--labels", type=int, help="join this many rows with as many documents, instead")
    parser.add_argument("--deliveries", action="store_true", help="compare deliveries, instead")
    parser.add_argument("--length", type=int, default=50, help="tokens of a window (50)")
    parser.add_argument("--planted", type=float, default=0.1, help="share of documents with a copy (0.1)")
    parser.add_argument("--segments", default="1,16", help="numbers of segments (1,16)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--near", action="store_true", help="near duplicates instead")
    parser.add_argument("--documents", type=int, default=2000, help="documents with --near (2000)")
    parser.add_argument("--text", action="store_true", help="from text to cut text instead")
    parser.add_argument("--of", type=Path, help="the pass alone, over the corpus of this database")
    options = parser.parse_args()
    if options.of is not None:
        with ngramdb.connect(options.of, read_only=True) as db:
            return 1 if measured(db.corpus("c"), options.length, options.threads) else 0
    if (options.data is not None) + (options.labels is not None) + options.deliveries != 1:
        parser.error("give DATA, --labels N, or --deliveries")
    load, faults = ForeignLoad(), 0
    print(description())
    if options.labels is not None:
        with tempfile.TemporaryDirectory() as folder:
            faults = joined(Path(folder), options.labels)
    elif options.deliveries:
        faults = near_duplicates.deliveries()
    elif options.near:
        faults = near_duplicates.run(options.data, options.documents)
    elif options.text:
        from_text(options.data)
    if options.labels is not None or options.deliveries or options.near or options.text:
        print(verdict(load.share()))
        return 1 if faults else 0
    texts = list(planted(options.data / "medium.jsonl.gz", options.planted))
    for n in map(int, options.segments.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "c.ngdb"
            with ngramdb.connect(path) as db:
                built(db, options.data, texts, n)
            given = ["--of", path, "--length", str(options.length), "--threads", str(options.threads)]
            faults += subprocess.run([sys.executable, __file__, *given], check=False).returncode
    print(verdict(load.share()))
    return 1 if faults else 0


def planted(path: Path, share: float) -> Iterator[str]:
    """Yield the texts of the file, some with a stretch of an earlier one in their middle."""
    chance = random.Random(SEED)
    earlier: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            if earlier and chance.random() < share:
                words = chance.choice(earlier).split(" ")
                begin = chance.randrange(len(words))
                middle = len(text) // 2
                stretch = " ".join(words[begin : begin + chance.randrange(40, 400)])
                text = f"{text[:middle]} {stretch} {text[middle:]}"
            earlier.append(text)
            yield text


def built(db: ngramdb.Connection, data: Path, texts: Sequence[str], n: int) -> ngramdb.Corpus:
    """Return a corpus of these texts in n segments."""
    db.settings["auto_compact"] = False
    bpe = data / "gpt2.tokenizer.json"
    corpus = db.create_corpus("c", tokenizer=str(bpe) if bpe.is_file() else "words")
    size = -(-len(texts) // n)
    for i in range(0, len(texts), size):
        corpus.append(texts[i : i + size])
    return corpus


def measured(corpus: ngramdb.Corpus, length: int, threads: int) -> int:
    """Print the cost of a pass, and return the number of windows that are left twice."""
    view = corpus._bound.view
    with OwnMemory() as memory:
        duplicate_ranges(view, length, threads=threads)  # files are read and verified once
    begun, cpu = perf_counter(), process_time()
    found = duplicate_ranges(view, length, threads=threads)
    seconds, cpu = perf_counter() - begun, process_time() - cpu
    cut = sum(ranges.n_tokens for ranges in found)
    left = windows_left(view, found, length)
    n = corpus.n_tokens
    print(
        f"{len(view.segments):3} segments, {n:,} tokens: {cpu / n * 1e9:.1f} ns CPU per token "
        f"({seconds:.2f} s, {threads} threads), {memory.more / 1e6:.1f} MB of its own at the peak "
        f"(an eighth of a byte per token: {n / 8e6:.1f}); {cut:,} tokens to cut in "
        f"{sum(len(ranges.starts) for ranges in found):,} ranges; windows left twice: {left}",
        flush=True,
    )
    return left


class OwnMemory:
    """Watches the memory that the process has of its own, without pages of files, while in a `with` block.

    `more` is the most at any time, in bytes, beyond that at the beginning.
    """

    def __enter__(self) -> OwnMemory:
        self._begun, self.more = self._now(), 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.002):
            self.more = max(self.more, self._now() - self._begun)

    @staticmethod
    def _now() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def from_text(data: Path) -> None:
    """Print how much text is loaded, cut and written again per second of CPU, by tokenizer."""
    source = data / "medium.jsonl.gz"
    with gzip.open(source, "rb") as file:
        size = sum(map(len, file))
    bpe = data / "gpt2.tokenizer.json"
    for tokenizer in ["words", *([str(bpe)] if bpe.is_file() else [])]:
        with tempfile.TemporaryDirectory() as folder, ngramdb.connect(Path(folder) / "c.ngdb") as db:
            corpus = db.create_corpus("c", tokenizer=tokenizer)
            parts: list[float] = []
            for act in (
                lambda corpus=corpus: corpus.load(str(source)),
                lambda corpus=corpus: corpus.cut_duplicates(),
                lambda corpus=corpus, to=folder: corpus.export(f"{to}/cut.jsonl"),
            ):
                cpu = process_time()
                act()
                parts.append(process_time() - cpu)
        load, cut, export = parts
        print(
            f"{Path(tokenizer).name}: {size / 1e6 / sum(parts):.1f} MB per second of CPU from text to "
            f"cut text ({size / 1e6:.0f} MB; load {load:.1f} s, cut {cut:.1f}, export {export:.1f})",
            flush=True,
        )


def joined(folder: Path, n: int) -> int:
    """Print the cost of joining n rows with n documents, and return the number of wrong documents."""
    chance = np.random.default_rng(SEED)
    keys = pa.array([f"doc-{i:09d}" for i in range(n)])
    order = chance.permutation(n)
    languages = pa.array(["en", "de", "fr"]).take(pa.array(order % 3))
    rows = pa.table({"id": keys.take(pa.array(order)), "edu": order / n, "lang": languages})
    pq.write_table(rows, folder / "labels.parquet")
    with ngramdb.connect(folder / "c.ngdb") as db:
        corpus = db.create_corpus("c", tokenizer="words")
        corpus.append(pa.table({"text": ["a b"] * n, "id": keys}))
        corpus.add_fields(pa.table({"id": keys[:1], "first": [True]}))  # modules are imported once
        for what, change in (
            ("ADD FIELDS", lambda: corpus.add_fields(folder / "labels.parquet", on="id").documents),
            ("UPDATE", lambda: corpus.update("tenth = edu / 0.1, tongue = lang")),
        ):
            begun, cpu = perf_counter(), process_time()
            found = change()
            seconds, cpu = perf_counter() - begun, process_time() - cpu
            print(
                f"{what}: {found:,} documents, {found / seconds:,.0f} per second ({seconds:.2f} s), "
                f"{found / cpu:,.0f} per second of CPU"
            )
        return corpus.count_docs("edu IS NULL OR tongue IS NULL OR tenth IS NULL")


def windows_left(view: object, found: Sequence[Ranges], length: int) -> int:
    """Return how many windows occur twice in what is left, by hashes of all windows of the pieces."""
    hashes = [np.empty(0, dtype=np.uint64)]
    for segment, ranges in zip(view.segments, found, strict=True):  # type: ignore[attr-defined]
        tokens = segment.symbols.astype(np.uint64)
        ends = tokens == 0  # between documents
        for start, stop in zip(ranges.starts.tolist(), ranges.stops.tolist(), strict=True):
            ends[start:stop] = True
        with np.errstate(over="ignore"):
            hashes.append(hashes_of_windows(tokens, ends, length))
    every = np.sort(np.concatenate(hashes))
    return int((every[1:] == every[:-1]).sum())


def hashes_of_windows(tokens: np.ndarray, ends: np.ndarray, length: int) -> np.ndarray:
    """Return a 64-bit polynomial hash of each window that no end interrupts."""
    factor = np.uint64(0x9E3779B97F4A7C15)
    found = np.zeros(len(tokens) - length + 1, dtype=np.uint64)
    for i in range(length):
        found = (found + tokens[i : i + len(found)] + np.uint64(1)) * factor
        found ^= found >> np.uint64(29)
    before = np.concatenate([[0], np.cumsum(ends)])
    return found[before[length:] == before[: len(found)]]


if __name__ == "__main__":
    sys.exit(main())
