"""`(a AND b) AND c` is one conjunction of three; repeated operands count once; one operand needs no AND.

Flat conjunctions let the physical step order all operands at once.
"""

from __future__ import annotations

from dataclasses import replace

from ngramdb.planner.plan import DocExpr, Intersection, UnionOf
from ngramdb.planner.rules.base import Rule, on_documents


def _flatten(expr: DocExpr) -> DocExpr:
    if not isinstance(expr, (Intersection, UnionOf)):
        return expr
    flat: dict[DocExpr, None] = {}
    for operand in expr.operands:
        inner = operand.operands if isinstance(operand, type(expr)) else (operand,)
        flat.update(dict.fromkeys(inner))
    operands = tuple(flat)
    if len(operands) == 1:
        return operands[0]
    return expr if operands == expr.operands else replace(expr, operands=operands)


FLATTEN = Rule("flatten", "merges nested ANDs and ORs and drops repeated operands", on_documents(_flatten))
