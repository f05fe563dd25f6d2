"""Evaluating a condition on the documents of one segment.

Candidates are pushed down: what an AND has left is handed to its next operand, which either locates all
occurrences of its n-gram and intersects, or reads just the candidates. So a conjunction of a rare and a very
frequent n-gram costs about what the rare one costs. The choice is made per segment, from exact counts, as
`planner.choices` decides.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.joins import subtract, unite
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.expressions import Expressions
from ngramdb.conditions.field_values import FieldReader, date_parts
from ngramdb.conditions.occurrences import Finder
from ngramdb.conditions.overlap_field import Overlap
from ngramdb.conditions.predicates import compare_numbers, meets
from ngramdb.planner import choices
from ngramdb.planner.plan import (
    AllDocs,
    Complement,
    Costs,
    CountTest,
    DocExpr,
    DocsMatching,
    DocsOf,
    DocsWith,
    FieldTest,
    Intersection,
    Nearby,
    Node,
    NoDocs,
    OverlapTest,
    PlanMeter,
    UnionOf,
)
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.types import Docs

__all__ = ["Evaluator", "PlanMeter"]


class Evaluator:
    """Evaluates document expressions against one segment of a corpus.

    `costs` None means that candidates are never scanned. With a `meter`, each node's rows and time (its
    operands' included) are recorded.
    """

    def __init__(
        self, corpus: Corpus, segment: Segment, costs: Costs | None = None, meter: PlanMeter | None = None
    ) -> None:
        # Weak: parts of this one refer to it, and what it holds would stay until such cycles are collected;
        # a corpus holds its version's files. Who evaluates has the corpus.
        self._corpus = weakref.ref(corpus)
        self._segment = segment
        self._meter = meter
        self._probing: Node | None = None
        self.n_documents = segment.n_documents
        self.n_tokens = segment.index.n_tokens
        self._fields = FieldReader(segment)
        self.finder = Finder(segment, corpus.tokenizer, costs, self._probed)
        self.expressions = Expressions(self.finder, self, meter, corpus.tokenizer)

    def evaluate(self, expr: DocExpr) -> DocSet:
        """Return the segment's documents for which the expression holds."""
        if self._meter is None:
            return self._evaluate(expr)
        with self._meter.timed(expr) as actual:
            found = self._evaluate(expr)
            actual.rows += len(found)
        return found

    def restrict(self, expr: DocExpr, candidates: Docs) -> Docs:
        """Those of the candidates (sorted local numbers) for which the expression holds."""
        if self._meter is None:
            return self._restrict(expr, candidates)
        with self._meter.timed(expr) as actual:
            found = self._restrict(expr, candidates)
            actual.rows += len(found)
        return found

    # ---- without candidates -----------------------------------------------------------------------------

    def _evaluate(self, expr: DocExpr) -> DocSet:
        n = self.n_documents
        if isinstance(expr, DocsWith):
            return DocSet(self._find_documents(expr), n) if len(expr.gram) else DocSet.all(n)
        if isinstance(expr, Intersection):
            return self._evaluate_all(expr)
        if isinstance(expr, AllDocs):
            return DocSet.all(n)
        if isinstance(expr, NoDocs):
            return DocSet.none(n)
        if isinstance(expr, Complement):
            return ~self.evaluate(expr.operand)
        if isinstance(expr, UnionOf):
            found = DocSet.none(n)
            for operand in expr.operands:
                found = found | self.evaluate(operand)
            return found
        if isinstance(expr, CountTest) and expr.holds(0):
            # Most documents have no occurrence: only the others are read.
            self._note_pattern(expr, None)
            docs, counts = self.finder.counts(expr.pattern)
            return ~DocSet(docs[~_holds(expr, counts)], n)
        return DocSet(self._leaf(expr, None), n)

    def _evaluate_all(self, expr: Intersection) -> DocSet:
        order = choices.order_of(expr, self)
        if order.is_empty:
            return DocSet.none(self.n_documents)
        left = DocSet.all(self.n_documents)
        for operand in self._in_order(expr, order):
            if left.negated:
                left = left & self.evaluate(operand)
            elif len(left):
                left = DocSet(self.restrict(operand, left.docs), self.n_documents)
        return left

    def _find_documents(self, expr: DocsWith) -> Docs:
        if not self.bound(expr):
            return np.empty(0, dtype=np.uint32)
        path = self.finder.path(expr.gram, self.n_documents)
        self._note(expr, path)
        if path == choices.SCAN:
            every = np.arange(self.n_documents, dtype=np.uint32)
            return self.finder.among(expr.gram, every, path)
        return self.finder.documents(expr.gram)

    # ---- among candidates -------------------------------------------------------------------------------

    def _restrict(self, expr: DocExpr, candidates: Docs) -> Docs:
        if isinstance(expr, DocsWith):
            return self._restrict_gram(expr, candidates) if len(expr.gram) else candidates
        if isinstance(expr, AllDocs):
            return candidates
        if isinstance(expr, NoDocs):
            return candidates[:0]
        if isinstance(expr, Complement):
            kept: Docs = subtract(candidates, self.restrict(expr.operand, candidates))
            return kept
        if isinstance(expr, UnionOf):
            return self._restrict_any(expr, candidates)
        if isinstance(expr, Intersection):
            for operand in self._in_order(expr, choices.order_of(expr, self)):
                if not len(candidates):
                    break
                candidates = self.restrict(operand, candidates)
            return candidates
        return self._leaf(expr, candidates) if len(candidates) else candidates

    def _restrict_any(self, expr: UnionOf, candidates: Docs) -> Docs:
        found, open_ = candidates[:0], candidates
        for operand in expr.operands:
            if not len(open_):
                break
            more = self.restrict(operand, open_)
            found, open_ = unite(found, more), subtract(open_, more)
        return found

    def _restrict_gram(self, expr: DocsWith, candidates: Docs) -> Docs:
        if not self.bound(expr) or not len(candidates):
            return candidates[:0]
        path = self.finder.path(expr.gram, len(candidates))
        self._note(expr, path)
        return self.finder.among(expr.gram, candidates, path)

    def _in_order(self, expr: Intersection, order: choices.Order) -> list[DocExpr]:
        if self._meter is not None:
            self._meter.order(expr, order.numbers)
        return [expr.operands[i] for i in order.numbers]

    # ---- leaves, with candidates or (None) without ------------------------------------------------------

    def _leaf(self, expr: DocExpr, candidates: Docs | None) -> Docs:
        leaf = _LEAVES[type(expr)]
        return leaf(self, expr, candidates)

    def _matching(self, expr: DocsMatching, candidates: Docs | None) -> Docs:
        if not self.bound(expr):
            return np.empty(0, dtype=np.uint32)
        self._note_pattern(expr, candidates)
        if candidates is None:
            return self.finder.documents(expr.pattern)
        return self.finder.filter(expr.pattern, candidates)

    def _counted(self, expr: CountTest, candidates: Docs | None) -> Docs:
        self._note_pattern(expr, candidates)
        within = None if candidates is None else DocSet(candidates, self.n_documents)
        docs, counts = self.finder.counts(expr.pattern, within)
        holds: NDArray[np.bool_] = _holds(expr, counts)
        if candidates is not None and expr.holds(0):
            return np.asarray(subtract(candidates, docs[~holds]))
        return docs[holds]

    def _nearby(self, expr: Nearby, candidates: Docs | None) -> Docs:
        return self.expressions.nearby(expr, candidates)

    def _with_occurrence(self, expr: DocsOf, candidates: Docs | None) -> Docs:
        within = None if candidates is None else DocSet(candidates, self.n_documents)
        return self.expressions.counts(expr.what, within)[0]

    def _field(self, expr: FieldTest, candidates: Docs | None) -> Docs:
        doc_id = choices.one_id(expr)
        if doc_id is not None:
            return self._with_id(doc_id, candidates)
        values = self._fields.read(expr.path, expr.own, candidates, expr.function)
        holds = meets(expr, date_parts(values, expr.part) if expr.part else values)
        if candidates is None:
            return np.flatnonzero(holds).astype(np.uint32)
        return candidates[holds]

    def _with_id(self, doc_id: int, candidates: Docs | None) -> Docs:
        i = self._segment.local_of(doc_id) if abs(doc_id) < 2**63 else None
        if i is None or (candidates is not None and not np.any(candidates == i)):
            return np.empty(0, dtype=np.uint32)
        return np.array([i], dtype=np.uint32)

    def _overlapping(self, expr: OverlapTest, candidates: Docs | None) -> Docs:
        docs = np.arange(self.n_documents, dtype=np.uint32) if candidates is None else candidates
        corpus = self._corpus()
        assert corpus is not None
        shares = Overlap(corpus, self._segment, expr.other, expr.n).shares(docs)
        operator = "=" if expr.operator == "!=" else expr.operator
        holds = compare_numbers(shares, operator, expr.share)
        return docs[~holds if expr.operator == "!=" else holds]

    # ---- what choices are made from -----------------------------------------------------------------------

    def bound(self, leaf: choices.Leaf) -> int:
        """At most how many occurrences the node's pattern has here; searches are put down to the node."""
        self._probing = leaf
        found = self.finder.bound(choices.pattern_of(leaf))
        self._probing = None
        return found

    def is_parsed(self, path: str) -> bool:
        """Return True if the values of a metadata field must be parsed one by one."""
        return choices.is_parsed(self._segment.metadata, path)

    # ---- measuring --------------------------------------------------------------------------------------

    def _probed(self) -> None:
        if self._meter is not None and self._probing is not None:
            self._meter.of(self._probing).probes += 1

    def _note_pattern(self, expr: DocsMatching | CountTest, candidates: Docs | None) -> None:
        if self._meter is not None and self.bound(expr):
            path = choices.pattern_path(expr.pattern, candidates is not None)
            if path is not None:
                self._meter.note(expr, path)

    def _note(self, expr: DocExpr, method: str) -> None:
        if self._meter is not None:
            self._meter.note(expr, method)


def _holds(expr: CountTest, counts: NDArray[Any]) -> NDArray[np.bool_]:
    operator = "=" if expr.operator == "!=" else expr.operator
    holds = compare_numbers(counts, operator, expr.value)
    return ~holds if expr.operator == "!=" else holds


_LEAVES: dict[type[DocExpr], Callable[[Evaluator, Any, Docs | None], Docs]] = {
    DocsMatching: Evaluator._matching,
    CountTest: Evaluator._counted,
    Nearby: Evaluator._nearby,
    DocsOf: Evaluator._with_occurrence,
    FieldTest: Evaluator._field,
    OverlapTest: Evaluator._overlapping,
}
