"""`(a AND b) AND c` is one conjunction of three; repeated operands count once; one operand needs no AND.

Flat conjunctions let the physical step order all operands at once. Of occurrences, a sum of sums is one sum
(but operands that repeat in it stay: each counts), and restrictions to documents become one.
"""

from __future__ import annotations

from dataclasses import replace

from ngramdb.planner.plan import AnyOf, InDocs, Intersection, Node, Occurring, UnionOf
from ngramdb.planner.rules.base import Rule, on_nodes


def _flatten(expr: Node) -> Node:
    if isinstance(expr, AnyOf):
        return _flatten_sum(expr)
    if isinstance(expr, InDocs) and isinstance(expr.what, InDocs):
        return replace(expr, what=expr.what.what, docs=Intersection((expr.what.docs, expr.docs)))
    if not isinstance(expr, (Intersection, UnionOf)):
        return expr
    flat: dict[Node, None] = {}
    for operand in expr.operands:
        inner = operand.operands if isinstance(operand, type(expr)) else (operand,)
        flat.update(dict.fromkeys(inner))
    operands = tuple(flat)
    if len(operands) == 1:
        return operands[0]
    return expr if operands == expr.operands else expr.with_children(operands)


def _flatten_sum(expr: AnyOf) -> Node:
    if not any(isinstance(operand, AnyOf) for operand in expr.operands):
        return expr
    operands: list[Occurring] = []
    for operand in expr.operands:
        operands.extend(operand.operands if isinstance(operand, AnyOf) else (operand,))
    return replace(expr, operands=tuple(operands))


FLATTEN = Rule(
    "flatten",
    "merges nested ANDs and ORs and drops repeated operands",
    on_nodes(_flatten),
    frozenset((AnyOf, InDocs, Intersection, UnionOf)),
)
