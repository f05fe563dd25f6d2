"""Base classes of the syntax tree: every node has the span of its source text."""

from __future__ import annotations

from dataclasses import field

from ngramdb.lazy import dataclass


@dataclass(frozen=True)
class Span:
    """Half-open range of characters in the text that was parsed."""

    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base class of all syntax nodes."""

    span: Span | None = field(default=None, compare=False, repr=False)


# ---- Names, values, placeholders and n-gram literals.


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


# ---- The source, after FROM.


@dataclass(frozen=True)
class SourceTerm(Node):
    """One corpus of a source, added (sign +1) or subtracted (sign -1), now or AT VERSION n | 'name'."""

    corpus: Name
    sign: int = 1
    version: Scalar | None = None


@dataclass(frozen=True)
class Source(Node):
    """The source of a statement, after FROM."""

    terms: tuple[SourceTerm, ...]


# ---- What all statements have in common, and the one that shows the plan of another.


class Statement(Node):
    """A statement: the unit that can be run."""


class Question(Statement):
    """A statement that reads and changes nothing."""


@dataclass(frozen=True)
class Explain(Statement):
    """EXPLAIN [ANALYZE] statement."""

    statement: Statement
    analyze: bool = False
