"""What the nodes of a plan did when it was run: for EXPLAIN ANALYZE."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ngramdb.planner.plan import Actual, Node


class Meter:
    """What each node of a plan did, by the node's `id`, summed over segments."""

    def __init__(self) -> None:
        self.actual: dict[int, Actual] = {}

    def of(self, node: Node) -> Actual:
        """The figures of one node."""
        return self.actual.setdefault(id(node), Actual())

    @contextmanager
    def timed(self, node: Node) -> Iterator[Actual]:
        """Adds a call and its time, that of operands included, to a node's figures."""
        actual = self.of(node)
        started = time.perf_counter()
        actual.calls += 1
        yield actual
        actual.seconds += time.perf_counter() - started

    def note(self, node: Node, method: str) -> None:
        """Counts a method that was used for a node."""
        methods = self.of(node).methods
        methods[method] = methods.get(method, 0) + 1

    def order(self, node: Node, order: Sequence[int]) -> None:
        """Counts an order in which a node's operands, by their numbers, were evaluated."""
        orders = self.of(node).orders
        orders[tuple(order)] = orders.get(tuple(order), 0) + 1
