"""ngramdb's Kneser-Ney beside KenLM: perplexities, time per token, sizes.

    python benchmarks/versus_kenlm.py DATA [--orders 2,3,5,10] [--rounds 5]

DATA is a folder with `wt2v.train.txt.gz` and `wt2.test.txt.gz`: a sentence a line, words between blanks.

What is measured: perplexity of the test sentences, `<s>` and `</s>` as KenLM has them, unknown words
included; time per scored token. For each order the ARPA file is written by ngramdb and loaded by the PyPI
package `kenlm`, which queries only; so both score with the same numbers, and a difference is one of
arithmetic. KenLM's module is compiled for a greatest order (6 as a rule): above it, and without a limit on
order, ngramdb stands alone. ngramdb scores all sentences in one call (`score_many`), KenLM a sentence a
call (`Model.score`): what either offers. Times are medians over the rounds, of CPU time in this one thread,
without loading; `first` is ngramdb's first round, before anything is remembered. Words become ids before
the clock starts for ngramdb, and within it for KenLM: that part is timed alone, too, by looking up the
words in a dictionary.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ngramdb
from ngramdb.lm import UNKNOWN, KneserNey, LanguageModel, write_arpa

MISSING = "this benchmark needs KenLM's Python module beside it: pip install kenlm"
FILES = ("wt2v.train.txt.gz", "wt2.test.txt.gz")

Ids = NDArray[np.int64]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=Path, help=f"folder with {' and '.join(FILES)}")
    parser.add_argument("--orders", default="2,3,5,10", help="orders beside the unlimited one (2,3,5,10)")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is scored (5)")
    return parser.parse_args(arguments)


@dataclass(frozen=True)
class Timed:
    """Microseconds of CPU time per token: the first round, and the median of the others."""

    first: float
    usual: float


@dataclass(frozen=True)
class Line:
    """One order; what KenLM has no answer to is None."""

    order: int | None
    perplexity: float
    ours: Timed
    kenlm_perplexity: float | None = None
    kenlm: Timed | None = None
    arpa_bytes: int | None = None
    arpa_seconds: float | None = None


class Task:
    """The sentences to train on and to score, as words and as ids."""

    def __init__(self, data: Path) -> None:
        train, test = ([line.split() for line in _lines(data / name)] for name in FILES)
        self.ids: dict[str, int] = {}
        self.train = [[self.ids.setdefault(word, len(self.ids)) for word in line] for line in train]
        self.words = list(self.ids)
        self.sentences = [" ".join(line) for line in test]
        found = [[self.ids.get(word, UNKNOWN) for word in line] for line in test]
        self.flat: Ids = np.array([token for line in found for token in line], dtype=np.int64)
        self.offsets: Ids = np.cumsum([0, *map(len, found)], dtype=np.int64)
        self.n_scored = len(self.flat) + len(found)

    def lookups(self) -> None:
        """What turning words into ids costs at least."""
        ids = self.ids
        for sentence in self.sentences:
            [ids.get(word, UNKNOWN) for word in sentence.split()]


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line for line in file if line.strip()]


def timed(work: Callable[[], Any], n_tokens: int, rounds: int) -> Timed:
    """CPU time of the work in this thread."""
    samples = []
    for _ in range(max(2, rounds)):
        start = time.thread_time()
        work()
        samples.append((time.thread_time() - start) / n_tokens * 1e6)
    return Timed(samples[0], statistics.median(samples[1:]))


def measure(task: Task, model: LanguageModel, order: int | None, rounds: int, kenlm: ModuleType) -> Line:
    """One order: ours, and KenLM's where its module takes it."""
    ours = timed(lambda: model.score_many(task.flat, task.offsets, sentence=True), task.n_scored, rounds)
    perplexity = model.score_many(task.flat, task.offsets, sentence=True).perplexity
    if order is None:
        return Line(order, perplexity, ours)
    with tempfile.TemporaryDirectory(prefix="ngramdb-bench-") as folder:
        path = Path(folder) / "model.arpa"
        start = time.perf_counter()
        with path.open("w", encoding="utf-8") as file:
            write_arpa(model, file, task.words.__getitem__)
        seconds, size = time.perf_counter() - start, path.stat().st_size
        try:
            peer = kenlm.Model(str(path))
        except OSError:  # an order above what it was compiled for
            return Line(order, perplexity, ours, arpa_bytes=size, arpa_seconds=seconds)
    totals: list[float] = []
    work = lambda: totals.append(sum(peer.score(line, bos=True, eos=True) for line in task.sentences))  # noqa: E731
    theirs = timed(work, task.n_scored, rounds)
    kenlm_perplexity = math.exp(-totals[0] * math.log(10) / task.n_scored)
    return Line(order, perplexity, ours, kenlm_perplexity, theirs, size, seconds)


def shown(line: Line) -> str:
    """A row of the table."""
    none = "–"
    order = "∞" if line.order is None else str(line.order)
    cells = [
        order,
        f"{line.perplexity:.3f}",
        none if line.kenlm_perplexity is None else f"{line.kenlm_perplexity:.3f}",
        f"{line.ours.first:.2f}",
        f"{line.ours.usual:.2f}",
        none if line.kenlm is None else f"{line.kenlm.usual:.2f}",
        none if line.arpa_bytes is None else f"{line.arpa_bytes / 1e6:.1f}",
        none if line.arpa_seconds is None else f"{line.arpa_seconds:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


HEADER = """\
| order | perplexity | KenLM | µs per token, first | µs per token | KenLM | ARPA file, MB | written in, s |
|---|---|---|---|---|---|---|---|"""


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    try:
        kenlm = importlib.import_module("kenlm")
    except ImportError:
        print(MISSING, file=sys.stderr)
        return 1
    missing = [name for name in FILES if not (options.data / name).is_file()]
    if missing:
        print(f"{options.data}: there is no {missing[0]} here", file=sys.stderr)
        return 1
    task = Task(options.data)
    with (
        tempfile.TemporaryDirectory(prefix="ngramdb-bench-") as folder,
        ngramdb.connect(Path(folder) / "kenlm.ngdb") as db,
    ):
        corpus = db.create_corpus("wt2v", "tokens")
        corpus.append({"ids": ids} for ids in task.train)
        start = time.thread_time()
        db.execute("ANALYZE wt2v")
        analyzed = time.thread_time() - start
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        n_tokens = sum(map(len, task.train))
        print(f"{n_tokens:,} tokens to train on, {task.n_scored:,} scored ones")
        print(f"database of any order: {size / 1e6:.1f} MB; ANALYZE {analyzed:.2f} s")
        lookups = timed(task.lookups, task.n_scored, options.rounds)
        print(f"words looked up in a dictionary: {lookups.usual:.2f} µs per token\n")
        print(HEADER)
        for order in (*map(int, options.orders.split(",")), None):
            model = corpus.language_model(KneserNey(order=order))
            print(shown(measure(task, model, order, options.rounds, kenlm)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
