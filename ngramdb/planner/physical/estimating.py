"""How much an expression is expected to give and to cost, over all segments, before it is run."""

from __future__ import annotations

import math
from dataclasses import replace

from ngramdb.patterns import Gram, Pattern, Variants
from ngramdb.planner.choices import pattern_bound
from ngramdb.planner.physical.explain_estimates import Choices
from ngramdb.planner.plan import (
    Among,
    AnyOf,
    Complement,
    Contrast,
    CountTest,
    DocExpr,
    DocsMatching,
    DocsOf,
    DocsWith,
    Estimate,
    FieldTest,
    InDocs,
    Intersection,
    Missing,
    Nearby,
    NearTo,
    Node,
    NoDocs,
    OccurrencesOf,
    Occurring,
    OverlapTest,
    Several,
    UnionOf,
    changed,
)
from ngramdb.planner.plan.nodes import COSTS, Costs
from ngramdb.source import Corpus

# Shares of the documents that conditions on fields are expected to select, without counting them. Those that
# System R used (Selinger et al. 1979, "Access path selection", table 1).
EQUAL_SHARE = 0.1
RANGE_SHARE = 1 / 3
# Tokens of a sentence.
SENTENCE = 25


class Estimator:
    """Counts and guesses for one corpus; every n-gram is counted once.

    Orders and access paths are as foreseen.
    """

    def __init__(self, corpus: Corpus, foreseen: Choices) -> None:
        self._corpus = corpus
        self._foreseen = foreseen
        self._counts: dict[Gram, int] = {}
        self._n = corpus.n_documents

    def count(self, pattern: Pattern) -> int:
        """At most how often a pattern occurs; exact for n-grams and variants."""
        return pattern_bound(pattern, self._count, self._corpus.n_tokens + self._corpus.n_documents)

    def _count(self, gram: Gram) -> int:
        found = self._counts.get(gram)
        if found is None:
            found = self._counts[gram] = int(self._corpus.index.count(gram.ids))
        return found

    # ---- estimates --------------------------------------------------------------------------------------

    def annotate(self, node: Node, candidates: float | None = None) -> Node:
        """The tree with estimates; `candidates` documents are left when it is reached (None: all)."""
        if isinstance(node, Occurring):
            return self._occurring(node)
        whole = float(self._n if candidates is None else candidates)
        if isinstance(node, DocsWith):
            return self._leaf(node, node.gram, candidates)
        if isinstance(node, (DocsMatching, CountTest)):
            return self._leaf(node, node.pattern, candidates)
        if isinstance(node, Intersection):
            return self._intersection(node, candidates)
        if isinstance(node, UnionOf):
            return self._union(node, candidates)
        if isinstance(node, Contrast):
            return node.with_children(tuple(map(self.annotate, node.children())))
        if isinstance(node, Complement):
            inner = self.annotate(node.operand, candidates)
            return replace(node.with_children((inner,)), estimate=Estimate(max(0.0, whole - _rows(inner))))
        if isinstance(node, (Nearby, DocsOf)):
            below = node.with_children(tuple(self.annotate(child) for child in node.children()))
            occurrences = min((_rows(child) for child in below.children()), default=0.0)
            estimate = self._estimate(node, min(occurrences, self._share(occurrences) * whole))
            return replace(below, estimate=estimate)
        return replace(node, estimate=Estimate(whole * self._selected(node)))

    def _selected(self, node: Node) -> float:
        """The share of documents that a condition without n-grams is expected to select."""
        if isinstance(node, NoDocs):
            return 0.0
        if isinstance(node, FieldTest):
            equal = not isinstance(node.predicate, Missing) and node.predicate.selects_few
            share = EQUAL_SHARE if equal else RANGE_SHARE
            return 1 - share if node.negated else share
        return RANGE_SHARE if isinstance(node, OverlapTest) else 1.0

    def _share(self, occurrences: float) -> float:
        """The share of documents that so many occurrences fall into, as if each document were as likely."""
        return 1 - math.exp(-occurrences / self._n) if self._n else 0.0

    def _leaf(self, node: DocExpr, pattern: Pattern, candidates: float | None) -> DocExpr:
        count = self.count(pattern)
        whole = self._n if candidates is None else candidates
        if isinstance(pattern, Gram) and not len(pattern):
            return replace(node, estimate=Estimate(whole, count))
        rows = min(self._share(count) * whole, count)
        if isinstance(node, CountTest):
            rows = whole - rows if node.holds(0) else rows
        exact = isinstance(pattern, (Gram, Variants))
        return replace(node, estimate=self._estimate(node, rows, count if exact else None))

    def _estimate(self, node: Node, rows: float, count: int | None = None, unit: str = "docs") -> Estimate:
        return Estimate(rows, count, self._foreseen.label(node), unit, self._foreseen.order(node))

    def _union(self, node: UnionOf, candidates: float | None) -> Node:
        operands = tuple(self.annotate(item, candidates) for item in node.operands)
        whole = float(self._n if candidates is None else candidates)
        missed = math.prod(1 - min(1.0, _rows(item) / whole) for item in operands) if whole else 1.0
        return replace(node.with_children(operands), estimate=Estimate(whole * (1 - missed)))

    def _intersection(self, node: Intersection, candidates: float | None) -> Node:
        left = candidates
        operands: list[Node] = list(node.operands)
        for i in self._foreseen.order(node) or range(len(operands)):
            operands[i] = self.annotate(operands[i], left)
            left = _rows(operands[i])
        return replace(node.with_children(tuple(operands)), estimate=self._estimate(node, left or 0.0))

    def _occurring(self, node: Occurring) -> Node:
        """Occurrences: exact for patterns, a guess for what is left of them in documents or near others."""
        if isinstance(node, OccurrencesOf):
            count = self.count(node.pattern)
            exact = isinstance(node.pattern, (Gram, Variants))
            return replace(node, estimate=Estimate(count, count if exact else None, unit="occurrences"))
        below = node.with_children(tuple(self.annotate(child) for child in node.children()))
        children = below.children()
        if isinstance(node, AnyOf):
            rows = sum(map(_rows, children))
        elif isinstance(node, Several):
            share = min(1.0, _rows(children[-1]) / self._n if self._n else 0.0)
            rows = sum(map(_rows, children[:-1])) * share
        elif isinstance(node, (Among, InDocs)):
            rows = _rows(children[0]) * min(1.0, _rows(children[1]) / self._n if self._n else 0.0)
        elif isinstance(node, NearTo):
            rows = _rows(children[0])
            tokens = max(1, self._corpus.n_tokens)
            window = SENTENCE if node.tokens is None else 2 * node.tokens + 1
            for other in children[1 : 1 + len(node.others)]:
                rows *= min(1.0, _rows(other) * window / tokens)
        else:
            rows = 0.0
        return replace(below, estimate=self._estimate(node, rows, unit="occurrences"))


def _rows(node: Node) -> float:
    return 0.0 if node.estimate is None else node.estimate.rows


# ---- The order of operands: what selects least comes first, and all else is asked only about what that left.


ORDER_OPERANDS = "order_operands"


def in_order(node: Node) -> Node:
    """The tree with operands marked, so that the executor orders them for each segment."""
    children = node.children()
    if children:
        ordered = tuple(map(in_order, children))
        if any(new is not old for new, old in zip(ordered, children, strict=True)):
            node = node.with_children(ordered)
    return changed(node, ordered=True) if isinstance(node, (InDocs, Intersection, Nearby, NearTo)) else node


# ---- Negation as difference: of x AND NOT y, the x in documents with y are taken off all.


NEGATION_AS_DIFFERENCE = "negation_as_difference"


def subtract_negations(node: Node) -> Node:
    """The tree with every restriction to documents free to be counted by what it leaves out."""
    children = node.children()
    if children:
        changed = tuple(map(subtract_negations, children))
        if any(new is not old for new, old in zip(changed, children, strict=True)):
            node = node.with_children(changed)
    return replace(node, difference=True) if isinstance(node, InDocs) else node


# ---- The choice between locating occurrences by the index and reading parts of the text for them.


SCAN_CANDIDATES = "scan_candidates"


def costs_of(disabled: frozenset[str]) -> Costs | None:
    """Return the costs that the executor weighs; None if it must always locate."""
    return None if SCAN_CANDIDATES in disabled else COSTS
