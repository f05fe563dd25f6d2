"""The page's numbers for random patterns and periods, against counts over the documents' words."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

import ngramdb

N_VIEWS = 12
#: The page shows four digits, and whole numbers from 1,000.
ROUNDED = 5e-4
PERIODS = (None, "5", "10")


def anything(year: int) -> bool:
    return True


CONDITIONS = (
    (None, anything),
    ("year > 2010", lambda year: year > 2010),
    ("year = 2004", lambda year: year == 2004),
)

Slot = frozenset[str]


@dataclass(frozen=True)
class Texts:
    """The words of each document, with its year."""

    documents: tuple[tuple[int, tuple[str, ...]], ...]

    @property
    def words(self) -> list[str]:
        return sorted({word for _, words in self.documents for word in words if word.isalpha()})

    def counts(self, slots: tuple[Slot, ...], period: str | None, condition: Any) -> dict[int, int]:
        """Places where words of the slots follow each other, by period; 0 for one that has documents."""
        step = int(period or 1)
        found: dict[int, int] = {}
        for year, words in self.documents:
            if condition(year):
                places = range(len(words) - len(slots) + 1)
                n = sum(all(words[i + k] in slot for k, slot in enumerate(slots)) for i in places)
                found[year // step * step] = found.get(year // step * step, 0) + n
        return found

    def tokens(self, period: str | None, condition: Any) -> dict[int, int]:
        """The number of words by period."""
        return self.counts(
            (frozenset(word for _, words in self.documents for word in words),), period, condition
        )


@pytest.fixture(scope="module")
def texts(database: Path) -> Texts:
    with ngramdb.connect(database, read_only=True) as connection:
        rows = connection.execute("DOCS FROM reports RETURNING year, text").fetchall()
    return Texts(tuple((year, tuple(re.findall(r"\w+|[^\w\s]", text))) for year, text in rows))


def drawn(rng: random.Random, words: list[str]) -> tuple[str, tuple[Slot, ...]]:
    """A pattern as it is typed, and the words that each of its tokens may be."""
    if rng.random() < 0.2:
        word = rng.choice(words)
        return word, (frozenset({word}),)
    typed, slots = [], []
    for _ in range(rng.choice((1, 1, 2, 3))):
        word, other = rng.choice(words), rng.choice(words)
        text, slot = rng.choice(
            (
                (f'"{word}"', {word}),
                (f"/{word[:2]}.*/", {one for one in words if one.startswith(word[:2])}),
                (f'("{word}" | "{other}")', {word, other}),
            )
        )
        typed.append(text)
        slots.append(frozenset(slot))
    return " ".join(typed), tuple(slots)


def numbers(page: Any) -> list[list[float]]:
    """The rows of the table below a plot."""
    page.click("text=The numbers")
    rows = page.locator(".numbers tbody tr").all_inner_texts()
    return [[float(cell.replace(",", "")) for cell in row.split()] for row in rows]


def assert_rounded(shown: list[list[float]], exact: Any) -> None:
    """Compare the numbers of a page with exact ones, which it rounds once."""
    most = np.where(np.abs(exact) < 1000, ROUNDED * np.abs(exact), 0.5)
    assert np.shape(shown) == exact.shape
    assert (np.abs(shown - exact) <= most + 1e-6).all()


@pytest.mark.parametrize("seed", range(N_VIEWS))
def test_search_and_frequency(visitor: Any, texts: Texts, seed: int) -> None:
    rng = random.Random(seed)
    period, relative = rng.choice(PERIODS), rng.random() < 0.5
    where, condition = rng.choice(CONDITIONS)
    typed, slots = drawn(rng, texts.words)
    counts, total = texts.counts(slots, period, condition), texts.tokens(period, condition)

    page = visitor.open(link(q=typed, where=where))
    assert page.inner_text(".total strong").replace(",", "") == str(sum(counts.values()))

    page = visitor.open(
        link(q=typed, where=where, by="year", period=period, rel=int(relative), **{"as": "frequency"})
    )
    assert_rounded(numbers(page), table(relative, total, counts))


@pytest.mark.parametrize("seed", range(N_VIEWS))
def test_compare(visitor: Any, texts: Texts, seed: int) -> None:
    rng = random.Random(seed)
    period, relative = rng.choice(PERIODS), rng.random() < 0.5
    patterns = [drawn(rng, texts.words) for _ in range(rng.choice((1, 2, 3)))]
    counts = [texts.counts(slots, period, anything) for _, slots in patterns]
    lines = "\n".join(typed for typed, _ in patterns)
    page = visitor.open(link(view="compare", q=lines, by="year", period=period, rel=int(relative)))
    assert_rounded(numbers(page), table(relative, texts.tokens(period, anything), *counts))


def link(**state: object) -> str:
    return "?" + urlencode({"corpus": "reports", **{k: v for k, v in state.items() if v is not None}})


def table(relative: bool, total: dict[int, int], *counts: dict[int, int]) -> Any:
    """Periods, and the counts of each pattern, per million words if `relative`."""
    periods = sorted(total)
    scale = [1e6 / total[key] if relative else 1 for key in periods]
    columns = [[one[key] * times for key, times in zip(periods, scale, strict=True)] for one in counts]
    return np.column_stack([periods, *columns])
