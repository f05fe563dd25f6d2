"""Parsing with a memory: programs ask the same statements again and again, with other parameters.

Syntax trees are immutable, so one tree serves all threads and all times.
"""

from __future__ import annotations

from functools import lru_cache

from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.language.parser import parse, parse_condition

# Statements that are remembered, and up to which length: about a megabyte at most, trees aside.
REMEMBERED = 256
REMEMBERED_CHARACTERS = 4096


def parsed(text: str) -> tuple[ast.Statement, ...]:
    """The statements of a text. Raises ParseError; InvalidArgument when it is no str."""
    if not isinstance(text, str):
        raise InvalidArgument(f"a statement is a str, not {type(text).__name__}")
    return _statements(text) if len(text) <= REMEMBERED_CHARACTERS else parse(text)


def parsed_condition(text: str) -> ast.Condition:
    """What stands after WHERE. Raises ParseError; InvalidArgument when it is no str."""
    if not isinstance(text, str):
        raise InvalidArgument(f"a condition is a str, not {type(text).__name__}")
    return _condition(text) if len(text) <= REMEMBERED_CHARACTERS else parse_condition(text)


@lru_cache(maxsize=REMEMBERED)
def _statements(text: str) -> tuple[ast.Statement, ...]:
    return parse(text)


@lru_cache(maxsize=REMEMBERED)
def _condition(text: str) -> ast.Condition:
    return parse_condition(text)
