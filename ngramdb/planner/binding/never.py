"""Tests of fields that hold of no document, whatever it has: what there is to say of them.

A comparison with NULL is unknown, and so is its negation; SQL agrees, and its users are surprised each time.
The rule `fold_fields` makes nothing of such tests; here is the sentence for the note on the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import isfinite

from ngramdb.planner import plan


def never_true(test: plan.FieldTest) -> str | None:
    """Why a test holds of no document, or of fewer than one may think; None where there is nothing to say."""
    predicate, field = test.predicate, test.name
    if isinstance(predicate, plan.Compared) and predicate.literal is None:
        return f"a comparison with NULL is never true; {_by_null(field, test.negated)}"
    if isinstance(predicate, plan.OneOf) and predicate.has_null:
        if test.negated:
            return f"{field} NOT IN (…, NULL) is never true, as in SQL; leave NULL out of the list"
        which = "(…, NULL) finds nothing by the NULL" if predicate.values else "(NULL) is never true"
        return f"{field} IN {which}; {_by_null(field)}"
    if isinstance(predicate, plan.InRange) and predicate.is_empty:
        return _not_in_range(predicate, field) if test.negated else _of_range(predicate, field)
    return None


def in_two_kinds(name: str, types: set[str], literals: Iterable[plan.Scalar | None]) -> str | None:
    """What to say of numbers, and texts that read as such, where a field has both: each meets its own kind.

    `types` are the `fields.scalar_types` of the field.

    A table as text, for one, has a column of numbers in one file and of texts in the next.
    """
    if not ("string" in types and types & {"int64", "float64"}):
        return None
    asked = [literal for literal in literals if _reads_as_number(literal)]
    if not asked or len({isinstance(literal, str) for literal in asked}) == 2:
        return None
    kind, other = ("text", "number") if isinstance(asked[0], str) else ("number", "text")
    shown = plan.show_value(asked[0])
    return f"{name} has values of several kinds: {shown} is a {kind} here, and meets no {other}"


def _reads_as_number(literal: plan.Scalar | None) -> bool:
    if isinstance(literal, str):
        with suppress(ValueError):
            return isfinite(float(literal))
        return False
    return isinstance(literal, int | float) and not isinstance(literal, bool)


def _of_range(predicate: plan.InRange, field: str) -> str:
    low, high = plan.show_value(predicate.low), plan.show_value(predicate.high)
    said = f"{field} BETWEEN {low} AND {high} is never true"
    if predicate.low is None or predicate.high is None:
        one = f"{field} {'<=' if predicate.low is None else '>='} …"
        return f"{said}, as in SQL; {one} has one bound only"
    if plan.kind_of(predicate.low) != plan.kind_of(predicate.high):
        return f"{said}: its bounds are a {plan.kind_of(predicate.low)} and a {plan.kind_of(predicate.high)}"
    return f"{said}: the lower bound comes first"


def _not_in_range(predicate: plan.InRange, field: str) -> str | None:
    """What NULL for a bound leaves out, where it stands for one."""
    low, high = predicate.low, predicate.high
    if low is not None and high is not None:
        return None
    said = f"NOT {field} BETWEEN {plan.show_value(low)} AND {plan.show_value(high)}"
    if predicate.is_unknown:
        return f"{said} is never true; {_by_null(field, True)}"
    side = f"up to {plan.show_value(high)}" if low is None else f"from {plan.show_value(low)} on"
    return f"{said} is true of no value {side}, as in SQL"


def _by_null(field: str, negated: bool = False) -> str:
    which = "that have the field" if negated else "without the field"
    return f"{field} IS {'NOT ' if negated else ''}NULL finds documents {which}"
