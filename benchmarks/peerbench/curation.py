"""Limits that only ngramdb has to keep: groups over a million occurrences, conjunctions of a rare n-gram and
a frequent one, deletion, and counts after it.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from peerbench import report
from peerbench.builds import Build
from peerbench.layout import Layout
from peerbench.progress import say
from peerbench.queries import Queries, generator

GROUP_LIMIT_NS = 50e6
# How many times the cost of the rare n-gram alone a conjunction with a frequent one may take.
CONJUNCTION_LIMIT = 1.5
# Of the time to build the database from its documents, and of the time of a count before.
DELETION_LIMIT = 0.05
COUNT_LIMIT = 1.3

REMOVED_SHARE = 0.01
ROUNDS = 7
# Counts, and conjunctions, in a round.
COUNTS = 3_000
PAIRS = 300


def rows(layout: Layout, queries: Queries, seed: int, from_text: Build | None) -> list[report.Row]:
    """The table's rows. The time of deletion is told as a share of `from_text` where that was built."""
    say("groups, conjunctions, deletion")
    return [
        _groups(layout, queries),
        _conjunctions(layout, queries, seed),
        *_deletion(layout, queries, seed, from_text),
    ]


def _opened(database: Path, read_only: bool = True) -> Any:
    import ngramdb

    return ngramdb.connect(database, read_only=read_only)


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def _groups(layout: Layout, queries: Queries) -> report.Row:
    """The most frequent token, grouped by where its documents came from."""
    counts = np.bincount(queries.corpus.ids)
    token = int(np.argmax(counts))
    with _opened(layout.database("text")) as connection:
        statement = f"COUNT [{token}] GROUP BY source FROM bench"
        spent = [_timed(lambda: connection.execute(statement).fetchall()) for _ in range(ROUNDS)]
    title = f"GROUP BY over {counts[token]:,} occurrences"
    return report.limit_row(title, statistics.median(spent), GROUP_LIMIT_NS)


def _conjunctions(layout: Layout, queries: Queries, seed: int) -> report.Row:
    """A 3-gram that occurs 2 to 9 times, alone and together with the most frequent token."""
    frequent = [int(np.argmax(np.bincount(queries.corpus.ids)))]
    with _opened(layout.database("ids-1")) as connection:
        corpus = connection.corpus("bench")

        def alone(ngram: list[int]) -> Any:
            return corpus.count_docs("?", params=[ngram])

        def joined(ngram: list[int]) -> Any:
            return corpus.count_docs("? AND ?", params=[ngram, frequent])

        before, after = _in_turn(alone, joined, lambda rng: queries.by_frequency(rng, (2, 10), PAIRS), seed)
    title = "AND of a rare and the most frequent n-gram, against the rare one"
    return report.share_row(title, after / before, CONJUNCTION_LIMIT)


def _deletion(layout: Layout, queries: Queries, seed: int, from_text: Build | None) -> list[report.Row]:
    n_removed = max(1, round(REMOVED_SHARE * queries.corpus.n_documents))
    chosen = generator(seed, "deletion").choice(queries.corpus.n_documents, n_removed, replace=False)
    ids = ", ".join(map(str, np.sort(chosen).tolist()))
    copies = {name: layout.database(f"{name}-removed") for name in ("text", "ids-1")}
    seconds = {}
    for name, copy in copies.items():
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(layout.database(name), copy)
        with _opened(copy, read_only=False) as connection:
            statement = f"DELETE DOCS WHERE doc_id IN ({ids}) FROM bench"
            seconds[name] = _timed(lambda statement=statement: connection.execute(statement)) / 1e9  # type: ignore[misc]
    made = [report.seconds_row(f"delete {n_removed:,} documents, text kept", seconds["text"])]
    if from_text is not None:
        share = seconds["text"] / from_text.wall_s
        made.append(report.share_row("delete 1 % of the documents, against building", share, DELETION_LIMIT))
    with _opened(layout.database("ids-1")) as whole, _opened(copies["ids-1"]) as removed:
        for n in (1, 3, 10):

            def ngrams(rng: np.random.Generator, n: int = n) -> list[list[int]]:
                return queries.ngrams(rng, n, COUNTS)

            before, after = _in_turn(
                whole.corpus("bench").count, removed.corpus("bench").count, ngrams, seed, f"n = {n}"
            )
            title = f"one count after deleting 1 %, against before, n = {n}"
            made.append(report.share_row(title, after / before, COUNT_LIMIT))
    for copy in copies.values():
        shutil.rmtree(copy)
    return made


def _in_turn(
    first: Callable[[list[int]], Any],
    second: Callable[[list[int]], Any],
    draw: Callable[[np.random.Generator], list[list[int]]],
    seed: int,
    label: str = "",
) -> tuple[float, float]:
    """Medians of both, in nanoseconds: rounds in turn, each over n-grams of its own."""
    samples: tuple[list[float], list[float]] = ([], [])
    for number in range(2 * ROUNDS):
        which = (number + number // 2) % 2
        ask = (first, second)[which]
        for ngram in draw(generator(seed, "in turn", label, number)):
            start = time.perf_counter_ns()
            ask(ngram)
            samples[which].append(time.perf_counter_ns() - start)
    return statistics.median(samples[0]), statistics.median(samples[1])
