"""SAMPLE: k of n, drawn without replacement, the same k for the same seed.

Everything that can be drawn has a number that looks random: a hash of the seed and of what identifies it (a
document's id; for an occurrence, its place in the document, too). The k smallest numbers are the sample. So
it is uniform, and depends on nothing else: neither on segments and their order, nor on threads, nor on what
else is in the corpus but for what it displaces; a sample of k is a part of the sample of k + 1.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.docset import DocSet
from ngramdb.planner.plan import Sampling
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray

Ranks = NDArray[np.uint64]

# Increment and multipliers of SplitMix64 (Steele, Lea & Flood 2014, "Fast Splittable Pseudorandom Number
# Generators", figure 15).
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mixed(values: Ranks) -> Ranks:
    with np.errstate(over="ignore"):
        values = values + _INCREMENT
        values = (values ^ (values >> np.uint64(30))) * _FIRST
        values = (values ^ (values >> np.uint64(27))) * _SECOND
    return np.asarray(values ^ (values >> np.uint64(31)))


def ranks(sampling: Sampling, corpus_name: str, *parts: NDArray[Any]) -> Ranks:
    """The numbers by which things are drawn: (n,) uint64.

    Parameters
    ----------
    corpus_name : distinguishes documents of several corpora; empty where there is one only
    parts : what identifies each, (n,) integers each; the first are document ids

    Cost: some 5 ns for each and part.
    """
    seed = np.array([sampling.seed % 2**64, zlib.crc32(corpus_name.encode())], dtype=np.uint64)
    state = _mixed(_mixed(seed[:1]) ^ seed[1])
    for part in parts:
        state = _mixed(state ^ part.astype(np.uint64))
    return state


def smallest(values: Ranks, k: int) -> IntArray:
    """The indices of the k smallest numbers (of equal ones, those that come first), ascending."""
    if k >= len(values):
        return np.arange(len(values))
    if k == 0:
        return np.empty(0, dtype=np.int64)
    bar = np.partition(values, k - 1)[k - 1]
    chosen = values < bar
    chosen[np.flatnonzero(values == bar)[: k - int(chosen.sum())]] = True
    return np.flatnonzero(chosen)


class Drawing:
    """Draws from several lists one after the other; keeps no more than the sample of those given so far."""

    def __init__(self, sampling: Sampling) -> None:
        self._size = sampling.size
        self._ranks: Ranks = np.empty(0, dtype=np.uint64)
        self._lists: IntArray = np.empty(0, dtype=np.int64)
        self._indices: IntArray = np.empty(0, dtype=np.int64)

    def add(self, number: int, values: Ranks) -> None:
        """Add list `number`, whose members have these ranks."""
        own = smallest(values, self._size)
        every = np.concatenate((self._ranks, values[own]))
        lists = np.concatenate((self._lists, np.full(len(own), number)))
        indices = np.concatenate((self._indices, own))
        kept = smallest(every, self._size)
        self._ranks, self._lists, self._indices = every[kept], lists[kept], indices[kept]

    def drawn(self, number: int) -> IntArray:
        """The members of list `number` that were drawn: indices, ascending."""
        found: IntArray = self._indices[self._lists == number]
        return found


def corpus_salt(corpus: Corpus, i: int) -> str:
    """What distinguishes the documents of segment i from those of other corpora with the same ids."""
    return corpus.corpus_of(i) if corpus.n_added > 1 else ""


def sample_documents(
    corpus: Corpus, found: Sequence[tuple[Segment, DocSet]], sampling: Sampling
) -> list[tuple[Segment, DocSet]]:
    """A sample of documents; `found` has an entry for each segment of the corpus, in order."""
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

    The error is NaN where the values do not show how much documents differ: there is one, or all are equal.
    """

    total: float
    standard_error: float


def estimated_total(values: NDArray[Any], n_population: int) -> Estimated:
    """The sum over a population of which `values` are a sample drawn without replacement.

    The mean times the size; its standard error is N sqrt((1 - m/N) s²/m), with s² the sample's variance
    (Cochran 1977, "Sampling Techniques", theorem 2.2 and equation 2.20).

    Counts of words are skewed: a few documents have most of them, and samples without these show too small a
    variance. So intervals of 1.96 standard errors hold less often than 95 % (on words of web pages 77 % to
    88 % of the time; Student's t, a logarithmic scale and Hall's transformation for skewness reach 80 % to
    99 %, at up to three times the width; docs/statements/sample.md).
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
    if not variance:  # that of the others is not known to be 0
        return Estimated(total, math.nan)
    return Estimated(total, n_population * math.sqrt((1 - m / n_population) * variance / m))


# How sure a bound is for what no document of a sample has.
CONFIDENCE = 0.95


def most_without(n_sampled: int, n_population: int) -> int:
    """At most how many documents have what none of a sample has: an upper bound with CONFIDENCE.

    Were it more of them than a share p, n draws would miss all with probability (1 - p)^n or less, since a
    document is drawn once only; p = 1 - (1 - CONFIDENCE)^(1/n) makes that 5 %: about 3/n, the "rule of three"
    (Hanley & Lippman-Hand 1983, "If Nothing Goes Wrong, Is Everything All Right?").
    """
    share: float = 1 - (1 - CONFIDENCE) ** (1 / n_sampled)
    return min(n_population - n_sampled, math.floor(share * n_population))
