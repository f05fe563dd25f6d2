"""Fields of documents: predicates on their values, and keys that rows are grouped and ordered by.

Predicates have SQL's three truth values: true, false, and unknown (None). If a document lacks the field,
every comparison is unknown, and so is its negation; only IS NULL is true. Values of different kinds (numbers,
strings, booleans) are never equal and have no order: `=` is false, `<` is unknown. A list meets a predicate
if one of its elements does; otherwise it is unknown if it is unknown for some element. (`!=` and NOT IN are
negations of `=` and IN: no element is equal.)
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ngramdb import interrupts
from ngramdb.fork_safety import cached_property
from ngramdb.lazy import dataclass, lazy_pattern

if TYPE_CHECKING:
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.source import Corpus

Scalar = str | int | float | bool
# Values that are checked between two interrupt checks: at most about ten milliseconds.
PIECE_VALUES = 1 << 14

# For each operator, whether a value less than, equal to or greater than the literal meets it.
OPERATORS = {
    "=": (False, True, False),
    "<": (True, False, False),
    "<=": (True, True, False),
    ">": (False, False, True),
    ">=": (False, True, True),
}


def kind_of(value: object) -> str:
    """Return `number`, `string`, `boolean`, `list` or `object`."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "list" if isinstance(value, list) else "object"


def show_value(value: Scalar | None) -> str:
    """Format a value as the language writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else repr(value)


def compare(value: Any, operator: str, literal: Scalar) -> bool | None:
    """Compare two values other than NULL; the first is not a list."""
    if kind_of(value) != kind_of(literal):
        return False if operator == "=" else None
    less, equal, greater = OPERATORS[operator]
    # One comparison out of three: for NaN none is true.
    return bool((less and value < literal) or (equal and value == literal) or (greater and value > literal))


def pieces(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield the values in pieces, with an interrupt check before each."""
    for start in range(0, len(values), PIECE_VALUES):
        interrupts.check()
        yield values[start : start + PIECE_VALUES]


class Predicate(ABC):
    """A test of a field's value."""

    @abstractmethod
    def label(self, field: str) -> str:
        """Format it as the language writes it, on a field."""

    @property
    def selects_few(self) -> bool:
        """True if it selects single values."""
        return False

    @property
    def is_unknown(self) -> bool:
        """True if it is unknown for every value, since it compares with NULL."""
        return False


class ValuePredicate(Predicate):
    """A predicate on one value at a time, by comparisons alone.

    Two are equal if they compare with equal values of the same kinds: in Python TRUE equals 1, in fields not.
    """

    @property
    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """The values that distinguish it from others of its class."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ValuePredicate)
            and type(other) is type(self)
            and other.identity == self.identity
        )

    def __hash__(self) -> int:
        return hash(self.identity)

    @abstractmethod
    def of_element(self, value: Any) -> bool | None:
        """Return its truth value for a value that is neither NULL nor a list."""

    def of(self, value: Any) -> bool | None:
        """Return its truth value for any value, NULL included."""
        if value is None or self.is_unknown:
            return None
        if isinstance(value, list):
            found = [self.of_element(item) for item in value if item is not None]
            return True if True in found else None if None in found else False
        return self.of_element(value)


@dataclass(frozen=True, eq=False)
class Compared(ValuePredicate):
    """A comparison with a literal: `=`, `<`, `<=`, `>` or `>=`."""

    operator: str
    literal: Scalar | None

    @property
    def identity(self) -> tuple[object, ...]:
        return self.operator, kind_of(self.literal), self.literal

    def label(self, field: str) -> str:
        return f"{field} {self.operator} {show_value(self.literal)}"

    @property
    def is_unknown(self) -> bool:
        return self.literal is None

    def of_element(self, value: Any) -> bool | None:
        return None if self.literal is None else compare(value, self.operator, self.literal)

    @property
    def selects_few(self) -> bool:
        return self.operator == "="


@dataclass(frozen=True, eq=False)
class InRange(ValuePredicate):
    """BETWEEN low AND high, both included."""

    low: Scalar | None
    high: Scalar | None

    @property
    def identity(self) -> tuple[object, ...]:
        return kind_of(self.low), self.low, kind_of(self.high), self.high

    def label(self, field: str) -> str:
        return f"{field} between {show_value(self.low)} and {show_value(self.high)}"

    @property
    def is_empty(self) -> bool:
        """True if no value is between the bounds; values are of one kind."""
        low, high = self.low, self.high
        if low is None or high is None:
            return True
        return kind_of(low) != kind_of(high) or not low <= high  # type: ignore[operator]

    @property
    def is_unknown(self) -> bool:
        return self.low is None and self.high is None

    def of_element(self, value: Any) -> bool | None:
        above = None if self.low is None else compare(value, ">=", self.low)
        below = None if self.high is None else compare(value, "<=", self.high)
        if above is False or below is False:
            return False
        return None if above is None or below is None else True


@dataclass(frozen=True, eq=False)
class OneOf(ValuePredicate):
    """IN (…). With NULL among the values it is never false, as in SQL."""

    values: tuple[Scalar, ...]
    has_null: bool = False

    @property
    def identity(self) -> tuple[object, ...]:
        return self.has_null, self.booleans, self.others

    def label(self, field: str) -> str:
        shown = [*map(show_value, self.values), *(["NULL"] if self.has_null else [])]
        return f"{field} in ({', '.join(shown)})"

    def of_element(self, value: Any) -> bool | None:
        if isinstance(value, Scalar) and value in (self.booleans if isinstance(value, bool) else self.others):
            return True
        return None if self.has_null else False

    @cached_property
    def booleans(self) -> frozenset[Scalar]:
        """The booleans among the values, which are numbers in Python."""
        return frozenset(value for some in pieces(self.values) for value in some if isinstance(value, bool))

    @cached_property
    def others(self) -> frozenset[Scalar]:
        """The numbers and strings among the values; a number never equals a string."""
        found: set[Scalar] = set()
        for some in pieces(self.values):
            has_booleans = bool in set(map(type, some))
            found.update([one for one in some if not isinstance(one, bool)] if has_booleans else some)
        return frozenset(found)

    def of(self, value: Any) -> bool | None:
        found = super().of(value)
        return None if found is False and self.has_null else found

    @property
    def selects_few(self) -> bool:
        return True


@dataclass(frozen=True)
class Resembles(Predicate):
    r"""LIKE: `%` matches any characters, `_` matches one, `\%` a percent sign; ILIKE ignores case.

    It is true only for strings. The executor matches many at once, in time linear in their length.
    """

    template: str
    ignore_case: bool = False

    def label(self, field: str) -> str:
        return f"{field} {'ilike' if self.ignore_case else 'like'} {show_value(self.template)}"

    @cached_property
    def expression(self) -> str:
        """The equivalent regular expression, in which a dot matches any character."""
        signs = {"%": ".*", "_": "."}
        pieces, literally = [], False
        for character in self.template:
            if character == "\\" and not literally:
                literally = True
                continue
            sign = None if literally else signs.get(character)
            pieces.append(re.escape(character) if sign is None else sign)
            literally = False
        return "".join(pieces) + (re.escape("\\") if literally else "")


@dataclass(frozen=True, eq=False)
class Missing(ValuePredicate):
    """IS NULL."""

    @property
    def identity(self) -> tuple[object, ...]:
        return ()

    def label(self, field: str) -> str:
        return f"{field} is null"

    def of(self, value: Any) -> bool | None:
        return value is None

    def of_element(self, value: Any) -> bool | None:
        return False


# ---- keys that rows are grouped and ordered by: fields, values computed from them, text around occurrences


# The columns of documents besides their metadata.
OWN_COLUMNS = frozenset(("doc_id", "length", "text"))
# Prefix of a metadata field with one of these names: in columns, and in the language.
PREFIX = "metadata"
_ESCAPED = lazy_pattern(r"\\(.)")


@dataclass(frozen=True)
class FunctionCall:
    """A function of documents with its arguments: the values of a field that is not stored.

    `name` is a key of `registries.DOCUMENT_FUNCTIONS`, `numbers` are its arguments; `corpus` has the
    documents. `model` is a model of the corpus `reference`; with `by_text`, that has another tokenizer, which
    splits the documents' texts anew.
    """

    name: str
    corpus: Corpus = field(compare=False, repr=False)
    numbers: tuple[int, ...] = ()
    dialect: str = ""
    model: ModelSpec | None = None
    reference: Corpus | None = field(default=None, repr=False)
    by_text: bool = False

    def label(self) -> str:
        if self.model is not None and self.reference is not None:
            source = "" if self.reference is self.corpus else f" FROM {self.reference.entry.name}"
            return f"{self.name.upper()}({self.model}{source})"
        inside = ", ".join(map(str, self.numbers))
        as_dialect = f"AS {self.dialect}" if self.dialect else ""
        return f"{self.name.upper()}({' '.join(filter(None, (inside, as_dialect)))})"


@dataclass(frozen=True)
class FieldKey:
    """A field that rows are grouped or ordered by or have as a column, or a value computed from it.

    `path` is that of metadata; with `own` it is `doc_id`, `length`, `text`, or the call of `function`.
    Applied in this order:
    `unnested` yields the elements of lists one by one; `part` ('year', 'month' or 'day') takes that part of
    dates; `divisor` divides a number, rounding down, and `factor` multiplies the quotient.
    """

    path: str
    own: bool = False
    descending: bool = False
    part: str = ""
    divisor: int | float | None = None
    factor: int | float | None = None
    unnested: bool = False
    function: FunctionCall | None = None

    @property
    def is_computed(self) -> bool:
        """True if it is not the field's values themselves."""
        return bool(self.part) or self.divisor is not None or self.unnested

    @property
    def name(self) -> str:
        """The key in the syntax of the language."""
        shown = f"UNNEST({self.path})" if self.unnested else part_of(self.part, self.path)
        if self.divisor is not None:
            shown += f" / {self.divisor}" + ("" if self.factor is None else f" * {self.factor}")
        return shown

    def label(self) -> str:
        return self.name + (" descending" if self.descending else "")


@dataclass(frozen=True)
class PlaceKey:
    """The text 'left' or 'right' of an occurrence, of `n_tokens` tokens, or its own, the 'form'."""

    name: str
    n_tokens: int = 0

    def label(self) -> str:
        return f"{self.name} {self.n_tokens:,}" if self.n_tokens else self.name


def part_of(part: str, path: str) -> str:
    """Format a part of the date in a field, or the field itself, as the language writes it."""
    return f"{part.upper()}({path})" if part else path


def plain_name(path: str) -> str:
    r"""Return a field's path without the escapes that distinguish a dot in a key from one between keys.

    >>> plain_name(r"meta\.lang"), plain_name("meta.lang")
    ('meta.lang', 'meta.lang')
    """
    return _ESCAPED.sub(r"\1", path) if "\\" in path else path


def column_of(field: str, fields: Collection[str]) -> str:
    """Return the column of a metadata field among others: its path, after `metadata` if that name is taken.

    >>> column_of("length", ["length"]), column_of("metadata.length", ["metadata.length"])
    ('metadata.length', 'metadata.length')
    >>> column_of("metadata.length", ["length", "metadata.length"])
    'metadata.metadata.length'
    """
    inner = field.removeprefix(f"{PREFIX}.")
    is_taken = field in OWN_COLUMNS or (
        inner != field and inner in fields and column_of(inner, fields) == field
    )
    return f"{PREFIX}.{field}" if is_taken else field


def columns_in_files(fields: Collection[str]) -> dict[str, str]:
    r"""Return the columns of fields in files: a key with a dot keeps its name unless another column has it.

    >>> columns_in_files([r"m\.k", "n"]), columns_in_files([r"m\.k", "m.k"])
    ({'m\\.k': 'm.k', 'n': 'n'}, {'m\\.k': 'm\\.k', 'm.k': 'm.k'})
    """
    columns = {field: column_of(field, fields) for field in fields}
    plain = {field: plain_name(column) for field, column in columns.items()}
    n_of = Counter((*plain.values(), *OWN_COLUMNS))
    return {field: name if n_of[name] == 1 else columns[field] for field, name in plain.items()}
