"""Names, values, placeholders and n-gram literals."""

from __future__ import annotations

from ngramdb.language.ast.base import Node
from ngramdb.late_dataclasses import dataclass


@dataclass(frozen=True)
class Name(Node):
    """An identifier, its backquotes taken off."""

    value: str


@dataclass(frozen=True)
class Value(Node):
    """A SQL value: a string in single quotes, a number, TRUE, FALSE or NULL."""

    value: str | int | float | bool | None


@dataclass(frozen=True)
class Parameter(Node):
    """A placeholder: `?` has an index (counted from 0), `:name` a name."""

    index: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class Text(Node):
    """An n-gram literal in double quotes, its escapes resolved; tokenized when names are bound."""

    value: str


@dataclass(frozen=True)
class TokenIds(Node):
    """An n-gram literal as token ids, `[5613, 4086]`."""

    ids: tuple[int, ...]


Ngram = Text | TokenIds | Parameter
Scalar = Value | Parameter
