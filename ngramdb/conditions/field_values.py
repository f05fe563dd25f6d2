"""A field's values for a segment's documents, from typed columns or JSON, and values computed from them.

A value is what `planner.plan.predicates` speaks about, whatever column holds it, so that answers don't depend
on how documents fell into segments. `doc_id` and `length` are fields without a column.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.document_functions import values_of
from ngramdb.errors import CorruptionError
from ngramdb.planner.plan import FieldKey, FunctionCall
from ngramdb.segments.base import Segment
from ngramdb.segments.metadata_columns import JSON, import_pandas
from ngramdb.source import IntArray
from ngramdb.types import Docs

Mask = NDArray[np.bool_]

# Values converted between two interrupt checks.
CHECK_VALUES = 8192

DOC_ID, LENGTH = "doc_id", "length"


@dataclass(frozen=True)
class Numbers:
    """Values that are numbers throughout: `values` is int64 or float64, `missing` a mask.

    `integers` : floats that were loaded as integers, and are shown as such; None if there are none
    """

    values: NDArray[np.int64] | NDArray[np.float64]
    missing: Mask
    integers: Mask | None = None

    def __len__(self) -> int:
        return len(self.missing)


@dataclass(frozen=True)
class Strings:
    """Strings as a pyarrow array or chunked array, null where missing; may be dictionary-encoded."""

    values: Any

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Lists:
    """Lists of scalars: the elements of all, and which of the documents (by place) each belongs to."""

    elements: Numbers | Strings | Objects
    owners: NDArray[np.int64]
    missing: Mask

    def __len__(self) -> int:
        return len(self.missing)


@dataclass(frozen=True)
class Objects:
    """Any values, as Python has them; None where missing."""

    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)


Values = Numbers | Strings | Lists | Objects


class FieldReader:
    """Reads fields of one segment."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._lengths: NDArray[np.int64] | None = None
        self._rest: list[Any] | None = None

    def read(self, path: str, own: bool, docs: Docs | None, function: FunctionCall | None = None) -> Values:
        """Return the values of these documents (ascending; None: all), in their order.

        Cost: nothing is copied except for single documents; columns of JSON are parsed, 1 µs per value.
        """
        if function is not None:
            every = np.arange(self._segment.n_documents, dtype=np.uint32) if docs is None else docs
            shares = values_of(function, self._segment, every)
            return Numbers(shares, np.isnan(shares))
        if own:
            numbers = self._doc_ids(docs) if path == DOC_ID else self._read_lengths(docs)
            return Numbers(numbers, np.zeros(len(numbers), dtype=np.bool_))
        import_pandas()
        metadata = self._segment.metadata
        type_name = metadata.fields().get(path)
        if type_name is None:
            return self._from_rest(path, docs)
        column = metadata.column(path)
        integers = metadata.integers(path) if type_name == "float64" else None
        if docs is not None:
            chosen = _arrow().array(docs)
            column = column.take(chosen)
            integers = None if integers is None else integers.take(chosen)
        with self._readable():
            values = _values(column, type_name)
        if integers is None:
            return values
        assert isinstance(values, Numbers)
        return replace(values, integers=integers.fill_null(False).to_numpy())

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Text in a column of JSON that is not JSON is damage."""
        try:
            yield
        except (ValueError, AttributeError, RecursionError) as error:
            path = self._segment.path
            raise CorruptionError(f"{path}: damaged metadata: {error}", path=path) from error

    def _doc_ids(self, docs: Docs | None) -> NDArray[np.int64]:
        every = np.arange(self._segment.n_documents, dtype=np.uint32) if docs is None else docs
        return self._segment.doc_ids(every)

    def _read_lengths(self, docs: Docs | None) -> NDArray[np.int64]:
        if self._lengths is None:
            every = np.arange(self._segment.n_documents, dtype=np.uint32)
            self._lengths = self._segment.lengths(every)
        return self._lengths if docs is None else self._lengths[docs]

    def _from_rest(self, path: str, docs: Docs | None) -> Values:
        """Return the values of a field without a column here: those of documents with very many fields."""
        n = self._segment.n_documents if docs is None else len(docs)
        rest = self._segment.metadata.rest()
        if rest is None:
            return Objects([None] * n)
        if docs is not None:
            rest = rest.take(_arrow().array(docs))
        with self._readable():
            return Objects([None if row is None else row.get(path) for row in _parsed(rest)])


def _arrow() -> Any:
    # Takes longer to import than a question without metadata to answer.
    import pyarrow

    return pyarrow


def _parsed(column: Any) -> list[Any]:
    values: list[Any] = []
    for start in range(0, len(column), CHECK_VALUES):
        interrupts.check()
        texts = column.slice(start, CHECK_VALUES).to_pylist()
        values.extend(None if text is None else json.loads(text) for text in texts)
    return values


def _values(column: Any, type_name: str) -> Values:
    if type_name in ("int64", "float64"):
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        filled = column.fill_null(0) if column.null_count else column
        numbers = filled.to_numpy()
        return Numbers(numbers, np.zeros(len(numbers), dtype=np.bool_) if missing is None else missing)
    if type_name == "string":
        return Strings(column)
    if type_name.startswith("list<"):
        return _lists(column, type_name[5:-1])
    if type_name == JSON:
        return Objects(_parsed(column))
    return Objects(column.to_pylist())


def _lists(column: Any, type_name: str) -> Values:
    if type_name not in ("int64", "float64", "string"):
        return Objects(column.to_pylist())
    joined = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    lengths = joined.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    missing = joined.is_null().to_numpy(zero_copy_only=False)
    elements = _values(joined.flatten(), type_name)
    assert isinstance(elements, (Numbers, Strings))
    return Lists(elements, np.repeat(np.arange(len(joined)), lengths), missing)


# ---- codes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Codes:
    """Values by number: `codes[i]` is the index in `values` of value i, or -1 if it is missing.

    codes : (n,) int64
    values : distinct values in arbitrary order; 1 and 1.0 are two values
    """

    codes: NDArray[np.int64]
    values: list[Any]


def encoded(values: Values) -> Codes:
    """Values by numbers, for grouping and ordering."""
    if isinstance(values, Numbers):
        distinct, codes = np.unique(values.values + 0, return_inverse=True)  # -0.0 is shown as 0.0
        codes = codes.astype(np.int64, copy=False).reshape(-1)
        shown = distinct.tolist()
        if values.integers is not None:
            found, codes = np.unique(2 * codes + values.integers, return_inverse=True)
            codes = codes.reshape(-1)
            shown = [int(shown[n // 2]) if n % 2 else shown[n // 2] for n in found.tolist()]
        return Codes(np.where(values.missing, -1, codes), shown)
    if isinstance(values, Strings):
        encoded = values.values
        if not _arrow().types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        if hasattr(encoded, "unify_dictionaries"):
            encoded = encoded.unify_dictionaries().combine_chunks()
        if hasattr(encoded, "num_chunks"):
            encoded = _arrow().concat_arrays(encoded.chunks) if encoded.num_chunks else encoded
        codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        return Codes(codes, encoded.dictionary.to_pylist())
    listed = values.values if isinstance(values, Objects) else _as_lists(values)
    numbers: dict[Any, int] = {}
    distinct_values: list[Any] = []
    codes = np.full(len(listed), -1, dtype=np.int64)
    for i, value in enumerate(listed):
        if i % CHECK_VALUES == 0:
            interrupts.check()
        if value is None:
            continue
        key = (type(value) is int, identity(value))
        code = numbers.get(key)
        if code is None:
            code = numbers[key] = len(distinct_values)
            distinct_values.append(0.0 if value == 0 and type(value) is float else value)
        codes[i] = code
    return Codes(codes, distinct_values)


def _as_lists(values: Lists) -> list[Any]:
    listed: list[Any] = [None if missing else [] for missing in values.missing.tolist()]
    elements = values.elements
    if isinstance(elements, Numbers):
        pairs = zip(elements.values.tolist(), elements.missing.tolist(), strict=True)
        items = [None if gone else item for item, gone in pairs]
    else:
        items = elements.values if isinstance(elements, Objects) else elements.values.to_pylist()
    for owner, item in zip(values.owners.tolist(), items, strict=True):
        listed[owner].append(item)
    return listed


# Kinds of values in the order in which ORDER BY has them; NULL comes last, whichever way.
_RANKS = {bool: 0, int: 1, float: 1, str: 2, list: 3, dict: 4}


def identity(value: Any) -> tuple[float, Any]:
    """Return a key that distinguishes and orders values: 1 is 1.0 but not TRUE, and NaN is one value."""
    rank = _RANKS[type(value)]
    if rank >= 3:
        return rank, json.dumps(value, sort_keys=True)
    if isinstance(value, float) and value != value:
        return rank + 0.5, 0  # after all numbers, as DuckDB has it
    return rank, value


# ---- Values computed from those of a field: parts of dates, whole quotients, elements of lists.


# Dates of ISO 8601, to the day, the month or the year; a time may follow. Slashes may stand for hyphens.
_DATE = re.compile(
    r"\s*(?P<year>[0-9]{4})(?:(?P<sign>[-/])(?P<month>[0-9]{1,2})(?:(?P=sign)(?P<day>[0-9]{1,2}))?)?(?:[T\s]|\Z)"
)
# Above it floats skip integers.
EXACT_FLOAT = 2**53
_GREATEST = {"year": 9999, "month": 12, "day": 31}
_SHORT_MONTHS = frozenset({4, 6, 9, 11})


def date_part(text: str, part: str) -> int | None:
    """Return the year, the month or the day of a date; None if it is not a date, or lacks the part.

    >>> date_part("2001-05-17", "month"), date_part("1848", "year"), date_part("1848", "month")
    (5, 1848, None)
    """
    found = _DATE.match(text)
    if found is None or any(
        found[name] is not None and not 0 < int(found[name]) <= most
        for name, most in _GREATEST.items()
        if name != "year"
    ):
        return None
    if found["day"] is not None and int(found["day"]) > _days_of(int(found["year"]), int(found["month"])):
        return None
    return None if found[part] is None else int(found[part])


def _days_of(year: int, month: int) -> int:
    """Return the number of days of a month in the Gregorian calendar."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in _SHORT_MONTHS else 31


def quotient(value: Any, divisor: int | float, factor: int | float | None) -> int | float | None:
    """Return the whole quotient times the factor; None if the value is not a number.

    >>> quotient(1948, 10, None), quotient(1948, 10, 10), quotient(-1, 10, None)
    (194, 1940, -1)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    times = _whole_times(value, divisor)
    if times is None or factor is None:
        return times
    return times * (int(factor) if abs(times) > EXACT_FLOAT and float(factor).is_integer() else factor)


def _whole_times(value: int | float, divisor: int | float) -> int | None:
    """Return floor(value / divisor), or None if it is not finite; large integers are divided exactly."""
    if isinstance(value, int) and (isinstance(divisor, int) or divisor.is_integer()):
        return value // int(divisor)
    if isinstance(value, int) and abs(value) > EXACT_FLOAT:
        return math.floor(Fraction(value) / Fraction(divisor))
    exact = value / divisor
    return math.floor(exact) if math.isfinite(exact) else None


def codes_of(key: FieldKey, reader: FieldReader, docs: Docs | None) -> Codes:
    """Return a field of documents, or values computed from it, by numbers: for grouping and ordering."""
    values = reader.read(key.path, key.own, docs, key.function)
    if not key.is_computed:
        return encoded(values)
    quotients = _quotients(values, key)
    return _computed(encoded(values), key) if quotients is None else encoded(quotients)


def _are_exact(numbers: NDArray[Any]) -> bool:
    return bool(((numbers >= -EXACT_FLOAT) & (numbers <= EXACT_FLOAT)).all())


def _quotients(values: Values, key: FieldKey) -> Numbers | None:
    """Return what `quotient` does for each of many numbers, or None if arrays would not hold it exactly."""
    divisor, factor = key.divisor, key.factor
    if not isinstance(values, Numbers) or values.integers is not None or key.part or divisor is None:
        return None
    numbers = values.values
    are_integers = numbers.dtype.kind in "iu"
    if abs(divisor) > EXACT_FLOAT or (are_integers and not _are_exact(numbers)):
        return None
    if are_integers and float(divisor).is_integer():
        times, missing = numbers // int(divisor), values.missing
    else:
        with np.errstate(all="ignore"):
            exact = np.floor(numbers / divisor)
        missing = values.missing | ~np.isfinite(exact)
        exact[missing] = 0
        if not _are_exact(exact):
            return None
        times = exact.astype(np.int64)
    if isinstance(factor, int) and abs(factor) * int(np.abs(times).max(initial=0)) >= 2**63:
        return None
    found: NDArray[Any] = times if factor is None else times * factor
    return Numbers(found, missing)


def elements_of(key: FieldKey, reader: FieldReader, docs: Docs | None) -> tuple[IntArray, Codes]:
    """Return the elements of a field's lists, each once per document; any other value is one element.

    Returns the indexes of documents, ascending, and the elements by number. A document with an empty list
    has one element without a value.
    """
    values = reader.read(key.path, key.own, docs, key.function)
    if isinstance(values, Objects):
        values = _listed(values)
    n = len(values)
    if isinstance(values, Lists):
        owners, codes = values.owners, encoded(values.elements)
    else:
        owners, codes = np.arange(n), encoded(values)
    codes = _first_integers(codes, owners)
    some = codes.codes >= 0
    pairs = np.unique(owners[some] * np.int64(len(codes.values) + 1) + codes.codes[some] + 1)
    lonely = np.setdiff1d(np.arange(n), owners[some]) * np.int64(len(codes.values) + 1)
    pairs = np.sort(np.concatenate((pairs, lonely)))
    size = len(codes.values) + 1
    return pairs // size, Codes(pairs % size - 1, codes.values)


def _first_integers(codes: Codes, owners: IntArray) -> Codes:
    """Return the same elements with one number for 1 and 1.0 of a list, that of the integer."""
    integers = {identity(value): code for code, value in enumerate(codes.values) if type(value) is int}
    both = {
        code: integers[identity(value)]
        for code, value in enumerate(codes.values)
        if type(value) is float and identity(value) in integers
    }
    found = codes.codes.copy()
    for of_float, of_integer in both.items():
        places = np.flatnonzero(found == of_float)
        found[places[np.isin(owners[places], owners[found == of_integer])]] = of_integer
    return replace(codes, codes=found)


def date_parts(values: Values, part: str) -> Values:
    """Return the years, months or days of dates."""
    if isinstance(values, Numbers):  # no dates
        return Numbers(np.zeros(len(values), dtype=np.int64), np.ones(len(values), dtype=np.bool_))
    if isinstance(values, Lists):
        elements = date_parts(values.elements, part)
        assert isinstance(elements, (Numbers, Objects))
        return Lists(elements, values.owners, values.missing)

    def of_value(value: object) -> int | None:
        return date_part(value, part) if isinstance(value, str) else None

    if isinstance(values, Objects):
        return Objects([_of_each(value, of_value) for value in values.values])
    codes = encoded(values)
    parts = [of_value(value) for value in codes.values]
    # Entry -1, that of missing values, is the last one.
    numbers = np.array([*(0 if found is None else found for found in parts), 0], dtype=np.int64)
    missing = np.array([*(found is None for found in parts), True], dtype=np.bool_)
    return Numbers(numbers[codes.codes], missing[codes.codes])


def _listed(values: Objects) -> Lists:
    """Any values as lists."""
    owners: list[int] = []
    items: list[Any] = []
    for i, value in enumerate(values.values):
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                owners.append(i)
                items.append(item)
    missing = np.array([value is None for value in values.values], dtype=np.bool_)
    return Lists(Objects(items), np.array(owners, dtype=np.int64), missing)


def _of_each(value: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to a value, or to each element of a list."""
    return [function(item) for item in value] if isinstance(value, list) else function(value)


def _computed(codes: Codes, key: FieldKey) -> Codes:
    """Return the same places with the results of computing on their values."""

    def of_value(value: Any) -> Any:
        if key.part:
            value = date_part(value, key.part) if isinstance(value, str) else None
        return value if key.divisor is None else quotient(value, key.divisor, key.factor)

    numbers: dict[Any, int] = {}
    values: list[Any] = []
    table = np.full(len(codes.values) + 1, -1, dtype=np.int64)  # the last entry for missing values
    for place, value in enumerate(codes.values):
        found = _of_each(value, of_value)
        if found is None:
            continue
        known = identity(found)
        if known not in numbers:
            numbers[known] = len(values)
            values.append(found)
        table[place] = numbers[known]
    return Codes(table[codes.codes], values)
