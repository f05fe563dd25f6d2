"""The statements and the classes of plans, for tests that must not omit any."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ngramdb import questions as package
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.questions.docs import OfDocuments
from ngramdb.questions.plans import Action, ContextQuery, Query, Removal, SliceQuery

# All plans are defined in these modules.
for _module in iter_modules(package.__path__):
    import_module(f"{package.__name__}.{_module.name}")
for _name in plan.__all__:
    getattr(plan, _name)


def statements(kind: type[ast.Statement] = ast.Statement) -> set[type[ast.Statement]]:
    """Return all statements of this kind."""
    names = (getattr(ast, name) for name in ast.__all__)
    found = {each for each in names if isinstance(each, type) and issubclass(each, kind)}
    return found - {ast.Statement, ast.Question, ast.NearClauses}


STATEMENTS: tuple[type[ast.Statement], ...] = tuple(sorted(statements(), key=lambda kind: kind.__name__))


def plans(kind: type[plan.Plan] = plan.Plan) -> set[type[plan.Plan]]:
    """Return all classes of plans that a statement can have."""
    below = {found for each in kind.__subclasses__() for found in (each, *plans(each))}
    general = {plan.Question, plan.Constant, plan.Outer}
    return below - general - {Action, OfDocuments, Query, Removal, SliceQuery, ContextQuery}


def questions() -> set[type[ast.Statement]]:
    """Return the statements that only read, so that they can be run on any database, any number of times."""
    return statements(ast.Question)


__all__ = ["STATEMENTS", "plans", "questions", "statements"]
