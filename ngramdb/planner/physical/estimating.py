"""How much an expression is expected to give and to cost, over all segments, before it is run."""

from __future__ import annotations

import math
from dataclasses import replace

from ngramdb.planner.plan import (
    AnyOf,
    Complement,
    Costs,
    CountTest,
    DocExpr,
    DocsMatching,
    DocsOf,
    DocsWith,
    Estimate,
    FieldTest,
    Gapped,
    Gram,
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
    Pattern,
    StoredText,
    UnionOf,
    Variants,
)
from ngramdb.planner.source import Corpus

# Shares of the documents that conditions on fields are expected to select: nobody counted them. Those that
# System R used (Selinger et al. 1979, "Access path selection", table 1).
EQUAL_SHARE = 0.1
RANGE_SHARE = 1 / 3
# Work of a condition on a field, in occurrences located, for each document; as the executor weighs it.
FIELD_WORK = 0.5
OVERLAP_WORK = 50.0


class Estimator:
    """Counts and guesses for one corpus; every n-gram is counted once."""

    def __init__(self, corpus: Corpus, costs: Costs | None) -> None:
        self._corpus = corpus
        self._costs = costs
        self._counts: dict[Gram, int] = {}
        self._n = corpus.n_documents

    def count(self, pattern: Pattern) -> int:
        """At most how often a pattern occurs; exact for n-grams and variants."""
        if isinstance(pattern, Gram):
            found = self._counts.get(pattern)
            if found is None:
                found = self._counts[pattern] = int(self._corpus.index.count(pattern.ids))
            return found
        if isinstance(pattern, Variants):
            return sum(w * self.count(gram) for w, gram in zip(pattern.weights, pattern.grams, strict=True))
        if isinstance(pattern, Gapped):
            return min(map(self.count, pattern.parts))
        assert isinstance(pattern, StoredText)
        whole = self._corpus.n_tokens + self._corpus.n_documents
        return min([whole, *(sum(map(self.count, clause)) for clause in pattern.needs)])

    def weight(self, node: Node) -> float:
        """At most how many occurrences have to be looked at: the sort key of operands."""
        if isinstance(node, DocsWith):
            return self.count(node.gram) if len(node.gram) else math.inf
        if isinstance(node, (DocsMatching, OccurrencesOf)):
            return self.count(node.pattern)
        if isinstance(node, CountTest):
            return math.inf if node.holds(0) else self.count(node.pattern)
        if isinstance(node, (UnionOf, AnyOf)):
            return sum(map(self.weight, node.operands))
        if isinstance(node, (Intersection, Nearby)):
            return min(map(self.weight, node.operands), default=0)
        if isinstance(node, (InDocs, NearTo, DocsOf)):
            return self.weight(node.what)
        if isinstance(node, FieldTest):
            return max(1.0, FIELD_WORK * self._n)
        if isinstance(node, OverlapTest):
            return max(1.0, OVERLAP_WORK * self._corpus.n_tokens)
        # A negation and "all documents" cut little away: they come after everything that selects.
        return 0 if isinstance(node, NoDocs) else math.inf

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
        if isinstance(node, Complement):
            inner = self.annotate(node.operand, candidates)
            return replace(node.with_children((inner,)), estimate=Estimate(max(0.0, whole - _rows(inner))))
        if isinstance(node, (Nearby, DocsOf)):
            below = node.with_children(tuple(self.annotate(child) for child in node.children()))
            occurrences = min((_rows(child) for child in below.children()), default=0.0)
            return replace(below, estimate=Estimate(min(occurrences, self._share(occurrences) * whole)))
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
        method = "locate"
        if isinstance(node, DocsWith) and count and self._scan(count, candidates):
            method = "scan"
        if isinstance(pattern, StoredText):
            method = "read stored text"
        return replace(node, estimate=Estimate(rows, count if exact else None, method))

    def _scan(self, count: int, candidates: float | None) -> bool:
        if self._costs is None:
            return False
        share = 1.0 if candidates is None else candidates / self._n if self._n else 0.0
        return self._costs.scan_ns * share * self._corpus.n_tokens < self._costs.locate_ns * count

    def _union(self, node: UnionOf, candidates: float | None) -> Node:
        operands = tuple(self.annotate(item, candidates) for item in node.operands)
        whole = float(self._n if candidates is None else candidates)
        missed = math.prod(1 - min(1.0, _rows(item) / whole) for item in operands) if whole else 1.0
        return replace(node.with_children(operands), estimate=Estimate(whole * (1 - missed)))

    def _intersection(self, node: Intersection, candidates: float | None) -> Node:
        left = candidates
        chosen: list[Node] = []
        for operand in node.operands:
            annotated = self.annotate(operand, left)
            left = _rows(annotated)
            chosen.append(annotated)
        estimate = Estimate(_rows(chosen[-1]) if chosen else 0)
        return replace(node.with_children(tuple(chosen)), estimate=estimate)

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
        elif isinstance(node, InDocs):
            rows = _rows(children[0]) * min(1.0, _rows(children[1]) / self._n if self._n else 0.0)
        elif isinstance(node, NearTo):
            rows = _rows(children[0])
            tokens = max(1, self._corpus.n_tokens)
            for other in children[1 : 1 + len(node.others)]:
                rows *= min(1.0, _rows(other) * (2 * node.tokens + 1) / tokens)
        else:
            rows = 0.0
        return replace(below, estimate=Estimate(rows, unit="occurrences"))


def _rows(node: Node) -> float:
    return 0.0 if node.estimate is None else node.estimate.rows
