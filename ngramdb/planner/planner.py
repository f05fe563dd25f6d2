"""From a bound statement to the plan that runs: rules, then the physical step."""

from __future__ import annotations

from ngramdb.language import ast
from ngramdb.planner import physical
from ngramdb.planner.binder import Binder
from ngramdb.planner.parameters import Parameters
from ngramdb.planner.plan import ExplainPlan, Plan
from ngramdb.planner.rules import RULES, rewrite
from ngramdb.planner.source import Catalog


def rule_names() -> dict[str, str]:
    """Every rule and choice that `SET disabled_rules` can switch off, with what it does."""
    return {**{rule.name: rule.description for rule in RULES}, **physical.CHOICES}


def optimize(logical: Plan, disabled: frozenset[str] = frozenset()) -> tuple[Plan, tuple[str, ...]]:
    """The plan that runs, and the names of the rewrite rules that changed it."""
    rewritten, fired = rewrite(logical, disabled)
    return physical.choose(rewritten, disabled), fired


def make_plan(
    statement: ast.Statement, catalog: Catalog, parameters: Parameters | None = None, text: str | None = None
) -> Plan:
    """The plan of a statement.

    Parameters
    ----------
    statement : syntax tree
    catalog : what its names are bound to
    parameters : values of its placeholders
    text : the statement as it was written, for messages

    Raises
    ------
    BindError, PlanError
        A name that does not exist, a value that is missing or wrong; with the place in `text`.
    """
    binder = Binder(catalog, parameters, text)
    if isinstance(statement, ast.Explain):
        inner, fired = optimize(binder.bind(statement.statement), catalog.disabled_rules())
        return ExplainPlan(inner, statement.analyze, fired)
    return optimize(binder.bind(statement), catalog.disabled_rules())[0]
