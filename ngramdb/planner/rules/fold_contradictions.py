"""`x AND NOT x` matches no document, `x OR NOT x` is every document."""

from __future__ import annotations

from ngramdb.planner.plan import AllDocs, Complement, Intersection, Node, NoDocs, UnionOf
from ngramdb.planner.rules.base import Rule, on_nodes


def _fold(expr: Node) -> Node:
    if not isinstance(expr, (Intersection, UnionOf)):
        return expr
    negated = {operand.operand for operand in expr.operands if isinstance(operand, Complement)}
    both = [operand for operand in expr.operands if operand in negated]
    if not both:
        return expr
    if isinstance(expr, UnionOf):
        return AllDocs()
    return NoDocs(f"{both[0].label()} and its negation")


FOLD_CONTRADICTIONS = Rule(
    "fold_contradictions",
    "answers a condition joined with its own negation",
    on_nodes(_fold),
    frozenset((Complement,)),
)
