"""The binder: a syntax tree, a catalog and parameters become a logical plan.

Names are looked up, n-grams are tokenized by their corpus's own tokenizer, placeholders take their values,
numbers are checked. Whatever cannot be bound is a BindError or a PlanError with its place in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.binding import changes, concordance, conditions, data, generation, questions
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.source import Corpus

_HANDLERS: dict[type[Any], Callable[[Scope, Any], plan.Plan]] = {
    **questions.HANDLERS,
    **concordance.HANDLERS,
    **generation.HANDLERS,
    **changes.HANDLERS,
    **data.HANDLERS,
}


class Binder(Scope):
    """Binds the statements of one text."""

    def bind(self, statement: ast.Statement) -> plan.Plan:
        """The logical plan of a statement."""
        handler = _HANDLERS.get(type(statement))
        if handler is None:
            raise PlanError(f"{type(statement).__name__} is no statement that can be run")
        return handler(self, statement)

    def condition(self, node: ast.Condition | None, corpus: Corpus) -> plan.DocExpr:
        """A condition on documents as a document expression; no condition means all documents."""
        return conditions.condition(self, node, corpus)
