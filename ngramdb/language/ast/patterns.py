"""Patterns: everything that occurrences can be searched for."""

from __future__ import annotations

from dataclasses import field

from ngramdb.language.ast.base import Ngram, Node, Parameter, Text, TokenIds
from ngramdb.lazy import dataclass


@dataclass(frozen=True, kw_only=True)
class Compound(Node):
    """A pattern made of others; `depth` of them are inside one another, itself included."""

    depth: int = field(default=1, compare=False, repr=False)


@dataclass(frozen=True)
class Regex(Node):
    """`/wom[ae]n/`: a token that matches a regular expression as a whole."""

    expression: str


@dataclass(frozen=True)
class AnyToken(Node):
    """`*`: any one token."""


@dataclass(frozen=True)
class SentenceEdge(Node):
    """`<s>` and `</s>` (`ends`): the beginning or the end of a sentence, which has no token."""

    ends: bool


@dataclass(frozen=True)
class Group(Compound):
    """`("a" | "b")`: one of several patterns; a single one in parentheses, too."""

    alternatives: tuple[Pattern, ...]


@dataclass(frozen=True)
class Matching(Compound):
    """A part of a pattern and how it is matched.

    MATCH TEXT (`text`), MATCH TOKENS (`text` False) or neither (None); IGNORE CASE or DIACRITICS; PREFIX.
    """

    ngram: Ngram | Regex | AnyToken | SentenceEdge | Group | Matching
    text: bool | None = None
    ignore_case: bool = False
    ignore_diacritics: bool = False
    prefix: bool = False


@dataclass(frozen=True)
class Bounds(Node):
    """`{low,high}`: the number of repetitions; `high` None is unlimited."""

    low: int
    high: int | None


@dataclass(frozen=True)
class Repeated(Compound):
    """`"very"{1,3}`: a part, several times one after the other."""

    part: Part
    times: Bounds


@dataclass(frozen=True)
class Gap(Node):
    """`[low..high]`: that many tokens in between."""

    low: int
    high: int


@dataclass(frozen=True)
class Gapped(Compound):
    """`"a" [1..3] "b"`: n-grams with gaps between them, one gap fewer than n-grams."""

    parts: tuple[Ngram | Matching, ...]
    gaps: tuple[Gap, ...]


@dataclass(frozen=True)
class Sequence(Compound):
    """`"a" * /b+/ [1..3] "c"`: parts one after the other, or with a gap; one gap fewer than parts."""

    parts: tuple[Element, ...]
    gaps: tuple[Gap | None, ...]


Part = Text | TokenIds | Parameter | Regex | AnyToken | SentenceEdge | Group | Matching
Element = Part | Repeated
Pattern = Element | Gapped | Sequence
