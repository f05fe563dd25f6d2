"""The types of values that are written as text: integers, numbers, booleans, else texts.

A column has a type if all its values are written as those of that type, and none would change: `007` stays a
text, as do numbers of more digits than a float holds.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ngramdb.lazy import lazy_module

pyarrow = lazy_module("pyarrow")
compute = lazy_module("pyarrow.compute")

# The type of a column whose values all match; the first of several. Numbers that would lose digits are texts.
_WRITTEN = {
    "int64": r"^(0|-?[1-9][0-9]{0,18})$",
    "float64": r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?$",
    "bool": r"^(true|false|True|False|TRUE|FALSE)$",
}
# Missing numbers among others: pandas writes the first, numpy the second.
_NAN = ("NaN", "nan")
# The characters of a number that are not significant digits; the digits that a float preserves.
_NO_DIGITS = r"^-?0*\.?0*|\.|[eE].*$"
_MOST_DIGITS = 17
# Numbers that a float holds exactly as written: few digits, neither very large nor close to zero.
_HELD = r"^-?(0|[1-9][0-9]{0,14})(\.|[eE]|$)"
_LEAST = 1e-290


class WrittenTypes:
    """The types that are possible for columns, after the values seen so far."""

    def __init__(self) -> None:
        self._possible: dict[str, set[str]] = {}
        self._has_values: set[str] = set()

    def see(self, name: str, values: Any) -> None:
        """Add an array of a column's strings; missing values are NULL."""
        numbers = without_nan(values)
        if numbers.null_count < len(numbers):
            self._has_values.add(name)
        self._possible[name] = {
            kind
            for kind in self._possible.get(name, _WRITTEN)
            if _is_written(values if kind == "bool" else numbers, kind)
        }

    def types(self) -> dict[str, str]:
        """Return the type of each column that has one other than text: "int64", "float64" or "bool"."""
        return {
            name: next(kind for kind in _WRITTEN if kind in possible)
            for name, possible in self._possible.items()
            if possible and name in self._has_values
        }


def converted(text: str, kind: str | None) -> Any:
    """Return the value of a text whose column has the type `kind`, None (NULL) if there is none."""
    if kind is None:
        return text
    if not text or text in _NAN:
        return None
    return text.lower() == "true" if kind == "bool" else int(text) if kind == "int64" else float(text)


def without_nan(values: Any) -> Any:
    """Return the values with missing numbers replaced by NULL."""
    missing = compute.is_in(values, value_set=pyarrow.array(_NAN))
    return compute.if_else(missing, None, values) if compute.any(missing).as_py() else values


def _is_written(values: Any, kind: str) -> bool:
    matching = compute.match_substring_regex(values.cast(pyarrow.binary(), safe=False), _WRITTEN[kind])
    if compute.all(matching).as_py() is False:
        return False
    if kind == "bool":
        return True
    if kind == "int64":
        return _fits(values)
    floats = values.cast(kind)
    if compute.all(compute.is_finite(floats)).as_py() is False:  # written as numbers, and beyond them
        return False
    digits = compute.binary_length(compute.replace_substring_regex(values, _NO_DIGITS, ""))
    is_held = compute.and_(
        compute.match_substring_regex(values, _HELD), compute.less_equal(digits, _MOST_DIGITS)
    )
    is_tiny = compute.and_(compute.less(compute.abs(floats), _LEAST), compute.greater(digits, 0))
    others = values.filter(compute.invert(compute.and_not(is_held, is_tiny)))
    return all(map(_is_exact, others.to_pylist()))


def _is_exact(text: str) -> bool:
    """Return True if a float holds the written value exactly and it is not written as a long integer."""
    return not text.lstrip("-").isdigit() and Decimal(repr(float(text))) == Decimal(text)


def _fits(values: Any) -> bool:
    """Return True if all texts of digits are integers of 64 bits."""
    if (compute.max(compute.binary_length(values)).as_py() or 0) < 19:
        return True
    try:
        values.cast("int64")
    except pyarrow.ArrowInvalid:
        return False
    return True
