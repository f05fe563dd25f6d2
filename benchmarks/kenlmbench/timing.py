"""Time that work takes, by the clock and of processors."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NONE = "–"


@dataclass(frozen=True)
class Timed:
    """Microseconds per token: the first round, and the median of the others; and what all threads of the
    process took together in these."""

    first: float
    usual: float
    cpu: float


def timed(work: Callable[[int], Any], n_tokens: Sequence[int]) -> Timed:
    """Does work(0), work(1), …, one for each number of tokens, of which there are two at least."""
    walls, cpus = [], []
    for k, n in enumerate(n_tokens):
        start, cpu_start = time.perf_counter(), time.process_time()
        work(k)
        walls.append((time.perf_counter() - start) / n * 1e6)
        cpus.append((time.process_time() - cpu_start) / n * 1e6)
    return Timed(walls[0], statistics.median(walls[1:]), statistics.median(cpus[1:]))


def cell(value: float | None, form: str = ".2f") -> str:
    """A number of a table, or a dash."""
    return NONE if value is None else format(value, form)


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
