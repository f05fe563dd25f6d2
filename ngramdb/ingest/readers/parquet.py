"""Parquet files: a row is a document. Row group by row group, in memory for a few thousand rows.

Of the columns of a row group only the pages being read are in memory, so its size does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ngramdb.errors import LoadError
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.lines import opened
from ngramdb.ingest.readers.tables import TableReader
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter
from ngramdb.lazy import lazy_module

pyarrow = lazy_module("pyarrow")
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


def n_rows_of(source: Source) -> int:
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
