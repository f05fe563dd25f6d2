r"""Metadata of a segment's documents as typed columns: one Arrow IPC file, read in place.

Objects are flattened: {"a": {"b": 1}} is the column "a.b"; a dot or backslash that belongs to a key has a
backslash before it. A column's type is the narrowest that holds its values exactly:

    bool, int64, float64, string    values of that type; float64 also holds integers up to 2**53
    list<…> of one of these         arrays of such values (null may be among them), all of one type
    list<null>                      arrays that are empty or hold nothing but null
    json                            all else, as JSON text in a column of strings

The type's name is in the Arrow field's metadata under "ngramdb.type"; "ngramdb.arrow" is the type of the
table's column that all its values came from, if it was another one. Strings with few distinct values
are dictionary-encoded. What a typed column cannot express is in hidden ones with a "ngramdb.mark" as well:

    integer  bool; in a float64 column of the same name, which values came as integers
    object   bool; true if the path held an object without fields
    rest     JSON text; {path: value} for paths beyond the first MAX_COLUMNS

Invariant: `row(i)` equals what was given to `add`, except that a null in an object counts as no field at all
(`{"a": null}` comes back as `{}`, `{"a": {"b": null}}` as `{"a": {}}`). Null inside arrays is kept.

Fields that were added, changed or dropped after loading are in a second file of the same form, an `Overlay`
(`ngramdb.segments.fields_file`).
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import CorruptionError, QueryCancelled, StorageError
from ngramdb.fork_safety import cached_property
from ngramdb.lazy import dataclass
from ngramdb.segments.metadata_columns import (
    ARROW_KEY,
    JSON,
    MARK_KEY,
    TYPE_KEY,
    pyarrow,
    read_type,
    scalar_types,
    split_path,
    storage_type,
    types_of,
)

# Documents whose values are converted at a time.
ROWS_AT_ONCE = 8192


class Overlay(NamedTuple):
    """Columns that replace some of a segment's own metadata.

    buffer : what `MetadataBuilder.finish` returned
    hidden : paths of the replaced fields, with all fields below them; None if all metadata are replaced
    formless : a bit per document, True if its fields changed, so that its line has another form; (n,) bool
    verify : verifies the checksums of the file. Raises CorruptionError
    """

    buffer: memoryview | bytes
    hidden: tuple[str, ...] | None
    formless: NDArray[np.bool_]
    verify: Callable[[], None]


def is_within(path: str, roots: Iterable[str]) -> bool:
    """Return True if a path is one of the roots, or the path of a field inside the object at one."""
    return any(path == root or path.startswith(root + ".") for root in roots)


class MetadataReader:
    """Reads a segment's metadata in place. Opening costs nothing; Arrow is loaded at the first question.

    buffer : what `MetadataBuilder.finish` returned, 8-byte aligned; kept alive by the reader.
    Threads may share a reader.
    """

    def __init__(
        self,
        buffer: memoryview | bytes,
        n_documents: int,
        path: str = "",
        overlay: Callable[[], Overlay | None] | None = None,
    ) -> None:
        """`n_documents` is the segment's, which the file must agree with; `path` names the file in errors.

        `overlay` opens the columns that replace some of the buffer's, when they are first needed.
        """
        self._buffer = buffer
        self._n_documents = n_documents
        self._path = path
        self._overlay = overlay
        self._parsed_types: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def fields(self) -> dict[str, str]:
        """Return the columns' paths and type names, in the order in which they first came.

        Raises CorruptionError when the file is damaged (so do all methods).
        """
        return {path: field.type_name for path, field in self._table.plain.items()}

    def arrow_tags(self) -> dict[str, bytes]:
        """Return the Arrow types, as they are stored, of the fields that were columns of tables."""
        plain = self._table.plain.items()
        return {path: field.arrow_tag for path, field in plain if field.arrow_tag is not None}

    def arrow_types(self) -> dict[str, Any]:
        """Return the Arrow types of the fields that were columns of tables of other types than are stored."""
        with self._guarded():
            return {path: read_type(tag) for path, tag in self.arrow_tags().items()}

    def is_plain(self, roots: Collection[str] | None = None) -> bool:
        """Return True if every value is in the column of its path, as itself: no marks, no JSON text.

        roots : look only at these fields, and those below them
        """
        return all(
            field.mark is None and field.type_name != JSON
            for field in self._table.fields
            if roots is None or is_within(field.path, roots)
        )

    def row(self, i: int) -> dict[str, Any]:
        """Return the metadata of document i (from 0 in its segment) as they came, nested.

        Raises IndexError if document i does not exist.
        Cost: about 1 µs per column.
        """
        if not 0 <= i < self._n_documents:
            raise IndexError(f"document {i} of a segment of {self._n_documents}")
        table = self._table
        with self._guarded():
            return table.row(i)

    def rows(self, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield the metadata of these documents (ascending), as `row` gives them.

        Cost: about 0.2 µs per value: values are converted a batch at a time.
        """
        table = self._table
        for first in range(0, len(numbers), ROWS_AT_ONCE):
            with self._guarded():
                records = table.rows(numbers[first : first + ROWS_AT_ONCE])
            yield from records

    def column(self, path: str) -> Any:
        """Return a column as a pyarrow.ChunkedArray with one entry per document, null for missing values.

        Strings may be dictionary-encoded; columns of type json are strings of JSON text. Zero-copy.

        Raises KeyError if the segment lacks the column.
        """
        table = self._table
        if path not in table.plain:
            raise KeyError(path)
        with self._guarded():
            return table.chunked(path)

    def integers(self, path: str) -> Any | None:
        """Return the values of a column of floats that were loaded as integers, or None if there are none.

        A pyarrow.ChunkedArray of bool, one per document.
        """
        table = self._table
        with self._guarded():
            return table.integers(path)

    def rest(self) -> Any | None:
        """Return JSON text of {path: value} per document, for the paths without a column.

        None if all have one.

        A pyarrow.ChunkedArray of strings, null for documents without such values.
        """
        table = self._table
        with self._guarded():
            return table.rest()

    def rest_has(self, path: str) -> bool:
        """Return True if a document may have the path without a column: the text of `rest` contains its key.

        Cost: a string search in that text, one second per gigabyte; nothing if there is no such text.
        """
        return self._rest_contains(json.dumps(path, ensure_ascii=False) + ":")

    def has_within(self, root: str) -> bool:
        """Return True if a document may have the field, or one below it.

        Cost: that of `rest_has`.
        """
        if any(is_within(path, (root,)) for path in self.fields()):
            return True
        return self.rest_has(root) or self._rest_contains(json.dumps(root + ".", ensure_ascii=False)[:-1])

    def _rest_contains(self, text: str) -> bool:
        rest = self.rest()
        if rest is None:
            return False
        import pyarrow.compute as compute

        with self._guarded():
            return bool(compute.any(compute.match_substring(rest, text)).as_py())

    def parsed_types(self, path: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the types of columns for each of the values in a column of JSON, and the scalar types.

        The latter include the types of list elements; objects have none.

        Cost: 1 µs per value at first use.
        """
        found = self._parsed_types.get(path)
        if found is None:
            with self._guarded():
                values = list(map(json.loads, self.column(path).drop_null().unique().to_pylist()))
                scalars = frozenset[str]().union(*map(scalar_types, values))
                found = self._parsed_types[path] = frozenset(types_of(values)), scalars
        return found

    def check(self) -> None:
        """Read every document's metadata; raises CorruptionError at the first that cannot be read."""
        for i in range(self._n_documents):
            self.row(i)

    @cached_property
    def _table(self) -> _Table:
        with self._guarded():
            overlay = None if self._overlay is None else self._overlay()
            layers = []
            if overlay is None or overlay.hidden is not None:
                hidden = () if overlay is None else overlay.hidden or ()
                layers.append(_Layer(self._buffer, self._n_documents, hidden))
            if overlay is not None:
                layers.append(_Layer(overlay.buffer, self._n_documents))
            return _Table(layers)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn whatever damaged data provoke, in Arrow or here, into a CorruptionError."""
        try:
            yield
        except (MemoryError, QueryCancelled, StorageError):
            raise
        # A flipped bit can change a type, a name or a value, and so raise nearly anything.
        except Exception as error:
            raise CorruptionError(
                f"{self._path or 'segment'}: damaged metadata: {error}", path=self._path or None
            ) from error


@dataclass(frozen=True)
class _Field:
    """A column of the file: its index, and the meaning of its values."""

    index: int
    path: str
    keys: tuple[str, ...]
    type_name: str
    mark: str | None
    arrow_tag: bytes | None


class _Table:
    """The metadata of documents in one file or two: later layers come after earlier ones."""

    def __init__(self, layers: Sequence[_Layer]) -> None:
        self._layers = layers
        self.fields = [field for layer in layers for field in layer.fields]
        self._layer_of = {path: layer for layer in layers for path in layer.plain}
        self.plain = {path: layer.plain[path] for path, layer in self._layer_of.items()}

    def chunked(self, path: str) -> Any:
        """Return a column over all batches."""
        return self._layer_of[path].all_batches(self.plain[path].index)

    def integers(self, path: str) -> Any | None:
        """Return the column that distinguishes integers from floats, or None."""
        layer = self._layer_of.get(path)
        if layer is None or path not in layer.integers:
            return None
        return layer.all_batches(layer.integers[path])

    def rest(self) -> Any | None:
        """Return the column of values without a column of their own; one layer has it at most."""
        found = (layer.rest() for layer in self._layers)
        return next((column for column in found if column is not None), None)

    def row(self, i: int) -> dict[str, Any]:
        """Return the metadata of document i."""
        record: dict[str, Any] = {}
        for layer in self._layers:
            layer.add_row(i, record)
        return record

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return the metadata of these documents."""
        if len(numbers) == 1:
            return [self.row(numbers[0])]
        records: list[dict[str, Any]] = [{} for _ in numbers]
        for layer in self._layers:
            layer.add_rows(numbers, records)
        return records


class _Layer:
    """An opened metadata file: its schema and batches, each array checked once before it is first read.

    Raises ValueError and Arrow's errors for damaged data.
    """

    def __init__(
        self, buffer: memoryview | bytes, n_documents: int, hidden: Collection[str] = frozenset()
    ) -> None:
        """`hidden` are paths of fields to leave out, with the fields below them."""
        self._starts: list[int] = []
        self.fields: list[_Field] = []
        self._stops: list[int] = []
        self._batches: list[Any] = []
        self._checked: dict[tuple[int, int], Any] = {}
        if len(buffer):
            self._open(buffer, n_documents)
        if hidden:
            self.fields = [
                field for field in self.fields if field.mark == "rest" or not is_within(field.path, hidden)
            ]
        plain = [field for field in self.fields if field.mark is None]
        # Columns that distinguish integers from floats, by the path of the floats.
        self.integers = {field.path: field.index for field in self.fields if field.mark == "integer"}
        self.plain = {field.path: field for field in plain}

    def _open(self, buffer: memoryview | bytes, n_documents: int) -> None:
        arrow = pyarrow()
        reader = arrow.ipc.open_file(arrow.py_buffer(buffer))
        self._batches = [reader.get_batch(k) for k in range(reader.num_record_batches)]
        n_rows = 0
        for batch in self._batches:
            self._starts.append(n_rows)
            n_rows += batch.num_rows
        if n_rows != n_documents:
            raise ValueError(f"metadata of {n_rows} documents in a segment of {n_documents}")
        self._stops = [*self._starts[1:], n_documents]
        for index, field in enumerate(reader.schema):
            tags = field.metadata or {}
            type_name = tags[TYPE_KEY].decode()
            value_type = field.type.value_type if arrow.types.is_dictionary(field.type) else field.type
            if value_type != storage_type(arrow, type_name):
                raise ValueError(f"column {field.name!r} is {field.type}, not a {type_name}")
            mark = tags[MARK_KEY].decode() if MARK_KEY in tags else None
            keys, arrow_tag = split_path(field.name), tags.get(ARROW_KEY)
            self.fields.append(_Field(index, field.name, keys, type_name, mark, arrow_tag))

    def array(self, batch: int, index: int) -> Any:
        """Return a column's array in a batch."""
        array = self._checked.get((batch, index))
        if array is None:
            array = self._batches[batch].column(index)
            # Arrow follows offsets and dictionary indices unchecked; in a damaged file they lead anywhere.
            array.validate(full=True)
            self._checked[batch, index] = array
        return array

    def all_batches(self, index: int) -> Any:
        """Return the column at an index of the file over all batches."""
        return pyarrow().chunked_array([self.array(k, index) for k in range(len(self._batches))])

    def rest(self) -> Any | None:
        """Return the column of values without a column of their own, over all batches."""
        for field in self.fields:
            if field.mark == "rest":
                return self.all_batches(field.index)
        return None

    def add_row(self, i: int, record: dict[str, Any]) -> None:
        """Add the metadata of document i to its record."""
        if not self._batches:
            return
        batch = bisect_right(self._starts, i) - 1
        k = i - self._starts[batch]
        for field in self.fields:
            if field.mark == "integer":
                continue
            value = self.array(batch, field.index)[k].as_py()
            if value is None:
                continue
            if field.type_name == "float64" and self._came_as_integer(field.path, batch, k):
                value = int(value)
            self._put(record, field, value)

    def add_rows(self, numbers: Sequence[int], records: Sequence[dict[str, Any]]) -> None:
        """Add the metadata of these documents (ascending) to their records."""
        first = 0
        for batch, (start, stop) in enumerate(zip(self._starts, self._stops, strict=True)):
            last = bisect_left(numbers, stop, first)
            if last > first:
                rows = [number - start for number in numbers[first:last]]
                self._add_batch_rows(batch, rows, records[first:last])
            first = last

    def _add_batch_rows(self, batch: int, rows: list[int], records: Sequence[dict[str, Any]]) -> None:
        for field in self.fields:
            self.array(batch, field.index)  # checks it
        whole = self._batches[batch]
        taken = whole if len(rows) == len(whole) else whole.take(pyarrow().array(rows))
        for field in self.fields:
            if field.mark == "integer":
                continue
            flags = [False] * len(rows)
            if field.type_name == "float64" and field.path in self.integers:
                flags = taken.column(self.integers[field.path]).to_pylist()
            values = taken.column(field.index).to_pylist()
            for record, value, came_as_integer in zip(records, values, flags, strict=True):
                if value is not None:
                    self._put(record, field, int(value) if came_as_integer else value)

    @staticmethod
    def _put(record: dict[str, Any], field: _Field, value: Any) -> None:
        """Set the value of one field, as it came."""
        if field.mark == "object":
            value = {}
        elif field.type_name == JSON:
            value = json.loads(value)
        if field.mark == "rest":
            for path, item in value.items():
                _place(record, split_path(path), item)
        else:
            _place(record, field.keys, value)

    def _came_as_integer(self, path: str, batch: int, k: int) -> bool:
        index = self.integers.get(path)
        return index is not None and bool(self.array(batch, index)[k].as_py())


def _place(record: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    for key in keys[:-1]:
        record = record.setdefault(key, {})
    record[keys[-1]] = value
