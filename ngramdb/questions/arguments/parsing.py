"""Cached parsing: programs run the same statements repeatedly, with different parameters.

Syntax trees are immutable, so one tree serves all threads at all times.
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
    from ngramdb.planner.plan import plain
    from ngramdb.planner.plan.plain import Template
else:
    plain = lazy_module("ngramdb.planner.plan.plain")  # most statements do not need it

# Number of cached statements, and their greatest length: about a megabyte at most, without trees.
REMEMBERED = 256
REMEMBERED_CHARACTERS = 4096


class ParsedStatements(NamedTuple):
    """The statements of a text, and the placeholders of all of them."""

    statements: tuple[ast.Statement, ...]
    placeholders: Placeholders


class ParsedCondition(NamedTuple):
    """A condition (the text after WHERE), its placeholders, and the plan that needs no values."""

    condition: ast.Condition
    placeholders: Placeholders
    template: Template | None


def parsed(text: str) -> ParsedStatements:
    """Parse the statements of a text. Raises ParseError; InvalidArgument if it is not a str."""
    if not isinstance(text, str):
        raise InvalidArgument(f"a statement is a str, not {type(text).__name__}")
    return _statements(text) if len(text) <= REMEMBERED_CHARACTERS else _statements.__wrapped__(text)


def parsed_condition(text: str) -> ParsedCondition:
    """Parse a condition, the text after WHERE. Raises ParseError; InvalidArgument if it is not a str."""
    if not isinstance(text, str):
        raise InvalidArgument(f"a condition is a str, not {type(text).__name__}")
    return _condition(text) if len(text) <= REMEMBERED_CHARACTERS else _condition.__wrapped__(text)


def check_values(text: str, values: ParameterValues) -> None:
    """Raise PlanError unless the values match the placeholders of a text."""
    Parameters(parsed(text).placeholders, values, text)


@lru_cache(maxsize=REMEMBERED)
def _statements(text: str) -> ParsedStatements:
    statements = parse(text)
    return ParsedStatements(statements, Placeholders(statements))


@lru_cache(maxsize=REMEMBERED)
def _condition(text: str) -> ParsedCondition:
    condition = parse_condition(text)
    return ParsedCondition(condition, Placeholders((condition,)), plain.Template.of(condition))
