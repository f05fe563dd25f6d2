"""SAMPLE: k of n items, drawn without replacement, the same k for the same seed.

Each item gets a pseudo-random number: a hash of the seed and of the item's identity (a document's id; for an
occurrence, also its place in the document). The items with the k smallest numbers are the sample. It is
uniform and independent of segments, of their order and of threads; other items of the corpus matter only if
they displace one. A sample of k is a subset of the sample of k + 1.
"""

from __future__ import annotations

import math
import secrets
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.docset import DocSet
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.scope import Scope
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray

Ranks = NDArray[np.uint64]

# Seeds drawn without SEED are short enough to be typed again.
DRAWN_SEEDS = 2**31

# Increment and multipliers of SplitMix64 (Steele, Lea & Flood 2014, "Fast Splittable Pseudorandom Number
# Generators", figure 15).
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class Sampling:
    """SAMPLE: `size` items, drawn without replacement; the seed decides which."""

    size: int
    seed: int

    def label(self) -> str:
        return f"sample {self.size:,}, seed {self.seed}"


def bind_sample(scope: Scope, node: ast.Sample | None) -> Sampling | None:
    """Bind SAMPLE k [SEED s]; without SEED one is drawn, and recorded in the result's summary."""
    if node is None:
        return None
    size = scope.number(node.size, "SAMPLE", 1)
    assert size is not None
    return Sampling(size, drawn_seed(scope, node.seed))


def drawn_seed(scope: Scope, node: ast.Scalar | None) -> int:
    """Return the value of SEED, or draw one."""
    seed = scope.number(node, "SEED", 0)
    return secrets.randbelow(DRAWN_SEEDS) if seed is None else seed


class Seeded(Protocol):
    """An object with a seed."""

    @property
    def seed(self) -> int: ...


def _mixed(values: Ranks) -> Ranks:
    with np.errstate(over="ignore"):
        values = values + _INCREMENT
        values = (values ^ (values >> np.uint64(30))) * _FIRST
        values = (values ^ (values >> np.uint64(27))) * _SECOND
    return np.asarray(values ^ (values >> np.uint64(31)))


def ranks(sampling: Seeded, corpus_name: str, *parts: NDArray[Any]) -> Ranks:
    """Return the numbers by which items are drawn: (n,) uint64.

    Parameters
    ----------
    corpus_name : distinguishes documents of several corpora; empty if there is only one
    parts : the identity of each item, (n,) integers each; the first are document ids

    Cost: some 5 ns per item and part.
    """
    seed = np.array([sampling.seed % 2**64, zlib.crc32(corpus_name.encode())], dtype=np.uint64)
    state = _mixed(_mixed(seed[:1]) ^ seed[1])
    for part in parts:
        state = _mixed(state ^ part.astype(np.uint64))
    return state


def smallest(values: Ranks, k: int) -> IntArray:
    """Return the indices of the k smallest numbers, ascending; among equal numbers, the first ones."""
    if k >= len(values):
        return np.arange(len(values))
    if k == 0:
        return np.empty(0, dtype=np.int64)
    bar = np.partition(values, k - 1)[k - 1]
    chosen = values < bar
    chosen[np.flatnonzero(values == bar)[: k - int(chosen.sum())]] = True
    return np.flatnonzero(chosen)


class Drawing:
    """A sample of several lists, given one after the other. Memory: that of the sample."""

    def __init__(self, sampling: Sampling) -> None:
        self._size = sampling.size
        self._ranks: Ranks = np.empty(0, dtype=np.uint64)
        self._lists: IntArray = np.empty(0, dtype=np.int64)
        self._indices: IntArray = np.empty(0, dtype=np.int64)

    def add(self, number: int, values: Ranks) -> None:
        """Add list `number`, whose items have these ranks."""
        own = smallest(values, self._size)
        every = np.concatenate((self._ranks, values[own]))
        lists = np.concatenate((self._lists, np.full(len(own), number)))
        indices = np.concatenate((self._indices, own))
        kept = smallest(every, self._size)
        self._ranks, self._lists, self._indices = every[kept], lists[kept], indices[kept]

    def drawn(self, number: int) -> IntArray:
        """Return the indices of the items of list `number` that were drawn, ascending."""
        found: IntArray = self._indices[self._lists == number]
        return found


def corpus_salt(corpus: Corpus, i: int) -> str:
    """Return a name that distinguishes documents of segment i from those of other corpora with equal ids."""
    return corpus.corpus_of(i) if corpus.n_added > 1 else ""


def sample_documents(
    corpus: Corpus, found: Sequence[tuple[Segment, DocSet]], sampling: Sampling
) -> list[tuple[Segment, DocSet]]:
    """Draw documents; `found` has an entry for each segment of the corpus, in order."""
    drawing = Drawing(sampling)
    for i, (segment, docs) in enumerate(found):
        interrupts.step(i, len(found))
        drawing.add(i, ranks(sampling, corpus_salt(corpus, i), segment.doc_ids(docs.numbers())))
    return [
        (segment, DocSet(docs.numbers()[drawing.drawn(i)], segment.n_documents))
        for i, (segment, docs) in enumerate(found)
    ]


class Estimated(NamedTuple):
    """A total estimated from a sample, and its standard error.

    The error is NaN if the variance is unknown, because there is one value or all are equal.
    """

    total: float
    standard_error: float


def estimated_total(values: NDArray[Any], n_population: int) -> Estimated:
    """Estimate the sum over a population from a sample drawn without replacement.

    The estimate is the mean times the size N; its standard error is N sqrt((1 - m/N) s²/m), with the sample's
    variance s² (Cochran 1977, "Sampling Techniques", theorem 2.2 and equation 2.20).

    Counts of words are skewed: a few documents have most of them, and the variance of a sample without these
    is too small. Intervals of 1.96 standard errors therefore hold less often than 95 % (on words of web pages
    77 % to 88 % of the time; Student's t, a logarithmic scale and Hall's transformation for skewness reach
    80 % to 99 %, at up to three times the width; docs/statements/sample.md).
    """
    m = len(values)
    if m == 0:
        return Estimated(0.0, math.nan if n_population else 0.0)
    total = n_population * float(np.mean(values))
    if m >= n_population:
        return Estimated(total, 0.0)
    if m == 1:
        return Estimated(total, math.nan)
    variance = float(np.var(values, ddof=1))
    if not variance:  # the variance of the population is unknown
        return Estimated(total, math.nan)
    return Estimated(total, n_population * math.sqrt((1 - m / n_population) * variance / m))


# The confidence of the bound for an n-gram that no document of a sample contains.
CONFIDENCE = 0.95


def most_without(n_sampled: int, n_population: int) -> int:
    """Return an upper bound, with CONFIDENCE, for the documents of a property that none of a sample has.

    If a share above p had it, n draws would miss all of them with probability (1 - p)^n or less, since each
    document is drawn once at most; p = 1 - (1 - CONFIDENCE)^(1/n) makes that 5 %: about 3/n, the "rule of
    three" (Hanley & Lippman-Hand 1983, "If Nothing Goes Wrong, Is Everything All Right?").
    """
    share: float = 1 - (1 - CONFIDENCE) ** (1 / n_sampled)
    return min(n_population - n_sampled, math.floor(share * n_population))
