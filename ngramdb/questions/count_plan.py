"""The plans of COUNT without groups: occurrences of an n-gram, or of an expression."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.executor.per_segment import each_segment, evaluator_of, evaluators
from ngramdb.executor.result import Result
from ngramdb.lazy import dataclass, lazy_module
from ngramdb.planner import plan as plans
from ngramdb.planner.plan.nodes import COUNT_COLUMNS
from ngramdb.questions.plans import Query

if TYPE_CHECKING:
    from ngramdb.conditions import expressions
    from ngramdb.conditions.docset import DocSet
    from ngramdb.patterns import Gram
    from ngramdb.planner.plan import PlanMeter
    from ngramdb.questions import sampling
    from ngramdb.source import Corpus
    from ngramdb.types import Docs
else:  # a count of an n-gram needs none of them
    expressions = lazy_module("ngramdb.conditions.expressions")
    sampling = lazy_module("ngramdb.questions.sampling")


@dataclass(frozen=True)
class CountGram(Query):
    """COUNT of one n-gram in all documents."""

    gram: Gram

    def label(self) -> str:
        n = len(self.gram)
        return f"count {self.gram.shown} ({n:,} token{'' if n == 1 else 's'})"

    @property
    def is_settled(self) -> bool:
        return self.gram.known

    def fold_unknown_words(self) -> plans.Plan:
        if self.gram.known:
            return self
        return plans.Constant(self.corpus, COUNT_COLUMNS, ((0,),), plans.why_nowhere(self.gram))

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return one number. Cost: one search per segment."""
        return _number(int(self.corpus.index.count(self.gram.ids)))


@dataclass(frozen=True)
class CountOccurrences(Query):
    """COUNT of an expression, or its estimate from a sample of the documents."""

    what: plans.Occurring
    costs: plans.Costs | None = field(default=None, compare=False)
    sample: sampling.Sampling | None = None

    def label(self) -> str:
        return "count" if self.sample is None else f"estimated count ({self.sample.label()})"

    def fold_constants(self) -> plans.Plan:
        if self.sample is not None or not isinstance(self.what, plans.Nowhere):
            return self
        return plans.Constant(self.corpus, COUNT_COLUMNS, ((0,),), self.what.reason)

    def tree(self) -> plans.Node | None:
        return self.what

    def with_tree(self, tree: Any) -> plans.Plan:
        return plans.changed(self, what=tree)

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return one number; with SAMPLE an estimate, whose standard error is in the summary."""
        # A meter has the numbers of the plan's own nodes.
        what = self.what if meter is not None else expressions.united(self.what, self.corpus.tokenizer)
        if self.sample is not None:
            self.corpus.check_difference()
            return self._estimate(what, self.sample, meter)
        total = None if meter is not None else expressions.net_count(self.corpus, what)
        if total is None:
            self.corpus.check_difference()
            total = sum(each_segment(self.corpus, total_of, what, self.costs, meter=meter))
        return _number(total)

    def _estimate(self, what: plans.Occurring, sample: sampling.Sampling, meter: PlanMeter | None) -> Result:
        """Estimate the count from documents drawn with equal chances.

        They are drawn from the documents that meet WHERE, so that all of them contribute to the estimate.
        """
        where: plans.DocExpr = plans.AllDocs()
        if isinstance(what, plans.Among):
            where = what.docs
            what = what.what
        pairs = list(evaluators(self.corpus, self.costs, meter))
        population = []
        for segment, (evaluator, kept) in zip(self.corpus.segments, pairs, strict=True):
            docs = evaluator.evaluate(where)
            population.append((segment, docs if kept is None else docs & kept))
        n_population = sum(len(docs) for _, docs in population)
        drawn = sampling.sample_documents(self.corpus, population, sample)
        with nullcontext(plans.Actual()) if meter is None else meter.timed(self.what) as actual:
            values = [
                _per_document(docs, evaluator.expressions.counts(what, docs))
                for (evaluator, _), (_, docs) in zip(pairs, drawn, strict=True)
            ]
            counts = np.concatenate([np.empty(0), *values])
            actual.rows += int(counts.sum())
        estimate = sampling.estimated_total(counts, n_population)
        result = _number(
            round(estimate.total),
            standard_error=estimate.standard_error,
            sampled_documents=len(counts),
            documents=n_population,
            seed=sample.seed,
        )
        result.exact = len(counts) == n_population
        result.found = bool(counts.any())
        if not result.exact and not result.found:
            most = sampling.most_without(len(counts), n_population)
            result.summary["note"] = (
                f"no document of the sample has any; so at most {most:,} of all {n_population:,} have, with "
                f"{sampling.CONFIDENCE:.0%} confidence"
            )
        return result


def total_of(
    corpus: Corpus,
    i: int,
    what: plans.Occurring,
    costs: plans.Costs | None,
    meter: PlanMeter | None = None,
) -> int:
    """Return the number of occurrences in segment i."""
    evaluator, kept = evaluator_of(corpus, i, costs, meter)
    return evaluator.expressions.total(what, kept)


def _number(n: int, **summary: Any) -> Result:
    result = Result.of_rows(COUNT_COLUMNS, [(n,)], **summary)
    result.found = n > 0
    return result


def _per_document(docs: DocSet, found: tuple[Docs, NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return the counts of all documents of a set, with zeros for those without occurrences."""
    values = np.zeros(len(docs), dtype=np.float64)
    values[: len(found[1])] = found[1]
    return values
