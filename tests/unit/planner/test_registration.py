"""Every statement has a binder and every plan a way to run."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest
from support.registered import STATEMENTS, plans

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner.plan import Plan
from ngramdb.questions.binder import BINDERS, binder_of
from ngramdb.questions.plans import Action, Query, SliceQuery

PLANS = sorted(plans(), key=lambda kind: kind.__name__)


def test_every_statement_has_one_binder_and_nothing_else_has() -> None:
    assert list(BINDERS) == sorted(kind.__name__ for kind in STATEMENTS)
    assert len({binder_of(kind) for kind in BINDERS}) == len(BINDERS)


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_binder_takes_its_statement(kind: type[ast.Node]) -> None:
    binder = binder_of(kind.__name__)
    assert list(inspect.signature(binder).parameters) == ["scope", "node"]
    assert binder.__annotations__["node"] == f"ast.{kind.__name__}"


@pytest.mark.parametrize("kind", PLANS)
def test_every_class_of_plans_answers_or_acts(kind: type[Plan]) -> None:
    assert issubclass(kind, (Query, Action))
    assert kind.answer is not Query.answer if issubclass(kind, Query) else kind.act is not Action.act
    if issubclass(kind, SliceQuery):
        assert kind.answer_whole is not SliceQuery.answer_whole


def test_what_is_no_statement_is_refused() -> None:
    assert "And" in {kind.__name__ for kind in get_args(ast.Condition)}
    with pytest.raises(PlanError, match="And cannot be run as a statement"):
        binder_of("And")
