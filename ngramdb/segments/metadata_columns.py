"""Columns of metadata on their way into Arrow: each batch in its narrowest type, widened at the end.

`ngramdb.segments.metadata` says what the types and marks mean.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from ngramdb.segments.metadata_values import JSON, common_type, types_of

# A dictionary pays when a value comes this often on average.
DICTIONARY_REPEATS = 4

TYPE_KEY = b"ngramdb.type"
MARK_KEY = b"ngramdb.mark"
#: The Arrow type that a table's column had before it was stored (`ngramdb.ingest.readers.columns`).
ARROW_KEY = b"ngramdb.arrow"
# Under this key: values came with types none of which holds all of them.
_OF_SEVERAL = b""
SEVERAL = "several types"


def pyarrow() -> Any:
    """Return the module pyarrow, with its submodules `compute` and `ipc`."""
    # Imported when metadata are first used: it takes longer than opening a database.
    import pyarrow
    import pyarrow.compute
    import pyarrow.ipc

    return pyarrow


@cache
def import_pandas() -> None:
    """Import pandas, where it is installed, before pyarrow does.

    pyarrow's first array or scalar of Python's values imports it, too, and drops what is raised meanwhile:
    Ctrl-C was lost, and a statement that should have ended went on to its commit.
    """
    with suppress(Exception):
        import pandas  # type: ignore[import-untyped, unused-ignore] # noqa: F401


def storage_type(arrow: Any, type_name: str) -> Any:
    """Return the Arrow type that holds a column of this type."""
    if type_name.startswith("list<"):
        return arrow.list_(storage_type(arrow, type_name[5:-1]))
    by_name = {
        "bool": arrow.bool_,
        "int64": arrow.int64,
        "float64": arrow.float64,
        "string": arrow.string,
        "null": arrow.null,
        JSON: arrow.string,
    }
    return by_name[type_name]()


class Chunk:
    """A column's values in one batch: the Arrow array, its type's name, and which floats came as integers."""

    __slots__ = ("array", "integers", "type_name")

    @classmethod
    def of_array(cls, array: Any, type_name: str) -> Chunk:
        """A chunk of an array of the type's own storage, which is kept."""
        made = cls([], type_name)
        made.array = array
        return made

    def __init__(self, values: list[Any], type_name: str) -> None:
        arrow = pyarrow()
        import_pandas()
        self.type_name = type_name
        self.integers: Any = None
        if type_name == JSON:
            values = [None if value is None else _to_json(value) for value in values]
        elif type_name == "float64" and int in set(map(type, values)):
            self.integers = arrow.array([type(value) is int for value in values], arrow.bool_())
        self.array = arrow.array(values, storage_type(arrow, type_name))

    def values(self) -> list[Any]:
        """Return the values as they came."""
        values: list[Any] = self.array.to_pylist()
        if self.type_name == JSON:
            return [None if value is None else json.loads(value) for value in values]
        if self.integers is not None:
            flags = self.integers.to_pylist()
            return [int(value) if flag else value for value, flag in zip(values, flags, strict=True)]
        return values

    def as_type(self, type_name: str) -> Chunk:
        """Return the same values as a chunk of a wider type."""
        return self if type_name == self.type_name else Chunk(self.values(), type_name)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Column:
    """The values of one path: those of the current batch as Python objects, earlier ones as chunks."""

    __slots__ = ("came", "chunks", "declared", "mark", "path", "types", "values")

    def __init__(self, path: str, mark: str | None, n_batches: int) -> None:
        self.path = path
        self.mark = mark
        self.types: set[str] = set()
        # What it is where it has no value.
        self.declared: set[str] = set()
        # The Arrow types that values came with; None for values of no table.
        self.came: set[bytes | None] = set()
        self.values: list[Any] = []
        # None where a batch has no value.
        self.chunks: list[Chunk | None] = [None] * n_batches

    def put(self, row: int, value: Any) -> None:
        """Set the value of a row of the current batch; rows passed over have none."""
        missing = row - len(self.values)
        if missing:
            self.values.extend([None] * missing)
        self.values.append(value)

    def end_batch(self, n_rows: int) -> None:
        """Turn the current batch's values into a chunk."""
        if not self.values:
            self.chunks.append(None)
            return
        self.values.extend([None] * (n_rows - len(self.values)))
        found = types_of(self.values)
        self.types |= found
        self.came.add(None)
        self.chunks.append(Chunk(self.values, common_type(found)))
        self.values = []

    def put_array(self, array: Any, type_name: str, came: bytes | None = None) -> None:
        """Set the values of the current batch, which has no others: an array of the type's own storage."""
        self.came.add(came)
        found = {type_name} if type_name != "int64" else types_of_integers(array)
        self.types |= found
        self.chunks.append(Chunk.of_array(array, type_name))


def types_of_integers(array: Any) -> set[str]:
    """What `types_of` gives for the values of an array of integers, null aside."""
    import pyarrow.compute as compute

    bounds = compute.min_max(array).as_py()
    return types_of(list(bounds.values()))


def finished(column: Column, batches: list[int]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the Arrow field and the arrays, one a batch, of a column and then of its hidden one, if any."""
    arrow = pyarrow()
    type_name = common_type(column.types or column.declared)
    storage = storage_type(arrow, type_name)
    chunks = [None if chunk is None else chunk.as_type(type_name) for chunk in column.chunks]
    arrays = [
        arrow.nulls(n_rows, storage) if chunk is None else chunk.array
        for chunk, n_rows in zip(chunks, batches, strict=True)
    ]
    if type_name == "string":
        arrays = _dictionary_encoded(arrays)
    tags: dict[bytes, Any] = {TYPE_KEY: type_name}
    if column.mark is not None:
        tags[MARK_KEY] = column.mark
    came = _widest_tag(column.came)
    if came is not None and type_name != JSON:
        tags[ARROW_KEY] = came
    yield arrow.field(column.path, arrays[0].type, metadata=tags), arrays
    if any(chunk is not None and chunk.integers is not None for chunk in chunks):
        marks = [
            arrow.nulls(n_rows, arrow.bool_()) if chunk is None or chunk.integers is None else chunk.integers
            for chunk, n_rows in zip(chunks, batches, strict=True)
        ]
        yield arrow.field(column.path, arrow.bool_(), metadata={TYPE_KEY: "bool", MARK_KEY: "integer"}), marks


def read_type(tag: bytes) -> Any:
    """Return the Arrow type that is stored under `ARROW_KEY`, or SEVERAL."""
    if tag == _OF_SEVERAL:
        return SEVERAL
    arrow = pyarrow()
    return arrow.ipc.read_schema(arrow.py_buffer(b64decode(tag))).field(0).type


def widest_type(kinds: Sequence[Any]) -> Any:
    """Return the one of these Arrow types that holds the values of all; None if one is None, or none does."""
    if not kinds or None in kinds or SEVERAL in kinds:
        return None
    arrow = pyarrow()
    try:
        schemas = [arrow.schema([("", kind)]) for kind in kinds]
        widest = arrow.unify_schemas(schemas, promote_options="permissive").field(0).type
    except arrow.ArrowException:
        return None
    return widest if widest in kinds else None


def is_number_or_stored(kind: Any) -> bool:
    """Return True for types of integers and floats, and for None, which stands for the stored type."""
    types = pyarrow().types
    return kind is None or (kind != SEVERAL and bool(types.is_integer(kind) or types.is_floating(kind)))


def _widest_tag(tags: Collection[bytes | None]) -> bytes | None:
    if len(tags) < 2:
        return next(iter(tags), None)
    by_type = {None if tag is None else read_type(tag): tag for tag in tags}
    widest = widest_type(list(by_type))
    if widest is None and all(map(is_number_or_stored, by_type)):
        return None  # the stored type holds them
    return by_type.get(widest or SEVERAL, _OF_SEVERAL)


def _dictionary_encoded(arrays: list[Any]) -> list[Any]:
    """Return string arrays with one dictionary for all if values repeat often enough, else as they are."""
    arrow = pyarrow()
    strings = arrow.chunked_array(arrays)
    n_values = len(strings) - strings.null_count
    first = max(arrays, key=lambda array: len(array) - array.null_count)
    # The fullest batch shows whether values are distinct without hashing all of them.
    if 2 * len(first.unique()) > len(first) - first.null_count > DICTIONARY_REPEATS:
        return arrays
    encoded = strings.dictionary_encode().unify_dictionaries().chunks
    n_distinct = len(encoded[0].dictionary)
    if DICTIONARY_REPEATS * n_distinct > n_values:
        return arrays
    index = arrow.int8() if n_distinct <= 2**7 else arrow.int16() if n_distinct <= 2**15 else arrow.int32()
    dictionary = encoded[0].dictionary
    return [arrow.DictionaryArray.from_arrays(array.indices.cast(index), dictionary) for array in encoded]
