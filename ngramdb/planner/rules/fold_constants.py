"""All documents and no documents vanish from conditions: `x AND nothing` is nothing, `NOT nothing` is all.

The empty n-gram is in every document. Occurrences in no document are none, near nothing there are none.
"""

from __future__ import annotations

from dataclasses import replace

from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    AllDocs,
    AnyOf,
    Complement,
    Constant,
    CountOccurrences,
    DocExpr,
    DocsOf,
    DocsWith,
    InDocs,
    Intersection,
    Nearby,
    NearTo,
    Node,
    NoDocs,
    Nowhere,
    Occurring,
    Plan,
    UnionOf,
)
from ngramdb.planner.rules.base import Rule, on_nodes


def _fold(expr: Node) -> Node:
    if isinstance(expr, Occurring):
        return _fold_occurrences(expr)
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
    if isinstance(expr, DocsOf) and isinstance(expr.what, Nowhere):
        return NoDocs(expr.what.reason)
    if isinstance(expr, Nearby):
        for operand in expr.operands:
            if isinstance(operand, Nowhere):
                return NoDocs(operand.reason)
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


def _fold_occurrences(expr: Occurring) -> Occurring:
    if isinstance(expr, InDocs):
        if isinstance(expr.docs, NoDocs):
            return Nowhere(expr.docs.reason)
        return expr.what if isinstance(expr.docs, AllDocs) or isinstance(expr.what, Nowhere) else expr
    if isinstance(expr, NearTo):
        return _fold_near(expr)
    if isinstance(expr, AnyOf):
        kept = tuple(operand for operand in expr.operands if not isinstance(operand, Nowhere))
        if not kept:
            return expr.operands[0]
        if len(kept) < len(expr.operands):
            return kept[0] if len(kept) == 1 else replace(expr, operands=kept)
    return expr


def _fold_near(expr: NearTo) -> Occurring:
    for operand in (expr.what, *expr.others):
        if isinstance(operand, Nowhere):
            return operand
    apart = tuple(operand for operand in expr.apart if not isinstance(operand, Nowhere))
    if not apart and not expr.others and expr.tokens is not None:
        return expr.what
    return expr if len(apart) == len(expr.apart) else replace(expr, apart=apart)


_fold_nodes = on_nodes(_fold)


def _fold_plan(plan: Plan) -> Plan:
    plan = _fold_nodes(plan)
    if isinstance(plan, CountOccurrences) and isinstance(plan.what, Nowhere) and plan.sample is None:
        return Constant(plan.corpus, COUNT_COLUMNS, ((0,),), plan.what.reason)
    return plan


FOLD_CONSTANTS = Rule("fold_constants", "drops operands that decide nothing or decide all", _fold_plan)
