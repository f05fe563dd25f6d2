"""DISPERSION: how evenly the occurrences are spread over the parts of a corpus.

Parts are documents, or all documents with the same value of a field; those without a token are none. Part i
has the share s_i of all tokens and v_i of all occurrences.

- range: parts with an occurrence.
- DP = ½ Σ |s_i - v_i| (Gries 2008, "Dispersions and adjusted frequencies in corpora"): 0 where occurrences
  are spread as tokens are; DPnorm = DP / (1 - min s_i) (Lijffijt & Gries 2012), at most 1.
- DKL = Σ v_i log2(v_i / s_i), the divergence of v from s in bits (Gries 2020, "Analyzing dispersion").
- ARF, the average reduced frequency (Savický & Hlaváčová 2002, "Measures of word commonness"): with f
  occurrences among N tokens, v = N / f, and d_i the distances from each to the next, the last to the first
  around the end, Σ min(d_i, v) / v. Documents stand one after the other, as DOCS lists them.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ngramdb.conditions.disjunction import united
from ngramdb.executor.per_segment import each_segment
from ngramdb.executor.questions.counting import evaluator_of
from ngramdb.executor.questions.grouping import Groups, add_groups, add_to_groups
from ngramdb.executor.results.result import Result
from ngramdb.planner.plan import (
    DISPERSION_COLUMNS,
    Actual,
    Costs,
    DocExpr,
    FieldKey,
    Occurring,
    PlanMeter,
    Spread,
)
from ngramdb.source import Corpus, IntArray

DISPERSION_TYPES = (int, int, int, float, float, float, float)


def dispersion(plan: Spread, meter: PlanMeter | None = None) -> Result:
    """One row; the measures are NULL where nothing occurs, and DPnorm where there is one part.

    Cost: locating the occurrences, and some ns for each document.
    """
    plan.corpus.check_difference()
    found = _Parts(plan.key is None)
    what = plan.what.what if meter is not None else united(plan.what.what, plan.corpus.tokenizer)
    with nullcontext(Actual()) if meter is None else meter.timed(plan.what) as actual:
        asked = what, plan.what.docs, plan.costs, plan.key
        for one in each_segment(plan.corpus, spread_in, *asked, meter=meter):
            actual.rows += len(one.places)
            found.add(one)
    sizes, counts = found.sizes_and_counts()
    n = int(counts.sum())
    measures: tuple[float | None, ...] = (None,) * 4
    if n:
        places = np.concatenate(found.places)
        measures = (*_measures(sizes, counts), reduced_frequency(places, int(sizes.sum())))
    row = (n, int(np.count_nonzero(counts)), len(sizes), *measures)
    result = Result.of_rows(DISPERSION_COLUMNS, [row])
    result.types = DISPERSION_TYPES
    result.found = n > 0
    return result


@dataclass(frozen=True)
class SegmentSpread:
    """How occurrences are spread over a segment, of `n_tokens` tokens that count.

    places : where they are among these, ascending
    sizes, counts : tokens and occurrences of each document, (n_documents,), or of each group of documents
    """

    n_tokens: int
    places: IntArray
    sizes: IntArray | Groups
    counts: IntArray | Groups


def spread_in(
    corpus: Corpus,
    i: int,
    what: Occurring,
    where: DocExpr,
    costs: Costs | None,
    key: FieldKey | None,
    meter: PlanMeter | None = None,
) -> SegmentSpread:
    """How occurrences are spread over segment i."""
    evaluator, kept = evaluator_of(corpus, i, costs, meter)
    found = evaluator.evaluate(where)
    found = found if kept is None else found & kept
    starts, docs = evaluator.expressions.occurrences(what, found).starts, found.numbers()
    segment = corpus.segments[i]
    first, last = segment.index.document_bounds(docs)
    sizes = last.astype(np.int64) - first
    numbers = np.searchsorted(docs, segment.index.documents_at(starts))
    counts = np.bincount(numbers, minlength=len(docs))
    places = (np.cumsum(sizes) - sizes)[numbers] + starts.astype(np.int64) - first[numbers]
    n_tokens = int(sizes.sum())
    if key is None:
        return SegmentSpread(n_tokens, places, sizes, counts)
    groups: tuple[Groups, Groups] = ({}, {})
    if len(docs):
        for group, values in zip(groups, (sizes, counts), strict=True):
            add_to_groups(group, (key,), segment, docs, values)
    return SegmentSpread(n_tokens, places, *groups)


class _Parts:
    """Sizes of the parts, occurrences in them, and places of occurrences among all tokens."""

    def __init__(self, are_documents: bool) -> None:
        self._are_documents = are_documents
        self._n_tokens = 0
        self._sizes: list[IntArray] = []
        self._counts: list[IntArray] = []
        self._groups: tuple[Groups, Groups] = ({}, {})
        self.places: list[IntArray] = []

    def add(self, one: SegmentSpread) -> None:
        """Add the next segment."""
        self.places.append(one.places + self._n_tokens)
        self._n_tokens += one.n_tokens
        if not isinstance(one.sizes, dict) and not isinstance(one.counts, dict):
            self._sizes.append(one.sizes)
            self._counts.append(one.counts)
            return
        for groups, found in zip(self._groups, (one.sizes, one.counts), strict=True):
            assert isinstance(found, dict)
            add_groups(groups, found)

    def sizes_and_counts(self) -> tuple[IntArray, IntArray]:
        """Of every part that has tokens."""
        if self._are_documents:
            none = np.empty(0, dtype=np.int64)
            sizes, counts = (np.concatenate((none, *lists)) for lists in (self._sizes, self._counts))
        else:
            every, found = self._groups
            sizes = np.array([group[-1] for group in every.values()], dtype=np.int64)
            counts = np.array([found[key][-1] for key in every], dtype=np.int64)
        return sizes[sizes > 0], counts[sizes > 0]


def _measures(sizes: IntArray, counts: IntArray) -> tuple[float, float | None, float]:
    """DP, DPnorm and DKL."""
    expected, observed = sizes / sizes.sum(), counts / counts.sum()
    dp = float(np.abs(expected - observed).sum() / 2)
    most = 1 - float(expected.min())
    some = observed > 0
    dkl = float((observed[some] * np.log2(observed[some] / expected[some])).sum())
    return dp, dp / most if most else None, dkl


def reduced_frequency(places: IntArray, n_tokens: int) -> float:
    """ARF of occurrences at these places (ascending, at least one) among so many tokens."""
    mean = n_tokens / len(places)
    distances: Any = np.diff(places, append=places[0] + n_tokens)
    return float(np.minimum(distances, mean).sum() / mean)
