"""Counts in one index, of infini-gram's making: by infini-gram, and by ngramdb, which has it attached.

    python benchmarks/attached.py FOLDER --tokens 20000000

makes the index in FOLDER with infini-gram's builder unless it is there: documents of 500 tokens on the
average, ids drawn by Zipf's law (exponent 1.2, seed 7), of 16 bits. Measured are medians of single counts of
n-grams of 1 to 8 tokens that occur and of some that do not, each asked once, on warm files; ATTACH; the first
count, which samples keys; and the first one where keys are kept. With `--tokenizer FILE` also ATTACH
with that, as the first thing that a process does, and once more in it: medians of nine processes. Needs the
package `infini-gram`.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import ngramdb

SEPARATOR = 65535
BUILD = "import sys; from infini_gram import indexing; sys.argv[0] = 'indexing'; indexing.main()"


# Milliseconds of ATTACH as a statement or a call, and of the same after DETACH.
FRESH = """
import sys, time, ngramdb
folder, tokenizer, asked = sys.argv[1:]
with ngramdb.connect() as db:
    for _ in range(2):
        start = time.perf_counter()
        if asked == "call":
            db.attach(folder, "pile", tokenizer=tokenizer)
        else:
            db.execute(f"ATTACH '{folder}' AS pile (TOKENIZER '{tokenizer}')")
        print(1e3 * (time.perf_counter() - start))
        db.detach("pile")
"""


def attaching_with(folder: Path, tokenizer: Path, asked: str) -> tuple[float, float]:
    """Milliseconds of the first ATTACH of a process, and of the second one."""
    command = [sys.executable, "-c", FRESH, str(folder), str(tokenizer), asked]
    printed = [
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(9)
    ]
    return median(float(first) for first, _ in printed), median(float(second) for _, second in printed)


def make_index(folder: Path, n_tokens: int) -> None:
    """The index, unless the folder has it."""
    if (folder / "table.0").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(7)
    tokens = ((rng.zipf(1.2, n_tokens) - 1) % 50_000).astype("<u2")
    starts = np.unique(np.concatenate([[0], rng.integers(0, n_tokens, n_tokens // 500)]))
    text = np.insert(tokens, starts, SEPARATOR)
    text.tofile(folder / "tokenized.0")
    ((starts + np.arange(len(starts))) * 2).astype("<u8").tofile(folder / "offset.0")
    limit = str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    options = f"--data_dir {folder} --save_dir {folder} --token_dtype u16 --cpus 2 --mem 8 --ulimit {limit}"
    command = [sys.executable, "-c", BUILD, *options.split()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def questions(folder: Path, n: int) -> list[list[int]]:
    """N-grams of 1 to 8 tokens, one in five of them changed at its end."""
    text = np.memmap(folder / "tokenized.0", dtype="<u2", mode="r")
    rng = np.random.default_rng(8)
    found: list[list[int]] = []
    while len(found) < n:
        at, length = int(rng.integers(len(text) - 8)), int(rng.integers(1, 9))
        gram = text[at : at + length].tolist()
        if rng.random() < 0.2:
            gram[-1] = int(rng.integers(50_000))
        if SEPARATOR not in gram:
            found.append(gram)
    return found


def seconds(ask: Callable[[], Any]) -> float:
    start = time.perf_counter()
    ask()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=int, default=20_000_000)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--tokenizer", type=Path)
    given = parser.parse_args()
    folder = given.folder.resolve()
    make_index(folder, given.tokens)
    grams = questions(folder, given.questions)
    from infini_gram.engine import InfiniGramEngine

    engine: Any = InfiniGramEngine(
        str(folder), 50_000, 65_535, 4, "u16", ds_prefetch_depth=0, sa_prefetch_depth=0
    )
    with ngramdb.connect(folder / "keys.ngdb") as db:
        attaching = seconds(lambda: db.attach(folder, "pile"))
        pile = db.corpus("pile")
        first = seconds(lambda: pile.count(grams[0]))
    with ngramdb.connect(folder / "keys.ngdb") as db:
        pile = db.attach(folder, "pile")
        kept = seconds(lambda: pile.count(grams[0]))
        expected = [engine.count(gram)["count"] for gram in grams]  # and the files are warm
        assert pile.count_many(grams).tolist() == expected
        theirs = median(seconds(lambda gram=gram: engine.count(gram)) for gram in grams)
        ours = median(seconds(lambda gram=gram: pile.count(gram)) for gram in grams)
        batch = seconds(lambda: pile.count_many(grams)) / len(grams)
    print(f"{given.tokens:,} tokens")
    print(f"attach                {1e3 * attaching:10.2f} ms")
    for asked in ("call", "statement") if given.tokenizer else ():
        at_first, again = attaching_with(folder, given.tokenizer.resolve(), asked)
        print(f"… tokenizer, {asked:<10}{at_first:10.2f} ms first in a process; {again:.2f} ms again")
    print(f"first count           {1e3 * first:10.2f} ms; {1e3 * kept:.2f} ms where keys are kept")
    print(f"count, infini-gram    {1e6 * theirs:10.2f} µs")
    print(f"count, ngramdb        {1e6 * ours:10.2f} µs, {theirs / ours:.1f} times as fast")
    print(f"count_many, ngramdb   {1e6 * batch:10.2f} µs an n-gram")


if __name__ == "__main__":
    main()
