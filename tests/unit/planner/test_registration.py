"""What each class of plans registers is there, and no statement is left out or registered twice."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import get_args

import pytest
from support.registered import BINDERS, STATEMENTS, function, plans

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner.binder import binder_of
from ngramdb.planner.plan import Plan, SliceQuestion


def test_every_statement_has_one_binder_and_nothing_else_has() -> None:
    assert sorted(BINDERS) == sorted(kind.__name__ for kind in STATEMENTS)
    assert set(Counter(BINDERS.values()).values()) == {1}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_binder_takes_its_statement(kind: type[ast.Node]) -> None:
    binder = binder_of(kind.__name__)
    assert binder is function("planner.binding", BINDERS[kind.__name__])
    assert list(inspect.signature(binder).parameters) == ["scope", "node"]
    assert binder.__annotations__["node"] == f"ast.{kind.__name__}"


@pytest.mark.parametrize("kind", plans())
def test_every_class_of_plans_has_an_operator_or_an_action_that_takes_it(kind: type[Plan]) -> None:
    assert (kind.operator is None) != (kind.action is None)
    found = function("executor", kind.operator or kind.action or "")
    parameters = inspect.signature(found).parameters  # type: ignore[arg-type]
    assert next(iter(parameters.values())).annotation.rpartition(".")[2] == kind.__name__
    has_tree = kind.tree is not Plan.tree or kind.where_clause is not Plan.where_clause
    # Conditions of the others are evaluated before their operator is called.
    takes_meter = has_tree and not issubclass(kind, SliceQuestion)
    expected = ["plan", "session"] if kind.action else ["plan", "meter"] if takes_meter else ["plan"]
    assert list(parameters) == expected


def test_a_class_registers_for_itself_alone() -> None:
    class Above(Plan, operator="counting.count"):
        pass

    class Below(Above):
        pass

    assert (Above.operator, Below.operator) == ("counting.count", None)


def test_what_is_no_statement_is_refused() -> None:
    assert "And" in {kind.__name__ for kind in get_args(ast.Condition)}
    with pytest.raises(PlanError, match="And is no statement"):
        binder_of("And")
