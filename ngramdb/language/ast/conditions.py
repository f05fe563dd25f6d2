"""Conditions on documents."""

from __future__ import annotations

from ngramdb.language.ast.base import Node
from ngramdb.language.ast.fields import Tested
from ngramdb.language.ast.leaves import Scalar
from ngramdb.language.ast.patterns import Pattern
from ngramdb.language.ast.sources import Source
from ngramdb.late_dataclasses import dataclass


@dataclass(frozen=True)
class Contains(Node):
    """The document contains the pattern."""

    pattern: Pattern


@dataclass(frozen=True)
class CountIs(Node):
    """COUNT("x") >= 3: how often the pattern occurs within the document."""

    pattern: Pattern
    operator: str
    value: Scalar


@dataclass(frozen=True)
class Comparison(Node):
    """`field = value` and the like. `operator` is one of = != < <= > >=."""

    field: Tested
    operator: str
    value: Scalar


@dataclass(frozen=True)
class Between(Node):
    """`field BETWEEN low AND high`, both included."""

    field: Tested
    low: Scalar
    high: Scalar


@dataclass(frozen=True)
class InList(Node):
    """`field IN (value, …)`, or `field IN ?`; a placeholder may stand for a list of values."""

    field: Tested
    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Like(Node):
    """`field LIKE 'A%'`; ILIKE with `ignore_case`."""

    field: Tested
    template: Scalar
    ignore_case: bool = False


@dataclass(frozen=True)
class IsNull(Node):
    """`field IS NULL`."""

    field: Tested


@dataclass(frozen=True)
class Overlap(Node):
    """OVERLAP(corpus, n) >= 0.8: the share of the document's n-grams that occur in another corpus."""

    corpus: Source
    n: Scalar
    operator: str
    value: Scalar


@dataclass(frozen=True)
class And(Node):
    """`x AND y`: all operands hold."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class InSentence(Node):
    """SENTENCE, where a number of tokens may stand, too."""


@dataclass(frozen=True)
class Within(Node):
    """`x AND y WITHIN k TOKENS`: occurrences of all operands near each other.

    WITHIN SENTENCE: all in one sentence; of a single operand, each by itself.
    """

    operands: tuple[Condition, ...]
    tokens: Scalar | InSentence


@dataclass(frozen=True)
class Or(Node):
    """`x OR y`: some operand holds."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True)
class Not(Node):
    """`NOT x`: the operand does not hold."""

    operand: Condition


Condition = (
    Contains | CountIs | Comparison | Between | InList | Like | IsNull | Overlap | And | Within | Or | Not
)
