"""From what the grammar recognises to the abstract syntax.

The parser calls one method per grammar rule as soon as the rule is complete, from the leaves up, so no
parse tree is ever made, and nothing here recurses. What the grammar cannot say is checked here: that a
clause stands once, and that conditions are not nested deeper than the later stages can walk.
"""

from __future__ import annotations

from typing import Any

from ngramdb.language import ast
from ngramdb.language.parts import (
    Lexeme,
    Nested,
    has_terminal,
    span_of,
    statement_of,
)
from ngramdb.language.rules_of_conditions import ConditionRules
from ngramdb.language.rules_of_data import DataRules
from ngramdb.language.rules_of_questions import QuestionRules


class AstBuilder(QuestionRules, ConditionRules, DataRules):
    """One method per rule of the grammar, called with the rule's tokens and the values of its parts."""

    def script(self, children: list[Any]) -> tuple[ast.Statement, ...]:
        return tuple(child for child in children if not isinstance(child, Lexeme))

    def condition(self, children: list[Nested]) -> ast.Condition:
        return children[0].condition

    def model(self, children: list[Any]) -> ast.ModelClause:
        return statement_of(ast.ModelClause, children, kind=children[0].type.lower())

    def explain(self, children: list[Any]) -> ast.Explain:
        return ast.Explain(children[-1], has_terminal(children, "ANALYZE"), span=span_of(children))
