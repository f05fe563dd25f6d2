"""What the nodes of a plan's trees have in common."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeVar

from ngramdb.late_dataclasses import dataclass

Changed = TypeVar("Changed")


def changed(node: Changed, **fields: Any) -> Changed:
    """The same node or plan with other values for some fields.

    Does what `dataclasses.replace` does, in a fifth of its time.
    """
    copy: Changed = object.__new__(type(node))
    copy.__dict__.update(node.__dict__)
    copy.__dict__.update(fields)
    return copy


@dataclass(frozen=True)
class Node:
    """A part of a plan that prints itself. `estimate` is filled in by the physical step.

    Not an `ABC`, for all its abstract methods: to ask for the kind of a node, as rules and the executor do
    all the time, would take five times as long.
    """

    estimate: Estimate | None = field(default=None, compare=False, kw_only=True)

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""

    def children(self) -> tuple[Node, ...]:
        """The nodes below, in the order in which they are printed."""
        return ()

    def with_children(self, children: tuple[Any, ...]) -> Node:
        """The same node above other children, of which there are as many, of the same kinds."""
        return self

    def details(self) -> tuple[str, ...]:
        """Further lines for EXPLAIN, below the label."""
        return ()


@dataclass(frozen=True)
class DocExpr(Node):
    """Which documents: every one is in or out (what is unknown is out)."""

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""


@dataclass(frozen=True)
class Occurring(Node):
    """Which occurrences: places in documents, each as often as it is counted."""

    @abstractmethod
    def label(self) -> str:
        """One line for EXPLAIN."""


# ---- What a plan's nodes are expected to cost and give, and what they did cost and give.


@dataclass(frozen=True)
class Costs:
    """What the choice of a method weighs, in nanoseconds. Only the ratio matters."""

    # Locating one occurrence: a suffix-array entry, its document, a bit in a map. Measured 4.2–5.5 over 4 M
    # GPT-2 tokens.
    locate_ns: float = 5.0
    # Scanning one token of a candidate document: sequential, a vector at a time. Measured 0.25–0.28 where the
    # n-gram is mostly absent; less where it is found early, which is not known beforehand.
    scan_ns: float = 0.25
    # Locating one occurrence among few candidates: rows that stand elsewhere, most of them, are passed over.
    sift_ns: float = 1.25
    # Sorting one position, so that occurrences ascend; and going to a part of the text that is to be scanned.
    sort_ns: float = 6.0
    window_ns: float = 60.0


#: Those that plans are made with.
COSTS = Costs()


@dataclass(frozen=True)
class Estimate:
    """What is known before running: `count` is exact (None for compound nodes), `rows` is a guess.

    `method` is the access path; `order` is in which order children are evaluated, and so printed.
    """

    rows: float
    count: int | None = None
    method: str | None = None
    # What the rows are; an exact count of occurrences is enough.
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
    """What one node did, summed over the segments: `calls` is in how many it was evaluated.

    Times include those of operands; `probes` are searches in an index; `methods` and `orders` count the
    segments that used an access path, and an order of operands.
    """

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0
    probes: int = 0
    methods: dict[str, int] = field(default_factory=dict)
    orders: dict[tuple[int, ...], int] = field(default_factory=dict)

    def label(self, unit: str = "docs") -> str:
        """As EXPLAIN ANALYZE prints it; `unit` is what the rows are."""
        if not self.calls:
            return "never reached"
        parts = [f"actual {self.rows:,} {unit}", f"{self.seconds * 1e3:.3f} ms"]
        if self.probes:
            parts.append(f"{self.probes:,} probe{'' if self.probes == 1 else 's'}")
        parts.extend(f"{name} in {n:,} segment{'' if n == 1 else 's'}" for name, n in self.methods.items())
        return ", ".join(parts)


# ---- What the nodes of a plan did when it was run: for EXPLAIN ANALYZE.


class PlanMeter:
    """What each node of a plan did, by the node's `id`, summed over segments."""

    def __init__(self) -> None:
        self.actual: dict[int, Actual] = {}
        self._running: set[int] = set()
        self._is_aside = False

    def of(self, node: Node) -> Actual:
        """The numbers of one node; within `aside` they are discarded."""
        if self._is_aside:
            return Actual()
        return self.actual.setdefault(id(node), Actual())

    @contextmanager
    def timed(self, node: Node) -> Iterator[Actual]:
        """Add a call and its time, that of operands included, to those of a node.

        A node may be timed within its own call, where a count is a sum over documents: only the outer call
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
        """Leave the numbers of the nodes as they are, for work on what does not belong to the answer."""
        before, self._is_aside = self._is_aside, True
        try:
            yield
        finally:
            self._is_aside = before

    def note(self, node: Node, method: str) -> None:
        """Count a method that was used for a node."""
        methods = self.of(node).methods
        methods[method] = methods.get(method, 0) + 1

    def order(self, node: Node, order: Sequence[int]) -> None:
        """Count an order in which a node's operands, by their numbers, were evaluated."""
        orders = self.of(node).orders
        orders[tuple(order)] = orders.get(tuple(order), 0) + 1
