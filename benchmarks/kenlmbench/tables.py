"""A Kneser-Ney model as a table beside KenLM's model of the same n-grams, each round in turn."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from kenlmbench.timing import NONE, cell, row
from ngramdb.lm import ModelSpec, make_table

HEADER = """\
| scored by | µs per token | CPU | tokens per second, of `full_scores` | by CPU |
|---|---|---|---|---|"""


def report(task: Any, spec: ModelSpec, peer: Any) -> Iterator[str]:
    """The lines of the section. peer: KenLM's model, or None."""
    model = task.corpus.language_model(spec)
    start = time.process_time()
    table = make_table(model)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield f"\n{spec} as a table: {sum(table.sizes):,} n-grams, {table.n_bytes / 1e9:.2f} GB, made in"
    yield f"{seconds:.0f} s of CPU time; peak memory {peak:.1f} GB. All score each round in turn:\n"
    yield HEADER

    def full_scores(k: int) -> None:
        for sentence in task.rounds[k].sentences:
            for _ in peer.full_scores(sentence, bos=True, eos=True):
                pass

    def score(k: int) -> None:
        for sentence in task.rounds[k].sentences:
            peer.score(sentence, bos=True, eos=True)

    ways: dict[str, Callable[[int], Any]] = {
        "the table, `score_many`": lambda k: table.score_many(
            task.rounds[k].flat, task.rounds[k].offsets, document=True
        ),
        "the model, `score_many`": lambda k: model.score_many(
            task.rounds[k].flat, task.rounds[k].offsets, document=True
        ),
    }
    if peer is not None:
        ways |= {"KenLM, `full_scores`": full_scores, "KenLM, `score`": score}
    walls: dict[str, list[float]] = {name: [] for name in ways}
    cpus: dict[str, list[float]] = {name: [] for name in ways}
    for k, n in enumerate(task.n_scored):
        for name, work in ways.items():
            start, cpu_start = time.perf_counter(), time.process_time()
            work(k)
            walls[name].append((time.perf_counter() - start) / n * 1e6)
            cpus[name].append((time.process_time() - cpu_start) / n * 1e6)
    for name in ways:
        yield row([name, cell(_usual(walls[name])), cell(_usual(cpus[name])), *_ratios(name, walls, cpus)])


def _usual(values: list[float]) -> float:
    return statistics.median(values[1:])


def _ratios(name: str, *times: dict[str, list[float]]) -> list[str]:
    base = "KenLM, `full_scores`"
    return [f"{_usual(one[base]) / _usual(one[name]):.2f}×" if base in one else NONE for one in times]
