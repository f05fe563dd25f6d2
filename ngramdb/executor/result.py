"""The table that a statement answers with: columns, streamed rows, and a summary.

Rows are tuples of plain Python values (int, float, bool, str, None, and lists or dicts where metadata holds
them). They are made in batches while they are read; nothing is kept but the first rows, for printing.
"""

from __future__ import annotations

import html
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ngramdb.errors import ExecutionError

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, unused-ignore]
    import polars  # type: ignore[import-not-found, unused-ignore]
    import pyarrow

Row = tuple[Any, ...]

# Rows that `repr` and notebooks show.
SHOWN_ROWS = 20
# Characters of a value that they show, and of a value that has the line for itself.
SHOWN_CHARACTERS = 60
SHOWN_CHARACTERS_ALONE = 200
# Rows per batch where an operator makes many: some ten thousand bytes of tuples, far above a batch's cost.
BATCH_ROWS = 512


def batched(rows: Iterable[Row], n_rows: int = BATCH_ROWS) -> Iterator[list[Row]]:
    """Rows in lists of `n_rows`, the last one shorter."""
    rows = iter(rows)
    while batch := list(islice(rows, n_rows)):
        yield batch


class Result:
    """The answer of one statement.

    Attributes
    ----------
    columns : tuple of str
    summary : dict, totals and other facts beside the rows (`total` of DOCS, `context_count` of DIST, …)
    exact : bool, False only for sampled answers
    elapsed : float, seconds spent so far on planning, running and making the rows that were read
    snapshot : int, the version of the database that was asked
    n_rows : int or None, how many rows there are in all, where that is known without reading them

    A result reads its snapshot: it stays valid whatever is committed, loaded or dropped meanwhile.
    """

    def __init__(
        self,
        columns: Iterable[str] = (),
        batches: Iterable[list[Row]] = (),
        *,
        summary: Mapping[str, Any] | None = None,
        n_rows: int | None = None,
        exact: bool = True,
        elapsed: float = 0.0,
        snapshot: int = 0,
    ) -> None:
        self.columns = tuple(columns)
        self.summary: dict[str, Any] = dict(summary or {})
        self.n_rows = n_rows
        self.exact = exact
        self.elapsed = elapsed
        self.snapshot = snapshot
        self._batches: Iterator[list[Row]] | None = iter(batches)
        self._buffer: list[Row] = []
        self._next = 0
        self._head: list[Row] = []
        self._n_made = 0

    @classmethod
    def of_rows(cls, columns: Iterable[str], rows: Iterable[Row], /, **summary: Any) -> Result:
        """A result of few rows that are there already."""
        every = list(rows)
        return cls(columns, [every] if every else [], summary=summary, n_rows=len(every))

    # ---- reading ----------------------------------------------------------------------------------------

    def _pull(self) -> bool:
        """Makes the next batch; False at the end. Raises when the result is closed."""
        if self._batches is None:
            raise ExecutionError("the result is closed")
        started = time.perf_counter()
        batch = next(self._batches, None)
        self.elapsed += time.perf_counter() - started
        if batch is None:
            self.n_rows = self._n_made
            return False
        self._buffer = self._buffer[self._next :] + batch
        self._next = 0
        self._n_made += len(batch)
        if len(self._head) < SHOWN_ROWS:
            self._head.extend(batch[: SHOWN_ROWS - len(self._head)])
        return True

    def fetchone(self) -> Row | None:
        """The next row, or None after the last."""
        while self._next >= len(self._buffer):
            if not self._pull():
                return None
        row = self._buffer[self._next]
        self._next += 1
        return row

    def fetchmany(self, size: int = BATCH_ROWS) -> list[Row]:
        """The next `size` rows, fewer at the end."""
        rows: list[Row] = []
        while len(rows) < size:
            if self._next >= len(self._buffer) and not self._pull():
                break
            taken = self._buffer[self._next : self._next + size - len(rows)]
            self._next += len(taken)
            rows.extend(taken)
        return rows

    def fetchall(self) -> list[Row]:
        """All rows that were not read yet."""
        return list(chain.from_iterable(self.batches()))

    def batches(self) -> Iterator[list[Row]]:
        """All rows that were not read yet, in lists as they are made."""
        while self._next < len(self._buffer) or self._pull():
            rows = self._buffer[self._next :]
            self._next = len(self._buffer)
            if rows:
                yield rows

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self.batches())

    def close(self) -> None:
        """Lets go of what is not read yet; reading afterwards is an error. Closing twice is harmless."""
        batches, self._batches = self._batches, None
        if batches is not None and hasattr(batches, "close"):
            batches.close()
        self._buffer, self._next = [], 0

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- other forms ------------------------------------------------------------------------------------

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows that were not read yet, each as a dict by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self]

    def arrow(self) -> pyarrow.Table:
        """The rows that were not read yet as a `pyarrow.Table`; a column of mixed types becomes text."""
        import pyarrow  # heavy, and only for those who ask

        columns = self._columnwise()
        arrays = [_arrow_array(pyarrow, values) for values in columns]
        return pyarrow.Table.from_arrays(arrays, names=list(self.columns))

    def df(self) -> pandas.DataFrame:
        """The rows that were not read yet as a `pandas.DataFrame`."""
        pandas = _optional("pandas")
        return pandas.DataFrame.from_records(self.fetchall(), columns=list(self.columns))

    def pl(self) -> polars.DataFrame:
        """The rows that were not read yet as a `polars.DataFrame`."""
        polars = _optional("polars")
        return polars.from_arrow(self.arrow())

    def _columnwise(self) -> list[list[Any]]:
        rows = self.fetchall()
        return [[row[i] for row in rows] for i in range(len(self.columns))]

    # ---- printing ---------------------------------------------------------------------------------------

    def _preview(self) -> tuple[list[Row], str]:
        """The first rows and a line that says how many there are; the reader misses none of them."""
        while len(self._head) < SHOWN_ROWS and self._batches is not None and self._pull():
            pass
        n_shown = len(self._head)
        total = self.n_rows
        if total is None and self._batches is not None and self._n_made == n_shown and not self._pull():
            total = self.n_rows
        if total is None:
            return self._head, f"(more than {n_shown} rows, {n_shown} shown)"
        rows = f"{total:,} row{'' if total == 1 else 's'}"
        return self._head, f"({rows})" if n_shown == total else f"({rows}, {n_shown} shown)"

    def __repr__(self) -> str:
        if not self.columns:
            return str(self.summary.get("message", "(done)"))
        rows, footer = self._preview()
        n_shown = SHOWN_CHARACTERS if len(self.columns) > 1 else SHOWN_CHARACTERS_ALONE
        cells = [[_cell(value, n_shown) for value in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(self.columns, *cells, strict=True)]
        right = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(self.columns))]

        def line(values: Iterable[str]) -> str:
            padded = (
                value.rjust(width) if is_right else value.ljust(width)
                for value, width, is_right in zip(values, widths, right, strict=True)
            )
            return "  ".join(padded).rstrip()

        rule = "  ".join("─" * width for width in widths)
        return "\n".join([line(self.columns), rule, *map(line, cells), footer])

    def _repr_html_(self) -> str:
        if not self.columns:
            return f"<p>{html.escape(str(self.summary.get('message', '(done)')))}</p>"
        rows, footer = self._preview()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>"
            for row in rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{html.escape(footer)}</p>"


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _cell(value: Any, n_shown: int = SHOWN_CHARACTERS) -> str:
    """A value on one line, cut to `n_shown` characters."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else str(value)
    # Only the beginning is looked at: a document's text may be long.
    text = text[: n_shown + 1]
    text = "".join(c if c.isprintable() else {"\n": "⏎", "\t": "⇥"}.get(c, "�") for c in text)
    return text if len(text) <= n_shown else text[: n_shown - 1] + "…"


def _arrow_array(pyarrow: Any, values: list[Any]) -> Any:
    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        return pyarrow.array([None if value is None else str(value) for value in values], pyarrow.string())


def _optional(name: str) -> Any:
    """A library that ngramdb does not depend on."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ExecutionError(f"{name} is not installed: pip install {name}") from error
