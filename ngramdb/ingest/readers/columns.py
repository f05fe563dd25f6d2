"""Metadata of many documents as columns: Arrow arrays of the few types that metadata have.

A table's columns go into a segment as they are, without a Python object for each value. Here they get the
form in which segments store them (`ngramdb.segments.metadata`, FORMAT.md): structs are flattened, so that
there is a column for each path; the name of its type is in the field's metadata under "ngramdb.type".

    bool, int64, float64, string    of booleans, integers, floats and strings of any width
    list<…> of one of these         of lists of them
    string                          of times and dates (ISO 8601)
    int64, float64                  of decimal numbers, as they have digits after the point
    json                            of all else: JSON text

The type that numbers and times came with is in the field's metadata, too ("ngramdb.arrow"), for exports.

NULL is a missing value. A struct without any value is marked in a column of its own ("ngramdb.mark":
object).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import islice
from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument
from ngramdb.ingest.documents import has_field, infinite, is_finite, select, without_nan
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_INTEGER
from ngramdb.segments.metadata_columns import (
    ARROW_KEY,
    JSON,
    MARK_KEY,
    MAX_OBJECT_DEPTH,
    OBJECT,
    TYPE_KEY,
    Chunk,
    Path,
    common_type,
    path_of,
    split_path,
    storage_type,
    types_of,
    written_type,
)

pyarrow = lazy_module("pyarrow")
compute = lazy_module("pyarrow.compute")

# Key of the name of a field's extension type, if no imported library knows the type.
EXTENSION_KEY = b"ARROW:extension:name"
# Booleans in 8 bits each, as DuckDB can have them.
BOOL8 = "arrow.bool8"

Convert = Callable[[Any], Any]


class Columns:
    """The metadata of the rows of one record batch, a column for each path."""

    def __init__(self, batch: Any) -> None:
        """`batch` has the types and tags that the module describes."""
        self._batch = batch

    @property
    def batch(self) -> Any:
        """The record batch, for `MetadataBuilder.add_columns`."""
        return self._batch

    @property
    def names(self) -> list[str]:
        """The paths of the fields; each is in at least one row."""
        names: list[str] = self._batch.schema.names
        return names

    def has(self, path: Path) -> bool:
        """Return True if a row has a value at the path, or in the object at it. Cost: reads maps once."""
        for field, column in zip(self._batch.schema, self._batch.columns, strict=True):
            keys = split_path(field.name)
            if keys[: len(path)] == path:
                return True
            is_map = field.metadata[TYPE_KEY] == JSON.encode() and path[: len(keys)] == keys
            if is_map and any(
                has_field(json.loads(text), path[len(keys) :])
                for text in column.to_pylist()
                if text is not None
            ):
                return True
        return False

    def taken(self, numbers: Sequence[int]) -> Any:
        """Copy some rows to a record batch that keeps nothing else in memory."""
        return self._batch.take(pyarrow.array(numbers, pyarrow.int64()))

    def row(self, number: int) -> dict[str, Any]:
        """Return the metadata of one row, nested."""
        record: dict[str, Any] = {}
        for field, column in zip(self._batch.schema, self._batch.columns, strict=True):
            value = column[number].as_py()
            if value is None:
                continue
            if MARK_KEY in field.metadata:
                value = {}
            elif field.metadata[TYPE_KEY] == JSON.encode():
                value = json.loads(value)
            *keys, last = split_path(field.name)
            place = record
            for key in keys:
                place = place.setdefault(key, {})
            place[last] = value
        return record


class Row(Mapping[str, Any]):
    """The metadata of one document, as a row of columns; Python values are made on demand."""

    __slots__ = ("columns", "number")

    def __init__(self, columns: Columns, number: int) -> None:
        self.columns = columns
        self.number = number

    def __getitem__(self, key: str) -> Any:
        return self.columns.row(self.number)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns.row(self.number))

    def __len__(self) -> int:
        return len(self.columns.row(self.number))

    def keys(self) -> Any:
        """Return all keys at once: otherwise `dict(row)` would read the values one by one."""
        return self.columns.row(self.number).keys()


@dataclass(frozen=True)
class _Leaf:
    """A future column of metadata: the path of its values in a table, and their conversion."""

    keys: Path
    kind: Any
    convert: Convert | None


@dataclass(frozen=True)
class _Struct:
    """A struct whose rows are objects without fields if none of its leaves has a value."""

    keys: Path


class MetadataColumns:
    """Turns the record batches of one table into `Columns`."""

    def __init__(self, schema: Any, content: Path | None, kept: Iterable[Path] | None = None) -> None:
        """`content` is the path of the column with the content; `kept` are paths to keep, None for all.

        Raises
        ------
        InvalidArgument
            a column of a type that metadata cannot hold
        """
        self._content = content
        self._kept = None if kept is None else list(kept)
        self._parts: list[_Leaf | _Struct] = []
        # The fields in which a NaN was taken for NULL.
        self.gaps: dict[str, None] = {}
        for field in schema:
            self._collect(field, ())

    @property
    def names(self) -> list[str]:
        """The columns of the table that have any metadata."""
        return list(dict.fromkeys(part.keys[0] for part in self._parts))

    @property
    def paths(self) -> list[str]:
        """The paths of the fields; objects in maps have further ones."""
        return [path_of(part.keys) for part in self._parts if isinstance(part, _Leaf)]

    def of(self, batch: Any) -> tuple[Columns | None, dict[int, str]]:
        """Return the columns of a batch, or None; and the errors of rows, by row number."""
        fields: list[Any] = []
        arrays: list[Any] = []
        wrong: dict[int, str] = {}
        tree = _Tree(batch)
        for part in self._parts:
            array = tree.array(part.keys)
            if array.null_count == len(array):
                continue
            if isinstance(part, _Struct):
                array = _without_fields(array, tree.fields(part.keys))
                tags = {TYPE_KEY: "bool", MARK_KEY: OBJECT}
            else:
                type_name, array = self._typed(array, part, wrong)
                tags = {TYPE_KEY: type_name, **_came_as(part.kind, type_name)}
            if array.null_count < len(array):
                fields.append(pyarrow.field(path_of(part.keys), array.type, metadata=tags))
                arrays.append(array)
        if not arrays:
            return None, wrong
        return Columns(pyarrow.RecordBatch.from_arrays(arrays, schema=pyarrow.schema(fields))), wrong

    def _collect(self, field: Any, before: Path) -> None:
        """Take the leaves of a column of the table, or of a field of a struct."""
        keys = (*before, field.name)
        if keys == self._content or not self._may_keep(keys):
            return
        kind = _plain_type(field.type)
        if not pyarrow.types.is_struct(kind) or len(keys) == MAX_OBJECT_DEPTH:
            convert = conversion(path_of(keys), field)
            if pyarrow.types.is_map(kind) and convert is not None and not self._keeps(keys):
                convert = self._of_kept_keys(keys, convert)
            self._parts.append(_Leaf(keys, kind, convert))
            return
        _check_extension(path_of(keys), field)
        _check_names(path_of(keys), kind)
        for inner in kind:
            self._collect(inner, keys)
        holds_content = self._content is not None and self._content[: len(keys)] == keys
        if not holds_content and self._keeps(keys):
            self._parts.append(_Struct(keys))

    def _of_kept_keys(self, keys: Path, convert: Convert) -> Convert:
        """Return what converts the map at `keys` to an object with the fields that are kept, or to None."""
        paths = [path[len(keys) :] for path in self._kept or () if path[: len(keys)] == keys]

        def chosen(value: Any) -> Any:
            found = convert(value)
            return (select(found, paths) or None) if isinstance(found, dict) else None

        return chosen

    def _may_keep(self, keys: Path) -> bool:
        """Return True if the path, or one below it, is kept."""
        if self._kept is None:
            return True
        return any(keys[: len(path)] == path or path[: len(keys)] == keys for path in self._kept)

    def _keeps(self, keys: Path) -> bool:
        return self._kept is None or any(keys[: len(path)] == path for path in self._kept)

    def _typed(self, array: Any, leaf: _Leaf, wrong: dict[int, str]) -> tuple[str, Any]:
        """Return a column in the form of metadata, and the name of its type."""
        name = _scalar_name(leaf.kind, array)
        if name is not None:
            return name, self._finite(array.cast(storage_type(pyarrow, name)), leaf, wrong)
        if is_list(leaf.kind):
            items = array.flatten()
            inner = _scalar_name(leaf.kind.value_type, items)
            if inner is not None and items.null_count < len(items):
                array = self._finite(array.cast(pyarrow.list_(storage_type(pyarrow, inner))), leaf, wrong)
                return f"list<{inner}>", array
        return self._converted(array, leaf, wrong)

    def _finite(self, array: Any, leaf: _Leaf, wrong: dict[int, str]) -> Any:
        """Return the array with NULL for NaN; rows with an infinite number are recorded in `wrong`."""
        of_lists = is_list(array.type)
        items = array.flatten() if of_lists else array
        if not pyarrow.types.is_floating(items.type):
            return array
        numbers = items.to_numpy(zero_copy_only=False)  # NULL is NaN here, and most columns have neither
        if items.null_count < np.isnan(numbers).sum():
            self.gaps[path_of(leaf.keys)] = None
            if of_lists:
                array = pyarrow.array(list(map(without_nan, array.to_pylist())), array.type)
            else:
                array = pyarrow.array(numbers, array.type, from_pandas=True)
        found = np.isinf(numbers)
        if found.any():
            rows = np.flatnonzero(found)
            if of_lists:
                rows = compute.list_parent_indices(array).to_numpy(zero_copy_only=False)[rows]
            wrong.update(dict.fromkeys(rows.tolist(), infinite(path_of(leaf.keys))))
        return array

    def _converted(self, array: Any, leaf: _Leaf, wrong: dict[int, str]) -> tuple[str, Any]:
        """Convert a column through Python's values: times, decimal numbers, and what is stored as JSON."""
        values = _python_values(array, leaf, wrong)
        for i, value in enumerate(values):
            known = without_nan(value)
            if known is not value:
                values[i] = known
                self.gaps[path_of(leaf.keys)] = None
            if not is_finite(known):
                wrong[i] = infinite(path_of(leaf.keys))
                values[i] = None
        name = common_type(types_of(values))
        return name, Chunk(values, name).array


def _plain_type(kind: Any) -> Any:
    """Return the type of a column's values, whatever its encoding."""
    while True:
        if isinstance(kind, pyarrow.BaseExtensionType):
            kind = pyarrow.bool_() if kind.extension_name == BOOL8 else kind.storage_type
        elif pyarrow.types.is_dictionary(kind):
            kind = kind.value_type
        else:
            return kind


def plain_array(array: Any) -> Any:
    """Return the array of the plain values: without dictionary and extension type."""
    while True:
        if isinstance(array.type, pyarrow.BaseExtensionType):
            is_bool = array.type.extension_name == BOOL8
            array = array.storage.cast(pyarrow.bool_()) if is_bool else array.storage
        elif pyarrow.types.is_dictionary(array.type):
            if str(array.type.value_type) == "string_view":  # which Arrow does not decode
                strings = array.dictionary.cast(pyarrow.large_string())
                array = pyarrow.DictionaryArray.from_arrays(array.indices, strings)
            array = array.dictionary_decode()
        else:
            return array


class _Tree:
    """The arrays of a record batch by their paths; those within structs are NULL if the struct is."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._fields: dict[Path, list[Any]] = {}

    def array(self, keys: Path) -> Any:
        if len(keys) == 1:
            return plain_array(self._batch.column(keys[0]))
        index = self.array(keys[:-1]).type.get_field_index(keys[-1])
        return plain_array(self.fields(keys[:-1])[index])

    def fields(self, keys: Path) -> list[Any]:
        """Return the arrays in a struct."""
        if keys not in self._fields:
            self._fields[keys] = self.array(keys).flatten()
        return self._fields[keys]


def array_at(batch: Any, keys: Path) -> Any:
    """Return the array at a path; NULL if an object on the way is."""
    return _Tree(batch).array(keys)


def _without_fields(array: Any, fields: list[Any]) -> Any:
    """Return True for each struct without any field, else NULL."""
    found = array.is_valid()
    for inner in fields:
        found = compute.and_(found, inner.is_null())
    return compute.if_else(found, True, pyarrow.scalar(None, pyarrow.bool_()))


# ---- values ---------------------------------------------------------------------------------------------


def _scalar_name(kind: Any, array: Any) -> str | None:
    """Return the name of the type that holds an array's values as they are, or None."""
    types = pyarrow.types
    if types.is_boolean(kind):
        return "bool"
    if types.is_uint64(kind):
        most = compute.max(array).as_py()
        return "int64" if most is None or most <= MAX_INTEGER else None
    if types.is_integer(kind):
        return "int64"
    if types.is_floating(kind):
        return "float64"
    return "string" if is_string(kind) else None


def _came_as(kind: Any, type_name: str) -> dict[bytes, Any]:
    """Return the tag with the Arrow type of numbers, times or lists, unless it is that of the storage.

    The tag of a map has the type of its values.
    """
    types = pyarrow.types
    if types.is_map(kind):
        kind, stored = _plain_type(kind.item_type), [pyarrow.int64(), pyarrow.float64()]
    elif type_name == JSON:
        return {}
    else:
        inner = type_name.removeprefix("list<").removesuffix(">")
        stored = [storage_type(pyarrow, inner)]
    item = kind.value_type if is_list(kind) else kind
    recorded = (types.is_integer, types.is_floating, types.is_decimal, types.is_temporal)
    if not any(holds(item) for holds in recorded) or kind in (*stored, *map(pyarrow.list_, stored)):
        return {}
    return {ARROW_KEY: written_type(kind)}


def _python_values(array: Any, leaf: _Leaf, wrong: dict[int, str]) -> list[Any]:
    """Return a column's values as metadata; None, with an error in `wrong`, for times beyond Python's."""
    if _is_of_nanoseconds(array.type):
        return _nanosecond_texts(array)
    if is_list(array.type) and _is_of_nanoseconds(array.type.value_type):
        items = iter(_nanosecond_texts(array.flatten()))
        lengths = compute.list_value_length(array).to_pylist()
        return [None if n is None else list(islice(items, n)) for n in lengths]
    try:
        return _converted_values(array.to_pylist(), leaf.convert)
    except (OverflowError, ValueError):
        return [_value_of(item, i, leaf, wrong) for i, item in enumerate(array)]


def _is_of_nanoseconds(kind: Any) -> bool:
    is_time = pyarrow.types.is_timestamp(kind) or pyarrow.types.is_time64(kind)
    return is_time and bool(kind.unit == "ns")


def _converted_values(values: list[Any], convert: Convert | None) -> list[Any]:
    return values if convert is None else [convert(value) for value in values]


def _value_of(item: Any, number: int, leaf: _Leaf, wrong: dict[int, str]) -> Any:
    try:
        return _converted_values([item.as_py()], leaf.convert)[0]
    except (OverflowError, ValueError):
        wrong[number] = (
            f"metadata field {path_of(leaf.keys)!r} has a time outside of the years 1 to 9999, or in a "
            "zone that is not known"
        )
        return None


def _nanosecond_texts(array: Any) -> list[str | None]:
    """Return times in ISO 8601, with nine digits if they need them: Python's own have six."""
    nanoseconds = compute.fill_null(array.cast(pyarrow.int64()), 0).to_numpy(zero_copy_only=False)
    below = np.mod(nanoseconds, 1000)
    is_of_day = pyarrow.types.is_time64(array.type)
    kind = pyarrow.time64("us") if is_of_day else pyarrow.timestamp("us", array.type.tz)
    whole = pyarrow.array((nanoseconds - below) // 1000).cast(kind)
    texts: list[str | None] = []
    for time, digits, is_valid in zip(
        whole.to_pylist(), below.tolist(), array.is_valid().to_pylist(), strict=True
    ):
        text = _time_text(time)
        if digits:
            exact = _in_utc(time).isoformat(timespec="microseconds")
            at = exact.index(".") + 7
            text = f"{exact[:at]}{digits:03}{exact[at:]}"
        texts.append(text if is_valid else None)
    return texts


def _time_text(time: Any) -> str:
    """Format a date or time in ISO 8601; one with a zone in UTC, so that texts sort like times."""
    text: str = _in_utc(time).isoformat()
    return text


def _in_utc(time: Any) -> Any:
    return time.astimezone(timezone.utc) if isinstance(time, datetime) and time.tzinfo is not None else time


def conversion(name: str, field: Any) -> Convert | None:
    """Return the function that converts a column's Python values to those of metadata; or None.

    Times are texts in ISO 8601 (with a zone: in UTC), decimal numbers are whole ones or floats. Raises
    InvalidArgument for a type that metadata cannot hold.
    """
    _check_extension(name, field)
    types, kind = pyarrow.types, _plain_type(field.type)
    plain = (types.is_boolean, types.is_integer, types.is_floating, types.is_null, is_string)
    if any(holds(kind) for holds in plain):
        return None
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind):
        return _unless_null(_time_text)
    if types.is_decimal(kind):
        return _unless_null(int if kind.scale <= 0 else float)
    if is_list(kind):
        item = conversion(name, kind.value_field)
        return None if item is None else _unless_null(lambda values: [item(value) for value in values])
    if types.is_struct(kind):
        _check_names(name, kind)
        inner = {field.name: conversion(f"{name}.{field.name}", field) for field in kind}
        found = {key: convert for key, convert in inner.items() if convert is not None}
        return _unless_null(lambda value: {**value, **{key: found[key](value[key]) for key in found}})
    if types.is_map(kind) and is_string(kind.key_type):
        convert = conversion(name, kind.item_field)
        return _unless_null(lambda items: _object(items, convert))
    raise _unfit(name, kind)


def _check_extension(name: str, field: Any) -> None:
    """Raise InvalidArgument for a type that extends another one, unless its values are what is stored.

    Strings, booleans and lists are. A number need not be: a Period of pandas is months or days since 1970.
    """
    kind = field.type
    while pyarrow.types.is_dictionary(kind):
        kind = kind.value_type
    extension = (field.metadata or {}).get(EXTENSION_KEY, b"").decode("utf-8", "replace")
    if isinstance(kind, pyarrow.BaseExtensionType):
        extension = kind.extension_name
    stored = _plain_type(kind)
    if extension and not (is_string(stored) or is_list(stored) or pyarrow.types.is_boolean(stored)):
        raise _unfit(name, extension)


def _check_names(name: str, kind: Any) -> None:
    """Raise InvalidArgument if a struct has two fields of one name, which no object can have."""
    names = [field.name for field in kind]
    twice = next((inner for inner in names if names.count(inner) > 1), None)
    if twice is not None:
        raise InvalidArgument(
            f"the table's column {name!r} is a struct with several fields {twice!r}; rename them, or leave "
            "the column out"
        )


def _unfit(name: str, kind: Any) -> InvalidArgument:
    return InvalidArgument(
        f"the table's column {name!r} is {kind}, which metadata cannot hold; convert it, or leave it out"
    )


def _object(items: Sequence[tuple[str, Any]], convert: Convert | None) -> Any:
    """Return a map as an object; one with a repeated key as a list of its pairs."""
    pairs = [(key, value if convert is None else convert(value)) for key, value in items]
    found = dict(pairs)
    return found if len(found) == len(pairs) else list(map(list, pairs))


def _unless_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def is_string(kind: Any) -> bool:
    """Return True for a type of strings."""
    return str(kind) in ("string", "large_string", "string_view")


def is_list(kind: Any) -> bool:
    """Return True for a type of lists."""
    types = pyarrow.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
