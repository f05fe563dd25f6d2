"""Documents out of tables: whatever offers the Arrow C stream protocol (`__arrow_c_stream__`).

Frames of pandas and polars, tables and record batch readers of pyarrow, relations of DuckDB: a row is a
document, its column `text` (or `ids`) the content, all other columns typed metadata. A NULL is no value: the
document lacks the field. Tables are read batch by batch and converted column by column.

Frames without the protocol, and mappings, are iterated over by the names of their columns, which are no
documents: they are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ngramdb.errors import InvalidArgument, LoadError
from ngramdb.ingest.documents import Document
from ngramdb.lazy import lazy_module

pyarrow = lazy_module("pyarrow")

SOURCE = "append"
# Rows that are converted at a time: frames come in one batch, whatever their size.
BATCH_ROWS = 1024
# What pandas calls an index without a name: the numbers that rows are left with by a selection.
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")

Convert = Callable[[Any], Any]


def is_table(given: object) -> bool:
    """Whether an object offers its rows (or, as a single column does, its values) by Arrow's protocol."""
    return hasattr(given, "__arrow_c_stream__")


def iterates_over_names(given: object) -> bool:
    """Whether iterating over an object gives the names of its columns or keys."""
    return isinstance(given, Mapping) or (hasattr(given, "columns") and hasattr(given, "dtypes"))


def rows_of(given: Any, kind: str) -> Iterator[Document]:
    """The rows of a table as documents, or the values of a single column as their texts (or ids).

    Parameters
    ----------
    kind : the corpus's kind of tokenizer; of a table with both, `tokens` takes the column `ids`

    Raises
    ------
    InvalidArgument
        No such column, or a column of a type that metadata cannot hold; before any row is read.
    LoadError
        The table cannot be read to its end.
    """
    try:
        schema, batches = _opened(given)
    except (pyarrow.ArrowException, ValueError, TypeError) as error:
        raise InvalidArgument(f"the {type(given).__name__} cannot be read as a table: {error}") from error
    content = _content(schema, kind)
    fields = [field for field in schema if field.name != content and not _UNNAMED_INDEX.fullmatch(field.name)]
    converted = {field.name: _conversion(field.name, field.type) for field in fields}
    return _rows(batches, content, _read_as(content, schema.field(content).type), converted)


def _opened(given: Any) -> tuple[Any, Iterable[Any]]:
    """The schema of a table and its batches; a single column is a table of one."""
    try:
        reader = pyarrow.RecordBatchReader.from_stream(given)
    except (pyarrow.ArrowInvalid, TypeError):
        column = pyarrow.chunked_array(given)
        name = "ids" if _is_list(column.type) else "text"
        table = pyarrow.table({name: column})
        return table.schema, table.to_batches()
    names = reader.schema.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidArgument(f"the table has several columns {twice[0]!r}")
    return reader.schema, reader


def _content(schema: Any, kind: str) -> str:
    """The name of the column with the documents' text or ids."""
    wanted = ("ids", "text") if kind == "tokens" else ("text", "ids")
    for name in wanted:
        if name in schema.names:
            return name
    names = ", ".join(schema.names) or "none"
    raise InvalidArgument(
        f"a table of documents has a column 'text' or 'ids'; the columns here are {names}. Rename the one "
        "that holds the text"
    )


def _rows(
    batches: Iterable[Any], content: str, read: Convert, converted: dict[str, Convert | None]
) -> Iterator[Document]:
    is_text = read is _texts
    for batch in _read(batches):
        for start in range(0, batch.num_rows, BATCH_ROWS):
            piece = batch.slice(start, BATCH_ROWS)
            contents = read(piece.column(content))
            columns = [_values(piece.column(name), convert) for name, convert in converted.items()]
            rows = zip(*columns, strict=True) if columns else iter([()] * piece.num_rows)
            for item, row in zip(contents, rows, strict=True):
                metadata = {
                    name: value for name, value in zip(converted, row, strict=True) if value is not None
                }
                text, ids = (item, None) if is_text else (None, item)
                yield Document(text, ids, metadata, SOURCE)


def _read(batches: Iterable[Any]) -> Iterator[Any]:
    try:
        for batch in batches:
            batch.validate(full=True)  # that strings are UTF-8, above all
            yield batch
    except (pyarrow.ArrowException, OSError) as error:
        raise LoadError(f"the table cannot be read: {error}", source=SOURCE) from error


# ---- content --------------------------------------------------------------------------------------------


def _read_as(name: str, kind: Any) -> Convert:
    """How the column with the content is read."""
    inner = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    if name == "text":
        if _is_string(inner) or pyarrow.types.is_null(inner):
            return _texts
        raise InvalidArgument(f"the table's column 'text' is {kind}, and a text is a string")
    if _is_list(kind) and pyarrow.types.is_integer(kind.value_type):
        return _id_lists
    raise InvalidArgument(f"the table's column 'ids' is {kind}, and a document's ids are a list of integers")


def _texts(column: Any) -> list[bytes | None]:
    texts: list[bytes | None] = column.cast(pyarrow.large_string()).cast(pyarrow.large_binary()).to_pylist()
    return texts


def _id_lists(column: Any) -> list[Any]:
    """An array for each list, a view of the column's own where it has no NULLs."""
    column = column.cast(pyarrow.large_list(column.type.value_type))
    values = column.values.to_numpy(zero_copy_only=False)
    bounds = column.offsets.to_numpy()
    is_null = column.is_null().to_numpy(zero_copy_only=False)
    return [
        None if null else values[start:stop]
        for start, stop, null in zip(bounds[:-1], bounds[1:], is_null, strict=True)
    ]


# ---- metadata -------------------------------------------------------------------------------------------


def _values(column: Any, convert: Convert | None) -> list[Any]:
    if pyarrow.types.is_timestamp(column.type) and column.type.unit == "ns":
        # Python's own times end at microseconds.
        column = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False)
    values: list[Any] = column.to_pylist()
    return values if convert is None else [convert(value) for value in values]


def _conversion(name: str, kind: Any) -> Convert | None:
    """What turns a column's Python values into those of metadata; None where they are.

    Times are texts in ISO 8601, decimal numbers are floats. Raises InvalidArgument for what has no form.
    """
    types = pyarrow.types
    plain = (types.is_boolean, types.is_integer, types.is_floating, types.is_null, _is_string)
    if any(holds(kind) for holds in plain):
        return None
    if types.is_dictionary(kind):
        return _conversion(name, kind.value_type)
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind):
        return _unless_null(lambda value: value.isoformat())
    if types.is_decimal(kind):
        return _unless_null(float)
    if _is_list(kind):
        item = _conversion(name, kind.value_type)
        return None if item is None else _unless_null(lambda values: [item(value) for value in values])
    if types.is_struct(kind):
        inner = {field.name: _conversion(f"{name}.{field.name}", field.type) for field in kind}
        found = {key: convert for key, convert in inner.items() if convert is not None}
        return _unless_null(lambda value: {**value, **{key: found[key](value[key]) for key in found}})
    raise InvalidArgument(
        f"the table's column {name!r} is {kind}, which metadata cannot hold; convert it, or leave it out"
    )


def _unless_null(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _is_string(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _is_list(kind: Any) -> bool:
    types = pyarrow.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
