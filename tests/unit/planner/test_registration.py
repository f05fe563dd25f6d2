"""Every statement has a binder and every plan a way to run; none is omitted or registered twice."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest
from support.registered import STATEMENTS, plans

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner.plan import Plan, SliceQuestion
from ngramdb.questions.binder import BINDERS, binder_of
from ngramdb.questions.plans import DIRECT, OPERATORS, Action, Query

PLANS = sorted(plans(), key=lambda kind: kind.__name__)


def test_every_statement_has_one_binder_and_nothing_else_has() -> None:
    assert list(BINDERS) == sorted(kind.__name__ for kind in STATEMENTS)
    assert len({binder_of(kind) for kind in BINDERS}) == len(BINDERS)


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_binder_takes_its_statement(kind: type[ast.Node]) -> None:
    binder = binder_of(kind.__name__)
    assert list(inspect.signature(binder).parameters) == ["scope", "node"]
    assert binder.__annotations__["node"] == f"ast.{kind.__name__}"


def test_every_class_of_plans_answers_or_acts_in_one_way() -> None:
    ways = [*OPERATORS, *(kind.__name__ for kind in PLANS if issubclass(kind, (Query, Action)))]
    assert sorted(ways) == [kind.__name__ for kind in PLANS]
    assert DIRECT.keys() <= OPERATORS.keys()


@pytest.mark.parametrize("kind", [kind for kind in PLANS if not issubclass(kind, (Query, Action))])
def test_an_operator_takes_its_plan(kind: type[Plan]) -> None:
    found = OPERATORS[kind.__name__]()
    parameters = inspect.signature(found).parameters
    assert next(iter(parameters.values())).annotation.rpartition(".")[2] == kind.__name__
    has_tree = kind.tree is not Plan.tree or kind.where_clause is not Plan.where_clause
    # Conditions of the others are evaluated before their operator is called.
    takes_meter = has_tree and not issubclass(kind, SliceQuestion)
    expected = ["plan", "meter"] if takes_meter else ["plan"]
    assert list(parameters) == expected


@pytest.mark.parametrize("kind", [kind for kind in PLANS if issubclass(kind, (Query, Action))])
def test_a_plan_that_runs_itself_defines_how(kind: type[Plan]) -> None:
    assert kind.answer is not Query.answer if issubclass(kind, Query) else kind.act is not Action.act


def test_what_is_no_statement_is_refused() -> None:
    assert "And" in {kind.__name__ for kind in get_args(ast.Condition)}
    with pytest.raises(PlanError, match="And is no statement"):
        binder_of("And")
