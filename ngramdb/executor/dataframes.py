"""Results as the tables of other libraries: Arrow, pandas, polars.

A column's Arrow type follows from its values: integers are int64, numbers float64, then bool, string,
and lists of one of these. Everything else (mixed types, objects, integers beyond 64 bits, fractions
beside integers that no float represents) is text: strings unchanged, everything else as JSON. The
libraries are imported on demand.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any

from ngramdb.errors import ExecutionError
from ngramdb.lazy import lazy_module
from ngramdb.segments.metadata_columns import (
    import_pandas,
    is_number_or_stored,
    storage_type,
    widest_type,
)
from ngramdb.source import Corpus

if TYPE_CHECKING:
    import pyarrow
else:
    pyarrow = lazy_module("pyarrow")


Rows = Sequence[tuple[Any, ...]]
# Known types of the columns' values, as in `Result.types`.
Types = Sequence[type | None]

# The range of int64.
INT64 = range(-(2**63), 2**63)


def arrow_table(names: Sequence[str], types: Types, rows: Rows, came: Sequence[Any] = ()) -> Any:
    """Return rows as a `pyarrow.Table`; `came` has the columns' Arrow types, or None for unknown ones."""
    import_pandas()
    columns = _columnwise(rows, len(names))
    arrays = [
        _restored(_array(values, _arrow_type(values, _arrow_name(known))), kind)
        for values, known, kind in zip(columns, types, came or [None] * len(names), strict=True)
    ]
    return pyarrow.Table.from_arrays(arrays, names=list(names))


def record_batches(
    names: Sequence[str], types: Types, first: Rows, batches: Iterator[Rows], came: Sequence[Any] = ()
) -> Any:
    """Return a `pyarrow.RecordBatchReader` over batches of rows, of which `first` is the first one."""
    import_pandas()
    kinds = [
        _arrow_type(values, _arrow_name(known)) if known in (None, list) else _arrow_name(known)
        for values, known in zip(_columnwise(first, len(names)), types, strict=True)
    ]
    stored = pyarrow.schema(list(zip(names, kinds, strict=True)))
    known = [kind or given for kind, given in zip(came or [None] * len(names), kinds, strict=True)]
    schema = pyarrow.schema(list(zip(names, known, strict=True)))
    return pyarrow.RecordBatchReader.from_batches(schema, _record_batches(stored, schema, batches))


def _record_batches(stored: Any, schema: Any, batches: Iterator[Rows]) -> Iterator[Any]:
    for rows in chain([next(batches, [])], batches):  # there is a batch even without rows
        columns = _columnwise(rows, len(schema))
        arrays = [
            _restored(_typed_array(values, field), kind)
            for values, field, kind in zip(columns, stored, schema.types, strict=True)
        ]
        yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _restored(array: Any, kind: Any) -> Any:
    return array if kind is None else as_came(array, kind)


def _typed_array(values: list[Any], field: Any) -> Any:
    found, wanted = _arrow_type(values, field.type), field.type
    if found != wanted and not _takes(wanted, found, values):
        raise ExecutionError(
            f"column {field.name} is {wanted} in the first rows and {found} in later ones, "
            "which a stream of batches cannot hold; arrow() can"
        )
    return _array(values, wanted)


def _takes(wanted: Any, found: Any, values: list[Any]) -> bool:
    """Return True if a column of one type can hold values of another."""
    text, is_list = pyarrow.string(), pyarrow.types.is_list
    if is_list(wanted) and is_list(found):
        return bool(wanted.value_type == text)
    if wanted == pyarrow.float64() and found == pyarrow.int64():
        return _are_floats(values)
    return bool(wanted == text)


def pandas_frame(names: Sequence[str], types: Types, rows: Rows) -> Any:
    """Return a `pandas.DataFrame`: plain numpy types, but nullable Int64 and boolean for columns with NULLs.

    Columns of text have pandas' default type for strings.
    """
    pandas = _optional("pandas")
    text = "str" if int(pandas.__version__.partition(".")[0]) >= 3 else "object"
    columns = _columnwise(rows, len(names))
    series = [
        pandas.Series(values, dtype=_pandas_type(values, known, text))
        for values, known in zip(columns, types, strict=True)
    ]
    frame = pandas.concat(series, axis=1) if series else pandas.DataFrame()
    frame.columns = list(names)
    return frame


def column_frame(columns: Mapping[str, Any]) -> Any:
    """Return a `pandas.DataFrame` of arrays of equal lengths."""
    return _optional("pandas").DataFrame(dict(columns))


def polars_frame(names: Sequence[str], types: Types, rows: Rows) -> Any:
    """Return a `polars.DataFrame`."""
    return _optional("polars").from_arrow(arrow_table(names, types, rows))


# ---- types ----------------------------------------------------------------------------------------------


def _columnwise(rows: Rows, n_columns: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(n_columns)]


def _kinds(values: list[Any]) -> set[type]:
    return set(map(type, values)) - {type(None)}


def _are_floats(values: list[Any]) -> bool:
    """Return True if floats represent all integers among the values; beyond 2^53 most are not represented."""
    return all(type(value) is not int or _is_float(value) for value in values)


def _is_float(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _arrow_name(known: type | None) -> Any:
    """Return the Arrow type of a column without values to infer it from."""
    if known is bool:
        return pyarrow.bool_()
    if known is int:
        return pyarrow.int64()
    if known is float:
        return pyarrow.float64()
    return pyarrow.list_(pyarrow.string()) if known is list else pyarrow.string()


def _arrow_type(values: list[Any], default: Any) -> Any:
    """Return the type that holds all values; `default` for no values."""
    kinds = _kinds(values)
    if not kinds:
        return default
    if kinds == {bool}:
        return pyarrow.bool_()
    if kinds == {int}:
        fits = all(value is None or value in INT64 for value in values)
        return pyarrow.int64() if fits else pyarrow.string()
    if kinds <= {int, float}:
        return pyarrow.float64() if _are_floats(values) else pyarrow.string()
    if kinds == {list}:
        inner = default.value_type if pyarrow.types.is_list(default) else pyarrow.string()
        items = [item for value in values if value is not None for item in value]
        return pyarrow.list_(_arrow_type(items, inner))
    return pyarrow.string()


def _array(values: list[Any], kind: Any) -> Any:
    return pyarrow.array(_converted(values, kind), kind)


def _converted(values: list[Any], kind: Any) -> list[Any]:
    """Convert values, or those in lists, to the type."""
    if kind == pyarrow.string():
        return [_text(value) for value in values]
    if kind == pyarrow.float64():
        return [None if value is None else float(value) for value in values]
    if pyarrow.types.is_list(kind):
        return [None if value is None else _converted(value, kind.value_type) for value in values]
    return values


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _pandas_type(values: list[Any], known: type | None, text: str) -> str:
    kinds = _kinds(values) or ({known} if known is not None else set())
    has_null = None in values
    if kinds == {str}:
        return text
    if kinds == {bool}:
        return "boolean" if has_null else "bool"
    if kinds == {int}:
        fits = all(value is None or value in INT64 for value in values)
        return "object" if not fits else "Int64" if has_null else "int64"
    return "float64" if kinds and kinds <= {int, float} and _are_floats(values) else "object"


def _optional(name: str) -> Any:
    """Import a library that ngramdb does not require."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ExecutionError(f"{name} is not installed: pip install 'ngramdb[df]'") from error


# ---- Arrow types of metadata fields, for tables that leave the database.


# Decimal digits that every 64-bit float preserves.
_FLOAT_DIGITS = 15
# Arrow parses times of day only after a date.
_SOME_DAY = "1970-01-01T"


def arrow_type(type_name: str) -> Any:
    """Return the Arrow type for a metadata type such as `int64` or `list<string>`; `json` is text."""
    import_pandas()
    return storage_type(pyarrow, type_name)


def types_that_came(corpus: Corpus, path: str) -> list[Any]:
    """Return the original Arrow types of a field loaded from tables; None for one stored unchanged."""
    found: list[Any] = []
    for segment in corpus.segments:
        if path in segment.metadata.fields():
            kind = segment.metadata.arrow_types().get(path)
            if kind not in found:
                found.append(kind)
    return found


def are_lost(kinds: Sequence[Any]) -> bool:
    """Return True if a stored integer or float cannot hold all values of these `types_that_came`."""
    return not all(map(is_number_or_stored, kinds))


def type_that_came(corpus: Corpus, path: str, stored: str) -> Any:
    """Return the original Arrow type of all values of a field; None to leave them as they are stored.

    If there are several original types, it is the widest of them.
    """
    kind = widest_type(types_that_came(corpus, path))
    if kind is None or _is_long_decimal(kind):
        return None
    try:
        as_came(pyarrow.array([], arrow_type(stored)), kind)
    except (pyarrow.ArrowException, ValueError):  # this version of Arrow cannot convert it
        return None
    return kind


def as_came(array: Any, kind: Any) -> Any:
    """Return a column of stored values in its original type.

    Raises ArrowException or ValueError for a value that this type cannot represent.
    """
    arrow, types = pyarrow, pyarrow.types
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
    item = kind.value_type if pyarrow.types.is_nested(kind) else kind
    return bool(pyarrow.types.is_decimal(item) and item.scale > 0 and item.precision > _FLOAT_DIGITS)
