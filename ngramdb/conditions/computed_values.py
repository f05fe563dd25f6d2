"""Values computed from those of a field: parts of dates, whole quotients, elements of lists.

Each distinct value is computed once. Values that cannot be computed are missing: the year of
'soon', a tenth of 'many'.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ngramdb.conditions.field_values import (
    Codes,
    FieldReader,
    Lists,
    Numbers,
    Objects,
    Values,
    encoded,
    identity,
)
from ngramdb.planner.plan import FieldKey
from ngramdb.source import IntArray
from ngramdb.types import Docs

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
    codes = encoded(reader.read(key.path, key.own, docs))
    return _computed(codes, key) if key.is_computed else codes


def elements_of(key: FieldKey, reader: FieldReader, docs: Docs | None) -> tuple[IntArray, Codes]:
    """Return the elements of a field's lists, each once per document; any other value is one element.

    Returns the indexes of documents, ascending, and the elements by number. A document with an empty list
    has one element without a value.
    """
    values = reader.read(key.path, key.own, docs)
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
