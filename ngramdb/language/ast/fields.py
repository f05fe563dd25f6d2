"""Metadata fields, and what rows are grouped and ordered by."""

from __future__ import annotations

from ngramdb.language.ast.base import Node
from ngramdb.language.ast.leaves import Scalar
from ngramdb.late_dataclasses import dataclass

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
    """`LEFT n`, `RIGHT n`: the tokens that stand next to an occurrence; `side` is 'left' or 'right'."""

    side: str
    tokens: Scalar


@dataclass(frozen=True)
class Form(Node):
    """`FORM`: an occurrence as it is written."""


# What a condition tests, and what rows are grouped and ordered by.
Tested = Field | DatePart
GroupKey = Field | DatePart | Divided | Unnested | Beside | Form
