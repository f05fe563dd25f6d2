"""The binder: a syntax tree, a catalog and parameters become a logical plan.

Names are looked up, n-grams are tokenized by their corpus's own tokenizer, placeholders take their values,
numbers are checked. Whatever cannot be bound is a BindError or a PlanError with its place in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.lazy import function_named
from ngramdb.planner import plan
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.plan.base import BINDERS
from ngramdb.planner.source import Corpus

# The modules of `planner.plan` that register statements, imported in this order until one has registered
# the statement at hand.
_FAMILIES = ("questions", "concordance", "lexical", "generation", "actions", "changes")


class Binder(Scope):
    """Binds the statements of one text."""

    def bind(self, statement: ast.Statement) -> plan.Plan:
        """The logical plan of a statement."""
        found: plan.Plan = binder_of(type(statement).__name__)(self, statement)
        if not self.phrases:
            return found
        where = getattr(statement, "where", None)
        # A phrase of a condition on documents is narrowed by what must be true beside it.
        of_documents = isinstance(statement, (ast.Docs, ast.CountDocs, ast.Delete))
        alone = where is None or of_documents or isinstance(where, ast.Contains)
        narrowed = isinstance(where, ast.And) or not alone
        phrases = (
            phrase._replace(narrowed=narrowed) if isinstance(phrase, plan.Phrase) else phrase
            for phrase in self.phrases
        )
        return plan.changed(found, phrases=tuple(phrases))

    def condition(self, node: ast.Condition | None, corpus: Corpus) -> plan.DocExpr:
        """A condition on documents as a document expression; no condition means all documents."""
        from ngramdb.planner.binding import conditions

        return conditions.condition(self, node, corpus)


@cache
def binder_of(kind: str) -> Callable[..., Any]:
    """Return the binder of a kind of statement, by the name of its class."""
    for family in _FAMILIES:
        if kind in BINDERS:
            break
        import_module(f"ngramdb.planner.plan.{family}")
    if kind not in BINDERS:
        raise PlanError(f"{kind} is no statement that can be run")
    return function_named("ngramdb.planner.binding", BINDERS[kind])
