"""CPU time of work in this thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

NONE = "–"


@dataclass(frozen=True)
class Timed:
    """Microseconds of CPU time per token: the first round, and the median of the others."""

    first: float
    usual: float


def timed(work: Callable[[], Any], n_tokens: int, rounds: int) -> Timed:
    """Does the work so many times, twice at least."""
    samples = []
    for _ in range(max(2, rounds)):
        start = time.thread_time()
        work()
        samples.append((time.thread_time() - start) / n_tokens * 1e6)
    return Timed(samples[0], statistics.median(samples[1:]))


def cell(value: float | None, form: str = ".2f") -> str:
    """A number of a table, or a dash."""
    return NONE if value is None else format(value, form)


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
