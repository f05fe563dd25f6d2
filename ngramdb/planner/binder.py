"""The binder: a syntax tree, a catalog and parameters become a logical plan.

Names are looked up, n-grams are tokenized by their corpus's own tokenizer, placeholders take their values,
numbers are checked. Whatever cannot be bound is a BindError or a PlanError with its place in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.lazy import lazy_module
from ngramdb.planner import plan
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.source import Corpus

if TYPE_CHECKING:
    from ngramdb.planner.binding import changes, concordance, conditions, data, generation, questions
else:
    changes = lazy_module("ngramdb.planner.binding.changes")
    concordance = lazy_module("ngramdb.planner.binding.concordance")
    conditions = lazy_module("ngramdb.planner.binding.conditions")
    data = lazy_module("ngramdb.planner.binding.data")
    generation = lazy_module("ngramdb.planner.binding.generation")
    questions = lazy_module("ngramdb.planner.binding.questions")

# Asked for a statement's handler in this order, and imported meanwhile.
_FAMILIES = (questions, concordance, generation, data, changes)


class Binder(Scope):
    """Binds the statements of one text."""

    def bind(self, statement: ast.Statement) -> plan.Plan:
        """The logical plan of a statement."""
        for family in _FAMILIES:
            handler: Callable[[Scope, Any], plan.Plan] | None = family.HANDLERS.get(type(statement))
            if handler is not None:
                found = handler(self, statement)
                return plan.changed(found, phrases=tuple(self.phrases)) if self.phrases else found
        raise PlanError(f"{type(statement).__name__} is no statement that can be run")

    def condition(self, node: ast.Condition | None, corpus: Corpus) -> plan.DocExpr:
        """A condition on documents as a document expression; no condition means all documents."""
        return conditions.condition(self, node, corpus)
