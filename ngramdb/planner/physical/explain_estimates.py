"""What the executor is going to choose on each segment: the order of operands, and access paths.

It asks `planner.choices`, as the executor does, with the same counts. How many candidates will be left for an
n-gram is not known before, so its access path is foreseen for each number that there can be.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ngramdb.patterns import Gram
from ngramdb.planner import choices
from ngramdb.planner.choices import LOCATE, SCAN, Leaf
from ngramdb.planner.plan import (
    AllDocs,
    Among,
    Complement,
    Contrast,
    Costs,
    CountTest,
    DocExpr,
    DocsMatching,
    DocsOf,
    DocsWith,
    InDocs,
    Intersection,
    Nearby,
    NearTo,
    Node,
    Occurring,
    Several,
    UnionOf,
)
from ngramdb.segments.base import Segment

# More descriptions of one node are summed up.
MOST_DESCRIPTIONS = 3


class GramPath(NamedTuple):
    """The access path of an n-gram: SCAN for numbers of candidates in one of these ranges, ends included."""

    scanned: tuple[tuple[int, int], ...]
    most: int

    def at(self, n_candidates: int) -> str:
        """The path among so many candidates."""
        return SCAN if any(low <= n_candidates <= high for low, high in self.scanned) else LOCATE

    def label(self) -> str:
        """The path, and where it depends, on what."""
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
    """What is chosen for the nodes of a tree, by their `id`, a description per segment.

    `spared` has the order of operands that are not evaluated, since one does not occur in the segment.
    """

    orders: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    spared: dict[int, tuple[int, ...]] = field(default_factory=dict)
    paths: dict[int, list[GramPath | str]] = field(default_factory=dict)

    def order(self, node: Node) -> tuple[int, ...] | None:
        """The order of a node's operands in most segments; None where no segment comes to it."""
        orders = self.orders.get(id(node))
        return self.spared.get(id(node)) if orders is None else Counter(orders).most_common(1)[0][0]

    def label(self, node: Node) -> str | None:
        """The access path; where another order than the usual one is taken, that order, too."""
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
    """The choices for a tree on every segment. Cost: a search per n-gram and segment."""
    found = Choices()
    for segment in segments:
        foresight = _Foresight(SegmentSizes(segment), costs, found)
        if isinstance(tree, DocExpr):
            foresight.among_all(tree)
        elif isinstance(tree, Occurring):
            foresight.occurring(tree)
    return found


class SegmentSizes:
    """The exact counts of a segment; every n-gram is looked up once."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._counts: dict[Gram, int] = {}
        self.n_documents = segment.n_documents
        self.n_tokens = segment.index.n_tokens

    def bound(self, leaf: Leaf) -> int:
        """At most how many occurrences the node's pattern has."""
        return choices.pattern_bound(choices.pattern_of(leaf), self._count, self.n_tokens + self.n_documents)

    def is_parsed(self, path: str) -> bool:
        """Whether the values of a metadata field must be parsed one by one."""
        return choices.is_parsed(self._segment.metadata, path)

    def _count(self, gram: Gram) -> int:
        found = self._counts.get(gram)
        if found is None:
            lo, hi = self._segment.index.find(gram.ids) if gram.known else (0, 0)
            found = self._counts[gram] = hi - lo
        return found


class _Foresight:
    """Walks a tree as the executor does, on one segment."""

    def __init__(self, sizes: SegmentSizes, costs: Costs | None, found: Choices) -> None:
        self._sizes = sizes
        self._costs = costs
        self._found = found

    def among_all(self, expr: DocExpr) -> bool:
        """Foresees an evaluation on all documents; returns whether its answer is a set that is left out."""
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
        """Foresees an evaluation on at most so many candidates."""
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
        """Foresees the evaluation of an occurrence expression, wherever it is looked for."""
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
    """The access path of an n-gram for every number of candidates from 1 to `most`.

    Scanning is chosen below a limit, and below another one where candidates are few: two binary searches.
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
