"""Rows of labels: tables whose columns become metadata fields of documents that a corpus has already.

The same readers as for documents read them, so that types, missing values and errors are the same; rows have
no text, and a field of any name is metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ngramdb.errors import InvalidArgument
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.reader import READERS
from ngramdb.ingest.readers.arrow_data import opened_table, table_documents
from ngramdb.ingest.sources import Source
from ngramdb.ingest.streams import Meter
from ngramdb.limits import MAX_TOKEN_ID

# Formats whose files have rows with named fields.
FORMATS = ("jsonl", "csv", "tsv", "parquet", "arrow")


def reading(fields: Sequence[str] | None) -> ReadOptions:
    """Return the options for reading labels: these fields, or all."""
    return ReadOptions(
        text_field=None, n_ids=MAX_TOKEN_ID + 1, metadata=None if fields is None else tuple(fields)
    )


def read_labels(sources: Sequence[Source], options: ReadOptions, errors: ErrorLog) -> Iterator[Document]:
    """Yield the rows of all files: `Labels` of many rows of a table, or a document per line of JSON.

    Raises
    ------
    InvalidArgument
        A file of a format without named fields.
    LoadError
        A file cannot be read, lacks a field that `options` name, or has a value that metadata cannot hold.
    """
    for source in sources:
        if source.format not in FORMATS:
            raise InvalidArgument(
                f"{source.label} is read as {source.format}, which has no named fields; labels are read from "
                f"files of the formats {', '.join(FORMATS)}"
            )
    meter = Meter()
    for source in sources:
        yield from READERS[source.format](source, options, errors, meter)


def table_labels(table: Any, options: ReadOptions, errors: ErrorLog) -> Iterator[Document]:
    """Yield the rows of an Arrow table, a data frame, or any object with Arrow's stream protocol.

    Raises InvalidArgument, LoadError: see `read_labels`.
    """
    schema, batches = opened_table(table)
    return table_documents(schema, batches, options, errors, (type(table).__name__, "row"))
