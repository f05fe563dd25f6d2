"""Predicates on many values at once: the same as `planner.plan.predicates` for one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.field_values import CHECK_VALUES, Lists, Mask, Numbers, Objects, Strings, Values
from ngramdb.errors import ExecutionError
from ngramdb.limits import MAX_INTEGER, MIN_INTEGER
from ngramdb.planner.plan import (
    Compared,
    FieldTest,
    InRange,
    Missing,
    OneOf,
    Predicate,
    Resembles,
    ValuePredicate,
    kind_of,
    pieces,
)

# Literals of IN that are compared one by one with all values, in place of a lookup per value.
FEW_LITERALS = 16
# Integers up to here are 64-bit floats, too.
EXACT_FLOAT = 2**53


# Bytes times the length of a template from which on a search may take a second. It cannot be stopped, and so
# runs without being waited for.
LONG_SEARCH = 1 << 26


def meets(test: FieldTest, values: Values) -> Mask:
    """Mark the values for which a test holds: (n,) bool."""
    true, unknown = outcome(test.predicate, values)
    return ~true & ~unknown if test.negated else true


def outcome(predicate: Predicate, values: Values) -> tuple[Mask, Mask]:
    """Return masks of the values for which a predicate is true, and is unknown: two (n,) bool arrays."""
    if isinstance(values, Objects):
        if isinstance(predicate, Resembles):
            return _objects_resembling(predicate, values)
        assert isinstance(predicate, ValuePredicate)
        return _one_by_one(predicate, values)
    missing = _missing(values)
    if isinstance(predicate, Missing):
        return missing, np.zeros(len(missing), dtype=np.bool_)
    if predicate.is_unknown:
        return _never(missing), np.ones(len(missing), dtype=np.bool_)
    if isinstance(values, Lists):
        true, unknown = _never(missing), _never(missing)
        met, unsure = outcome(predicate, values.elements)
        true[values.owners[met]] = True
        if isinstance(predicate, OneOf) and predicate.has_null:
            return true, ~true
        unknown[values.owners[unsure & ~_missing(values.elements)]] = True
        return true, missing | (unknown & ~true)
    true, unknown = _scalars(predicate, values)
    return true & ~missing, unknown | missing


def _never(like: Mask) -> Mask:
    return np.zeros(len(like), dtype=np.bool_)


def _missing(values: Values) -> Mask:
    if isinstance(values, Objects):
        return np.fromiter((value is None for value in values.values), dtype=np.bool_, count=len(values))
    if isinstance(values, Strings):
        mask: Mask = values.values.is_null().to_numpy(zero_copy_only=False)
        return mask
    return values.missing


def _one_by_one(predicate: ValuePredicate, values: Objects) -> tuple[Mask, Mask]:
    n = len(values)
    true, unknown = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    for i, value in enumerate(values.values):
        if i % CHECK_VALUES == 0:
            interrupts.check()
        found = predicate.of(value)
        true[i], unknown[i] = found is True, found is None
    return true, unknown


def _scalars(predicate: Predicate, values: Numbers | Strings) -> tuple[Mask, Mask]:
    n = len(values)
    nowhere = np.zeros(n, dtype=np.bool_)
    if isinstance(predicate, Compared):
        assert predicate.literal is not None
        return _compared(values, predicate.operator, predicate.literal)
    if isinstance(predicate, InRange):
        return _in_range(predicate, values)
    if isinstance(predicate, OneOf):
        true = _one_of(predicate, values)
        return true, ~true if predicate.has_null else nowhere
    assert isinstance(predicate, Resembles)
    if isinstance(values, Numbers):
        return nowhere, nowhere
    return _resembles(predicate, values), nowhere


def _in_range(predicate: InRange, values: Numbers | Strings) -> tuple[Mask, Mask]:
    nowhere = np.zeros(len(values), dtype=np.bool_)
    everywhere = ~nowhere
    low, high = predicate.low, predicate.high
    above, above_unknown = (nowhere, everywhere) if low is None else _compared(values, ">=", low)
    below, below_unknown = (nowhere, everywhere) if high is None else _compared(values, "<=", high)
    false = (~above & ~above_unknown) | (~below & ~below_unknown)
    true = above & below
    return true, ~true & ~false


def _compared(values: Numbers | Strings, operator: str, literal: Any) -> tuple[Mask, Mask]:
    n = len(values)
    kind = "number" if isinstance(values, Numbers) else "string"
    if kind_of(literal) != kind:
        return np.zeros(n, dtype=np.bool_), np.full(n, operator != "=", dtype=np.bool_)
    if isinstance(values, Numbers):
        return compare_numbers(values.values, operator, literal), np.zeros(n, dtype=np.bool_)
    name = _STRING_FUNCTIONS[operator]
    true = _on_strings(values, lambda pc, strings: getattr(pc, name)(strings, literal))
    return true, np.zeros(n, dtype=np.bool_)


# Names of the operators in pyarrow.compute.
_STRING_FUNCTIONS = {"=": "equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


def _on_strings(values: Strings, function: Callable[[Any, Any], Any]) -> Mask:
    """Apply a function of strings, computed once per entry of a dictionary; False for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = values.values
    if not pa.types.is_dictionary(column.type):
        mask: Mask = function(pc, column).fill_null(False).to_numpy(zero_copy_only=False)
        return mask
    parts = []
    for chunk in getattr(column, "chunks", [column]):
        if not len(chunk.dictionary):
            parts.append(np.zeros(len(chunk), dtype=np.bool_))
            continue
        of_entry = function(pc, chunk.dictionary).fill_null(False).to_numpy(zero_copy_only=False)
        indices = chunk.indices.fill_null(0).to_numpy(zero_copy_only=False)
        parts.append(of_entry[indices] & chunk.is_valid().to_numpy(zero_copy_only=False))
    return np.concatenate([np.empty(0, dtype=np.bool_), *parts])


def _one_of(predicate: OneOf, values: Numbers | Strings) -> Mask:
    if isinstance(values, Strings):
        value_set = _string_array(
            [value for some in pieces(predicate.values) for value in some if isinstance(value, str)]
        )
        return _on_strings(values, lambda pc, array: pc.is_in(array, value_set=value_set))
    found = np.zeros(len(values), dtype=np.bool_)
    known = predicate.others
    if len(known) <= FEW_LITERALS:
        for literal in known:
            if not isinstance(literal, str):
                found |= compare_numbers(values.values, "=", literal)
        return found
    for start in range(0, len(values), CHECK_VALUES):
        interrupts.check()
        some = values.values[start : start + CHECK_VALUES].tolist()
        found[start : start + CHECK_VALUES] = [value in known for value in some]
    return found


def _string_array(strings: list[str]) -> Any:
    import pyarrow

    return pyarrow.array(strings, pyarrow.string())


def _resembles(predicate: Resembles, values: Strings) -> Mask:
    # The dot means any character, and the whole string must match; `$` would match before a last line break.
    expression = f"(?s)\\A(?:{predicate.expression})\\z"
    return _on_strings(values, lambda pc, strings: _matching(pc, strings, expression, predicate))


def _matching(pc: Any, strings: Any, expression: str, predicate: Resembles) -> Any:
    """Which strings match, as Arrow's booleans.

    Cost: grows with their length alone (RE2 never backtracks).
    """
    import pyarrow

    found: list[Any] = []
    try:
        for start in range(0, len(strings), CHECK_VALUES):
            interrupts.check()
            some = strings.slice(start, CHECK_VALUES)
            search = partial(pc.match_substring_regex, some, expression, ignore_case=predicate.ignore_case)
            is_long = some.nbytes * len(expression) > LONG_SEARCH
            matching = interrupts.waited_for(search) if is_long else search()
            found += getattr(matching, "chunks", [matching])
    except pyarrow.ArrowInvalid as error:  # too large for RE2's memory
        n = len(predicate.template)
        raise ExecutionError(
            f"a template of LIKE with {n:,} characters is too long to be matched; shorten it"
        ) from error
    return pyarrow.chunked_array(found, "bool")


def _objects_resembling(predicate: Resembles, values: Objects) -> tuple[Mask, Mask]:
    """Mark, among values of any kind, strings that match, and lists with a string that matches."""
    owners: list[int] = []
    strings: list[str] = []
    unknown = np.zeros(len(values), dtype=np.bool_)
    for i, value in enumerate(values.values):
        if i % CHECK_VALUES == 0:
            interrupts.check()
        unknown[i] = value is None
        found = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
        strings += found
        owners += [i] * len(found)
    true = np.zeros(len(values), dtype=np.bool_)
    true[np.array(owners, dtype=np.int64)[_resembles(predicate, Strings(_string_array(strings)))]] = True
    return true, unknown


# ---- numbers ----------------------------------------------------------------------------------------------


def compare_numbers(values: NDArray[Any], operator: str, literal: int | float) -> Mask:
    """Compare int64 or float64 values with a number, exactly if their kinds differ.

    NumPy would make both floats, for which 2**53 and 2**53 + 1 are the same.
    """
    if values.dtype == np.int64:
        return _compare_integers(values, operator, literal)
    if isinstance(literal, int) and abs(literal) > EXACT_FLOAT:
        return _compare_with_wide(values, operator, literal)
    return _apply(values, operator, np.float64(literal))


def _compare_integers(values: NDArray[np.int64], operator: str, literal: int | float) -> Mask:
    if isinstance(literal, float):
        if math.isnan(literal):
            return np.zeros(len(values), dtype=np.bool_)
        if math.isinf(literal):
            return np.full(len(values), operator in (("<", "<=") if literal > 0 else (">", ">=")))
        if not literal.is_integer():
            if operator == "=":
                return np.zeros(len(values), dtype=np.bool_)
            # v < 2.5 where v <= 2, v > 2.5 where v > 2.
            operator, literal = ("<=" if "<" in operator else ">"), math.floor(literal)
        literal = int(literal)
    if literal > MAX_INTEGER:
        return np.full(len(values), operator in ("<", "<="))
    if literal < MIN_INTEGER:
        return np.full(len(values), operator in (">", ">="))
    return _apply(values, operator, np.int64(literal))


def _compare_with_wide(values: NDArray[np.float64], operator: str, literal: int) -> Mask:
    """Floats against an integer that may lie between two of them."""
    try:
        nearest = float(literal)
    except OverflowError:
        nearest = math.inf if literal > 0 else -math.inf
    if not math.isinf(nearest) and int(nearest) == literal:
        return _apply(values, operator, np.float64(nearest))
    if operator == "=":
        return np.zeros(len(values), dtype=np.bool_)
    above = nearest > 0 if math.isinf(nearest) else int(nearest) > literal
    if "<" in operator:
        return _apply(values, "<" if above else "<=", np.float64(nearest))
    return _apply(values, ">=" if above else ">", np.float64(nearest))


def _apply(values: NDArray[Any], operator: str, literal: Any) -> Mask:
    functions: dict[str, Any] = {
        "=": np.equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }
    mask: Mask = functions[operator](values, literal)
    return mask
