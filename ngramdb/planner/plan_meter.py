"""What the nodes of a plan did when it was run: for EXPLAIN ANALYZE."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ngramdb.planner.plan import Actual, Node


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
