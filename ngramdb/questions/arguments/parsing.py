"""Parsing with a memory: programs ask the same statements again and again, with other parameters.

Syntax trees are immutable, so one tree serves all threads and all times.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.language.parser import parse, parse_condition
from ngramdb.lazy import lazy_module
from ngramdb.planner.parameters import Parameters, ParameterValues, Placeholders

if TYPE_CHECKING:
    from ngramdb.planner import plan_cache
    from ngramdb.planner.plan_cache import Template
else:
    plan_cache = lazy_module("ngramdb.planner.plan_cache")  # needs what most statements do not

# Statements that are remembered, and up to which length: about a megabyte at most, trees aside.
REMEMBERED = 256
REMEMBERED_CHARACTERS = 4096


class ParsedStatements(NamedTuple):
    """The statements of a text, and the placeholders of all of them."""

    statements: tuple[ast.Statement, ...]
    placeholders: Placeholders


class ParsedCondition(NamedTuple):
    """What stands after WHERE, its placeholders, and what can be planned before they have values."""

    condition: ast.Condition
    placeholders: Placeholders
    template: Template | None


def parsed(text: str) -> ParsedStatements:
    """The statements of a text. Raises ParseError; InvalidArgument when it is no str."""
    if not isinstance(text, str):
        raise InvalidArgument(f"a statement is a str, not {type(text).__name__}")
    return _statements(text) if len(text) <= REMEMBERED_CHARACTERS else _statements.__wrapped__(text)


def parsed_condition(text: str) -> ParsedCondition:
    """What stands after WHERE. Raises ParseError; InvalidArgument when it is no str."""
    if not isinstance(text, str):
        raise InvalidArgument(f"a condition is a str, not {type(text).__name__}")
    return _condition(text) if len(text) <= REMEMBERED_CHARACTERS else _condition.__wrapped__(text)


def check_values(text: str, values: ParameterValues) -> None:
    """Raise PlanError unless the values are right for the placeholders of a text."""
    Parameters(parsed(text).placeholders, values, text)


@lru_cache(maxsize=REMEMBERED)
def _statements(text: str) -> ParsedStatements:
    statements = parse(text)
    return ParsedStatements(statements, Placeholders(statements))


@lru_cache(maxsize=REMEMBERED)
def _condition(text: str) -> ParsedCondition:
    condition = parse_condition(text)
    return ParsedCondition(condition, Placeholders((condition,)), plan_cache.Template.of(condition))
