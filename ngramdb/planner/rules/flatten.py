"""`(a AND b) AND c` is one conjunction of three; repeated operands count once; one operand needs no AND.

Flat conjunctions let the physical step order all operands at once. Of occurrences, an OR of ORs is one OR,
and restrictions of the same ones to documents become one.
"""

from __future__ import annotations

from dataclasses import replace

from ngramdb.planner.plan import AnyOf, DocExpr, InDocs, Intersection, NearTo, Node, Occurring, UnionOf
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
    """One OR without repetitions: of `x AND a OR x AND b` and of `x AND a OR x`, each x counts once."""
    flat: dict[Occurring, None] = {}
    for operand in expr.operands:
        flat.update(dict.fromkeys(operand.operands if isinstance(operand, AnyOf) else (operand,)))
    limits: dict[Occurring, list[DocExpr]] = {}
    for operand in flat:
        if isinstance(operand, InDocs):
            limits.setdefault(operand.what, []).append(operand.docs)
    kept: dict[Occurring, None] = {}
    for operand in flat:
        if isinstance(operand, (InDocs, NearTo)) and operand.what in flat:
            continue
        if isinstance(operand, InDocs) and len(limits[operand.what]) > 1:
            operand = InDocs(operand.what, UnionOf(tuple(limits[operand.what])))
        kept[operand] = None
    operands = tuple(kept)
    if len(operands) == 1:
        return operands[0]
    return expr if operands == expr.operands else replace(expr, operands=operands)


FLATTEN = Rule(
    "flatten",
    "merges nested ANDs and ORs and drops repeated operands",
    on_nodes(_flatten),
    frozenset((AnyOf, InDocs, Intersection, UnionOf)),
)
