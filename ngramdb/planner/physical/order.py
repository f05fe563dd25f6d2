"""The order of operands: what selects least comes first, and all else looks only at what it left.

Of n-grams the exact counts tell; conditions on fields are weighed by the work of reading their columns, so
that metadata come before frequent n-grams and behind rare ones.
"""

from __future__ import annotations

from ngramdb.planner.physical.estimating import Estimator
from ngramdb.planner.plan import InDocs, Intersection, Nearby, NearTo, Node, changed

ORDER_OPERANDS = "order_operands"


def in_order(node: Node, estimator: Estimator | None) -> Node:
    """The tree with operands in order, and marked, so that the executor may order them for each segment.

    It does so whatever their order is here: without an estimator they are marked only.
    """
    children = node.children()
    if children:
        ordered = tuple(in_order(child, estimator) for child in children)
        if any(new is not old for new, old in zip(ordered, children, strict=True)):
            node = node.with_children(ordered)
    if isinstance(node, (Intersection, Nearby)):
        if estimator is None:
            return changed(node, ordered=True)
        operands = tuple(sorted(node.operands, key=estimator.weight))
        return changed(node, operands=operands, ordered=True)
    return changed(node, ordered=True) if isinstance(node, (InDocs, NearTo)) else node
