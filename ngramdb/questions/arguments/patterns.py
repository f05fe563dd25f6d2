"""Patterns over tokens as arguments of verbs: in the syntax of KWIC, parsed once."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from ngramdb.errors import InvalidArgument
from ngramdb.language import ast
from ngramdb.language.parser import parse_pattern
from ngramdb.planner.parameters import Parameters, ParameterValues, placeholders
from ngramdb.questions.arguments.texts import quoted_ngram
from ngramdb.types import token_ids

# Number of patterns that are cached parsed.
REMEMBERED = 256


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
        raise InvalidArgument(f"a pattern is text, not {text!r}")
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
            plain = value if isinstance(value, str) else token_ids(value).tolist()
            text = text[: node.span.start] + quoted_ngram(plain) + text[node.span.stop :]
    return text


def _filled(node: Any, values: Parameters) -> Any:
    """Return the same tree with values in place of parameters, and without places in a text."""
    if isinstance(node, tuple):
        return tuple(_filled(item, values) for item in node)
    if isinstance(node, ast.Parameter):
        value = values.value(node)
        return ast.Text(value) if isinstance(value, str) else ast.TokenIds(tuple(token_ids(value).tolist()))
    if not isinstance(node, ast.Node):
        return node
    inner = {item.name: _filled(getattr(node, item.name), values) for item in fields(node)}
    return replace(node, **{**inner, "span": None})
