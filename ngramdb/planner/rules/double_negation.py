"""`NOT NOT x` is x."""

from __future__ import annotations

from ngramdb.planner.plan import Complement, Node
from ngramdb.planner.rules.base import Rule, on_nodes


def _undo(expr: Node) -> Node:
    if isinstance(expr, Complement) and isinstance(expr.operand, Complement):
        return expr.operand.operand
    return expr


DOUBLE_NEGATION = Rule(
    "double_negation",
    "takes NOT NOT away",
    on_nodes(_undo),
    frozenset((Complement,)),
)
