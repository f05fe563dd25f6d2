"""Conditions on fields that no value can meet, or that every document meets.

`year BETWEEN 2020 AND 2010`, a comparison with NULL and `length < 0` select no document, `doc_id >= 0`
selects every one.
"""

from __future__ import annotations

from ngramdb.planner.plan import AllDocs, Compared, FieldTest, InRange, Node, NoDocs, OneOf
from ngramdb.planner.rules.base import Rule, on_nodes


def _fold(expr: Node) -> Node:
    if not isinstance(expr, FieldTest):
        return expr
    predicate = expr.predicate
    if predicate.is_unknown:
        return NoDocs("nothing can be said of a comparison with NULL")
    if isinstance(predicate, Compared):
        return _fold_own(expr, predicate) if expr.own else expr
    if expr.negated:
        # Without a NULL among them, what is not met by any value is still unknown of documents without one.
        return NoDocs("NOT IN is never true with NULL in the list") if _has_null(predicate) else expr
    if isinstance(predicate, OneOf) and not predicate.values:
        return NoDocs("no value is in an empty list")
    if isinstance(predicate, InRange) and predicate.is_empty:
        return NoDocs(f"nothing is {predicate.label(expr.path).removeprefix(expr.path).strip()}")
    return expr


def _has_null(predicate: object) -> bool:
    return isinstance(predicate, OneOf) and predicate.has_null


def _fold_own(expr: FieldTest, predicate: Compared) -> Node:
    """doc_id and length are whole numbers, never negative and never missing."""
    literal = predicate.literal
    if not isinstance(literal, (int, float)) or isinstance(literal, bool):
        return expr
    outcomes = {
        "<": False if literal <= 0 else None,
        "<=": False if literal < 0 else None,
        ">": True if literal < 0 else None,
        ">=": True if literal <= 0 else None,
        "=": False if literal < 0 else None,
    }
    found = outcomes[predicate.operator]
    if found is None:
        return expr
    if found != expr.negated:
        return AllDocs()
    return NoDocs(f"{expr.path} is never below 0")


FOLD_FIELDS = Rule(
    "fold_fields",
    "answers conditions on fields that hold of no document or of all",
    on_nodes(_fold),
    frozenset((FieldTest,)),
)
