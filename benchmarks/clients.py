"""Measure clients: asyncio and HTTP, one question at a time, many at once, in batches, and cancelled.

    python benchmarks/clients.py web.ngdb web [--seconds 2]

Measures `ngramdb.aio` on the database itself, and a `RemoteConnection` to an `ngramdb serve` that it starts.
Texts are drawn from the corpus with seed 1. Prints medians and 99th percentiles, and the CPU time of this
process per question, which depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import ngramdb
from ngramdb import aio

TEXTS = 512
GUARDED_TOKENS = 100
#: Statements without an end in the time of a test, whose tasks are cancelled.
LONG = (
    "DUPLICATES LENGTH 5 FROM {0}",
    "NGRAMS 1..6 FROM {0}",
    "PERPLEXITY OF {0} USING KNESER_NEY FROM {0}",
    "NEAR DUPLICATES FROM {0}",
)


class Times:
    """Seconds of calls."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.each: list[float] = []
        self.started = time.perf_counter()
        self.cpu = time.process_time()

    def shown(self, per_call: int = 1) -> str:
        took = time.perf_counter() - self.started
        cpu = 1e6 * (time.process_time() - self.cpu) / len(self.each) / per_call
        times = sorted(self.each)
        median, late = times[len(times) // 2], times[int(0.99 * len(times))]
        rate = len(times) * per_call / took
        return (
            f"{self.name}: {rate:,.0f} a second, median {1e3 * median:.2f} ms, "
            f"99 % within {1e3 * late:.2f} ms, {cpu:.0f} µs CPU here each"
        )


def repeated(times: Times, ask: Callable[[int], Any], seconds: float) -> None:
    stop = time.perf_counter() + seconds
    number = 0
    while (before := time.perf_counter()) < stop:
        ask(number)
        times.each.append(time.perf_counter() - before)
        number += 1


def by_threads(name: str, ask: Callable[[int], Any], n_threads: int, seconds: float) -> None:
    ask(0)
    times = Times(f"{name}, {n_threads} thread{'s' if n_threads > 1 else ''}")
    threads = [threading.Thread(target=repeated, args=(times, ask, seconds)) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(times.shown())


async def by_tasks(name: str, ask: Callable[[int], Awaitable[Any]], n_tasks: int, seconds: float) -> None:
    await ask(0)
    times = Times(f"{name}, {n_tasks} task{'s' if n_tasks > 1 else ''}")
    stop = time.perf_counter() + seconds

    async def repeat() -> None:
        number = 0
        while (before := time.perf_counter()) < stop:
            await ask(number)
            times.each.append(time.perf_counter() - before)
            number += 1

    await asyncio.gather(*(repeat() for _ in range(n_tasks)))
    print(times.shown())


async def cancelled(db: Any, corpus: str, statement: str) -> None:
    """Print the seconds from cancelling a task to its end, when its thread is free again."""
    late, cpu = [], []
    for after in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8):
        task = asyncio.create_task(read(db, statement.format(corpus)))
        await asyncio.sleep(after)
        if task.done():
            break
        task.cancel()
        before, before_cpu = time.perf_counter(), time.process_time()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        late.append(time.perf_counter() - before)
        cpu.append(time.process_time() - before_cpu)
    shown, worked = (", ".join(f"{1e3 * one:.0f}" for one in times) or "-" for times in (late, cpu))
    print(f"cancelled: {statement}: ended after {shown} ms, of which {worked} ms of CPU")


async def read(db: Any, statement: str) -> None:
    await (await db.execute(statement)).fetchall()


async def local(path: str, corpus: str, words: list[str], seconds: float) -> None:
    async with aio.connect(path, read_only=True) as db:
        asked = await db.corpus(corpus)
        for n_tasks in (1, 16):
            await by_tasks("aio count", lambda i: asked.count(words[i % len(words)]), n_tasks, seconds)
        await read(db, f"NGRAMS 1 TOP 1 FROM {corpus}")  # imports
        for statement in LONG:
            await cancelled(db, corpus, statement)


def remote(address: str, corpus: str, words: list[str], texts: list[str], seconds: float) -> None:
    db = ngramdb.connect_remote(address)
    asked = db.corpus(corpus)
    for n_threads in (1, 16):
        by_threads("HTTP count", lambda i: asked.count(words[i % len(words)]), n_threads, seconds)
    trace = ngramdb.Corpus.trace_arrays
    for n_threads in (1, 4):
        ask = lambda i: asked.trace_arrays(texts[i % len(texts)])  # noqa: E731
        by_threads("HTTP trace_arrays", ask, n_threads, seconds)
    for size in (16, 256):
        asked.batch(trace, texts[:size])
        times = Times(f"HTTP batch of {size} trace_arrays of {GUARDED_TOKENS} tokens")
        repeated(times, lambda i, size=size: asked.batch(trace, texts[:size]), seconds)  # type: ignore[misc]
        print(times.shown(), f"({size} in each)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("database")
    parser.add_argument("corpus")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    with ngramdb.connect(options.database, read_only=True) as db:
        sampled = db.corpus(options.corpus).sample(TEXTS, seed=1).to_dicts()
        texts = [" ".join(str(row["text"]).split()[:GUARDED_TOKENS]) for row in sampled]
    words = [text.split()[0] for text in texts if text.split()]
    asyncio.run(local(options.database, options.corpus, words, options.seconds))
    command = [sys.executable, "-m", "ngramdb", "serve", options.database, "--port", "0"]
    with subprocess.Popen(
        [*command, "--setting", "time_limit", "30"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path.cwd(),
    ) as server:
        try:
            assert server.stdout is not None
            remote(server.stdout.readline().strip(), options.corpus, words, texts, options.seconds)
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
