"""Estimates for EXPLAIN, for each segment: orders of operands, access paths, and numbers of rows.

The executor chooses for each segment by the functions of `planner.choices`, from its exact counts; `foresee`
calls the same functions with the same counts. How many candidates are left when an n-gram is reached is not
known in advance, so that its access path is predicted for every possible number. A count takes about a
microsecond, so that all n-grams are counted. Two things are guesses: how many documents the occurrences are
in (as if spread at random), and how conditions overlap (as if independent).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ngramdb.patterns import Gram, Pattern, Variants
from ngramdb.planner import choices
from ngramdb.planner.choices import LOCATE, SCAN, Leaf, pattern_bound
from ngramdb.planner.plan import (
    AllDocs,
    Among,
    AnyOf,
    Complement,
    Contrast,
    Costs,
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
)
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus

# Nodes with more different descriptions are summarized.
MOST_DESCRIPTIONS = 3
# Expected shares of the documents that conditions on fields select, which are not counted: those of System R
# (Selinger et al. 1979, "Access path selection", table 1).
EQUAL_SHARE = 0.1
RANGE_SHARE = 1 / 3
# Expected tokens per sentence.
SENTENCE = 25


# ---- choices --------------------------------------------------------------------------------------------


class GramPath(NamedTuple):
    """The access path of an n-gram: SCAN for numbers of candidates in one of these ranges, ends included."""

    scanned: tuple[tuple[int, int], ...]
    most: int

    def at(self, n_candidates: int) -> str:
        """Return the path for a number of candidates."""
        return SCAN if any(low <= n_candidates <= high for low, high in self.scanned) else LOCATE

    def label(self) -> str:
        """Return the path, with its condition if it depends on the candidates."""
        if not self.scanned:
            return LOCATE
        if self.scanned == ((1, self.most),):
            return SCAN
        ranges = " or ".join(
            f"{low:,} to {high:,}" if low < high else f"{low:,}" for low, high in self.scanned
        )
        return f"{SCAN} {ranges} docs, else {LOCATE}"


@dataclass
class Choices:
    """The choices for the nodes of a tree, by their `id`, with a description per segment.

    `spared` has the order of operands that are not evaluated because one does not occur in the segment.
    """

    orders: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    spared: dict[int, tuple[int, ...]] = field(default_factory=dict)
    paths: dict[int, list[GramPath | str]] = field(default_factory=dict)

    def order(self, node: Node) -> tuple[int, ...] | None:
        """Return the order of a node's operands in most segments; None if no segment reaches it."""
        orders = self.orders.get(id(node))
        return self.spared.get(id(node)) if orders is None else Counter(orders).most_common(1)[0][0]

    def label(self, node: Node) -> str | None:
        """Return the access path, and the number of segments with another order than the usual one."""
        found = self.paths.get(id(node), ())
        labels = [path if isinstance(path, str) else path.label() for path in found]
        if len(set(labels)) > MOST_DESCRIPTIONS:
            labels = [label if label in (SCAN, LOCATE) else f"{SCAN} or {LOCATE}" for label in labels]
        parts = [labels[0]] if len(set(labels)) == 1 else _counted(labels)
        usual = self.order(node)
        others = [order for order in self.orders.get(id(node), ()) if order != usual]
        if others:
            n = len(others)
            parts.append(f"another order in {n:,} segment{'' if n == 1 else 's'}")
        return ", ".join(parts) or None


def _counted(labels: list[str]) -> list[str]:
    counts = Counter(labels).items()
    return [f"{label} in {n:,} segment{'' if n == 1 else 's'}" for label, n in counts]


def foresee(tree: Node, segments: Iterable[Segment], costs: Costs | None) -> Choices:
    """Return the choices for a tree on every segment. Cost: a search per n-gram and segment."""
    found = Choices()
    for segment in segments:
        foresight = _Foresight(SegmentSizes(segment), costs, found)
        if isinstance(tree, DocExpr):
            foresight.among_all(tree)
        elif isinstance(tree, Occurring):
            foresight.occurring(tree)
    return found


class SegmentSizes:
    """The exact counts of a segment; each n-gram is looked up once."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._counts: dict[Gram, int] = {}
        self.n_documents = segment.n_documents
        self.n_tokens = segment.index.n_tokens

    def bound(self, leaf: Leaf) -> int:
        """Return an upper bound of the occurrences of the node's pattern."""
        return choices.pattern_bound(choices.pattern_of(leaf), self._count, self.n_tokens + self.n_documents)

    def is_parsed(self, path: str) -> bool:
        """Return True if the values of a metadata field must be parsed one by one."""
        return choices.is_parsed(self._segment.metadata, path)

    def _count(self, gram: Gram) -> int:
        found = self._counts.get(gram)
        if found is None:
            lo, hi = self._segment.index.find(gram.ids) if gram.known else (0, 0)
            found = self._counts[gram] = hi - lo
        return found


class _Foresight:
    """Walk a tree on one segment, as the executor does."""

    def __init__(self, sizes: SegmentSizes, costs: Costs | None, found: Choices) -> None:
        self._sizes = sizes
        self._costs = costs
        self._found = found

    def among_all(self, expr: DocExpr) -> bool:
        """Predict an evaluation on all documents; return True if the result is stored as its complement."""
        if isinstance(expr, DocsWith):
            if not len(expr.gram):
                return True
            n = self._sizes.n_documents
            if n and self._sizes.bound(expr):
                self._path(expr, choices.gram_path(self._costs, self._sizes.bound(expr), n, self._sizes))
            return False
        if isinstance(expr, Intersection):
            return self._intersection(expr)
        if isinstance(expr, Complement):
            return not self.among_all(expr.operand)
        if isinstance(expr, Contrast):
            for child in expr.children():
                self.among_all(child)  # type: ignore[arg-type]
            return False
        if isinstance(expr, UnionOf):
            left_out = list(map(self.among_all, expr.operands))
            return any(left_out)
        self._leaf(expr, among_candidates=False)
        return isinstance(expr, AllDocs) or (isinstance(expr, CountTest) and expr.holds(0))

    def _intersection(self, expr: Intersection) -> bool:
        order = choices.order_of(expr, self._sizes)
        if order.is_empty:
            self._found.spared.setdefault(id(expr), tuple(order.numbers))
            return False
        self._order(expr, order.numbers)
        operands = [expr.operands[i] for i in order.numbers]
        left_out, most = True, self._sizes.n_documents
        for operand in operands:
            if left_out:
                left_out = self.among_all(operand)
            else:
                self._among(operand, most)
            most = min(most, choices.most_documents(operand, self._sizes))
        return left_out

    def _among(self, expr: DocExpr, most: int) -> None:
        """Predict an evaluation on at most `most` candidates."""
        if isinstance(expr, DocsWith):
            n = self._sizes.bound(expr) if len(expr.gram) else 0
            if n and most:
                self._path(expr, gram_paths(self._costs, n, most, self._sizes))
        elif isinstance(expr, Intersection):
            order = choices.order_of(expr, self._sizes).numbers
            self._order(expr, order)
            for i in order:
                self._among(expr.operands[i], most)
                most = min(most, choices.most_documents(expr.operands[i], self._sizes))
        elif isinstance(expr, UnionOf):
            for operand in expr.operands:
                self._among(operand, most)
        elif isinstance(expr, Complement):
            self._among(expr.operand, most)
        else:
            self._leaf(expr, among_candidates=True)

    def _leaf(self, expr: DocExpr, among_candidates: bool) -> None:
        if isinstance(expr, (DocsMatching, CountTest)):
            path = choices.pattern_path(expr.pattern, among_candidates)
            if path is not None and self._sizes.bound(expr):
                self._path(expr, path)
        elif isinstance(expr, Nearby):
            self._order(expr, choices.order_of(expr, self._sizes).numbers)
            for operand in expr.operands:
                self.occurring(operand)
        elif isinstance(expr, DocsOf):
            self.occurring(expr.what)

    def occurring(self, expr: Occurring) -> None:
        """Predict the evaluation of an occurrence expression."""
        if isinstance(expr, InDocs):
            path = choices.in_docs_path(expr, self._sizes)
            self._path(expr, path)
            if path == choices.OCCURRENCES_FIRST:
                self._among(expr.docs, min(self._sizes.n_documents, choices.bound(expr.what, self._sizes)))
            else:
                self.among_all(expr.docs)
            self.occurring(expr.what)
        elif isinstance(expr, (Among, Several)):
            self.among_all(expr.docs)
            for child in expr.children():
                if isinstance(child, Occurring):
                    self.occurring(child)
        else:
            if isinstance(expr, NearTo):
                self._order(expr, choices.near_order_of(expr, self._sizes))
            for child in expr.children():
                if isinstance(child, Occurring):
                    self.occurring(child)

    def _order(self, node: Node, order: list[int]) -> None:
        self._found.orders.setdefault(id(node), []).append(tuple(order))

    def _path(self, node: Node, path: GramPath | str) -> None:
        self._found.paths.setdefault(id(node), []).append(path)


def gram_paths(costs: Costs | None, n_occurrences: int, most: int, extent: choices.Extent) -> GramPath:
    """Return the access path of an n-gram for every number of candidates from 1 to `most`.

    Scanning is chosen below a limit, which is another one if candidates are few: two binary searches.
    """

    def locates(n_candidates: int) -> bool:
        return choices.gram_path(costs, n_occurrences, n_candidates, extent) == LOCATE

    few = min(most, extent.n_documents // choices.FEW)
    scanned: list[tuple[int, int]] = []
    for start, stop in ((1, few + 1), (few + 1, most + 1)):
        end = start + bisect_left(range(start, stop), True, key=locates)
        if start == end:
            continue
        if scanned and scanned[-1][1] == start - 1:
            scanned[-1] = (scanned[-1][0], end - 1)
        else:
            scanned.append((start, end - 1))
    return GramPath(tuple(scanned), most)


# ---- rows -----------------------------------------------------------------------------------------------


class Estimator:
    """Counts and guesses for one corpus; each n-gram is counted once.

    Orders and access paths are those of `foresee`.
    """

    def __init__(self, corpus: Corpus, foreseen: Choices) -> None:
        self._corpus = corpus
        self._foreseen = foreseen
        self._counts: dict[Gram, int] = {}
        self._n = corpus.n_documents

    def count(self, pattern: Pattern) -> int:
        """Return an upper bound of a pattern's occurrences; exact for n-grams and variants."""
        return pattern_bound(pattern, self._count, self._corpus.n_tokens + self._corpus.n_documents)

    def _count(self, gram: Gram) -> int:
        found = self._counts.get(gram)
        if found is None:
            found = self._counts[gram] = int(self._corpus.index.count(gram.ids))
        return found

    def annotate(self, node: Node, candidates: float | None = None) -> Node:
        """Return the tree with estimates; `candidates` documents are left when it is reached (None: all)."""
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
        """Return the expected share of documents that a condition without n-grams selects."""
        if isinstance(node, NoDocs):
            return 0.0
        if isinstance(node, FieldTest):
            equal = not isinstance(node.predicate, Missing) and node.predicate.selects_few
            share = EQUAL_SHARE if equal else RANGE_SHARE
            return 1 - share if node.negated else share
        return RANGE_SHARE if isinstance(node, OverlapTest) else 1.0

    def _share(self, occurrences: float) -> float:
        """Return the expected share of documents with an occurrence, if all documents are equally likely."""
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
        """Estimate occurrences: exact for patterns, a guess for those in documents or near others."""
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
