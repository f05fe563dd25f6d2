"""The common parts of the nodes of a plan's trees, and estimates and measurements of them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeVar

from ngramdb.late_dataclasses import dataclass

Changed = TypeVar("Changed")


def changed(node: Changed, **fields: Any) -> Changed:
    """Return the same node or plan with other values for some fields.

    Like `dataclasses.replace`, in a fifth of its time.
    """
    copy: Changed = object.__new__(type(node))
    copy.__dict__.update(node.__dict__)
    copy.__dict__.update(fields)
    return copy


@dataclass(frozen=True)
class Node:
    """A part of a plan that prints itself. The physical step sets `estimate`.

    Not an `ABC`, for all its abstract methods: `isinstance`, which rules and the executor call all the time,
    would take five times as long.
    """

    estimate: Estimate | None = field(default=None, compare=False, kw_only=True)

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""

    def children(self) -> tuple[Node, ...]:
        """Return the nodes below, in the order in which they are printed."""
        return ()

    def with_children(self, children: tuple[Any, ...]) -> Node:
        """Return the same node with other children, as many and of the same kinds."""
        return self

    def with_each(self, rewrite: Callable[[Any], Node]) -> Node:
        """Return the same node with every child rewritten; the node itself if none of them changes."""
        children = self.children()
        if children:
            rewritten = tuple([rewrite(child) for child in children])
            for new, old in zip(rewritten, children, strict=True):
                if new is not old:
                    return self.with_children(rewritten)
        return self

    def details(self) -> tuple[str, ...]:
        """Return further lines for EXPLAIN, below the label."""
        return ()


@dataclass(frozen=True)
class DocExpr(Node):
    """A set of documents: each is in or out (those for which it is unknown are out)."""

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""


@dataclass(frozen=True)
class Occurring(Node):
    """A multiset of occurrences, which are positions in documents."""

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""


# ---- estimates and measurements of nodes


@dataclass(frozen=True)
class Costs:
    """Costs that decide which method is chosen, in nanoseconds. Only their ratios matter."""

    # Locating one occurrence: a suffix-array entry, its document, a bit in a map. Measured 4.2–5.5 over 4 M
    # GPT-2 tokens.
    locate_ns: float = 5.0
    # Scanning one token of a candidate document: sequential, a vector at a time. Measured 0.25–0.28 if the
    # n-gram is mostly absent; less if it occurs early, which is not known beforehand.
    scan_ns: float = 0.25
    # Locating one occurrence among few candidates: most rows are elsewhere and are skipped.
    sift_ns: float = 1.25
    # Sorting one position, so that occurrences ascend; moving to a part of the text that is scanned.
    sort_ns: float = 6.0
    window_ns: float = 60.0


#: The default costs.
COSTS = Costs()


@dataclass(frozen=True)
class Estimate:
    """An estimate made before running: `count` is exact (None for compound nodes), `rows` is a guess.

    `method` is the access path; `order` is the order in which children are evaluated and printed.
    """

    rows: float
    count: int | None = None
    method: str | None = None
    # The unit of `rows`; an exact count of occurrences is enough.
    unit: str = "docs"
    order: tuple[int, ...] | None = None

    def label(self) -> str:
        parts = [] if self.count is None else [f"count {self.count:,}"]
        if self.count is None or self.unit == "docs":
            parts.append(f"~{round(self.rows):,} {self.unit}")
        if self.method:
            parts.append(self.method)
        return ", ".join(parts)


@dataclass()
class Actual:
    """Measurements of one node, summed over the segments: `calls` is the number of its evaluations.

    Times include those of operands; `probes` are searches in an index; `methods` and `orders` have the
    numbers of segments per access path, and per order of operands.
    """

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0
    probes: int = 0
    methods: dict[str, int] = field(default_factory=dict)
    orders: dict[tuple[int, ...], int] = field(default_factory=dict)

    def label(self, unit: str = "docs") -> str:
        """Format them for EXPLAIN ANALYZE; `unit` is the unit of the rows."""
        if not self.calls:
            return "never reached"
        parts = [f"actual {self.rows:,} {unit}", f"{self.seconds * 1e3:.3f} ms"]
        if self.probes:
            parts.append(f"{self.probes:,} probe{'' if self.probes == 1 else 's'}")
        parts.extend(f"{name} in {n:,} segment{'' if n == 1 else 's'}" for name, n in self.methods.items())
        return ", ".join(parts)


# ---- measurements while a plan runs, for EXPLAIN ANALYZE


class PlanMeter:
    """Measurements of each node of a plan, by the node's `id`, summed over segments."""

    def __init__(self) -> None:
        self.actual: dict[int, Actual] = {}
        self._running: set[int] = set()
        self._is_aside = False

    def of(self, node: Node) -> Actual:
        """Return the measurements of one node; within `aside` they are discarded."""
        if self._is_aside:
            return Actual()
        return self.actual.setdefault(id(node), Actual())

    @contextmanager
    def timed(self, node: Node) -> Iterator[Actual]:
        """Add a call and its time, that of operands included, to those of a node.

        A node may be timed within its own call, if a count is a sum over documents: only the outer call
        counts.
        """
        key = id(node)
        if key in self._running:
            yield Actual()
            return
        actual = self.of(node)
        started = time.perf_counter()
        actual.calls += 1
        self._running.add(key)
        try:
            yield actual
        finally:
            self._running.discard(key)
        actual.seconds += time.perf_counter() - started

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Suspend measurement during work that is not part of the answer."""
        before, self._is_aside = self._is_aside, True
        try:
            yield
        finally:
            self._is_aside = before

    def note(self, node: Node, method: str) -> None:
        """Count the use of a method for a node."""
        methods = self.of(node).methods
        methods[method] = methods.get(method, 0) + 1

    def order(self, node: Node, order: Sequence[int]) -> None:
        """Count an order in which a node's operands, by their numbers, were evaluated."""
        orders = self.of(node).orders
        orders[tuple(order)] = orders.get(tuple(order), 0) + 1
