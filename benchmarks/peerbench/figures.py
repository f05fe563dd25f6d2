"""The target figures: what is asked of each system, how queries are drawn, and the ratio that is aimed at.

A figure has one `Way` per system. Where systems differ in what a call covers (a batch, a whole document, one
position), `per_call` says how many operations of the figure's unit one call stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from peerbench.queries import FREQUENCY_CLASSES, Queries, class_name
from peerbench.timing import Call

OURS, INFINIGRAM, TOKENGRAMS = "ngramdb", "infini-gram", "tokengrams"

# (queries, generator, number of calls) -> the calls' arguments
Draw = Callable[[Queries, np.random.Generator, int], list[Call]]

# Tokens of a document in the figures "over whole documents": long enough for matches to slide.
DOCUMENT_LENGTH = 2_000


@dataclass(frozen=True)
class Way:
    """How one system answers a figure: an operation of `systems.py`, and `size` calls a pass."""

    operation: str
    draw: Draw
    size: int
    per_call: int = 1


@dataclass(frozen=True)
class Figure:
    """One row of the table. Targets are "so many times as fast as that peer", None where there is none."""

    title: str
    ways: dict[str, Way]
    targets: dict[str, float] = field(default_factory=dict)
    # Rows of this group are shown for information in a table of their own.
    group: str = "target"


def all_figures(scale: float) -> list[Figure]:
    """Every figure; `scale` multiplies the sizes of the query sets (1.0 for the recorded run)."""
    figures = [
        *(_one_count(n, scale) for n in (1, 3, 5, 10, 100, 1000)),
        _batch_count(
            "n ≤ 8", lambda queries, rng, size: queries.mixed_ngrams(rng, 8, size), 30_000, (60, 30), scale
        ),
        _batch_count(
            "n = 100", lambda queries, rng, size: queries.ngrams(rng, 100, size), 5_000, (30, 10), scale
        ),
        _probability(scale),
        _infgram("contexts from the corpus", _continued(100), scale),
        _infgram("longest match 2–10 tokens", _altered(100), scale),
        _whole_documents("documents of the corpus", 0.0, scale),
        _whole_documents("1 token in 10 replaced", 0.1, scale),
        _distribution("4-token contexts", _contexts(4), (2_000, 200, 300), scale),
        _distribution(
            "contexts of 1k–10k occurrences", _frequent_contexts((1_000, 10_000)), (300, 12, 100), scale
        ),
        _distributions_in_batch(scale),
        _documents(scale),
        *_conjunctions(scale),
    ]
    for bounds in FREQUENCY_CLASSES:
        figures.append(_count_by_class(bounds, scale))
    for bounds in FREQUENCY_CLASSES:
        figures.append(_distribution_by_class(bounds, scale))
    return figures + _ours_alone(scale)


def _sized(size: int, scale: float) -> int:
    return max(3, int(size * scale))


def _same(operation: str, draw: Draw, sizes: dict[str, int], scale: float) -> dict[str, Way]:
    return {system: Way(operation, draw, _sized(size, scale)) for system, size in sizes.items()}


def _one_count(n: int, scale: float) -> Figure:
    targets = {1000: (5, 2.5), 100: (10, 3)}.get(n, (15, 5))
    return Figure(
        f"one count, n = {n}",
        _same(
            "count",
            lambda queries, rng, size: [(ngram,) for ngram in queries.ngrams(rng, n, size)],
            {OURS: 3_000, INFINIGRAM: 2_000, TOKENGRAMS: 3_000},
            scale,
        ),
        {INFINIGRAM: targets[0], TOKENGRAMS: targets[1]},
    )


def _count_by_class(bounds: tuple[int, int], scale: float) -> Figure:
    return Figure(
        f"one count, n ≤ 4, {class_name(bounds)} times in the corpus",
        _same(
            "count",
            lambda queries, rng, size: [(ngram,) for ngram in queries.by_frequency(rng, bounds, size)],
            {OURS: 2_000, INFINIGRAM: 1_000, TOKENGRAMS: 2_000},
            scale,
        ),
        group="frequency classes",
    )


def _batch_count(
    label: str,
    ngrams: Callable[[Queries, np.random.Generator, int], list[list[int]]],
    batch: int,
    targets: tuple[float, float],
    scale: float,
) -> Figure:
    """The peers have no batch call: they loop. We take the batch as flat ids and offsets."""
    batch = _sized(batch, scale)

    def one_by_one(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        return [(ngram,) for ngram in ngrams(queries, rng, size)]

    def batches(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        return [_flattened(ngrams(queries, rng, batch)) for _ in range(size)]

    ways = _same("count", one_by_one, {INFINIGRAM: 2_000, TOKENGRAMS: 3_000}, scale)
    ways[OURS] = Way("count_many", batches, size=2, per_call=batch)
    return Figure(
        f"counts in a batch, per query, {label}", ways, {INFINIGRAM: targets[0], TOKENGRAMS: targets[1]}
    )


def _flattened(ngrams: list[list[int]]) -> Call:
    offsets = np.zeros(len(ngrams) + 1, dtype=np.int64)
    np.cumsum([len(ngram) for ngram in ngrams], out=offsets[1:])
    flat = np.concatenate([np.array(ngram, dtype=np.int64) for ngram in ngrams])
    return flat, offsets


def _continued(context_length: int) -> Draw:
    """(context, next token) as they stand in the corpus."""

    def draw(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        return [(text[:-1], text[-1]) for text in queries.ngrams(rng, context_length + 1, size)]

    return draw


def _altered(context_length: int) -> Draw:
    """The same with one of the context's tokens, 3 to 11 before its end, replaced."""

    def draw(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        texts = queries.altered(rng, queries.ngrams(rng, context_length + 1, size), 4, 12)
        return [(text[:-1], text[-1]) for text in texts]

    return draw


def _probability(scale: float) -> Figure:
    sizes = {OURS: 3_000, INFINIGRAM: 2_000}
    return Figure("P(w∣ctx), n = 5", _same("prob", _continued(4), sizes, scale), {INFINIGRAM: 20})


def _infgram(label: str, draw: Draw, scale: float) -> Figure:
    return Figure(
        f"∞-gram probability, 100-token context, {label}",
        _same("infgram_prob", draw, {OURS: 3_000, INFINIGRAM: 600}, scale),
        {INFINIGRAM: 60},
    )


def _whole_documents(label: str, noise: float, scale: float) -> Figure:
    """We score a document at a time; infini-gram is asked at random positions, given all before them."""

    def documents(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        return [(text,) for text in queries.documents(rng, DOCUMENT_LENGTH, size, noise)]

    def positions(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        texts = queries.documents(rng, DOCUMENT_LENGTH, size, noise)
        return [
            (text[:at], text[at])
            for text, at in zip(texts, rng.integers(0, DOCUMENT_LENGTH, size).tolist(), strict=True)
        ]

    ways = {
        OURS: Way("score", documents, _sized(60, scale), DOCUMENT_LENGTH),
        INFINIGRAM: Way("infgram_prob", positions, _sized(300, scale)),
    }
    return Figure(f"∞-gram over whole documents, per token, {label}", ways, {INFINIGRAM: 100})


def _contexts(n: int) -> Draw:
    return lambda queries, rng, size: [(context,) for context in queries.ngrams(rng, n, size)]


def _frequent_contexts(bounds: tuple[int, int]) -> Draw:
    return lambda queries, rng, size: [(context,) for context in queries.by_frequency(rng, bounds, size)]


def _distribution(label: str, draw: Draw, sizes: tuple[int, int, int], scale: float) -> Figure:
    return Figure(
        f"exact next-token distribution, {label}",
        _same("distribution", draw, dict(zip((OURS, INFINIGRAM, TOKENGRAMS), sizes, strict=True)), scale),
        {INFINIGRAM: 200, TOKENGRAMS: 50},
    )


def _distributions_in_batch(scale: float) -> Figure:
    """The peers have no batch call: they loop. We take the batch as flat ids and offsets."""
    batch = _sized(10_000, scale)

    def batches(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        return [_flattened(queries.ngrams(rng, 4, batch)) for _ in range(size)]

    ways = _same("distribution", _contexts(4), {INFINIGRAM: 200, TOKENGRAMS: 300}, scale)
    ways[OURS] = Way("distribution many", batches, size=2, per_call=batch)
    title = "exact next-token distributions in a batch, per context, 4-token contexts"
    return Figure(title, ways, {INFINIGRAM: 200, TOKENGRAMS: 50})


def _distribution_by_class(bounds: tuple[int, int], scale: float) -> Figure:
    sizes = {OURS: 300, INFINIGRAM: 100, TOKENGRAMS: 100}
    if bounds[0] >= 1_000:
        sizes[INFINIGRAM] = 6
    if bounds[0] >= 10_000:
        del sizes[INFINIGRAM]  # seconds a query, and it runs out of memory on the most frequent ones
    return Figure(
        f"exact next-token distribution, {class_name(bounds)} times in the corpus",
        _same("distribution", _frequent_contexts(bounds), sizes, scale),
        group="frequency classes",
    )


def _pairs_of_bigrams(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
    return list(zip(queries.ngrams(rng, 2, size), queries.ngrams(rng, 2, size), strict=True))


def _documents(scale: float) -> Figure:
    sizes = {OURS: 1_000, INFINIGRAM: 100}
    return Figure(
        "AND of two 2-grams, exact documents",
        _same("documents", _pairs_of_bigrams, sizes, scale),
        {INFINIGRAM: 20},
    )


def _conjunctions(scale: float) -> list[Figure]:
    """What infini-gram offers for AND itself; neither call of it answers exactly what ours do."""
    return [
        Figure(title, _same(operation, _pairs_of_bigrams, sizes, scale), {INFINIGRAM: 20})
        for title, operation, sizes in (
            ("AND of two 2-grams, how many (count_cnf)", "count_cnf", {OURS: 1_000, INFINIGRAM: 100}),
            (
                "AND of two 2-grams, exact documents (search_docs_cnf)",
                "search_docs_cnf",
                {OURS: 1_000, INFINIGRAM: 100},
            ),
        )
    ]


def _ours_alone(scale: float) -> list[Figure]:
    """What the peers have no counterpart for: several segments, other forms of questions and answers."""

    def lists(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        return [(queries.mixed_ngrams(rng, 8, batch),) for _ in range(size)]

    def trigrams(queries: Queries, rng: np.random.Generator, size: int) -> list[Call]:
        return [(ngram,) for ngram in queries.ngrams(rng, 3, size)]

    batch = _sized(30_000, scale)
    frequent = _frequent_contexts((1_000, 10_000))
    ways = {
        "one count, n = 3, 2 segments": Way("count, 2 segments", trigrams, _sized(3_000, scale)),
        "one count, n = 3, 4 segments": Way("count, 4 segments", trigrams, _sized(3_000, scale)),
        "counts in a batch, n ≤ 8, given as lists": Way("count_many lists", lists, 2, batch),
        "next tokens as rows, 4-token contexts": Way("distribution rows", _contexts(4), _sized(500, scale)),
        "next tokens as rows, 1k–10k occurrences": Way("distribution rows", frequent, _sized(100, scale)),
        "AND of two 2-grams, 10 rows with text": Way("documents rows", _pairs_of_bigrams, _sized(200, scale)),
    }
    return [Figure(title, {OURS: way}, group="ours alone") for title, way in ways.items()]
