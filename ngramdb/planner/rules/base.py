"""What a rewrite rule is, and the walk over document expressions that most rules share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ngramdb.planner.plan import (
    Complement,
    CountDocuments,
    DocExpr,
    Documents,
    Intersection,
    Plan,
    UnionOf,
)


@dataclass(frozen=True)
class Rule:
    """A rewrite that never changes an answer. `rewrite` gives an equal plan where it doesn't apply."""

    name: str
    description: str
    rewrite: Callable[[Plan], Plan]


def on_documents(rewrite: Callable[[DocExpr], DocExpr]) -> Callable[[Plan], Plan]:
    """A plan rewrite that applies `rewrite` to every document expression, operands before what holds them."""

    def walk(expr: DocExpr) -> DocExpr:
        # What doesn't change is handed on as it is: most rules have nothing to say about most conditions.
        if isinstance(expr, Complement):
            operand = walk(expr.operand)
            return rewrite(expr if operand is expr.operand else replace(expr, operand=operand))
        if isinstance(expr, (Intersection, UnionOf)):
            operands = tuple(walk(item) for item in expr.operands)
            same = all(new is old for new, old in zip(operands, expr.operands, strict=True))
            return rewrite(expr if same else replace(expr, operands=operands))
        return rewrite(expr)

    def rewrite_plan(plan: Plan) -> Plan:
        if isinstance(plan, (Documents, CountDocuments)):
            where = walk(plan.where)
            return plan if where is plan.where else replace(plan, where=where)
        return plan

    return rewrite_plan
