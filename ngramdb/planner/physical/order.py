"""The order of operands: what selects least comes first, and all else is asked only about what that left.

The order follows from exact counts, segment by segment (`planner.choices`); here it is only allowed.
"""

from __future__ import annotations

from ngramdb.planner.plan import InDocs, Intersection, Nearby, NearTo, Node, changed

ORDER_OPERANDS = "order_operands"


def in_order(node: Node) -> Node:
    """The tree with operands marked, so that the executor orders them for each segment."""
    children = node.children()
    if children:
        ordered = tuple(map(in_order, children))
        if any(new is not old for new, old in zip(ordered, children, strict=True)):
            node = node.with_children(ordered)
    return changed(node, ordered=True) if isinstance(node, (InDocs, Intersection, Nearby, NearTo)) else node
