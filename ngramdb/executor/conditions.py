"""Evaluating a condition on the documents of one segment.

Candidates are pushed down: what an AND has left is handed to its next operand, which either locates all
occurrences of its n-gram and intersects, or reads just the candidates. So a conjunction of a rare and a very
frequent n-gram costs about what the rare one costs. The choice is made here, per segment, from exact counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.docsets import subtract, unite
from ngramdb.executor.docset import DocSet
from ngramdb.executor.expressions import Expressions
from ngramdb.executor.field_values import DOC_ID, FieldReader
from ngramdb.executor.measuring import Meter
from ngramdb.executor.occurrences import Finder
from ngramdb.executor.overlap import overlap_shares
from ngramdb.executor.predicates import compare_numbers, meets
from ngramdb.planner.plan import (
    AllDocs,
    Compared,
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
    NoDocs,
    OverlapTest,
    UnionOf,
)
from ngramdb.planner.source import Corpus, Docs, Segment

__all__ = ["Evaluator", "Meter"]

# What other things cost, in occurrences located: a value of a typed column, one of JSON, and looking up an
# n-gram of a document in another corpus.
FIELD_WORK = 0.5
PARSED_FIELD_WORK = 200.0
OVERLAP_WORK = 50.0
# Joining occurrences with those nearby, each.
NEAR_WORK = 4.0


class Evaluator:
    """Evaluates document expressions against one segment of a corpus.

    `costs` None means that candidates are never scanned. With a `meter`, each node's rows and time (its
    operands' included) are recorded.
    """

    def __init__(
        self, corpus: Corpus, segment: Segment, costs: Costs | None = None, meter: Meter | None = None
    ) -> None:
        self._corpus = corpus
        self._segment = segment
        self._meter = meter
        self._probing: DocExpr | None = None
        self._n_documents = segment.n_documents
        self._fields = FieldReader(segment)
        self.finder = Finder(segment, corpus.tokenizer, costs, self._probed)
        self.expressions = Expressions(self.finder, self, meter)

    def evaluate(self, expr: DocExpr) -> DocSet:
        """The segment's documents for which the expression holds."""
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
        n = self._n_documents
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
            # Most documents have none: only those are looked at that have any.
            docs, counts = self.finder.counts(expr.pattern)
            return ~DocSet(docs[~_holds(expr, counts)], n)
        return DocSet(self._leaf(expr, None), n)

    def _evaluate_all(self, expr: Intersection) -> DocSet:
        operands = self._in_order(expr)
        if expr.ordered and any(self._weight(operand) == 0 for operand in operands):
            return DocSet.none(self._n_documents)
        left = DocSet.all(self._n_documents)
        for operand in operands:
            if left.negated:
                left = left & self.evaluate(operand)
            elif len(left):
                left = DocSet(self.restrict(operand, left.docs), self._n_documents)
        return left

    def _find_documents(self, expr: DocsWith) -> Docs:
        n = self._bound(expr)
        if not n:
            return np.empty(0, dtype=np.uint32)
        if self.finder.scanning_is_cheaper(n, self._n_documents):
            self._note(expr, "scan")
            every = np.arange(self._n_documents, dtype=np.uint32)
            return self._segment.index.filter_docs(every, expr.gram.ids)
        self._note(expr, "locate")
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
            for operand in self._in_order(expr):
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
        n = self._bound(expr)
        if not n or not len(candidates):
            return candidates[:0]
        scanned = self.finder.scanning_is_cheaper(n, len(candidates))
        self._note(expr, "scan" if scanned else "locate")
        return self.finder.filter(expr.gram, candidates)

    # ---- leaves, with candidates or (None) without ------------------------------------------------------

    def _leaf(self, expr: DocExpr, candidates: Docs | None) -> Docs:
        leaf = _LEAVES[type(expr)]
        return leaf(self, expr, candidates)

    def _matching(self, expr: DocsMatching, candidates: Docs | None) -> Docs:
        if not self._bound(expr):
            return np.empty(0, dtype=np.uint32)
        if candidates is None:
            return self.finder.documents(expr.pattern)
        return self.finder.filter(expr.pattern, candidates)

    def _counted(self, expr: CountTest, candidates: Docs | None) -> Docs:
        within = None if candidates is None else DocSet(candidates, self._n_documents)
        docs, counts = self.finder.counts(expr.pattern, within)
        holds: NDArray[np.bool_] = _holds(expr, counts)
        if candidates is not None and expr.holds(0):
            return np.asarray(subtract(candidates, docs[~holds]))
        return docs[holds]

    def _nearby(self, expr: Nearby, candidates: Docs | None) -> Docs:
        return self.expressions.nearby(expr, candidates)

    def _with_occurrence(self, expr: DocsOf, candidates: Docs | None) -> Docs:
        within = None if candidates is None else DocSet(candidates, self._n_documents)
        return self.expressions.counts(expr.what, within)[0]

    def _field(self, expr: FieldTest, candidates: Docs | None) -> Docs:
        if self._is_one_id(expr):
            assert isinstance(expr.predicate, Compared)
            return self._with_id(expr.predicate.literal, candidates)
        holds = meets(expr, self._fields.read(expr.path, expr.own, candidates))
        if candidates is None:
            return np.flatnonzero(holds).astype(np.uint32)
        return candidates[holds]

    @staticmethod
    def _is_one_id(expr: FieldTest) -> bool:
        """Whether it is `doc_id = 17`, which needs no look at any other id."""
        predicate = expr.predicate
        one = isinstance(predicate, Compared) and predicate.operator == "=" and type(predicate.literal) is int
        return expr.own and expr.path == DOC_ID and one and not expr.negated

    def _with_id(self, doc_id: Any, candidates: Docs | None) -> Docs:
        i = self._segment.local_of(doc_id) if abs(doc_id) < 2**63 else None
        if i is None or (candidates is not None and not np.any(candidates == i)):
            return np.empty(0, dtype=np.uint32)
        return np.array([i], dtype=np.uint32)

    def _overlapping(self, expr: OverlapTest, candidates: Docs | None) -> Docs:
        docs = np.arange(self._n_documents, dtype=np.uint32) if candidates is None else candidates
        shares = overlap_shares(self._corpus, self._segment, docs, expr.other, expr.n)
        operator = "=" if expr.operator == "!=" else expr.operator
        holds = compare_numbers(shares, operator, expr.share)
        return docs[~holds if expr.operator == "!=" else holds]

    # ---- choices ----------------------------------------------------------------------------------------

    def _in_order(self, expr: Intersection) -> tuple[DocExpr, ...]:
        return tuple(sorted(expr.operands, key=self._weight)) if expr.ordered else expr.operands

    def _weight(self, expr: DocExpr) -> float:
        """At most how many of the segment's occurrences bear on the expression; infinite where it negates.

        Conditions on fields are weighed by their work: whom they select isn't known before.
        """
        if isinstance(expr, (DocsWith, DocsMatching)):
            return math.inf if isinstance(expr, DocsWith) and not len(expr.gram) else self._bound(expr)
        if isinstance(expr, UnionOf):
            return sum(map(self._weight, expr.operands))
        if isinstance(expr, Intersection):
            return min(map(self._weight, expr.operands), default=math.inf)
        if isinstance(expr, CountTest):
            return math.inf if expr.holds(0) else self._bound(expr)
        if isinstance(expr, (Nearby, DocsOf)):
            return self.work(expr)
        if isinstance(expr, (FieldTest, OverlapTest)):
            return max(self.work(expr), 1.0)
        return 0 if isinstance(expr, NoDocs) else math.inf

    def work(self, expr: DocExpr) -> float:
        """What evaluating the expression on all documents costs, in occurrences located."""
        if isinstance(expr, (DocsWith, DocsMatching, CountTest)):
            return self._bound(expr)
        if isinstance(expr, Complement):
            return self.work(expr.operand)
        if isinstance(expr, UnionOf):
            return sum(map(self.work, expr.operands))
        if isinstance(expr, Intersection):
            return min(map(self.work, expr.operands), default=0.0)
        if isinstance(expr, Nearby):
            return NEAR_WORK * min(map(self.expressions.bound, expr.operands))
        if isinstance(expr, DocsOf):
            return NEAR_WORK * self.expressions.bound(expr.what)
        if isinstance(expr, FieldTest):
            if self._is_one_id(expr):
                return 1.0
            costly = self._fields.is_costly(expr.path, expr.own)
            return self._n_documents * (PARSED_FIELD_WORK if costly else FIELD_WORK)
        return OVERLAP_WORK * self.finder.n_tokens if isinstance(expr, OverlapTest) else 0.0

    def _bound(self, expr: DocsWith | DocsMatching | CountTest) -> int:
        """At most how many occurrences its pattern has here; searches are put down to the expression."""
        self._probing = expr
        found = self.finder.bound(expr.gram if isinstance(expr, DocsWith) else expr.pattern)
        self._probing = None
        return found

    # ---- measuring --------------------------------------------------------------------------------------

    def _probed(self) -> None:
        if self._meter is not None and self._probing is not None:
            self._meter.of(self._probing).probes += 1

    def _note(self, expr: DocExpr, method: str) -> None:
        if self._meter is not None:
            self._meter.note(expr, method)


def _holds(expr: CountTest, counts: Any) -> Any:
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
