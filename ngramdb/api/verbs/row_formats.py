"""The rows of any result as files for other programs: JSON lines, CSV, TSV, Parquet, Arrow."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from ngramdb import interrupts
from ngramdb.executor.result import Result, Row

DELIMITERS = {"csv": ",", "tsv": "\t"}
CONCORDANCE = ("doc_id", "position", "left", "match", "right")
# `json.dumps` would make an encoder at each call with options.
_STRICT = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_LENIENT = json.JSONEncoder(ensure_ascii=False)
_BREAKS = str.maketrans(dict.fromkeys("\n\r\v\f\x85\u2028\u2029", " "))
# A result of up to this many rows becomes a table as a whole, so that all values determine the types of
# columns; for a larger one, the first rows do.
ROWS_OF_A_TABLE = 1 << 18


def json_lines(result: Result, as_json: Callable[[Any], Any] | None = None) -> Iterator[bytes]:
    """Yield an object per row. `as_json` replaces infinite numbers and NaN, with null by default.

    Only rows with such numbers are copied to replace them: searching for them takes longer than writing a
    row.
    """
    plain = as_json or finite
    for row in result:
        try:
            line = _STRICT.encode(dict(zip(result.columns, row, strict=True)))
        except ValueError:  # infinity or NaN
            line = _LENIENT.encode(dict(zip(result.columns, map(plain, row), strict=True)))
        yield line.encode("utf-8", "surrogatepass")


def delimited(result: Result, kind: str) -> Iterator[bytes]:
    """Yield the lines of CSV or TSV in UTF-8."""
    for line in delimited_lines(result.columns, result, kind):
        yield line.encode("utf-8", "surrogatepass")


def delimited_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]], kind: str) -> Iterator[str]:
    """Yield CSV or TSV: the names of the columns, then the rows.

    The dialect that all interfaces share and `load` reads: RFC 4180, with the format's delimiter. A text with
    line breaks takes several lines, except in a concordance: there each hit is one line, its breaks are
    blanks.
    """
    delimiter = DELIMITERS[kind]
    is_concordance = tuple(columns[: len(CONCORDANCE)]) == CONCORDANCE
    yield _line(columns, delimiter)
    for row in rows:
        yield _line(map(_on_one_line, row) if is_concordance else row, delimiter)


def _on_one_line(value: Any) -> Any:
    return value.replace("\r\n", " ").translate(_BREAKS) if isinstance(value, str) else value


def with_json(result: Result, columns: Collection[int]) -> Result:
    """Return the result with the values of some columns, by number, as JSON texts."""

    def converted(row: Row) -> Row:
        return tuple(
            as_json(value) if i in columns and value is not None else value for i, value in enumerate(row)
        )

    batches = (list(map(converted, rows)) for rows in result.batches())
    types = [str if i in columns else kind for i, kind in enumerate(result.types)]
    made = Result(result.columns, batches, n_rows=result.n_rows, types=types)
    made.arrow_types = tuple(None if i in columns else kind for i, kind in enumerate(result.arrow_types))
    return made


def write_table(result: Result, file: Any, kind: str, as_stream: bool = False) -> int:
    """Write a Parquet or an Arrow file, or an Arrow stream; return the number of rows."""
    import pyarrow
    import pyarrow.ipc
    import pyarrow.parquet

    is_small = result.n_rows is not None and result.n_rows <= ROWS_OF_A_TABLE
    batches: Any = result.arrow().to_reader() if is_small else result.arrow_batches()
    n_rows = 0
    if kind == "parquet":
        opened = pyarrow.parquet.ParquetWriter(file, batches.schema, compression="zstd")
    else:
        opened = (pyarrow.ipc.new_stream if as_stream else pyarrow.ipc.new_file)(file, batches.schema)
    with opened as writer:
        for batch in batches:
            interrupts.check()
            writer.write_batch(batch)
            n_rows += batch.num_rows
    return n_rows


def as_json(value: Any) -> str:
    """Return a value as JSON text; NaN and infinities are written as Python writes them."""
    return _LENIENT.encode(value)


def _line(values: Iterable[Any], delimiter: str) -> str:
    return delimiter.join(_field(value, delimiter) for value in values)


def _field(value: Any, delimiter: str) -> str:
    """Return a value as a field: NULL is empty, an empty text two quotes, lists and objects are JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(float(value)) if isinstance(value, float) else str(value)
    text = value if isinstance(value, str) else as_json(value)
    if text and not any(mark in text for mark in (delimiter, '"', "\n", "\r")):
        return text
    return '"' + text.replace('"', '""') + '"'


def finite(value: Any, shown: Callable[[float], str | None] = lambda number: None) -> Any:
    """Return the value with null, or the result of `shown`, in place of numbers that JSON lacks."""
    if isinstance(value, float) and not math.isfinite(value):
        return shown(value)
    if isinstance(value, dict):
        return {key: finite(item, shown) for key, item in value.items()}
    return [finite(item, shown) for item in value] if isinstance(value, list) else value
