"""CPU time of work in this thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

NONE = "–"


@dataclass(frozen=True)
class Timed:
    """Microseconds of CPU time per token: the first round, and the median of the others."""

    first: float
    usual: float


def timed(work: Callable[[int], Any], n_tokens: Sequence[int]) -> Timed:
    """Does work(0), work(1), …, one for each number of tokens, of which there are two at least."""
    samples = []
    for k, n in enumerate(n_tokens):
        start = time.thread_time()
        work(k)
        samples.append((time.thread_time() - start) / n * 1e6)
    return Timed(samples[0], statistics.median(samples[1:]))


def cell(value: float | None, form: str = ".2f") -> str:
    """A number of a table, or a dash."""
    return NONE if value is None else format(value, form)


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
