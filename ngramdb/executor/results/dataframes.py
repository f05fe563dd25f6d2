"""Results as the tables of other libraries: Arrow, pandas, polars.

A column's Arrow type follows from its values: whole numbers are int64, numbers float64, then bool, string,
and lists of one of these. Whatever else there is (types mixed, objects, integers beyond 64 bits, fractions
beside whole numbers that no float can be) is text: strings as they are, everything else as JSON. The
libraries are imported when they are asked for.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ngramdb.errors import ExecutionError
from ngramdb.executor.results import arrow_types
from ngramdb.lazy import lazy_module
from ngramdb.segments.metadata_columns import import_pandas

if TYPE_CHECKING:
    import pyarrow
else:
    pyarrow = lazy_module("pyarrow")

Rows = Sequence[tuple[Any, ...]]
# What is known of the columns' values beforehand, as `Result.types` has it.
Types = Sequence[type | None]

# The whole numbers that int64 holds.
INT64 = range(-(2**63), 2**63)


def arrow_table(names: Sequence[str], types: Types, rows: Rows, came: Sequence[Any] = ()) -> Any:
    """Rows as a `pyarrow.Table`; `came` are the columns' Arrow types, or None, where any is known."""
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
    """A `pyarrow.RecordBatchReader` over batches of rows, of which `first` is the first one."""
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
    for rows in chain([next(batches, [])], batches):  # of no rows, too, there is a batch
        columns = _columnwise(rows, len(schema))
        arrays = [
            _restored(_typed_array(values, field), kind)
            for values, field, kind in zip(columns, stored, schema.types, strict=True)
        ]
        yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _restored(array: Any, kind: Any) -> Any:
    return array if kind is None else arrow_types.as_came(array, kind)


def _typed_array(values: list[Any], field: Any) -> Any:
    found, wanted = _arrow_type(values, field.type), field.type
    if found != wanted and not _takes(wanted, found, values):
        raise ExecutionError(
            f"column {field.name} is {wanted} in the first rows and {found} in later ones, "
            "which a stream of batches cannot hold; arrow() can"
        )
    return _array(values, wanted)


def _takes(wanted: Any, found: Any, values: list[Any]) -> bool:
    """Whether values of one type have a place among those of another."""
    text, is_list = pyarrow.string(), pyarrow.types.is_list
    if is_list(wanted) and is_list(found):
        return bool(wanted.value_type == text)
    if wanted == pyarrow.float64() and found == pyarrow.int64():
        return _are_floats(values)
    return bool(wanted == text)


def pandas_frame(names: Sequence[str], types: Types, rows: Rows) -> Any:
    """A `pandas.DataFrame`: plain numpy types, but nullable Int64 and boolean where there are NULLs.

    Texts are of pandas' default type for them.
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
    """A `pandas.DataFrame` of arrays of equal lengths."""
    return _optional("pandas").DataFrame(dict(columns))


def polars_frame(names: Sequence[str], types: Types, rows: Rows) -> Any:
    """A `polars.DataFrame`."""
    return _optional("polars").from_arrow(arrow_table(names, types, rows))


# ---- types ----------------------------------------------------------------------------------------------


def _columnwise(rows: Rows, n_columns: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(n_columns)]


def _kinds(values: list[Any]) -> set[type]:
    return set(map(type, values)) - {type(None)}


def _are_floats(values: list[Any]) -> bool:
    """Whether each whole number is one of those that floats can be: beyond 2^53 most are not."""
    return all(type(value) is not int or _is_float(value) for value in values)


def _is_float(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def _arrow_name(known: type | None) -> Any:
    """The Arrow type of a column without values to infer it from."""
    if known is bool:
        return pyarrow.bool_()
    if known is int:
        return pyarrow.int64()
    if known is float:
        return pyarrow.float64()
    return pyarrow.list_(pyarrow.string()) if known is list else pyarrow.string()


def _arrow_type(values: list[Any], default: Any) -> Any:
    """The type that holds all values; `default` where there are none."""
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
    """Values, or those in lists, as the type has them."""
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
    """A library that ngramdb does not depend on."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ExecutionError(f"{name} is not installed: pip install 'ngramdb[df]'") from error
