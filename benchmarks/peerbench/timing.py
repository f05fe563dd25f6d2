"""Wall time per operation, in nanoseconds, with the garbage collector off.

Two passes over two different query sets: one with a clock reading around every operation (gives the median;
the clock's own cost is measured and subtracted), one with a single reading around the whole loop (gives the
mean, and the mean CPU time of the whole process, threads included).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

Call = tuple[Any, ...]


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per operation. `p50`, `p90` and `mean` are wall time, `cpu` is mean CPU time."""

    p50: float
    p90: float
    mean: float
    cpu: float
    n_operations: int


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect once, then keep the collector from running inside the block."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def clock_cost_ns(n: int = 20_000) -> float:
    """Median of two clock readings in a row: what a sample contains beside the operation."""
    clock = time.perf_counter_ns
    return float(np.median([-(clock() - clock()) for _ in range(n)]))


def sample(operation: Callable[..., Any], calls: Sequence[Call]) -> np.ndarray:
    """Wall time of every call of the set, (len(calls),) int64 nanoseconds, clock cost included."""
    clock = time.perf_counter_ns
    samples: list[int] = []
    if all(len(call) == 1 for call in calls):
        for (argument,) in calls:  # not `*call`: that costs more than some of the operations
            start = clock()
            operation(argument)
            samples.append(clock() - start)
    else:
        for call in calls:
            start = clock()
            operation(*call)
            samples.append(clock() - start)
    return np.array(samples, dtype=np.int64)


def total(operation: Callable[..., Any], calls: Sequence[Call]) -> tuple[int, int]:
    """(wall, CPU) nanoseconds of the whole set, one clock reading around the loop."""
    unary = all(len(call) == 1 for call in calls)
    arguments = [call[0] for call in calls] if unary else calls
    cpu_start, start = time.process_time_ns(), time.perf_counter_ns()
    if unary:
        for argument in arguments:
            operation(argument)
    else:
        for call in arguments:
            operation(*call)
    return time.perf_counter_ns() - start, time.process_time_ns() - cpu_start


class Stopwatch:
    """Pools several rounds of one operation of one system into a `Timing`."""

    def __init__(self, clock_ns: float) -> None:
        self._clock_ns = clock_ns
        self._samples: list[np.ndarray] = []
        self._wall_ns = self._cpu_ns = 0.0
        self._n_looped = 0.0

    def round(
        self,
        operation: Callable[..., Any],
        sampled: Sequence[Call],
        looped: Sequence[Call],
        per_call: float = 1,
    ) -> None:
        """One pass of each kind over its own set. `per_call` = operations that one call stands for."""
        with no_garbage_collection():
            samples = sample(operation, sampled)
            wall_ns, cpu_ns = total(operation, looped)
        self._samples.append((samples - self._clock_ns) / per_call)
        self._wall_ns += wall_ns
        self._cpu_ns += cpu_ns
        self._n_looped += len(looped) * per_call

    def timing(self) -> Timing:
        samples = np.concatenate(self._samples)
        return Timing(
            p50=float(np.median(samples)),
            p90=float(np.percentile(samples, 90)),
            mean=self._wall_ns / self._n_looped,
            cpu=self._cpu_ns / self._n_looped,
            n_operations=len(samples) + int(self._n_looped),
        )
