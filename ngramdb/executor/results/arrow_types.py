"""Types of metadata fields as Arrow has them, for tables that leave the database."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from ngramdb.planner.source import Corpus
from ngramdb.segments.metadata_columns import (
    import_pandas,
    is_number_or_stored,
    pyarrow,
    storage_type,
    widest_type,
)

# Decimal digits that every 64-bit float holds.
_FLOAT_DIGITS = 15
# Arrow parses times of day only behind a date.
_SOME_DAY = "1970-01-01T"


def arrow_type(type_name: str) -> Any:
    """The Arrow type of values of a metadata type such as `int64` or `list<string>`; `json` is text."""
    import_pandas()
    return storage_type(pyarrow(), type_name)


def types_that_came(corpus: Corpus, path: str) -> list[Any]:
    """Return the Arrow types with which a field came from tables; None for one that is stored as it is."""
    found: list[Any] = []
    for segment in corpus.segments:
        if path in segment.metadata.fields():
            kind = segment.metadata.arrow_types().get(path)
            if kind not in found:
                found.append(kind)
    return found


def are_lost(kinds: Sequence[Any]) -> bool:
    """Return True if values of these `types_that_came` are not all held by a stored integer or float."""
    return not all(map(is_number_or_stored, kinds))


def type_that_came(corpus: Corpus, path: str, stored: str) -> Any:
    """Return the Arrow type that all values of a field came with; None to leave them as they are stored.

    If they came with several types, it is the widest of these.
    """
    kind = widest_type(types_that_came(corpus, path))
    if kind is None or _is_long_decimal(kind):
        return None
    try:
        as_came(pyarrow().array([], arrow_type(stored)), kind)
    except (pyarrow().ArrowException, ValueError):  # this version of Arrow cannot convert it
        return None
    return kind


def as_came(array: Any, kind: Any) -> Any:
    """Return a column of stored values as the type that they came with.

    Raises ArrowException or ValueError for a value that this type does not have.
    """
    arrow, types = pyarrow(), pyarrow().types
    if array.type == kind:
        return array
    if types.is_list(array.type):
        items = as_came(array.values, kind.value_type)
        return arrow.ListArray.from_arrays(array.offsets, items, mask=array.is_null()).cast(kind)
    if types.is_decimal(kind):
        values = [None if value is None else Decimal(repr(value)) for value in array.to_pylist()]
        return arrow.array(values, kind)
    if types.is_date64(kind):
        return array.cast(arrow.date32()).cast(kind)
    if types.is_timestamp(kind) and kind.unit in ("s", "ms"):  # texts have six digits after the point
        return array.cast(arrow.timestamp("us", kind.tz)).cast(kind)
    if types.is_time(kind):
        unit = "ns" if kind.unit == "ns" else "us"
        moments = arrow.compute.binary_join_element_wise(_SOME_DAY, array, "")
        return moments.cast(arrow.timestamp(unit)).cast(arrow.time64(unit)).cast(kind)
    return array.cast(kind)


def _is_long_decimal(kind: Any) -> bool:
    item = kind.value_type if pyarrow().types.is_nested(kind) else kind
    return bool(pyarrow().types.is_decimal(item) and item.scale > 0 and item.precision > _FLOAT_DIGITS)
