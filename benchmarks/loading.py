"""How fast documents are loaded: with `tokenizers` alone, the fast way, and with the tokenizers of our own.

    python benchmarks/loading.py --data /folder/with/medium.jsonl.gz [--rounds 3] [--write]

Measured is `Corpus.load` of one `.jsonl.gz` into a new database on disk: decompression, JSON, metadata,
tokens, the check that ids give texts back, sorting, writing and syncing. "ids" appends the same GPT-2 ids as
arrays, a document each; "kernel" is the construction alone that this ends in, suffix array and directory of
the same tokens in memory, no file. Each figure comes from a process of its own, rounds alternate, and the
table has the best round of each: the machine has other work at times. CPU time is that of all threads; tokens
a second and core are by CPU time. `--write` keeps the table in `results_loading.md`. The corpus is the
data's; nothing is drawn at random but the sample that the fast way compares.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from peerbench.corpus import load_tokens
from peerbench.layout import Layout

import ngramdb
from ngramdb._cext.sort.construction import CoreBudget, key_directory, lcp_width_for, suffix_array
from ngramdb.segments.container.layout import SymbolBuilder

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results_loading.md"
FIGURES = ("gpt2, tokenizers alone", "gpt2", "words", "chars", "bytes", "ids", "kernel")


def documents_of_ids(corpus: Path, tokenizer: Path, scratch: Path) -> tuple[np.ndarray, np.ndarray]:
    """GPT-2 ids and offsets of the corpus, made once by the library `tokenizers`."""
    tokens = load_tokens(corpus, tokenizer, Layout(scratch, corpus.name.removesuffix(".jsonl.gz")))
    return tokens.ids, tokens.offsets


def load_texts(corpus: Path, tokenizer: str, fast: bool, database: Path) -> Callable[[], int]:
    db = ngramdb.connect(database)
    db.settings["fast_tokenizer"] = fast
    made = db.create_corpus("c", tokenizer=tokenizer)
    return lambda: made.load(corpus).tokens


def load_ids(ids: np.ndarray, offsets: np.ndarray, database: Path) -> Callable[[], int]:
    corpus = ngramdb.connect(database).create_corpus("c", tokenizer="tokens")
    bounds = offsets.tolist()
    documents = (ids[start:stop] for start, stop in pairwise(bounds))
    return lambda: corpus.append(documents).tokens


def construct(ids: np.ndarray, offsets: np.ndarray) -> Callable[[], int]:
    builder = SymbolBuilder(len(ids) + len(offsets))
    builder.add(ids, offsets)
    stream = builder.finish().symbols
    width, cores = lcp_width_for(len(stream)), CoreBudget(os.cpu_count() or 1)

    def run() -> int:
        with cores:
            rows = suffix_array(stream, int(stream.max()) + 1, None, cores, width)
        key_directory(stream, rows, None, width)
        return len(ids)

    return run


def measure(figure: str, corpus: Path, tokenizer: Path, scratch: Path) -> dict[str, Any]:
    """One figure, in this process."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        database = Path(folder) / "db"
        if figure in ("ids", "kernel"):
            ids, offsets = documents_of_ids(corpus, tokenizer, scratch)
            run = load_ids(ids, offsets, database) if figure == "ids" else construct(ids, offsets)
        elif figure.startswith("gpt2"):
            run = load_texts(corpus, str(tokenizer), figure == "gpt2", database)
        else:
            run = load_texts(corpus, figure, True, database)
        wall, cpu = time.perf_counter(), time.process_time()
        n_tokens = run()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"tokens": n_tokens, "wall": wall, "cpu": cpu, "peak": peak_mib()}


def peak_mib() -> float:
    """The most memory that this process has had; on Linux, without that of the process it came from."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_a_process(figure: str, options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--data", str(options.data), "--corpus", options.corpus]
    command += ["--scratch", str(scratch), "--one", figure]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def report(found: dict[str, list[dict[str, Any]]], corpus: str) -> str:
    """The table of the best rounds, and what is compared in it."""
    best = {figure: min(rounds, key=lambda one: one["wall"]) for figure, rounds in found.items()}
    lines = [
        f"{corpus}, {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"load average {os.getloadavg()[0]:.0f} (wall times include that load)",
        "",
        "| | tokens | wall s | CPU s | M tokens/s | M tokens/s and core | peak MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for figure, one in best.items():
        speed, per_core = one["tokens"] / one["wall"] / 1e6, one["tokens"] / one["cpu"] / 1e6
        lines.append(
            f"| {figure} | {one['tokens']:,} | {one['wall']:.2f} | {one['cpu']:.2f} | {speed:.2f} "
            f"| {per_core:.2f} | {one['peak']:.0f} |"
        )
    lines.append("")
    for name, above, below in (
        ("gpt2 against tokenizers alone", "gpt2, tokenizers alone", "gpt2"),
        ("ids against the kernel", "kernel", "ids"),
    ):
        if above in best and below in best:
            wall, cpu = (best[above][key] / best[below][key] for key in ("wall", "cpu"))
            lines.append(f"- {name}: {wall:.2f} times the speed by wall time, {cpu:.2f} by CPU time")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=REPOSITORY.parent / "shared" / "data", help="folder")
    parser.add_argument("--corpus", default="medium.jsonl.gz", help="file of JSON lines in --data")
    parser.add_argument("--scratch", type=Path, help="where ids and databases are put")
    parser.add_argument("--rounds", type=int, default=1, help="times that each figure is measured")
    parser.add_argument("--only", action="append", choices=FIGURES, help="figures to measure")
    parser.add_argument("--write", action="store_true", help="keep the table in results_loading.md")
    parser.add_argument("--one", choices=FIGURES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    corpus, tokenizer = options.data / options.corpus, options.data / "gpt2.tokenizer.json"
    if options.one:
        print(json.dumps(measure(options.one, corpus, tokenizer, options.scratch)))
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = options.scratch or Path(folder)
        figures = options.only or FIGURES
        if {"ids", "kernel"} & set(figures):
            documents_of_ids(corpus, tokenizer, scratch)
        found: dict[str, list[dict[str, Any]]] = {figure: [] for figure in figures}
        for _ in range(options.rounds):
            for figure in figures:
                found[figure].append(in_a_process(figure, options, scratch))
                print(figure, found[figure][-1], file=sys.stderr)
    text = report(found, options.corpus)
    print(text)
    if options.write:
        head = "Written by `python benchmarks/loading.py --write`; see there for the measurements."
        RESULTS.write_text(f"# Loading\n\n{head}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
