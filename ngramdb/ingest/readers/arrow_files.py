"""Arrow's own files (IPC): Feather files and streams of record batches. A row is a document."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO

from ngramdb.errors import LoadError
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.lines import opened
from ngramdb.ingest.readers.tables import TableReader
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter
from ngramdb.lazy import lazy_module

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
    batches = table.iter_batches(
        batch_size=_batch_rows(table.metadata.row_group(group)), row_groups=[group], columns=reader.names
    )
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


def _batch_rows(group: Any) -> int:
    """Rows that make up about BATCH_BYTES."""
    if not group.num_rows:
        return BATCH_ROWS
    n_rows: int = BATCH_BYTES * group.num_rows // max(group.total_byte_size, 1)
    return max(1, min(BATCH_ROWS, n_rows))
