"""Columns of metadata on their way into Arrow: each batch in its narrowest type, widened at the end.

`ngramdb.segments.metadata` defines the types and marks.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_pattern
from ngramdb.limits import MAX_INTEGER, MAX_VALUE_DEPTH, MIN_INTEGER

# The keys of a field, from the outermost object on.
Path = tuple[str, ...]

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
    """Import pandas, if installed, before pyarrow does.

    pyarrow's first array or scalar of Python's values imports it, too, and drops what is raised meanwhile:
    Ctrl-C was lost, and a statement that should have been cancelled was committed.
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
        """Return a chunk of an array of the type's own storage, which is kept."""
        made = cls([], type_name)
        made.array = array
        return made

    def __init__(self, values: list[Any], type_name: str) -> None:
        arrow = pyarrow()
        import_pandas()
        self.type_name = type_name
        self.integers: Any = None
        if type_name == JSON:
            values = [None if value is None else to_json(value) for value in values]
        elif type_name == "float64" and int in set(map(type, values)):
            self.integers = arrow.array([type(value) is int for value in values], arrow.bool_())
        self.array = arrow.array(values, storage_type(arrow, type_name))

    def values(self) -> list[Any]:
        """Return the values unchanged."""
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


def to_json(value: Any) -> str:
    """Return a value as the JSON text that columns store."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Column:
    """The values of one path: those of the current batch as Python objects, earlier ones as chunks."""

    __slots__ = ("came", "chunks", "declared", "mark", "path", "types", "values")

    def __init__(self, path: str, mark: str | None, n_batches: int) -> None:
        self.path = path
        self.mark = mark
        self.types: set[str] = set()
        # The type to use if it has no value.
        self.declared: set[str] = set()
        # The Arrow types that values came with; None for values of no table.
        self.came: set[bytes | None] = set()
        self.values: list[Any] = []
        # None for a batch without values.
        self.chunks: list[Chunk | None] = [None] * n_batches

    def put(self, row: int, value: Any) -> None:
        """Set the value of a row of the current batch; skipped rows have none."""
        missing = row - len(self.values)
        if missing:
            self.values.extend([None] * missing)
        self.values.append(value)

    def end_batch(self, n_rows: int, came: bytes | None = None) -> None:
        """Turn the current batch's values into a chunk; `came` is the Arrow type that they came with."""
        if not self.values:
            self.chunks.append(None)
            return
        self.values.extend([None] * (n_rows - len(self.values)))
        found = types_of(self.values)
        self.types |= found
        self.came.add(came if self.mark is None else None)
        self.chunks.append(Chunk(self.values, common_type(found)))
        self.values = []

    def put_array(self, array: Any, type_name: str, came: bytes | None = None) -> None:
        """Set all values of the current batch: an array of the type's own storage."""
        self.came.add(came)
        found = {type_name} if type_name != "int64" else types_of_integers(array)
        self.types |= found
        self.chunks.append(Chunk.of_array(array, type_name))


def types_of_integers(array: Any) -> set[str]:
    """Return what `types_of` returns for the values of an array of integers, ignoring nulls."""
    import pyarrow.compute as compute

    bounds = compute.min_max(array).as_py()
    return types_of(list(bounds.values()))


def finished(column: Column, batches: list[int], encodes: bool) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the Arrow field and the arrays, one a batch, of a column and then of its hidden one, if any.

    encodes : use dictionaries for strings that repeat
    """
    arrow = pyarrow()
    type_name = common_type(column.types or column.declared)
    storage = storage_type(arrow, type_name)
    chunks = [None if chunk is None else chunk.as_type(type_name) for chunk in column.chunks]
    arrays = [
        arrow.nulls(n_rows, storage) if chunk is None else chunk.array
        for chunk, n_rows in zip(chunks, batches, strict=True)
    ]
    if type_name == "string" and encodes:
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


@lru_cache(maxsize=256)
def written_type(kind: Any) -> bytes:
    """Return the tag that is stored for an Arrow type: a schema of one field in IPC format, as base64."""
    return b64encode(pyarrow().schema([("", kind)]).serialize().to_pybytes())


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


# ---- Metadata values before they are columns: paths, plain form, and the types that hold them exactly.


# Deeper objects are stored as JSON.
MAX_OBJECT_DEPTH = 16
# 64-bit floats hold every integer up to here.
EXACT_FLOAT = 2**53
# Python writes integers of up to 4,300 decimal digits (14,284 bits); only beyond this is it worth asking.
SAFE_INTEGER_BITS = 14_000

# The dots of a path, and what is escaped in it.
_DOTS = lazy_pattern(r"(\\[\\.]|\.)")

JSON = "json"
OBJECT = "object"
#: The type of lists none of which has a value.
EMPTY_LISTS = "list<null>"
_SCALARS = {bool: "bool", int: "int64", float: "float64", str: "string"}


def split_path(path: str) -> Path:
    r"""Return the keys of a column's path: `split_path(r"a.b\.c") == ("a", "b.c")`.

    A backslash before anything but a dot or a backslash stands for itself.
    """
    if "\\" not in path:
        return tuple(path.split("."))
    keys = [""]
    for part in _DOTS.split(path):
        if part == ".":
            keys.append("")
        else:
            keys[-1] += part[1] if part in ("\\\\", "\\.") else part
    return tuple(keys)


def path_of(keys: Iterable[str]) -> str:
    """Return the path that `split_path` splits into these keys."""
    path = None
    for key in keys:
        path = join_path(path, key)
    return path or ""


def join_path(prefix: str | None, key: str) -> str:
    """Return the path of `key` inside the object at `prefix` (None: the document's metadata themselves)."""
    if "." in key or "\\" in key:
        key = key.replace("\\", "\\\\").replace(".", "\\.")
    return key if prefix is None else f"{prefix}.{key}"


def flatten(record: Mapping[str, Any], path: str | None = None) -> list[tuple[str, Any]]:
    """Return (path, value) for every field that is not null; an object without fields is the value {}.

    Any mapping is an object, and any list or tuple an array. `path` is that of the record, None for a
    document's metadata; the record itself is returned as {} if it is at a path and empty.

    Raises InvalidArgument for a value that JSON does not have.
    """
    leaves: list[tuple[str, Any]] = []
    _flatten(path, record, 1 if path is None else len(split_path(path)) + 1, leaves)
    return leaves if leaves or path is None else [(path, {})]


def _flatten(
    prefix: str | None, record: Mapping[str, Any], depth: int, leaves: list[tuple[str, Any]]
) -> None:
    first = len(leaves)
    for key, value in record.items():
        if type(key) is not str:  # rare: begin again
            del leaves[first:]
            _flatten(prefix, _with_plain_keys(prefix, record), depth, leaves)
            return
        if value is None:
            continue
        path = _checked_text(key, join_path(prefix, key))
        if type(value) in _SCALARS or depth == MAX_OBJECT_DEPTH or not isinstance(value, Mapping):
            leaves.append((path, _plain(path, value, depth)))
            continue
        n_before = len(leaves)
        _flatten(path, value, depth + 1, leaves)
        if len(leaves) == n_before:
            leaves.append((path, {}))


def _with_plain_keys(path: str | None, record: Mapping[Any, Any]) -> Mapping[str, Any]:
    """Return the mapping with keys of type str, whatever subclasses of it (enumerations, NumPy's) they were.

    Raises InvalidArgument for a key that is not a string, and for two keys with the same text.
    """
    if set(map(type, record)) <= {str}:
        return record
    where = "" if path is None else f" in the field {path!r}"
    plain: dict[str, Any] = {}
    for key, value in record.items():
        if not isinstance(key, str):
            raise InvalidArgument(
                f"metadata key {key!r}{where} is a {type(key).__name__}; keys must be strings"
            )
        text = str.__str__(key)
        if text in plain:
            raise InvalidArgument(f"metadata key {text!r} occurs twice{where}")
        plain[text] = value
    return plain


def _plain(path: str, value: Any, depth: int) -> Any:
    """Return a value in JSON's own Python types; raises InvalidArgument if it cannot be converted."""
    kind = type(value)
    if kind is str:
        return _checked_text(path, value)
    if kind is bool or kind is float or value is None:
        return value
    if kind is int:
        return value if value.bit_length() <= SAFE_INTEGER_BITS else _checked_integer(path, value)
    if depth > MAX_VALUE_DEPTH:
        raise InvalidArgument(f"metadata field {path!r} is nested more than {MAX_VALUE_DEPTH} levels deep")
    if isinstance(value, (list, tuple)):
        return [_plain(path, item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        items = _with_plain_keys(path, value).items()
        return {_checked_text(path, key): _plain(path, item, depth + 1) for key, item in items}
    # NumPy converts times beyond Python's microseconds to numbers since 1970.
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind not in "mM":
        return _plain(path, value.tolist(), depth + 1)
    # Subclasses, such as enumerations: what they are, not how they call themselves.
    if isinstance(value, str):
        return _plain(path, str.__str__(value), depth + 1)
    if isinstance(value, int):
        return _plain(path, int.__int__(value), depth + 1)
    if isinstance(value, float):
        return _plain(path, float.__float__(value), depth + 1)
    raise InvalidArgument(
        f"metadata field {path!r} holds {_called(value)}; values must be strings, numbers, booleans, None, "
        "and lists and dicts of these"
    )


def _called(value: Any) -> str:
    is_array = isinstance(value, np.ndarray)
    return f"an array of {value.dtype}" if is_array else f"a {type(value).__name__}"


def _checked_text(path: str, text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(
                f"metadata field {path!r} has an unpaired surrogate at character {error.start}, "
                "which cannot be stored as UTF-8"
            ) from None
    return text


def _checked_integer(path: str, value: int) -> int:
    try:
        str(value)
    except ValueError as error:
        raise InvalidArgument(
            f"metadata field {path!r} has an integer with too many digits: {error}"
        ) from None
    return value


def scalar_types(value: Any) -> set[str]:
    """Return the type of a value, or those of a list's elements; none for objects, null and nested lists."""
    values = value if type(value) is list else [value]
    return {_SCALARS[kind] for kind in set(map(type, values)) if kind in _SCALARS}


def types_of(values: list[Any]) -> set[str]:
    """Return the column types of values, null aside; with "wide" for integers that floats may not hold."""
    found: set[str] = set()
    for kind in set(map(type, values)) - {type(None)}:
        if kind is list:
            found.update(_list_type(value) for value in values if type(value) is list)
        elif kind is dict:
            found.add(JSON)
        else:
            found.add(_SCALARS[kind])
    if "int64" in found:
        integers = [value for value in values if type(value) is int]
        least, most = min(integers), max(integers)
        if not (least >= MIN_INTEGER and most <= MAX_INTEGER):
            found.add(JSON)
        elif not (least >= -EXACT_FLOAT and most <= EXACT_FLOAT):
            found.add("wide")
    return found


def _list_type(values: list[Any]) -> str:
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return EMPTY_LISTS
    kind = kinds.pop()
    if kinds or kind not in _SCALARS:
        return JSON
    if kind is int:
        integers = [value for value in values if value is not None]
        if not (min(integers) >= MIN_INTEGER and max(integers) <= MAX_INTEGER):
            return JSON
    return f"list<{_SCALARS[kind]}>"


def common_type(found: set[str]) -> str:
    """Return the narrowest column type that holds values of all these types exactly."""
    if found == {"int64", "wide"}:
        return "int64"
    if found == {"int64", "float64"}:
        return "float64"
    # An array without values fits every type of array.
    narrow = found - {EMPTY_LISTS} if all(name.startswith("list<") for name in found) else found
    if len(narrow) == 1:
        return next(iter(narrow))
    return EMPTY_LISTS if found == {EMPTY_LISTS} else JSON
