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
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ngramdb.errors import CorruptionError, QueryCancelled
from ngramdb.fork_safety import cached_property
from ngramdb.segments.metadata_columns import (
    ARROW_KEY,
    JSON,
    MARK_KEY,
    MAX_OBJECT_DEPTH,
    OBJECT,
    TYPE_KEY,
    Column,
    finished,
    flatten,
    pyarrow,
    read_type,
    scalar_types,
    split_path,
    storage_type,
    types_of,
)

# Documents whose values are held as Python objects before they become an Arrow batch.
BATCH_DOCUMENTS = 8192
# A batch ends here, too: Arrow's 32-bit offsets hold 2 GiB, and a character can take 6 bytes in JSON.
BATCH_CHARS = 1 << 26
# Every column costs some bytes for every document, and objects whose keys are data would make millions.
MAX_COLUMNS = 256


class MetadataBuilder:
    """Collects the metadata of a segment's documents, in order.

    Example: `builder.add({"source": "web", "meta": {"year": 2001}})` makes two columns, source and meta.year.

    Cost: 1 µs a field; memory of the columns and of at most BATCH_DOCUMENTS documents as Python objects.
    """

    def __init__(self) -> None:
        self.n_documents = 0
        self._columns: dict[tuple[str, str | None], Column] = {}
        # By mark: whether a path is among the first depends on no other segment's empty objects.
        self._n_columns: Counter[str | None] = Counter()
        # Rows of each finished batch.
        self._batches: list[int] = []
        self._n_rows = 0
        self._n_chars = 0
        # Rows that came as columns, of one schema, and are to become a batch.
        self._waiting: list[Any] = []
        self._n_waiting = self._n_bytes_waiting = 0
        # The Arrow types of fields, by path, of documents that are carried over.
        self._came: dict[str, set[bytes | None]] = {}

    def add(self, metadata: Mapping[str, Any]) -> None:
        """Add the next document's metadata: JSON values (NumPy's scalars and arrays, too) under string keys.

        Raises InvalidArgument for a value that JSON does not have; the document is then not added.
        """
        leaves = flatten(dict(metadata)) if metadata else ()
        if self._waiting:
            self._end_columns()
        rest: dict[str, Any] = {}
        self._put(self._n_rows, leaves, rest)
        if rest:
            self._rest().put(self._n_rows, rest)
        self.n_documents += 1
        self._n_rows += 1
        if self._n_rows == BATCH_DOCUMENTS or self._n_chars >= BATCH_CHARS:
            self._end_batch()

    def add_empty(self, n: int) -> None:
        """Add n documents without metadata."""
        if self._waiting:
            self._end_columns()
        self.n_documents += n
        while n:
            added = min(n, BATCH_DOCUMENTS - self._n_rows)
            self._n_rows += added
            n -= added
            if self._n_rows == BATCH_DOCUMENTS:
                self._end_batch()

    def add_columns(self, rows: Any) -> None:
        """Add the metadata of several documents: a record batch, which is kept.

        Its columns are those of the file, including types and tags, except that strings are not
        dictionaries, and that values of type `json` may be objects: their fields become columns, all of the
        Arrow type in the tag, if there is one. A column without any value counts for nothing.

        Cost: no Python object for a value, except for objects and if a column's type changes at the end.
        """
        self._end_rows()
        if self._waiting and not self._waiting[0].schema.equals(rows.schema, check_metadata=True):
            self._end_columns()
        self._waiting.append(rows)
        self._n_waiting += rows.num_rows
        self._n_bytes_waiting += rows.nbytes
        self.n_documents += rows.num_rows
        if self._n_waiting >= BATCH_DOCUMENTS or self._n_bytes_waiting >= BATCH_CHARS:
            self._end_columns(all_of_them=False)

    def declare(self, fields: Mapping[str, str], came: Mapping[str, bytes] | None = None) -> None:
        """Make columns for fields of these types, as `MetadataReader.fields` gives them.

        `came` are the types that they had as columns of tables, as `MetadataReader.arrow_tags` gives them.

        For questions that name them though no document has them any more: values decide on a column's type.
        """
        for path, type_name in fields.items():
            column = self._column(path, None)
            if column is not None:
                column.declared.add(type_name)
                self._came.setdefault(path, set()).add((came or {}).get(path))

    def finish(self) -> bytes:
        """Return the Arrow IPC file of all documents, or b"" when none had any metadata; ends the building.

        Cost: columns whose type changed on the way are converted again; the file is in memory twice.
        """
        self._end_rows()
        self._end_columns()
        if not self._columns:
            return b""
        arrow = pyarrow()
        fields, columns = [], []
        for column in self._columns.values():
            column.came = self._came.get(column.path, column.came)
            for field, arrays in finished(column, self._batches):
                fields.append(field)
                columns.append(arrays)
        schema = arrow.schema(fields)
        sink = arrow.BufferOutputStream()
        with arrow.ipc.new_file(sink, schema) as writer:
            for batch in zip(*columns, strict=True):
                writer.write_batch(arrow.record_batch(list(batch), schema=schema))
        content: bytes = sink.getvalue().to_pybytes()
        return content

    def _column(self, path: str, mark: str | None) -> Column | None:
        """Return the column for a path, made when new; None when there are too many."""
        column = self._columns.get((path, mark))
        if column is None and self._n_columns[mark] < MAX_COLUMNS:
            column = self._columns[path, mark] = Column(path, mark, len(self._batches))
            self._n_columns[mark] += 1
        return column

    def _rest(self) -> Column:
        return self._columns.setdefault(("", "rest"), Column("", "rest", len(self._batches)))

    def _end_rows(self) -> None:
        """End the batch of documents that came one by one."""
        if self._n_rows:
            self._end_batch()

    def _end_columns(self, all_of_them: bool = True) -> None:
        """Make batches of the documents that came as columns; of those that fill one, or of all of them.

        They end where those of documents that come one by one do.
        """
        if not self._waiting:
            return
        table = pyarrow().Table.from_batches(self._waiting)
        self._waiting, self._n_waiting, self._n_bytes_waiting = [], 0, 0
        while len(table):
            n_rows = _rows_of_batch(table)
            if n_rows is None:
                if not all_of_them:
                    self._waiting = table.to_batches()
                    self._n_waiting, self._n_bytes_waiting = len(table), table.nbytes
                    return
                n_rows = len(table)
            # Use take, not slice: a slice would be written together with the memory behind it.
            taken = table.slice(0, n_rows).combine_chunks().take(pyarrow().array(range(n_rows)))
            for rows in taken.to_batches():
                self._put_columns(rows)
            table = table.slice(n_rows)

    def _put(self, row: int, leaves: Iterable[tuple[str, Any]], rest: dict[str, Any]) -> None:
        """Put the values of a row of the current batch into their columns, or into `rest` if full."""
        for path, value in leaves:
            is_empty_object = type(value) is dict and not value
            column = self._column(path, OBJECT if is_empty_object else None)
            if column is None:
                rest[path] = value
            else:
                column.put(row, True if is_empty_object else value)
            if type(value) is str:
                self._n_chars += len(value)

    def _put_columns(self, rows: Any) -> None:
        rest: list[dict[str, Any]] = [{} for _ in range(rows.num_rows)]
        n_before = len(self._batches)
        for field, array in zip(rows.schema, rows.columns, strict=True):
            if array.null_count == len(array):
                continue
            if _are_objects(field, array):
                self._put_objects(field, array, rest)
                continue
            tag = field.metadata
            column = self._column(field.name, tag[MARK_KEY].decode() if MARK_KEY in tag else None)
            if column is None:
                _put_rest(field, array, rest)
            else:
                column.put_array(array, tag[TYPE_KEY].decode(), tag.get(ARROW_KEY))
        for i, record in enumerate(rest):
            if record:
                self._rest().put(i, record)
        self._batches.append(rows.num_rows)
        for column in self._columns.values():
            if len(column.chunks) == n_before:
                column.end_batch(rows.num_rows)
        self._n_chars = 0

    def _put_objects(self, field: Any, array: Any, rest: list[dict[str, Any]]) -> None:
        """Put the fields of objects, as of a table's map, into columns of their own."""
        for i, text in enumerate(array.to_pylist()):
            if text is not None:
                value = json.loads(text)
                leaves = flatten(value, field.name) if type(value) is dict else [(field.name, value)]
                self._put(i, leaves, rest[i])
        for column in self._columns.values():
            if column.values:
                column.end_batch(len(array), field.metadata.get(ARROW_KEY))

    def _end_batch(self) -> None:
        for column in self._columns.values():
            column.end_batch(self._n_rows)
        self._batches.append(self._n_rows)
        self._n_rows = 0
        self._n_chars = 0


def _are_objects(field: Any, array: Any) -> bool:
    """Return True if some of a column's values are objects whose fields have columns."""
    if field.metadata[TYPE_KEY] != JSON.encode() or len(split_path(field.name)) >= MAX_OBJECT_DEPTH:
        return False
    return bool(pyarrow().compute.any(pyarrow().compute.starts_with(array, "{")).as_py())


def _put_rest(field: Any, array: Any, rest: list[dict[str, Any]]) -> None:
    """Put the values of a column that exceeds the limit into the rest."""
    for record, value in zip(rest, array.to_pylist(), strict=True):
        if value is None:
            continue
        if MARK_KEY in field.metadata:
            value = {}
        elif field.metadata[TYPE_KEY] == JSON.encode():
            value = json.loads(value)
        record[field.name] = value


def _rows_of_batch(table: Any) -> int | None:
    """Return the number of rows that make a batch; None if the rows do not fill one."""
    rows = table.slice(0, BATCH_DOCUMENTS)
    # Characters take a byte at least.
    if rows.nbytes >= BATCH_CHARS:
        arrow = pyarrow()
        n_chars = np.zeros(len(rows), dtype=np.int64)
        for column in rows.columns:
            if arrow.types.is_string(column.type):
                lengths = arrow.compute.utf8_length(column).fill_null(0)
                n_chars += lengths.to_numpy().astype(np.int64)
        n_fitting = int(np.searchsorted(np.cumsum(n_chars), BATCH_CHARS, side="left"))
        if n_fitting < len(rows):
            return n_fitting + 1
    return BATCH_DOCUMENTS if len(rows) == BATCH_DOCUMENTS else None


class MetadataReader:
    """Reads a segment's metadata in place. Opening costs nothing; Arrow is loaded at the first question.

    buffer : what `MetadataBuilder.finish` returned, 8-byte aligned; kept alive by the reader.
    Threads may share a reader.
    """

    def __init__(self, buffer: memoryview | bytes, n_documents: int, path: str = "") -> None:
        """`n_documents` is the segment's, which the file must agree with; `path` names the file in errors."""
        self._buffer = buffer
        self._n_documents = n_documents
        self._path = path
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

    def is_plain(self) -> bool:
        """Return True if every value is in the column of its path, as itself: no marks, no JSON text."""
        return all(field.mark is None and field.type_name != JSON for field in self._table.fields)

    def row(self, i: int) -> dict[str, Any]:
        """Return the metadata of document i (from 0 in its segment) as they came, nested.

        Raises IndexError if document i does not exist.
        Cost: about 1 µs a column.
        """
        if not 0 <= i < self._n_documents:
            raise IndexError(f"document {i} of a segment of {self._n_documents}")
        table = self._table
        with self._guarded():
            return table.row(i)

    def rows(self, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield the metadata of these documents (ascending), as `row` gives them.

        Cost: some 0.2 µs a value: values are converted a batch at a time.
        """
        table = self._table
        if not table.starts:
            yield from ({} for _ in numbers)
            return
        stops = [*table.starts[1:], self._n_documents]
        first = 0
        for batch, (start, stop) in enumerate(zip(table.starts, stops, strict=True)):
            last = bisect_left(numbers, stop, first)
            if last > first:
                with self._guarded():
                    rows = [number - start for number in numbers[first:last]]
                    records = table.batch_rows(batch, rows) if len(rows) > 1 else [table.row(numbers[first])]
                yield from records
            first = last

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
        if path not in table.integers:
            return None
        with self._guarded():
            return table.all_batches(table.integers[path])

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
        rest = self.rest()
        if rest is None:
            return False
        import pyarrow.compute as compute

        key = json.dumps(path, ensure_ascii=False) + ":"
        with self._guarded():
            return bool(compute.any(compute.match_substring(rest, key)).as_py())

    def parsed_types(self, path: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the types of columns for each of the values in a column of JSON, and the scalar types.

        The latter include the types of list elements; objects have none.

        Cost: 1 µs a value at the first time.
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
            return _Table(self._buffer, self._n_documents)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn whatever damaged data provoke, in Arrow or here, into a CorruptionError."""
        try:
            yield
        except (MemoryError, QueryCancelled):
            raise
        # A flipped bit can change a type, a name or a value, and so raise nearly anything.
        except Exception as error:
            raise CorruptionError(
                f"{self._path or 'segment'}: damaged metadata: {error}", path=self._path or None
            ) from error


@dataclass(frozen=True, slots=True)
class _Field:
    """A column of the file: its index, and the meaning of its values."""

    index: int
    path: str
    keys: tuple[str, ...]
    type_name: str
    mark: str | None
    arrow_tag: bytes | None


class _Table:
    """An opened metadata file: its schema and batches, each array checked once before it is first read.

    Raises ValueError and Arrow's errors for damaged data.
    """

    def __init__(self, buffer: memoryview | bytes, n_documents: int) -> None:
        self.starts: list[int] = []
        self.fields: list[_Field] = []
        self._batches: list[Any] = []
        self._checked: dict[tuple[int, int], Any] = {}
        if len(buffer):
            self._open(buffer, n_documents)
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
            self.starts.append(n_rows)
            n_rows += batch.num_rows
        if n_rows != n_documents:
            raise ValueError(f"metadata of {n_rows} documents in a segment of {n_documents}")
        for index, field in enumerate(reader.schema):
            tags = field.metadata or {}
            type_name = tags[TYPE_KEY].decode()
            value_type = field.type.value_type if arrow.types.is_dictionary(field.type) else field.type
            if value_type != storage_type(arrow, type_name):
                raise ValueError(f"column {field.name!r} is {field.type}, and not a {type_name}")
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

    def chunked(self, path: str) -> Any:
        """Return a column over all batches."""
        return self.all_batches(self.plain[path].index)

    def all_batches(self, index: int) -> Any:
        """Return the column at an index of the file over all batches."""
        return pyarrow().chunked_array([self.array(k, index) for k in range(len(self._batches))])

    def rest(self) -> Any | None:
        """Return the column of values without a column of their own, over all batches."""
        for field in self.fields:
            if field.mark == "rest":
                return self.all_batches(field.index)
        return None

    def row(self, i: int) -> dict[str, Any]:
        """Return the metadata of document i."""
        record: dict[str, Any] = {}
        if not self._batches:
            return record
        batch = bisect_right(self.starts, i) - 1
        k = i - self.starts[batch]
        for field in self.fields:
            if field.mark == "integer":
                continue
            value = self.array(batch, field.index)[k].as_py()
            if value is None:
                continue
            if field.type_name == "float64" and self._came_as_integer(field.path, batch, k):
                value = int(value)
            self._put(record, field, value)
        return record

    def batch_rows(self, batch: int, rows: list[int]) -> list[dict[str, Any]]:
        """Return the metadata of these rows of one batch."""
        records: list[dict[str, Any]] = [{} for _ in rows]
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
        return records

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
