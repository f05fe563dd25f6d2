"""From a bound statement to the plan that runs: rules, then the physical step."""

from __future__ import annotations

from dataclasses import replace

from ngramdb.language import ast
from ngramdb.planner import physical
from ngramdb.planner.binder import Binder
from ngramdb.planner.parameters import Parameters
from ngramdb.planner.physical.order import ORDER_OPERANDS
from ngramdb.planner.physical.scanning import costs_of
from ngramdb.planner.plan import (
    CountDocuments,
    Documents,
    ExplainPlan,
    ExportDocuments,
    PlainDocs,
    Plan,
    changed,
)
from ngramdb.planner.rules import RULES, rewrite
from ngramdb.planner.source import Catalog


def rule_names() -> dict[str, str]:
    """Every rule and choice that `SET disabled_rules` can switch off, with what it does."""
    return {**{rule.name: rule.description for rule in RULES}, **physical.CHOICES}


def optimize(
    logical: Plan, disabled: frozenset[str] = frozenset(), estimated: bool = True
) -> tuple[Plan, tuple[str, ...]]:
    """The plan that runs, and the names of the rewrite rules that changed it.

    With `estimated`, n-grams are counted for the estimates that EXPLAIN shows; without, the plan can be run
    only.
    """
    if isinstance(logical, ExportDocuments):
        inner, fired = optimize(logical.documents, disabled, estimated)
        assert isinstance(inner, Documents)
        return replace(logical, documents=inner), fired
    if not estimated and isinstance(logical, (CountDocuments, Documents)):
        plain = PlainDocs.of(logical.where, ORDER_OPERANDS not in disabled)
        if plain is not None:
            return changed(logical, where=plain, costs=costs_of(disabled)), ()
    rewritten, fired = rewrite(logical, disabled)
    return physical.choose(rewritten, disabled, estimated), fired


def make_plan(
    statement: ast.Statement,
    catalog: Catalog,
    parameters: Parameters | None = None,
    text: str | None = None,
    estimated: bool = True,
) -> Plan:
    """The plan of a statement.

    Parameters
    ----------
    statement : syntax tree
    catalog : what its names are bound to
    parameters : values of its placeholders
    text : the statement as it was written, for messages
    estimated : whether the plan may be shown, and not only run; that of EXPLAIN may always

    Raises
    ------
    BindError, PlanError
        A name that does not exist, a value that is missing or wrong; with the place in `text`.
    """
    binder = Binder(catalog, parameters, text)
    if isinstance(statement, ast.Explain):
        inner, fired = optimize(binder.bind(statement.statement), catalog.disabled_rules())
        return ExplainPlan(inner, statement.analyze, fired)
    return optimize(binder.bind(statement), catalog.disabled_rules(), estimated)[0]
