"""The statements as the classes of plans register them, for tests that must leave out none."""

from __future__ import annotations

from importlib import import_module

from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.binder import binder_of
from ngramdb.planner.plan.base import BINDERS
from ngramdb.planner.plan.changes import OfDocuments


def statements(kind: type[ast.Statement] = ast.Statement) -> set[type[ast.Statement]]:
    """All statements of this kind."""
    names = (getattr(ast, name) for name in ast.__all__)
    found = {each for each in names if isinstance(each, type) and issubclass(each, kind)}
    return found - {ast.Statement, ast.Question}


# EXPLAIN is bound by what it explains.
STATEMENTS: tuple[type[ast.Statement], ...] = tuple(
    sorted(statements() - {ast.Explain}, key=lambda kind: kind.__name__)
)
for _kind in STATEMENTS:
    binder_of(_kind.__name__)  # so that all are registered


def plans(kind: type[plan.Plan] = plan.Plan) -> list[type[plan.Plan]]:
    """All classes of plans but the general ones."""
    below = [found for each in kind.__subclasses__() for found in (each, *plans(each))]
    general = (plan.Question, plan.SliceQuestion, plan.Constant, plan.ExplainPlan, OfDocuments)
    return [each for each in below if each not in general]


def questions() -> set[type[ast.Statement]]:
    """The statements that only read, so that they may be asked of any database, any number of times."""
    return statements(ast.Question)


def function(room: str, name: str) -> object:
    """What a registration names."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(f"ngramdb.{room}.{module}"), attribute)


__all__ = ["BINDERS", "STATEMENTS", "function", "plans", "questions", "statements"]
