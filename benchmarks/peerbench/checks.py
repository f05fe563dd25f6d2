"""Do the systems agree? A small sample of each kind of question, drawn apart from the timed ones.

Counts, distributions and documents are checked against a scan of the corpus; where a peer is known to answer
wrongly (infini-gram's CNF), its share of agreement is reported and only ours must be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from peerbench.figures import OURS
from peerbench.queries import Queries
from peerbench.systems import END, System


@dataclass
class Agreement:
    """How often one system's answer to one kind of question equals the expected one."""

    question: str
    system: str
    n_asked: int = 0
    n_equal: int = 0
    first_difference: str = ""

    def add(self, call: tuple[Any, ...], found: Any, expected: Any) -> None:
        self.n_asked += 1
        if found == expected:
            self.n_equal += 1
        elif not self.first_difference:
            self.first_difference = f"{call}: found {found!r:.200}, expected {expected!r:.200}"


def check(systems: list[System], queries: Queries, rng: np.random.Generator, size: int) -> list[Agreement]:
    """Ask every system every kind of question `size` times; one `Agreement` per question and system."""
    agreements = []
    for question, cases in _questions(queries, rng, size):
        for system in systems:
            if question in system.operations:
                agreement = Agreement(question, system.name)
                for call, expected in cases:
                    agreement.add(call, system.answer(question, *call), expected)
                agreements.append(agreement)
    return agreements


def failures(agreements: list[Agreement]) -> list[str]:
    """One line per question that we answered wrongly."""
    return [
        f"{each.question}: {each.n_equal} of {each.n_asked} right; {each.first_difference}"
        for each in agreements
        if each.system == OURS and each.n_equal < each.n_asked
    ]


Case = tuple[tuple[Any, ...], Any]


def _questions(queries: Queries, rng: np.random.Generator, size: int) -> Iterator[tuple[str, list[Case]]]:
    yield "count", [((ngram,), queries.brute_count(ngram)) for ngram in _ngrams(queries, rng, size)]
    yield "prob", [_probability_case(queries, text) for text in queries.ngrams(rng, 5, size)]
    yield "infgram_prob", [_infgram_case(queries, text) for text in _texts(queries, rng, size)]
    contexts = queries.ngrams(rng, 4, size)
    distributions = [((context,), _brute_distribution(queries, context)) for context in contexts]
    yield "distribution", distributions
    yield "distribution rows", distributions
    pairs = zip(queries.ngrams(rng, 2, size), queries.ngrams(rng, 2, size), strict=True)
    yield (
        "documents",
        [((first, second), _brute_documents(queries, first, second)) for first, second in pairs],
    )


def _ngrams(queries: Queries, rng: np.random.Generator, size: int) -> list[list[int]]:
    """Of several lengths, half of them altered so that most of those do not occur."""
    drawn = [ngram for n in (1, 2, 3, 5, 10) for ngram in queries.ngrams(rng, n, size // 5 + 1)]
    return drawn + queries.altered(rng, queries.ngrams(rng, 3, size // 2), 1, 3)


def _texts(queries: Queries, rng: np.random.Generator, size: int) -> list[list[int]]:
    whole = queries.ngrams(rng, 21, size // 2)
    return whole + queries.altered(rng, queries.ngrams(rng, 21, size - size // 2), 3, 12)


def _probability_case(queries: Queries, text: list[int]) -> Case:
    return (text[:-1], text[-1]), (queries.brute_count(text), queries.brute_count(text[:-1]))


def _infgram_case(queries: Queries, text: list[int]) -> Case:
    """By definition: the longest suffix of the context that occurs."""
    context, token = text[:-1], text[-1]
    used = next((context[at:] for at in range(len(context)) if queries.brute_count(context[at:])), [])
    counts = (
        queries.brute_count([*used, token]),
        queries.brute_count(used) if used else queries.corpus.n_tokens,
    )
    return (context, token), (*counts, len(used))


def _brute_distribution(queries: Queries, context: list[int]) -> dict[int, int]:
    starts = queries.positions(context)
    following = starts + len(context)
    ends = np.isin(following, queries.corpus.offsets)
    tokens, counts = np.unique(queries.corpus.ids[following[~ends]], return_counts=True)
    distribution = dict(zip(tokens.tolist(), counts.tolist(), strict=True))
    return distribution | {END: int(ends.sum())} if ends.any() else distribution


def _brute_documents(queries: Queries, first: list[int], second: list[int]) -> list[int]:
    both = np.intersect1d(queries.documents_with(first), queries.documents_with(second))
    return both.tolist()  # type: ignore[no-any-return]
