"""All documents and no documents vanish from conditions: `x AND nothing` is nothing, `NOT nothing` is all.

The empty n-gram is in every document.
"""

from __future__ import annotations

from dataclasses import replace

from ngramdb.planner.plan import AllDocs, Complement, DocExpr, DocsWith, Intersection, NoDocs, UnionOf
from ngramdb.planner.rules.base import Rule, on_documents


def _fold(expr: DocExpr) -> DocExpr:
    if isinstance(expr, DocsWith) and not len(expr.gram):
        return AllDocs()
    if isinstance(expr, Complement):
        if isinstance(expr.operand, NoDocs):
            return AllDocs()
        if isinstance(expr.operand, AllDocs):
            return NoDocs("NOT of all documents")
    if isinstance(expr, Intersection):
        return _fold_operands(expr, absorbing=NoDocs, neutral=AllDocs)
    if isinstance(expr, UnionOf):
        return _fold_operands(expr, absorbing=AllDocs, neutral=NoDocs)
    return expr


def _fold_operands(expr: Intersection | UnionOf, absorbing: type[DocExpr], neutral: type[DocExpr]) -> DocExpr:
    for operand in expr.operands:
        if isinstance(operand, absorbing):
            return operand
    kept = tuple(operand for operand in expr.operands if not isinstance(operand, neutral))
    if len(kept) == len(expr.operands):
        return expr
    if not kept:
        return expr.operands[0]
    return kept[0] if len(kept) == 1 else replace(expr, operands=kept)


FOLD_CONSTANTS = Rule(
    "fold_constants", "drops operands that decide nothing or decide all", on_documents(_fold)
)
