"""Cached parsing of statements, conditions and patterns.

Programs run the same statements repeatedly, with different parameters. Syntax trees are immutable, so one
tree serves all threads at all times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.language.parser import parse, parse_condition, parse_pattern
from ngramdb.lazy import lazy_module
from ngramdb.planner.parameters import Parameters, ParameterValues, Placeholders, placeholders
from ngramdb.types import token_ids

if TYPE_CHECKING:
    from ngramdb.planner.plan import documents as plain
    from ngramdb.planner.plan.documents import Template
else:
    plain = lazy_module("ngramdb.planner.plan.documents")


# Number of cached statements, and their greatest length: about a megabyte at most, without trees.
REMEMBERED = 256
REMEMBERED_CHARACTERS = 4096
# In a regular expression: an escaped character, or a slash, which ends it in a statement.
_ESCAPED_OR_SLASH = re.compile(r"(\\.)|/", re.DOTALL)
_SLASH = r"\/"


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
        raise InvalidArgument(f"a statement must be a str, not {type(text).__name__}")
    return _statements(text) if len(text) <= REMEMBERED_CHARACTERS else _statements.__wrapped__(text)


def parsed_condition(text: str) -> ParsedCondition:
    """Parse a condition, the text after WHERE. Raises ParseError; InvalidArgument if it is not a str."""
    if not isinstance(text, str):
        raise InvalidArgument(f"a condition must be a str, not {type(text).__name__}")
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


class Pattern:
    """A pattern of the query language, for verbs that take an n-gram; made by `ngramdb.pattern`.

    `text` is the pattern as in a statement, with the values of parameters written out. `given` is the
    original text with the values of its parameters, or None without parameters: ids of unknown words have
    no text.
    """

    __slots__ = ("_tree", "given", "text")

    def __init__(
        self, text: str, tree: ast.Pattern, given: tuple[str, ParameterValues] | None = None
    ) -> None:
        self.text = text
        self.given = given
        self._tree = tree

    @property
    def tree(self) -> ast.Pattern:
        """The syntax tree."""
        return self._tree

    def __repr__(self) -> str:
        return f"ngramdb.pattern({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._tree == other._tree

    def __hash__(self) -> int:
        return hash(self._tree)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.text, self._tree, self.given)


def pattern(text: str, params: ParameterValues = None) -> Pattern:
    """Parse a pattern of the query language, for `count`, `kwic` and other verbs.

    ```python
    women = ngramdb.pattern('/wom[ae]n/ * "of"')
    corpus.count(women)
    corpus.kwic(ngramdb.pattern('? *{0,2} "house"', ["big"]))
    ```

    Parameters
    ----------
    text : the pattern as it would follow KWIC
    params : the values of `?` or `:name` in it: n-grams, as text or as token ids

    Raises
    ------
    ParseError
        The text is not a pattern.
    QueryError
        A value is missing, or one is left over.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"a pattern must be text, not {text!r}")
    tree = _parsed(text)
    values = Parameters((tree,), params, text)
    given = None if params is None else (text, params)
    return Pattern(_written(text, tree, values), _filled(tree, values), given)


@lru_cache(maxsize=REMEMBERED)
def _parsed(text: str) -> ast.Pattern:
    return parse_pattern(text)


def _written(text: str, tree: ast.Pattern, values: Parameters) -> str:
    """Return the text with values in place of parameters."""
    for node in reversed(list(placeholders(tree))):
        if node.span is not None:
            value = values.value(node)
            if isinstance(tree, ast.RawText):
                shown = _between_slashes(value)
            else:
                shown = quoted_ngram(value if isinstance(value, str) else token_ids(value).tolist())
            text = text[: node.span.start] + shown + text[node.span.stop :]
    return text


def _between_slashes(expression: Any) -> str:
    if not isinstance(expression, str):
        raise InvalidArgument(f"TEXT ~ takes a regular expression as a str, not {expression!r}")
    if "\n" in expression and "(?x" in expression:
        raise InvalidArgument(f"a pattern takes a verbose expression, (?x), only on one line: {expression!r}")
    on_one_line = expression.replace("\n", r"\n")
    return f"/{_ESCAPED_OR_SLASH.sub(lambda found: found[1] or _SLASH, on_one_line)}/"


def _filled(node: Any, values: Parameters) -> Any:
    """Return the same tree with values in place of parameters, and without places in a text."""
    if isinstance(node, tuple):
        return tuple(_filled(item, values) for item in node)
    if isinstance(node, ast.RawText) and isinstance(node.expression, ast.Parameter):
        found = parse_pattern(f"TEXT ~ {_between_slashes(values.value(node.expression))}")
        assert isinstance(found, ast.RawText)
        return replace(node, expression=_filled(found.expression, values), span=None)
    if isinstance(node, ast.Parameter):
        value = values.value(node)
        return ast.Text(value) if isinstance(value, str) else ast.TokenIds(tuple(token_ids(value).tolist()))
    if not isinstance(node, ast.Node):
        return node
    inner = {item.name: _filled(getattr(node, item.name), values) for item in fields(node)}
    return replace(node, **{**inner, "span": None})


def quoted_ngram(ngram: str | Sequence[int]) -> str:
    """Return an n-gram in the syntax of statements."""
    if isinstance(ngram, str):
        return json.dumps(ngram, ensure_ascii=False)
    return "[" + ", ".join(map(str, ngram)) + "]"
