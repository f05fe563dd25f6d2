"""Results as answers: the rows of one page, and their bytes as JSON, JSON lines, CSV, Arrow or Parquet."""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ngramdb._cext.text.formats import json_list
from ngramdb.api import Result, wire
from ngramdb.api.verbs import row_formats
from ngramdb.errors import TimeoutExceeded
from ngramdb.serve.requests import FORMATS

Row = tuple[Any, ...]
#: Names of column types, and the strings for numbers that JSON cannot represent, as the client reads them.
TYPES = {kind: name for name, kind in wire.TYPES.items()}
NOT_FINITE = {number: text for text, number in wire.NOT_FINITE.items()}


#: A placeholder in JSON text for an array of integers, which is written ten times as fast as a list.
#: It cannot be guessed, so that no value contains it.
_ARRAY = secrets.token_hex(16)
_INTEGERS = (np.dtype(np.uint32), np.dtype(np.int64), np.dtype(np.uint64))

#: Bytes of notes in a header, half of what proxies accept (nginx: 4 or 8 kB), and the number of notes.
MAX_NOTED, MOST_NOTED = 2000, 8


@dataclass
class Page:
    """The rows of an answer that are sent, and the facts beside them.

    truncated : there are further rows
    late : the time limit was exceeded before all rows were computed; `rows` are the first ones
    """

    columns: tuple[str, ...]
    types: tuple[type | None, ...]
    rows: list[Row]
    version: int
    summary: dict[str, Any]
    notes: tuple[str, ...] = ()
    exact: bool = True
    truncated: bool = False
    late: TimeoutExceeded | None = None
    elapsed: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    arrow_types: tuple[Any, ...] = ()

    def result(self) -> Result:
        """Return the rows as a result, for functions that write results."""
        n_rows = len(self.rows)
        result = Result(self.columns, [self.rows], types=self.types, n_rows=n_rows, exact=self.exact)
        result.arrow_types = self.arrow_types
        return result


def page_of(result: Result, limit: int, offset: int, most_bytes: int) -> Page:
    """Read `limit` rows after the first `offset` ones.

    If the time limit is exceeded after the first row, the page has the rows that were computed until then.

    Raises
    ------
    TimeoutExceeded
        The time limit was exceeded before the first row.
    """
    rows: list[Row] = []
    truncated, late, size, left = False, None, 0, offset
    try:
        for batch in result.batches():
            if size > most_bytes:
                truncated = True
                break
            kept = batch[left:]
            left -= len(batch) - len(kept)
            rows += kept
            size += sum(map(_size, kept))
            if len(rows) > limit:
                del rows[limit:]
                truncated = True
                break
    except TimeoutExceeded as error:
        if not rows:
            raise
        late, truncated = error, True
    page = Page(
        result.columns,
        result.types,
        rows,
        result.snapshot,
        {name: value for name, value in result.summary.items() if name != "note"},
        result.notes,
        result.exact,
        truncated,
        late,
        result.elapsed,
        arrow_types=result.arrow_types,
    )
    result.close()
    return page


def _size(value: Any) -> int:
    """Estimate the bytes of a row."""
    if isinstance(value, (list, tuple)):
        return sum([len(one) if isinstance(one, str) else _size(one) for one in value])
    return len(value) if isinstance(value, str) else 8


def as_json(page: Page) -> bytes:
    """Return a JSON object: facts, columns, their types, rows (each an object), summary."""
    types = [None if one is None else TYPES.get(one) for one in page.types]
    head = json_of({**page.facts, "version": page.version, "columns": page.columns, "types": types})
    rest = {
        "n_rows": len(page.rows),
        "truncated": page.truncated,
        "summary": _spelled(page.summary),
        "notes": page.notes,
        "exact": page.exact,
        "elapsed_ms": round(page.elapsed * 1e3, 3),
    }
    rows = b",\n".join(row_formats.json_lines(page.result(), _spelled))
    return b"%b,\n%b\n%b,\n%b}" % (head[:-1], b'"rows": [', rows + b"]", json_of(rest)[1:-1])


def _as_json_lines(page: Page) -> bytes:
    return b"".join(line + b"\n" for line in row_formats.json_lines(page.result(), _spelled))


def _as_csv(page: Page) -> bytes:
    return b"".join(line + b"\n" for line in row_formats.delimited(page.result(), "csv"))


def _as_table(kind: str, page: Page) -> bytes:
    file = io.BytesIO()
    row_formats.write_table(page.result(), file, kind, as_stream=kind == "arrow")
    return file.getvalue()


WRITERS: dict[str, Callable[[Page], bytes]] = {
    "json": as_json,
    "jsonl": _as_json_lines,
    "csv": _as_csv,
    "arrow": partial(_as_table, "arrow"),
    "parquet": partial(_as_table, "parquet"),
}
assert WRITERS.keys() == FORMATS.keys()


def json_of(value: Any) -> bytes:
    """Serialize a value as JSON; everything outside ASCII is escaped."""
    arrays: list[Any] = []

    def plain(item: Any) -> Any:
        if getattr(item, "ndim", 0) == 1 and item.dtype in _INTEGERS:
            arrays.append(item)
            return _ARRAY
        return _plain(item)

    try:
        text = json.dumps(value, default=plain, allow_nan=False)
    except ValueError:  # infinity or NaN; checking every value for them would take longer than the rest
        arrays.clear()
        text = json.dumps(row_formats.finite(value), default=plain)
    parts = text.split(f'"{_ARRAY}"') if arrays else [text]
    written = [*map(json_list, map(np.ascontiguousarray, arrays)), b""]
    return b"".join(one for pair in zip(map(str.encode, parts), written, strict=True) for one in pair)


def noted(notes: Sequence[str]) -> dict[str, str]:
    """Return the header with the notes on an answer, a JSON list. Notes that are too long are cut."""
    if not notes:
        return {}
    cut = (
        json_of([note if len(note) <= most else note[:most] + "…" for note in notes[:MOST_NOTED]])
        for most in (MAX_NOTED, 200, 20)
    )
    return {"x-notes": next(sent for sent in cut if len(sent) <= MAX_NOTED).decode("ascii")}


def _spelled(value: Any) -> Any:
    """Return the value with strings in place of infinite numbers and NaN."""
    return row_formats.finite(value, lambda number: NOT_FINITE.get(number, "NaN"))


def _plain(value: Any) -> Any:
    """Convert scalars and arrays of numpy, and other objects, to JSON values."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
