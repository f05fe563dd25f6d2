"""Conditions of AND, OR and NOT over placeholders alone: their plan is made once, but for the n-grams.

Programs ask such a condition by the million, each time with other token ids. Given those, nothing is left to
be bound; given text, the binder must be asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from ngramdb.language import ast
from ngramdb.planner.parameters import Parameters
from ngramdb.planner.plan import PlainDocs
from ngramdb.planner.plan.plain import AND_ORDERED, GRAM, NOT, OR, Ids
from ngramdb.types import are_token_ids


@dataclass(frozen=True)
class Template:
    """Operators in prefix order, as PlainDocs has them, and the placeholders of the n-grams."""

    code: list[int]
    leaves: list[ast.Parameter]

    @classmethod
    def of(cls, node: ast.Condition) -> Template | None:
        """The template of a condition; None where something else is in it."""
        template = cls([], [])
        return template if template._add(node) else None

    def filled(self, values: Parameters) -> PlainDocs | None:
        """The condition for these values; None unless all of them are lists or tuples of token ids."""
        grams: list[Ids] = []
        for leaf in self.leaves:
            ids = values.value(leaf)
            if not are_token_ids(ids):
                return None
            grams.append(tuple(ids))
        return PlainDocs(self.code, grams)

    def _add(self, node: ast.Condition) -> bool:
        if isinstance(node, ast.Contains) and isinstance(node.pattern, ast.Parameter):
            self.code.append(GRAM)
            self.leaves.append(node.pattern)
            return True
        if isinstance(node, ast.Not):
            self.code.append(NOT)
            return self._add(node.operand)
        if isinstance(node, (ast.And, ast.Or)):
            self.code.extend((AND_ORDERED if isinstance(node, ast.And) else OR, len(node.operands)))
            return all(self._add(operand) for operand in node.operands)
        return False
