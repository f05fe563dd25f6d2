"""COUNT: occurrences of an n-gram, or of an expression."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.executor.per_segment import each_segment
from ngramdb.executor.results.result import Result
from ngramdb.patterns import Gram, Variants
from ngramdb.planner import plan as nodes
from ngramdb.source import Corpus
from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb.conditions.docset import DocSet
    from ngramdb.conditions.evaluation import Evaluator
    from ngramdb.planner.plan import PlanMeter


def count(plan: nodes.CountGram) -> Result:
    """One row, one number. Cost: one search per segment."""
    n = int(plan.corpus.index.count(plan.gram.ids))
    result = Result.of_rows(nodes.COUNT_COLUMNS, [(n,)])
    result.found = n > 0
    return result


def count_occurrences(plan: nodes.CountOccurrences, meter: PlanMeter | None = None) -> Result:
    """One row, one number; with SAMPLE an estimate, its standard error in the summary."""
    from ngramdb.conditions.disjunction import united

    if meter is None:  # it has the numbers of the plan's own nodes
        plan = nodes.changed(plan, what=united(plan.what, plan.corpus.tokenizer))
    if plan.sample is not None:
        plan.corpus.check_difference()
        return _estimated(plan, plan.sample, meter)
    total = None if meter is not None else net_count(plan.corpus, plan.what)
    if total is None:
        plan.corpus.check_difference()
        total = sum(each_segment(plan.corpus, total_of, plan.what, plan.costs, meter=meter))
    result = Result.of_rows(nodes.COUNT_COLUMNS, [(total,)])
    result.found = total > 0
    return result


def net_count(corpus: Corpus, expr: nodes.Occurring) -> int | None:
    """The count of an expression that adds counts of n-grams, from the index alone; None for others."""
    if isinstance(expr, nodes.AnyOf):
        from ngramdb.conditions.disjunction import are_apart

        if not are_apart(expr.operands, corpus.tokenizer):
            return None
        counts = [net_count(corpus, operand) for operand in expr.operands]
        return None if None in counts else sum(n for n in counts if n is not None)
    if not isinstance(expr, nodes.OccurrencesOf):
        return None
    if isinstance(expr.pattern, Gram):
        return int(corpus.index.count(expr.pattern.ids))
    if isinstance(expr.pattern, Variants):
        pairs = zip(expr.pattern.grams, expr.pattern.weights, strict=True)
        return sum(weight * int(corpus.index.count(gram.ids)) for gram, weight in pairs)
    return None


def total_of(
    corpus: Corpus,
    i: int,
    what: nodes.Occurring,
    costs: nodes.Costs | None,
    meter: PlanMeter | None = None,
) -> int:
    """How many occurrences segment i has."""
    evaluator, kept = evaluator_of(corpus, i, costs, meter)
    return evaluator.expressions.total(what, kept)


def evaluator_of(
    corpus: Corpus, i: int, costs: nodes.Costs | None, meter: PlanMeter | None
) -> tuple[Evaluator, DocSet | None]:
    """What evaluates expressions on segment i, and its documents that count (None: all of them)."""
    from ngramdb.conditions import docset, evaluation

    segment, removed = corpus.segments[i], corpus.removed(i)
    kept = docset.DocSet(removed, segment.n_documents, negated=True) if len(removed) else None
    return evaluation.Evaluator(corpus, segment, costs, meter), kept


def evaluators(
    corpus: Corpus, costs: nodes.Costs | None, meter: PlanMeter | None
) -> Iterator[tuple[Evaluator, DocSet | None]]:
    """The same of each segment."""
    n = len(corpus.segments)
    for i in range(n):
        interrupts.step(i, n)
        yield evaluator_of(corpus, i, costs, meter)


def _estimated(plan: nodes.CountOccurrences, sample: nodes.Sampling, meter: PlanMeter | None) -> Result:
    """Counts in a sample of the documents, each with the same chance, times what the sample is of all.

    Documents are drawn from those that WHERE selects: so all of them serve the estimate, and a condition that
    few meet does not leave a sample without any.
    """
    from ngramdb.executor.questions import sampling

    where: nodes.DocExpr
    if isinstance(plan.what, nodes.Among):
        what, where = plan.what.what, plan.what.docs
    else:
        what, where = plan.what, nodes.AllDocs()
    pairs = list(evaluators(plan.corpus, plan.costs, meter))
    population = []
    for segment, (evaluator, kept) in zip(plan.corpus.segments, pairs, strict=True):
        docs = evaluator.evaluate(where)
        population.append((segment, docs if kept is None else docs & kept))
    drawn = sampling.sample_documents(plan.corpus, population, sample)
    with nullcontext(nodes.Actual()) if meter is None else meter.timed(plan.what) as actual:
        values = [
            _per_document(docs, evaluator.expressions.counts(what, docs))
            for (evaluator, _), (_, docs) in zip(pairs, drawn, strict=True)
        ]
        n_population = sum(len(docs) for _, docs in population)
        counts = np.concatenate([np.empty(0), *values])
        actual.rows += int(counts.sum())
    estimate = sampling.estimated_total(counts, n_population)
    summary: dict[str, Any] = {
        "standard_error": estimate.standard_error,
        "sampled_documents": len(counts),
        "documents": n_population,
        "seed": sample.seed,
    }
    if len(counts) < n_population and not counts.any():
        most = sampling.most_without(len(counts), n_population)
        summary["note"] = (
            f"no document of the sample has any; so at most {most:,} of all {n_population:,} have, with "
            f"{sampling.CONFIDENCE:.0%} confidence"
        )
    result = Result.of_rows(nodes.COUNT_COLUMNS, [(round(estimate.total),)], **summary)
    result.exact = len(counts) == n_population
    result.found = bool(counts.any())
    return result


def _per_document(docs: DocSet, found: tuple[Docs, NDArray[np.int64]]) -> NDArray[np.float64]:
    """Counts of all documents of a set, those without occurrences included."""
    values = np.zeros(len(docs), dtype=np.float64)
    values[: len(found[1])] = found[1]
    return values
