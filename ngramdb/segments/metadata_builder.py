"""Making the metadata columns of a segment: of new documents, and of those carried over from segments."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ngramdb.segments.base import Part, chunks
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
    split_path,
    storage_type,
)

# Documents whose values are held as Python objects before they become an Arrow batch.
BATCH_DOCUMENTS = 8192
# The same of metadata that are not kept: each batch takes 0.2 ms.
LARGE_BATCH = 1 << 16
# A batch ends here, too: Arrow's 32-bit offsets hold 2 GiB, and a character can take 6 bytes in JSON.
BATCH_CHARS = 1 << 26
# Every column costs some bytes for every document, and objects whose keys are data would make millions.
MAX_COLUMNS = 256


class MetadataBuilder:
    """Collects the metadata of a segment's documents, in order.

    Example: `builder.add({"source": "web", "meta": {"year": 2001}})` makes two columns, source and meta.year.

    Parameters
    ----------
    is_kept : the metadata are stored: in small batches, with dictionaries of strings that repeat; otherwise
        they are read once

    Notes
    -----
    Cost: 1 µs a field; memory of the columns and of at most BATCH_DOCUMENTS documents as Python objects.
    """

    def __init__(self, is_kept: bool = True) -> None:
        self._is_kept = is_kept
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
        self.add_leaves(flatten(dict(metadata)) if metadata else ())

    def add_leaves(self, leaves: Iterable[tuple[str, Any]]) -> None:
        """Add the next document's metadata as the paths and values that `flatten` returns."""
        if self._waiting:
            self._end_columns()
        rest: dict[str, Any] = {}
        self._put(self._n_rows, leaves, rest)
        if rest:
            self._rest().put(self._n_rows, rest)
        self.n_documents += 1
        self._n_rows += 1
        if self._n_rows == self._batch_documents or self._n_chars >= BATCH_CHARS:
            self._end_batch()

    def add_empty(self, n: int) -> None:
        """Add n documents without metadata."""
        if self._waiting:
            self._end_columns()
        self.n_documents += n
        while n:
            added = min(n, self._batch_documents - self._n_rows)
            self._n_rows += added
            n -= added
            if self._n_rows == self._batch_documents:
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
        if self._n_waiting >= self._batch_documents or self._n_bytes_waiting >= BATCH_CHARS:
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

    def finish(self) -> memoryview:
        """Return the Arrow IPC file of all documents, empty when none had any metadata; ends the building.

        Cost: columns whose type changed on the way are converted again; the file is in memory twice.
        """
        self._end_rows()
        self._end_columns()
        if not self._columns:
            return memoryview(b"")
        arrow = pyarrow()
        fields, columns = [], []
        for column in self._columns.values():
            column.came = self._came.get(column.path, column.came)
            for field, arrays in finished(column, self._batches, self._is_kept):
                fields.append(field)
                columns.append(arrays)
        schema = arrow.schema(fields)
        batches = [arrow.record_batch(list(batch), schema=schema) for batch in zip(*columns, strict=True)]
        return _file_of(batches, schema)

    @property
    def _batch_documents(self) -> int:
        return BATCH_DOCUMENTS if self._is_kept else LARGE_BATCH

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
            n_rows = _rows_of_batch(table, self._batch_documents)
            if n_rows is None:
                if not all_of_them:
                    self._waiting = table.to_batches()
                    self._n_waiting, self._n_bytes_waiting = len(table), table.nbytes
                    return
                n_rows = len(table)
            first = table.to_batches(max_chunksize=n_rows)[0]
            if self._is_kept or len(first) < len(table):
                # Use take, not slice: a slice would be written together with the memory behind it.
                first = table.slice(0, n_rows).combine_chunks().take(pyarrow().array(np.arange(n_rows)))
                (first,) = first.to_batches()
            self._put_columns(first)
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
        # By row; few or none have fields beyond the limit.
        rest: dict[int, dict[str, Any]] = defaultdict(dict)
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
        for i, record in sorted(rest.items()):
            if record:
                self._rest().put(i, record)
        self._batches.append(rows.num_rows)
        for column in self._columns.values():
            if len(column.chunks) == n_before:
                column.end_batch(rows.num_rows)
        self._n_chars = 0

    def _put_objects(self, field: Any, array: Any, rest: dict[int, dict[str, Any]]) -> None:
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


def _file_of(batches: Sequence[Any], schema: Any) -> memoryview:
    """Return the Arrow IPC file of record batches, in memory of just its size."""
    arrow = pyarrow()

    def write(sink: Any) -> None:
        with arrow.ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)

    counter = arrow.MockOutputStream()
    write(counter)
    content = np.empty(counter.size(), dtype=np.uint8)
    write(arrow.FixedSizeBufferWriter(arrow.py_buffer(content)))
    return content.data


def _are_objects(field: Any, array: Any) -> bool:
    """Return True if some of a column's values are objects whose fields have columns."""
    if field.metadata[TYPE_KEY] != JSON.encode() or len(split_path(field.name)) >= MAX_OBJECT_DEPTH:
        return False
    return bool(pyarrow().compute.any(pyarrow().compute.starts_with(array, "{")).as_py())


def _put_rest(field: Any, array: Any, rest: dict[int, dict[str, Any]]) -> None:
    """Put the values of a column that exceeds the limit into the rest."""
    for i, value in enumerate(array.to_pylist()):
        if value is None:
            continue
        if MARK_KEY in field.metadata:
            value = {}
        elif field.metadata[TYPE_KEY] == JSON.encode():
            value = json.loads(value)
        rest[i][field.name] = value


def _rows_of_batch(table: Any, most: int) -> int | None:
    """Return the number of rows that make a batch of at most `most`; None if the rows do not fill one."""
    rows = table.slice(0, most)
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
    return most if len(rows) == most else None


# ---- The metadata of documents that are carried over from segments into another one.
#
# Merges by columns, without a Python object per value, if each field has one type in all segments; else row
# by row. The resulting file is the same, byte for byte.


def merged_metadata(parts: Sequence[Part]) -> MetadataBuilder:
    """Collect the metadata of all parts, in this order.

    Every field of their segments has a column, even where only documents had it that do not stay: so that
    questions that name it stay valid.

    Raises
    ------
    CorruptionError
        metadata are damaged

    Cost: about 10 ns per value as columns, 1 µs row by row.
    """
    builder = MetadataBuilder()
    for part in parts:
        part.segment.verify_metadata()
        builder.declare(part.segment.metadata.fields(), part.segment.metadata.arrow_tags())
    types = _types_in_common(parts)
    for part in parts:
        if types is None:
            for numbers in chunks(part):
                for fields in part.segment.metadata.rows(numbers.tolist()):
                    builder.add(fields)
        elif not types:
            builder.add_empty(len(part.numbers))
        else:
            for rows in _batches(part, types):
                builder.add_columns(rows)
    return builder


def _types_in_common(parts: Sequence[Part]) -> dict[str, str] | None:
    """Return the type of each field; None if a field has several, or the columns do not hold all values."""
    types: dict[str, str] = {}
    for part in parts:
        reader = part.segment.metadata
        if not reader.is_plain():
            return None
        for path, type_name in reader.fields().items():
            if types.setdefault(path, type_name) != type_name:
                return None
    lists = [path for path, name in types.items() if name.startswith("list<")]
    if len(types) > MAX_COLUMNS or any(_lacks_items(parts, path) for path in lists):
        return None
    return types


def _lacks_items(parts: Sequence[Part], path: str) -> bool:
    """Return True if only lists without values are carried over: rows give them a type of their own."""
    if all(part.is_whole for part in parts):
        return False
    for part in parts:
        if path in part.segment.metadata.fields():
            lists = part.segment.metadata.column(path).take(pyarrow().array(part.numbers))
            if any(len(items) > items.null_count for items in (chunk.flatten() for chunk in lists.chunks)):
                return False
    return True


def _batches(part: Part, types: dict[str, str]) -> Iterator[Any]:
    """Yield the metadata of a part's documents as record batches of all these fields."""
    arrow = pyarrow()
    reader = part.segment.metadata
    fields = [arrow.field(p, storage_type(arrow, t), metadata={TYPE_KEY: t}) for p, t in types.items()]
    schema = arrow.schema(fields)
    own = reader.fields()
    columns = {path: reader.column(path) for path in own}
    for numbers in chunks(part):
        start, stop = int(numbers[0]), int(numbers[-1]) + 1
        taken = None if stop - start == len(numbers) else arrow.array(numbers - start)
        arrays = []
        for field in schema:
            if field.name not in columns:
                arrays.append(arrow.nulls(len(numbers), field.type))
                continue
            column = columns[field.name].slice(start, stop - start)
            if arrow.types.is_dictionary(column.type):
                column = column.cast(field.type)
            arrays.append(column if taken is None else column.take(taken))
        yield from arrow.table(arrays, schema=schema).to_batches()
