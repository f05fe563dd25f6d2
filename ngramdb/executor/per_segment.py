"""Queries of single segments, whose answers an operator merges.

A query is a function of a corpus, the number of a segment, and further arguments; its result may be sent to
another process. If other processes hold the segments, they answer (`ask_segments`); segments in an object
store (`waits_for_segments`) are queried concurrently; others one after the other. Operators need not
distinguish these cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ngramdb import interrupts
from ngramdb.lazy import lazy_module
from ngramdb.planner import plan as plans
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus

if TYPE_CHECKING:
    from ngramdb.conditions import docset, evaluation
    from ngramdb.planner import choices
    from ngramdb.planner.plan import PlanMeter
else:  # a count of an n-gram needs none of them
    docset = lazy_module("ngramdb.conditions.docset")
    evaluation = lazy_module("ngramdb.conditions.evaluation")
    choices = lazy_module("ngramdb.planner.choices")

Answer = TypeVar("Answer")


def each_segment(
    corpus: Corpus, answer: Callable[..., Answer], *arguments: Any, meter: PlanMeter | None = None
) -> Iterator[Answer]:
    """Yield `answer(corpus, i, *arguments)` of each segment i, in order.

    A meter, which `answer` takes as `meter`, measures this process, so that all segments are queried in it.
    """
    if meter is not None:
        return _one_by_one(corpus, partial(answer, meter=meter), arguments)
    ask = getattr(corpus, "ask_segments", None)
    if ask is not None:
        asked: Iterator[Answer] = ask(answer, arguments)
        return asked
    n = len(corpus.segments)
    if n == 1:  # most corpora: a generator would take a tenth of a fast query's time
        interrupts.step(0, 1)
        return iter((answer(corpus, 0, *arguments),))
    if getattr(corpus, "waits_for_segments", False):
        return interrupts.at_once(lambda i: answer(corpus, i, *arguments), range(n))
    return _one_by_one(corpus, answer, arguments)


def _one_by_one(
    corpus: Corpus, answer: Callable[..., Answer], arguments: tuple[Any, ...]
) -> Iterator[Answer]:
    n = len(corpus.segments)
    for i in range(n):
        interrupts.step(i, n)
        yield answer(corpus, i, *arguments)


def evaluator_of(
    corpus: Corpus, i: int, costs: plans.Costs | None, meter: PlanMeter | None
) -> tuple[evaluation.Evaluator, docset.DocSet | None]:
    """Return the evaluator of segment i, and its documents without removed ones, None for all."""
    segment, removed = corpus.segments[i], corpus.removed(i)
    kept = docset.DocSet(removed, segment.n_documents, negated=True) if len(removed) else None
    return evaluation.Evaluator(corpus, segment, costs, meter), kept


def evaluators(
    corpus: Corpus, costs: plans.Costs | None, meter: PlanMeter | None
) -> Iterator[tuple[evaluation.Evaluator, docset.DocSet | None]]:
    """Yield the same for each segment."""
    n = len(corpus.segments)
    for i in range(n):
        interrupts.step(i, n)
        yield evaluator_of(corpus, i, costs, meter)


def matching(
    corpus: Corpus, where: plans.DocExpr, costs: plans.Costs | None, meter: PlanMeter | None
) -> list[tuple[Segment, docset.DocSet]]:
    """Return, per segment, the documents that meet the condition, without removed ones."""
    found = each_segment(corpus, documents_of, where, costs, meter=meter)
    return list(zip(corpus.segments, found, strict=True))


def documents_of(
    corpus: Corpus,
    i: int,
    where: plans.DocExpr,
    costs: plans.Costs | None,
    meter: PlanMeter | None = None,
) -> docset.DocSet:
    """Return the documents of segment i that meet the condition, without removed ones."""
    segment = corpus.segments[i]
    if isinstance(where, plans.PlainDocs):
        docs, negated = segment.index.docs_where(where.code, where.grams, choices.kernel_costs(costs))
        found = docset.DocSet(docs, segment.n_documents, negated)
    else:
        found = evaluation.Evaluator(corpus, segment, costs, meter).evaluate(where)
    removed = corpus.removed(i)
    return found & ~docset.DocSet(removed, segment.n_documents) if len(removed) else found
