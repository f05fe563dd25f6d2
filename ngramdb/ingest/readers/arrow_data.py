"""Arrow's data: Feather files, streams of record batches, Parquet files, tables. A row is a document."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.columns import is_list
from ngramdb.ingest.readers.lines import opened
from ngramdb.ingest.readers.tables import BATCH_LABELS, UNNAMED_INDEX, TableReader
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_TOKEN_ID

pyarrow = lazy_module("pyarrow")
ipc = lazy_module("pyarrow.ipc")

_FILE = b"ARROW1"
_FEATHER_1 = b"FEA1"
# The end of a stream. Arrow accepts a stream without it as complete.
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


def read_arrow(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield the documents of one Arrow file; `Document.line` is the number of its row.

    Raises LoadError with file, record batch and row at the first row that is not a document, unless
    `options.on_error` is "skip": then `errors` counts it.
    Cost: memory for one record batch as it is in the file, and decompressed.
    """
    with opened(source) as file:
        schema, batches = _batches(file, source)
        reader = TableReader(schema, options, source.label)
        before = meter.bytes_read
        row = 0
        for number, batch in enumerate(batches, start=1):
            label = f"{source.label}, record batch {number}"
            passed = min(max(source.after_line - row, 0), batch.num_rows)
            needed = batch.select(reader.names).slice(passed)
            yield from reader.documents(needed, row + passed + 1, label, errors)
            row += batch.num_rows
            meter.bytes_read = before + file.tell()
        meter.bytes_read = before + (source.n_bytes or 0)


def n_arrow_rows(source: Source) -> int:
    """Return the number of rows of a file. Raises LoadError. Cost: reads the file."""
    with opened(source) as file:
        return sum(batch.num_rows for batch in _batches(file, source)[1])


def _batches(file: BinaryIO, source: Source) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a file and its record batches, one after the other."""
    try:
        first = file.read(len(_FILE))
        file.seek(0)
        if first.startswith(_FEATHER_1):
            raise LoadError(
                "is a Feather file of version 1, which Arrow no longer reads; convert it to version 2",
                source=source.label,
            )
        if first == _FILE:
            table = ipc.open_file(file)
            return table.schema, _each(table.get_batch, table.num_record_batches, source)
        file.seek(-len(_END_OF_STREAM), os.SEEK_END)
        if file.read() != _END_OF_STREAM:
            raise LoadError("is not an Arrow file, or was cut short", source=source.label)
        file.seek(0)
        stream = ipc.open_stream(file)
        return stream.schema, _each(lambda _: stream.read_next_batch(), None, source)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise LoadError(f"cannot be read as an Arrow file: {error}", source=source.label) from None


def _each(read: Any, n_batches: int | None, source: Source) -> Iterator[Any]:
    number = 0
    while n_batches is None or number < n_batches:
        try:
            batch = read(number)
        except StopIteration:
            return
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            label = f"{source.label}, record batch {number + 1}"
            raise LoadError(f"damaged: {error}", source=label) from None
        yield batch
        number += 1


# ---- Parquet files: a row is a document. Row group by row group, in memory for a few thousand rows.


parquet = lazy_module("pyarrow.parquet")

# Bytes of each column that are read at a time.
BUFFER_BYTES = 1 << 20
# Bytes of values, and rows, that are decoded at a time: rows may be long.
BATCH_BYTES = 8 << 20
BATCH_ROWS = 8192


def read_parquet(source: Source, options: ReadOptions, errors: ErrorLog, meter: Meter) -> Iterator[Document]:
    """Yield the documents of one Parquet file; `Document.line` is the number of its row.

    Raises LoadError with file, row group and row at the first row that is not a document, unless
    `options.on_error` is "skip": then `errors` counts it. A row group that is damaged counts as one, and the
    next one is read.
    """
    with opened(source) as file:
        try:
            table = parquet.ParquetFile(
                file, pre_buffer=False, buffer_size=BUFFER_BYTES, page_checksum_verification=True
            )
            schema = table.schema_arrow
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise LoadError(f"cannot be read as a Parquet file: {error}", source=source.label) from None
        reader = TableReader(schema, options, source.label)
        n_bytes, before = source.n_bytes or 0, meter.bytes_read
        row = 0
        for group in range(table.num_row_groups):
            n_rows = table.metadata.row_group(group).num_rows
            if row + n_rows > source.after_line:
                try:
                    yield from _row_group(table, group, row, source, reader, errors)
                except LoadError as error:
                    if options.on_error != "skip":
                        raise
                    errors.add_file(error)
            row += n_rows
            if table.metadata.num_rows:
                meter.bytes_read = before + n_bytes * row // table.metadata.num_rows


def n_parquet_rows(source: Source) -> int:
    """Return the number of rows of a file. Raises LoadError."""
    with opened(source) as file:
        try:
            n_rows: int = parquet.ParquetFile(file).metadata.num_rows
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise LoadError(f"cannot be read as a Parquet file: {error}", source=source.label) from None
        return n_rows


def _row_group(
    table: Any, group: int, row: int, source: Source, reader: TableReader, errors: ErrorLog
) -> Iterator[Document]:
    """Yield the documents of one row group, which begins after `row` rows."""
    label = f"{source.label}, row group {group + 1}"
    n_rows = _batch_rows(table.metadata.row_group(group), BATCH_ROWS if reader.has_content else BATCH_LABELS)
    batches = table.iter_batches(batch_size=n_rows, row_groups=[group], columns=reader.names)
    while True:
        try:
            batch = next(batches, None)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise LoadError(f"damaged: {error}", source=label) from None
        if batch is None:
            return
        passed = min(max(source.after_line - row, 0), batch.num_rows)
        yield from reader.documents(batch.select(reader.names).slice(passed), row + passed + 1, label, errors)
        row += batch.num_rows


def _batch_rows(group: Any, most: int) -> int:
    """Rows that make up about BATCH_BYTES."""
    if not group.num_rows:
        return most
    n_rows: int = BATCH_BYTES * group.num_rows // max(group.total_byte_size, 1)
    return max(1, min(most, n_rows))


# ---- Documents from tables: any object with the Arrow C stream protocol (`__arrow_c_stream__`).


SOURCE = "append"
# Rows of a dataset per table.
ROWS_AT_ONCE = 1000


def is_table(given: object) -> bool:
    """Return True if an object offers its rows (or the values of a single column) as Arrow tables."""
    return hasattr(given, "__arrow_c_stream__") or _is_of_datasets(given) or _is_scanned(given)


def _is_of_datasets(given: object) -> bool:
    """Return True for a `Dataset` or `IterableDataset` of the library `datasets` whose types are known.

    If they are unknown, as after `map` of a stream, tables of the same rows could differ in types; if a
    transform is set, they are not the rows that the user sees: rows are then read one by one.
    """
    is_theirs = type(given).__module__.partition(".")[0] == "datasets"
    if not is_theirs or not hasattr(given, "iter") or getattr(given, "features", None) is None:
        return False
    return _format_of(given).get("type") != "custom"


def _format_of(given: Any) -> Mapping[str, Any]:
    """Return the settings of a `Dataset`'s `with_format` and `with_transform`; nothing for a stream."""
    found = getattr(given, "format", None)
    return found if isinstance(found, Mapping) else {}


def _is_scanned(given: object) -> bool:
    """Return True for a `Dataset` or `Scanner` of pyarrow."""
    is_theirs = type(given).__module__.partition(".")[0] == "pyarrow"
    return is_theirs and (hasattr(given, "scanner") or hasattr(given, "to_reader"))


def rows_of(
    given: Any, kind: str, n_ids: int = MAX_TOKEN_ID + 1, errors: ErrorLog | None = None
) -> Iterator[Document]:
    """Yield the rows of a table as documents, or the values of a single column as their texts (or ids).

    Parameters
    ----------
    kind : the corpus's kind of tokenizer; for a table with both, `tokens` reads the column `ids`
    n_ids : token ids are below this number
    errors : records remarks on the rows

    Raises
    ------
    InvalidArgument
        No such column, or a column of a type that metadata cannot hold; before any row is read.
    LoadError
        The table cannot be read to its end, or a row is not a document.
    """
    schema, batches = opened_table(given)
    options = _options(schema, kind, n_ids)
    return table_documents(schema, batches, options, errors or ErrorLog(), (SOURCE, "document"))


def table_documents(
    schema: Any, batches: Iterable[Any], options: ReadOptions, errors: ErrorLog, place: tuple[str, str]
) -> Iterator[Document]:
    """Yield the rows of a table as documents; errors name the table and its rows by `place`.

    Raises
    ------
    InvalidArgument
        No such column, or a column of a type that metadata cannot hold; before any row is read.
    LoadError
        The table cannot be read to its end, or a row is not a document.
    """
    source, unit = place
    try:
        reader = TableReader(schema, options, None, unit)
    except LoadError as error:
        raise InvalidArgument(error.message) from error
    return _rows(batches, reader, errors, source)


def opened_table(given: Any) -> tuple[Any, Iterable[Any]]:
    """Return the schema of a table and its batches; a single column is a table of one.

    Raises
    ------
    InvalidArgument
        The object is not a table after all.
    """
    try:
        if _is_of_datasets(given):
            return _of_datasets(given)
        if not hasattr(given, "__arrow_c_stream__"):
            given = (given.scanner() if hasattr(given, "scanner") else given).to_reader()
        try:
            reader = pyarrow.RecordBatchReader.from_stream(given)
        except (pyarrow.ArrowInvalid, TypeError):
            column = pyarrow.chunked_array(given)
            name = "ids" if is_list(column.type) else "text"
            if hasattr(given, "to_frame") and hasattr(given, "index"):  # a Series of pandas, with labels
                return opened_table(given.to_frame(name))
            table = pyarrow.table({name: column})
            return table.schema, table.to_batches()
    except (pyarrow.ArrowException, ValueError, TypeError) as error:
        raise InvalidArgument(f"the {type(given).__name__} cannot be read as a table: {error}") from error
    return reader.schema, reader


def _of_datasets(given: Any) -> tuple[Any, Iterable[Any]]:
    """Return schema and batches of a dataset, limited to its selected rows: its own stream has all rows."""
    schema = given.features.arrow_schema
    shown = _format_of(given)
    if shown.get("columns") is not None and not shown.get("output_all_columns"):
        schema = pyarrow.schema([field for field in schema if field.name in shown["columns"]])
    if getattr(given, "num_rows", None) == 0:
        return schema, ()
    tables = given.with_format("arrow").iter(batch_size=ROWS_AT_ONCE)
    return schema, (batch for table in tables for batch in table.to_batches())


def _options(schema: Any, kind: str, n_ids: int) -> ReadOptions:
    """Return options with the column that is the content of documents, and those that are metadata."""
    names = [name for name in schema.names if not UNNAMED_INDEX.fullmatch(name)]
    wanted = ("ids", "text") if kind == "tokens" else ("text", "ids")
    content = next((name for name in wanted if name in names), None)
    if content is None:
        listed = ", ".join(names) or "none"
        raise InvalidArgument(
            f"a table of documents has a column 'text' or 'ids'; the columns here are {listed}. Rename the "
            "one that holds the text"
        )
    return ReadOptions(ids_field=content if content == "ids" else None, n_ids=n_ids)


def _rows(batches: Iterable[Any], reader: TableReader, errors: ErrorLog, source: str) -> Iterator[Document]:
    n_rows = 0
    for batch in _read(batches):
        yield from reader.documents(batch.select(reader.names), n_rows + 1, source, errors)
        n_rows += batch.num_rows


def _read(batches: Iterable[Any]) -> Iterator[Any]:
    try:
        yield from batches
    except (pyarrow.ArrowException, OSError) as error:
        raise LoadError(f"the table cannot be read: {error}", source=SOURCE) from error
