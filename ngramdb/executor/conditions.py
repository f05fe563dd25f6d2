"""Evaluating a condition on the documents of one segment.

Candidates are pushed down: what an AND has left is handed to its next operand, which either locates all
occurrences of its n-gram and intersects, or reads just the candidates. So a conjunction of a rare and a very
frequent n-gram costs about what the rare one costs. The choice is made here, per segment, from exact counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ngramdb._cext.docsets import intersect, subtract, unite
from ngramdb.executor.docset import DocSet
from ngramdb.planner.plan import (
    Actual,
    AllDocs,
    Complement,
    Costs,
    DocExpr,
    DocsWith,
    Gram,
    Intersection,
    NoDocs,
    UnionOf,
)
from ngramdb.planner.source import Docs, SegmentIndex


class Meter:
    """What each node of a plan did, by the node's `id`, summed over segments."""

    def __init__(self) -> None:
        self.actual: dict[int, Actual] = {}

    def of(self, expr: DocExpr) -> Actual:
        """The figures of one node."""
        return self.actual.setdefault(id(expr), Actual())


class Evaluator:
    """Evaluates document expressions against one segment.

    `costs` None means that candidates are never scanned. With a `meter`, each node's rows and time (its
    operands' included) are recorded.
    """

    def __init__(self, index: SegmentIndex, costs: Costs | None, meter: Meter | None = None) -> None:
        self._index = index
        self._costs = costs
        self._meter = meter
        self._n_documents = index.n_documents
        self._ranges: dict[Gram, tuple[int, int]] = {}

    def evaluate(self, expr: DocExpr) -> DocSet:
        """The segment's documents for which the expression holds."""
        if self._meter is None:
            return self._evaluate(expr)
        with self._timed(expr) as actual:
            found = self._evaluate(expr)
            actual.rows += len(found)
        return found

    def restrict(self, expr: DocExpr, candidates: Docs) -> Docs:
        """Those of the candidates (sorted local numbers) for which the expression holds."""
        if self._meter is None:
            return self._restrict(expr, candidates)
        with self._timed(expr) as actual:
            found = self._restrict(expr, candidates)
            actual.rows += len(found)
        return found

    # ---- without candidates -----------------------------------------------------------------------------

    def _evaluate(self, expr: DocExpr) -> DocSet:
        n = self._n_documents
        if isinstance(expr, AllDocs):
            return DocSet.all(n)
        if isinstance(expr, NoDocs):
            return DocSet.none(n)
        if isinstance(expr, Complement):
            return ~self.evaluate(expr.operand)
        if isinstance(expr, DocsWith):
            return DocSet(self._find_documents(expr), n) if len(expr.gram) else DocSet.all(n)
        if isinstance(expr, UnionOf):
            found = DocSet.none(n)
            for operand in expr.operands:
                found = found | self.evaluate(operand)
            return found
        assert isinstance(expr, Intersection)
        return self._evaluate_all(expr)

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
        lo, hi = self._range(expr)
        if lo == hi:
            return np.empty(0, dtype=np.uint32)
        if self._scanning_is_cheaper(hi - lo, 1.0):
            self._note(expr, "scan")
            every = np.arange(self._n_documents, dtype=np.uint32)
            return self._index.filter_docs(every, expr.gram.ids)
        self._note(expr, "locate")
        return self._index.docs_of(lo, hi)

    # ---- among candidates -------------------------------------------------------------------------------

    def _restrict(self, expr: DocExpr, candidates: Docs) -> Docs:
        if isinstance(expr, AllDocs):
            return candidates
        if isinstance(expr, NoDocs):
            return candidates[:0]
        if isinstance(expr, Complement):
            kept: Docs = subtract(candidates, self.restrict(expr.operand, candidates))
            return kept
        if isinstance(expr, DocsWith):
            return self._restrict_leaf(expr, candidates) if len(expr.gram) else candidates
        if isinstance(expr, UnionOf):
            return self._restrict_any(expr, candidates)
        assert isinstance(expr, Intersection)
        for operand in self._in_order(expr):
            if not len(candidates):
                break
            candidates = self.restrict(operand, candidates)
        return candidates

    def _restrict_any(self, expr: UnionOf, candidates: Docs) -> Docs:
        found, open_ = candidates[:0], candidates
        for operand in expr.operands:
            if not len(open_):
                break
            more = self.restrict(operand, open_)
            found, open_ = unite(found, more), subtract(open_, more)
        return found

    def _restrict_leaf(self, expr: DocsWith, candidates: Docs) -> Docs:
        lo, hi = self._range(expr)
        if lo == hi or not len(candidates):
            return candidates[:0]
        if self._scanning_is_cheaper(hi - lo, len(candidates) / self._n_documents):
            self._note(expr, "scan")
            return self._index.filter_docs(candidates, expr.gram.ids)
        self._note(expr, "locate")
        found: Docs = intersect(candidates, self._index.docs_of(lo, hi))
        return found

    # ---- choices ----------------------------------------------------------------------------------------

    def _range(self, expr: DocsWith) -> tuple[int, int]:
        gram = expr.gram
        found = self._ranges.get(gram)
        if found is None:
            found = self._ranges[gram] = self._index.find(gram.ids) if gram.known else (0, 0)
            if self._meter is not None:
                self._meter.of(expr).probes += 1
        return found

    def _scanning_is_cheaper(self, n_occurrences: int, share: float) -> bool:
        """Whether reading that share of the segment's documents costs less than locating all occurrences."""
        if self._costs is None:
            return False
        return self._costs.scan_ns * share * self._index.n_tokens < self._costs.locate_ns * n_occurrences

    def _in_order(self, expr: Intersection) -> tuple[DocExpr, ...]:
        return tuple(sorted(expr.operands, key=self._weight)) if expr.ordered else expr.operands

    def _weight(self, expr: DocExpr) -> float:
        """At most how many of the segment's occurrences bear on the expression; infinite where it negates."""
        if isinstance(expr, DocsWith) and len(expr.gram):
            lo, hi = self._range(expr)
            return hi - lo
        if isinstance(expr, UnionOf):
            return sum(map(self._weight, expr.operands))
        if isinstance(expr, Intersection):
            return min(map(self._weight, expr.operands), default=math.inf)
        return 0 if isinstance(expr, NoDocs) else math.inf

    # ---- measuring --------------------------------------------------------------------------------------

    @contextmanager
    def _timed(self, expr: DocExpr) -> Iterator[Actual]:
        assert self._meter is not None
        actual = self._meter.of(expr)
        started = time.perf_counter()
        actual.calls += 1
        yield actual
        actual.seconds += time.perf_counter() - started

    def _note(self, expr: DocExpr, method: str) -> None:
        if self._meter is not None:
            methods = self._meter.of(expr).methods
            methods[method] = methods.get(method, 0) + 1
