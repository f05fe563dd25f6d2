"""The answer of a statement: columns, streamed rows, and a summary.

Rows are tuples of plain Python values (int, float, bool, str, None, and lists or dicts of metadata).
They are computed in batches while they are read; only the first rows are kept, for printing.
`display` shows results, `dataframes` converts them to tables of other libraries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ngramdb import fork_safety
from ngramdb.errors import ExecutionError, InvalidArgument
from ngramdb.interrupts import Interrupt, check, memory_errors, under

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, unused-ignore]
    import polars  # type: ignore[import-not-found, unused-ignore]
    import pyarrow

    from ngramdb.executor import display


Row = tuple[Any, ...]
# The known type of a column's values, or None if only the values show it.
ColumnType = type | None
# The first token of a match, and the match's characters [start, stop) in its document's text as DOCS
# returns it, None if they are unknown.
TextPlace = tuple[int, tuple[int, int] | None]

# Rows that `repr` and notebooks show.
SHOWN_ROWS = 20
# Rows per batch for operators with many rows: about ten thousand bytes of tuples, far above a batch's cost.
BATCH_ROWS = 512


def batched(rows: Iterable[Row], n_rows: int = BATCH_ROWS) -> Iterator[list[Row]]:
    """Yield rows in lists of `n_rows`, the last one possibly shorter."""
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
    snapshot : int, the version of the database that was read
    n_rows : int or None, the number of all rows, if it is known without reading them
    types : tuple, for each column int, float, bool, str, list, or dict for any JSON value; None if only the
        values show it

    A result reads its snapshot: it remains valid after commits, loads and drops. If threads
    share it, each row is returned to one of them.
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
        types: Sequence[ColumnType] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.types: tuple[ColumnType, ...] = tuple(types) or (None,) * len(self.columns)
        self.summary: dict[str, Any] = dict(summary or {})
        self.n_rows = n_rows
        self.exact = exact
        self.elapsed = elapsed
        self.snapshot = snapshot
        # Whether the n-gram occurs, if the answer shows it: this saves a second search.
        self.found: bool | None = None
        # The Arrow types of columns in tables, if known; otherwise ().
        self.arrow_types: tuple[Any, ...] = ()
        # The corpus, and the `FieldKey` of each column that has one, by number: for notes on files.
        self.fields: tuple[Any, dict[int, Any]] | None = None
        # Warnings for verbs in Python; `summary['note']` has them in words.
        self.cautions: tuple[Any, ...] = ()
        # The text of a single-text answer, while it is generated: an alternative to reading the rows.
        self.pieces: Iterator[str] | None = None
        # The places of a concordance's lines in text order: an alternative to reading the rows.
        self.places: Iterator[TextPlace] | None = None
        self._lock = fork_safety.rlock()  # held while rows are computed or fetched
        self._batches: Iterator[list[Row]] | None = iter(batches)
        self._buffer: list[Row] = []
        self._next = 0
        self._head: list[Row] = []
        self._n_made = 0
        self._work: Interrupt | None = None
        self._failure: str | None = None
        # Called once nothing of the corpus is read any more.
        self._at_end: Callable[[], object] | None = None

    @classmethod
    def of_rows(cls, columns: Iterable[str], rows: Iterable[Row], /, **summary: Any) -> Result:
        """Create a result from a few existing rows."""
        every = list(rows)
        made = cls(columns, summary=summary, n_rows=len(every))
        made._buffer, made._head, made._n_made = every, every[:SHOWN_ROWS], len(every)
        return made

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the answer for users: that it is an estimate, or another possible meaning of a text."""
        from ngramdb.executor import display

        drawn = display.drawn(self.summary, self.exact)
        return (*filter(None, [drawn]), *self._remarks)

    @property
    def _remarks(self) -> tuple[str, ...]:
        """The notes without facts that are shown below a table, such as the seed of the sample."""
        return (str(self.summary["note"]),) if "note" in self.summary else ()

    # ---- reading ----------------------------------------------------------------------------------------

    def _pull(self) -> bool:
        """Compute the next batch, with the lock held; False at the end. Raises if closed, or ended early."""
        if self._batches is None:
            raise ExecutionError(self._failure or "the result is closed")
        started = time.perf_counter()
        try:
            if self._work is None:
                batch = next(self._batches, None)
            else:
                with self._work:
                    check()
                    batch = next(self._batches, None)
        except BaseException as error:
            # The generators below are exhausted: without this the next read would look like the end.
            self._batches = None
            self._failure = f"the result ended early: {str(error) or type(error).__name__}"
            raise
        finally:
            self.elapsed += time.perf_counter() - started
        if batch is None:
            self.n_rows = self._n_made
            self._work = None
            self._end()
            return False
        self._buffer = self._buffer[self._next :] + batch
        self._next = 0
        self._n_made += len(batch)
        if len(self._head) < SHOWN_ROWS:
            self._head.extend(batch[: SHOWN_ROWS - len(self._head)])
        return True

    @property
    def n_ready(self) -> int:
        """The number of unread rows that are computed: reading them takes no time."""
        return len(self._buffer) - self._next

    def fetchone(self) -> Row | None:
        """Return the next row, or None after the last."""
        with self._lock:
            while self._next >= len(self._buffer):
                if not self._pull():
                    return None
            row = self._buffer[self._next]
            self._next += 1
            return row

    def _end(self) -> None:
        act, self._at_end = self._at_end, None
        self.places = self.fields = None
        if act is not None:
            act()

    @memory_errors()
    def fetchmany(self, size: int = BATCH_ROWS) -> list[Row]:
        """Return the next `size` rows, fewer at the end."""
        rows: list[Row] = []
        with self._lock:
            while len(rows) < size:
                if self._next >= len(self._buffer) and not self._pull():
                    break
                taken = self._buffer[self._next : self._next + size - len(rows)]
                self._next += len(taken)
                rows.extend(taken)
        return rows

    @memory_errors()
    def fetchall(self) -> list[Row]:
        """Return all unread rows."""
        return list(chain.from_iterable(self._batches_as_made()))

    def batches(self, n_rows: int | None = None) -> Iterator[list[Row]]:
        """Yield all unread rows in lists: as they are computed, or of `n_rows`, the last one maybe shorter.

        Raises
        ------
        InvalidArgument
            `n_rows` is not an integer of at least 1.
        """
        if n_rows is None:
            return self._batches_as_made()
        if isinstance(n_rows, bool) or not isinstance(n_rows, int) or n_rows < 1:
            raise InvalidArgument(f"n_rows must be an integer of at least 1, not {n_rows!r}")
        return iter(lambda: self.fetchmany(n_rows), [])

    def _batches_as_made(self) -> Iterator[list[Row]]:
        while True:
            with self._lock:
                if self._next >= len(self._buffer) and not self._pull():
                    return
                rows = self._buffer[self._next :]
                self._next = len(self._buffer)
            if rows:
                yield rows

    def __iter__(self) -> Iterator[Row]:
        """Yield all unread rows. Those that are left when a loop ends early can still be read."""
        return iter(self.fetchone, None)

    def close(self) -> None:
        """Release rows that are not yet read; reading after this is an error. Closing twice is a no-op."""
        with self._lock:
            batches, self._batches = self._batches, None
            if batches is not None and hasattr(batches, "close"):
                batches.close()
            self._buffer, self._next = [], 0
            del batches
            self._end()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @memory_errors()
    def __getstate__(self) -> dict[str, Any]:
        """Return the result as data, for pickles and copies.

        The copy has all unread rows, which can still be read here as well.

        Raises
        ------
        ExecutionError
            The result is closed, or its rows cannot be computed.
        """
        with self._lock:
            while self._pull():
                pass
            return {
                **self.__dict__,
                "fields": None,
                "pieces": None,
                "places": None,
                "_at_end": None,
                "_batches": None,
                "_buffer": self._buffer[self._next :],
                "_lock": None,
                "_next": 0,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _batches=iter(()), _lock=fork_safety.rlock())

    def _require_rows(self) -> None:
        """Raise ExecutionError if all rows have been read: a table would have none."""
        with self._lock:
            all_read = self._n_made and self._next >= len(self._buffer) and not self._pull()
        if all_read:
            raise ExecutionError(
                f"all {self._n_made:,} rows of the result have been read, and rows can be read once: keep "
                "the table that was made from them, or run the statement again"
            )

    # ---- other forms ------------------------------------------------------------------------------------

    @memory_errors()
    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the unread rows, each as a dict by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self]

    @memory_errors()
    def arrow(self) -> pyarrow.Table:
        """Return the unread rows as a `pyarrow.Table`.

        Columns are int64, float64, bool, string or lists of these; columns of mixed types or of objects
        are text (objects as JSON); columns of NULLs only are text, or of their known type. Fields of
        documents that were loaded from tables have their original types (times, decimals, …).

        Raises
        ------
        ExecutionError
            All rows have been read, and there were some. The same holds for `arrow_batches`, `df` and `pl`.
        """
        from ngramdb.executor import dataframes

        self._require_rows()
        return dataframes.arrow_table(self.columns, self.types, self.fetchall(), self.arrow_types)

    @memory_errors()
    def arrow_batches(self, n_rows: int = 65_536) -> pyarrow.RecordBatchReader:
        """Return the same as a stream of record batches of `n_rows`, computed while they are read.

        The first batch determines the types of columns whose type is not known beforehand.

        Raises
        ------
        ExecutionError
            While it is read: a later value does not fit the type of its column; `arrow` accepts such results.
        """
        from ngramdb.executor import dataframes

        self._require_rows()
        batches = self.batches(n_rows)
        # The rows that determine the types remain unread: the caller may only want the schema.
        with self._lock:
            while len(self._buffer) - self._next < n_rows and self._pull():
                pass
            first = self._buffer[self._next : self._next + n_rows]
        return dataframes.record_batches(self.columns, self.types, first, batches, self.arrow_types)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the unread rows by Arrow's C stream protocol, as `arrow_batches` does.

        Therefore pandas, polars, DuckDB and pyarrow accept a result directly: `polars.DataFrame(result)`
        (`polars.from_arrow` makes a Series of structs of every object with this method). Rows are read when
        the stream is; DuckDB requests one stream for the schema, and another one for the rows.
        """
        return self.arrow_batches().__arrow_c_stream__(requested_schema)

    @memory_errors()
    def df(self) -> pandas.DataFrame:
        """Return the unread rows as a `pandas.DataFrame`.

        Integers with NULLs are Int64, and texts have pandas' own type for them (str since pandas 3).
        """
        from ngramdb.executor import dataframes

        self._require_rows()
        frame: pandas.DataFrame = dataframes.pandas_frame(self.columns, self.types, self.fetchall())
        return frame

    @memory_errors()
    def pl(self) -> polars.DataFrame:
        """Return the unread rows as a `polars.DataFrame`, with the types of `arrow`."""
        from ngramdb.executor import dataframes

        self._require_rows()
        frame: polars.DataFrame = dataframes.polars_frame(self.columns, self.types, self.fetchall())
        return frame

    # ---- printing ---------------------------------------------------------------------------------------

    def _preview(self) -> display.Preview:
        """Return the first rows and a line with their number; all of them remain unread."""
        from ngramdb.executor import display

        with self._lock:
            while (
                self.columns and len(self._head) < SHOWN_ROWS and self._batches is not None and self._pull()
            ):
                pass
            size = self._size() if self.columns else ""
            return display.Preview(self.columns, self._head, size, self.n_rows, self.summary, self._remarks)

    def _size(self) -> str:
        """Return a text with the number of rows, and how many of them are shown."""
        n_shown = len(self._head)
        total = self.n_rows
        if total is None and self._batches is not None and self._n_made == n_shown and not self._pull():
            total = self.n_rows
        known = "" if self.exact else ", approximate"
        if total is None:
            return f"more than {n_shown} rows, {n_shown} shown{known}"
        rows = f"{total:,} row{'' if total == 1 else 's'}"
        return f"{rows}{known}" if n_shown == total else f"{rows}, {n_shown} shown{known}"

    def __repr__(self) -> str:
        from ngramdb.executor import display

        return display.as_text(self._preview())

    def _repr_html_(self) -> str:
        from ngramdb.executor import display

        return display.as_html(self._preview())


def supervised(result: Result, work: Interrupt, at_end: Callable[[], object] | None = None) -> Result:
    """Return the same result, with its rows computed under a token: stopping the statement stops them.

    `at_end` is called when all rows have been computed, or the result is closed.
    """
    result._work, result._at_end = work, at_end
    if result.pieces is not None:
        result.pieces = under(work, result.pieces)
    if result.places is not None:
        result.places = under(work, result.places)
    return result
