"""Documents from tables: any object with the Arrow C stream protocol (`__arrow_c_stream__`).

Frames of pandas and polars, tables and record batch readers of pyarrow, relations of DuckDB; and datasets of
the library `datasets` and of pyarrow, which lack the protocol and offer Arrow tables in other ways. A row is
a document, its column `text` (or `ids`) the content, all other columns typed metadata. NULL is a missing
value: the document lacks the field. Tables are read batch by batch, and their metadata stay columns
(`ngramdb.ingest.readers.columns`).

Iterating over frames without the protocol, and over mappings, yields the names of their columns, which are
not documents: they are rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.documents import Document, ErrorLog
from ngramdb.ingest.options import ReadOptions
from ngramdb.ingest.readers.columns import is_list
from ngramdb.ingest.readers.tables import UNNAMED_INDEX, TableReader
from ngramdb.lazy import lazy_module
from ngramdb.limits import MAX_TOKEN_ID

pyarrow = lazy_module("pyarrow")

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
    schema, batches = opened(given)
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


def opened(given: Any) -> tuple[Any, Iterable[Any]]:
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
                return opened(given.to_frame(name))
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
