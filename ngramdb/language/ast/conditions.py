"""Conditions on documents."""

from __future__ import annotations

from ngramdb.language.ast.base import Node, Scalar, Source
from ngramdb.language.ast.patterns import Pattern
from ngramdb.lazy import dataclass


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
    """SENTENCE, in place of a number of tokens."""


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


# ---- Metadata fields, and what rows are grouped and ordered by.


# The key of `RETURNING *`.
EVERY_FIELD = "*"


@dataclass(frozen=True)
class Field(Node):
    """A metadata field, as the keys that lead to it; or one of `doc_id` and `length`."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class DatePart(Node):
    """`YEAR(field)`, `MONTH(field)` or `DAY(field)`: `part` is the name in small letters."""

    field: Field
    part: str


@dataclass(frozen=True)
class Divided(Node):
    """`field / n` and `field / n * m`: how many whole times n is in a value, times m."""

    what: Field | DatePart
    divisor: Scalar
    factor: Scalar | None = None


@dataclass(frozen=True)
class Unnested(Node):
    """`UNNEST(field)`: the elements of a list."""

    field: Field


@dataclass(frozen=True)
class Beside(Node):
    """`LEFT n`, `RIGHT n`: the tokens next to an occurrence; `side` is 'left' or 'right'."""

    side: str
    tokens: Scalar


@dataclass(frozen=True)
class Form(Node):
    """`FORM`: an occurrence as it is written."""


# The operand that a condition tests, or that groups and orders rows.
Tested = Field | DatePart
GroupKey = Field | DatePart | Divided | Unnested | Beside | Form
