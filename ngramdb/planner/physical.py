"""The physical step: exact counts fix the order of operands and foretell the method of each.

A count costs about a microsecond, so estimates are not guessed from statistics: the occurrences of every
n-gram are counted. What remains an estimate is how many documents they fall into (as if spread at random)
and how conditions overlap (as if independent).

The executor decides the method again for each segment, from that segment's counts and the candidates that
are really left; the method printed here is the one that the totals suggest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ngramdb.planner.plan import (
    AllDocs,
    Complement,
    Costs,
    CountDocuments,
    DocExpr,
    DocsWith,
    Documents,
    Estimate,
    Intersection,
    NoDocs,
    Plan,
    UnionOf,
)
from ngramdb.planner.source import Corpus

# Choices that can be switched off by name, as rules can: then operands stay as written, and every n-gram is
# answered by locating its occurrences.
ORDER_OPERANDS = "order_operands"
SCAN_CANDIDATES = "scan_candidates"
CHOICES: dict[str, str] = {
    ORDER_OPERANDS: "takes the operands of AND in the order of their exact counts, rarest first",
    SCAN_CANDIDATES: "scans candidate documents where that is cheaper than locating all occurrences",
}


def choose(plan: Plan, disabled: frozenset[str] = frozenset()) -> Plan:
    """The plan with estimates, ordered operands and costs filled in."""
    if not isinstance(plan, (Documents, CountDocuments)):
        return plan
    costs = None if SCAN_CANDIDATES in disabled else Costs()
    chooser = _Chooser(plan.corpus, costs, ordered=ORDER_OPERANDS not in disabled)
    return replace(plan, where=chooser.annotate(plan.where, None), costs=costs)


@dataclass(frozen=True)
class _Chooser:
    corpus: Corpus
    costs: Costs | None
    ordered: bool

    def annotate(self, expr: DocExpr, candidates: float | None) -> DocExpr:
        """The expression with estimates; `candidates` documents are left when it is reached (None: all)."""
        n = self.corpus.n_documents
        if isinstance(expr, DocsWith):
            return self._leaf(expr, candidates)
        if isinstance(expr, AllDocs):
            return replace(expr, estimate=Estimate(n if candidates is None else candidates))
        if isinstance(expr, NoDocs):
            return replace(expr, estimate=Estimate(0))
        if isinstance(expr, Complement):
            inner = self.annotate(expr.operand, candidates)
            rows = max(0.0, (n if candidates is None else candidates) - _rows(inner))
            return replace(expr, operand=inner, estimate=Estimate(rows))
        if isinstance(expr, UnionOf):
            return self._union(expr, candidates)
        assert isinstance(expr, Intersection)
        return self._intersection(expr, candidates)

    def _leaf(self, expr: DocsWith, candidates: float | None) -> DocsWith:
        n, count = self.corpus.n_documents, self.corpus.index.count(expr.gram.ids)
        if not len(expr.gram):
            return replace(expr, estimate=Estimate(n if candidates is None else candidates, count))
        share = 1 - math.exp(-count / n) if n else 0.0
        rows = share * (n if candidates is None else candidates)
        method = "locate" if not count or not self._scan(count, candidates) else "scan"
        return replace(expr, estimate=Estimate(min(rows, count), count, method))

    def _scan(self, count: int, candidates: float | None) -> bool:
        if self.costs is None:
            return False
        n = self.corpus.n_documents
        share = 1.0 if candidates is None else candidates / n if n else 0.0
        return self.costs.scan_ns * share * self.corpus.n_tokens < self.costs.locate_ns * count

    def _union(self, expr: UnionOf, candidates: float | None) -> UnionOf:
        operands = tuple(self.annotate(item, candidates) for item in expr.operands)
        whole = float(self.corpus.n_documents if candidates is None else candidates)
        missed = math.prod(1 - min(1.0, _rows(item) / whole) for item in operands) if whole else 1.0
        return replace(expr, operands=operands, estimate=Estimate(whole * (1 - missed)))

    def _intersection(self, expr: Intersection, candidates: float | None) -> Intersection:
        operands = list(expr.operands)
        if self.ordered:
            operands.sort(key=self._weight)
        left = candidates
        chosen: list[DocExpr] = []
        for operand in operands:
            operand = self.annotate(operand, left)
            left = _rows(operand)
            chosen.append(operand)
        estimate = Estimate(_rows(chosen[-1]) if chosen else 0)
        return replace(expr, operands=tuple(chosen), ordered=self.ordered, estimate=estimate)

    def _weight(self, expr: DocExpr) -> float:
        """At most how many occurrences have to be looked at: the sort key of AND's operands."""
        if isinstance(expr, DocsWith) and len(expr.gram):
            return self.corpus.index.count(expr.gram.ids)
        if isinstance(expr, UnionOf):
            return sum(map(self._weight, expr.operands))
        if isinstance(expr, Intersection):
            return min(map(self._weight, expr.operands), default=0)
        if isinstance(expr, NoDocs):
            return 0
        # A negation and "all documents" cut little away: they come after everything that selects.
        return math.inf


def _rows(expr: DocExpr) -> float:
    return 0.0 if expr.estimate is None else expr.estimate.rows
