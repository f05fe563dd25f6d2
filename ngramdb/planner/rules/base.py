"""What a rewrite rule is, and the walk over a plan's tree that most rules share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ngramdb.interrupts import check
from ngramdb.planner.plan import Node, Plan


@dataclass(frozen=True)
class Rule:
    """A rewrite that never changes an answer. `rewrite` gives an equal plan where it doesn't apply.

    `kinds` are nodes of which one must stand in a plan's tree for the rule to apply; none means that it
    is to be asked always.
    """

    name: str
    description: str
    rewrite: Callable[[Plan], Plan]
    kinds: frozenset[type[Node]] = frozenset()


def kinds_of(plan: Plan) -> set[type[Node]]:
    """The kinds of nodes in the plan's tree."""
    found: set[type[Node]] = set()
    tree = plan.tree()
    open_ = [] if tree is None else [tree]
    while open_:
        node = open_.pop()
        found.add(type(node))
        open_.extend(node.children())
    return found


def on_nodes(rewrite: Callable[[Any], Node]) -> Callable[[Plan], Plan]:
    """A plan rewrite that applies `rewrite` to every node of a plan's tree, those below before those above.

    A document expression is replaced by a document expression, an occurrence expression by one of its own.
    """

    def walk(node: Node) -> Node:
        # What doesn't change is handed on as it is: most rules do not apply to most conditions.
        check()
        children = node.children()
        if children:
            rewritten = tuple([walk(child) for child in children])
            for new, old in zip(rewritten, children, strict=True):
                if new is not old:
                    node = node.with_children(rewritten)
                    break
        return rewrite(node)

    def rewrite_plan(plan: Plan) -> Plan:
        tree = plan.tree()
        if tree is None:
            return plan
        rewritten = walk(tree)
        return plan if rewritten is tree else plan.with_tree(rewritten)

    return rewrite_plan
