"""The table that a statement answers with: columns, streamed rows, and a summary.

Rows are tuples of plain Python values (int, float, bool, str, None, and lists or dicts where metadata holds
them). They are made in batches while they are read; nothing is kept but the first rows, for printing. How a
result is shown is the business of `display`, other libraries' tables that of `dataframes`.
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

    from ngramdb.executor.results import display

Row = tuple[Any, ...]
# What is known of a column's values beforehand: a type, or None where only the values show it.
ColumnType = type | None
# The token that a match begins in, and the match's characters [start, stop) in its document's text as DOCS
# shows it, None if they are unknown.
TextPlace = tuple[int, tuple[int, int] | None]

# Rows that `repr` and notebooks show.
SHOWN_ROWS = 20
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
    types : tuple, for each column int, float, bool, str, list, or dict for anything that JSON has; None where
        only the values show it

    A result reads its snapshot: it stays valid whatever is committed, loaded or dropped meanwhile. If threads
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
        # Whether what was asked for occurs, where the answer shows it: this saves a second search.
        self.found: bool | None = None
        # The Arrow types that columns have in tables, where these are known; () for none.
        self.arrow_types: tuple[Any, ...] = ()
        # What verbs in Python warn of; `summary['note']` has it in words.
        self.cautions: tuple[Any, ...] = ()
        # The text of an answer that is one text, while it is made: an alternative to reading the rows.
        self.pieces: Iterator[str] | None = None
        # The places of a concordance's lines in the order of the text: an alternative to reading the rows.
        self.places: Iterator[TextPlace] | None = None
        self._lock = fork_safety.rlock()  # held while rows are made or taken
        self._batches: Iterator[list[Row]] | None = iter(batches)
        self._buffer: list[Row] = []
        self._next = 0
        self._head: list[Row] = []
        self._n_made = 0
        self._work: Interrupt | None = None
        self._failure: str | None = None
        # What is done once nothing of the corpus is read any more.
        self._at_end: Callable[[], object] | None = None

    @classmethod
    def of_rows(cls, columns: Iterable[str], rows: Iterable[Row], /, **summary: Any) -> Result:
        """A result of few rows that are there already."""
        every = list(rows)
        made = cls(columns, summary=summary, n_rows=len(every))
        made._buffer, made._head, made._n_made = every, every[:SHOWN_ROWS], len(every)
        return made

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the answer, for a person: that it is an estimate, what a text may have meant."""
        from ngramdb.executor.results import result_summary

        drawn = result_summary.drawn(self.summary, self.exact)
        return (*filter(None, [drawn]), *self._remarks)

    @property
    def _remarks(self) -> tuple[str, ...]:
        """The notes without the facts below a table: how the sample was drawn."""
        return (str(self.summary["note"]),) if "note" in self.summary else ()

    # ---- reading ----------------------------------------------------------------------------------------

    def _pull(self) -> bool:
        """Make the next batch, with the lock held; False at the end. Raises if closed, or ended early."""
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
            # The generators below are spent: without this the next read would look like the end.
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

    def fetchone(self) -> Row | None:
        """The next row, or None after the last."""
        with self._lock:
            while self._next >= len(self._buffer):
                if not self._pull():
                    return None
            row = self._buffer[self._next]
            self._next += 1
            return row

    def _end(self) -> None:
        act, self._at_end = self._at_end, None
        self.places = None
        if act is not None:
            act()

    @memory_errors()
    def fetchmany(self, size: int = BATCH_ROWS) -> list[Row]:
        """The next `size` rows, fewer at the end."""
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
        """All rows that were not read yet."""
        return list(chain.from_iterable(self._batches_as_made()))

    def batches(self, n_rows: int | None = None) -> Iterator[list[Row]]:
        """All rows that were not read yet, in lists: as they are made, or of `n_rows`, the last one shorter.

        Raises
        ------
        InvalidArgument
            `n_rows` is no whole number of at least 1.
        """
        if n_rows is None:
            return self._batches_as_made()
        if isinstance(n_rows, bool) or not isinstance(n_rows, int) or n_rows < 1:
            raise InvalidArgument(f"a batch has at least one row, not {n_rows!r}")
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
        """All rows that were not read yet. Those that are left when a loop ends early can still be read."""
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
        """The result as data, for pickles and copies.

        It has all rows that were not read yet, which can still be read here as well.

        Raises
        ------
        ExecutionError
            The result is closed, or its rows cannot be made.
        """
        with self._lock:
            while self._pull():
                pass
            return {
                **self.__dict__,
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
        """Raise when there were rows, and all have been read: a table would show none."""
        with self._lock:
            all_read = self._n_made and self._next >= len(self._buffer) and not self._pull()
        if all_read:
            raise ExecutionError(
                f"all {self._n_made:,} rows of the result have been read, and rows can be read once: keep "
                "the table that was made of them, or run the statement again"
            )

    # ---- other forms ------------------------------------------------------------------------------------

    @memory_errors()
    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows that were not read yet, each as a dict by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self]

    @memory_errors()
    def arrow(self) -> pyarrow.Table:
        """The rows that were not read yet as a `pyarrow.Table`.

        Columns are int64, float64, bool, string or lists of these; one that mixes others, and one of objects,
        is text (objects as JSON); one of NULLs only is text, or what is known of its type. Fields of
        documents that were loaded from tables have the types that they had there (times, decimals, …).

        Raises
        ------
        ExecutionError
            There were rows, and all of them have been read. So `arrow_batches`, `df` and `pl`.
        """
        from ngramdb.executor.results import dataframes

        self._require_rows()
        return dataframes.arrow_table(self.columns, self.types, self.fetchall(), self.arrow_types)

    @memory_errors()
    def arrow_batches(self, n_rows: int = 65_536) -> pyarrow.RecordBatchReader:
        """The same as a stream of record batches of `n_rows`, made while they are read.

        The first batch settles the types of columns whose type is not known beforehand.

        Raises
        ------
        ExecutionError
            While it is read: a later value that has no place in its column; `arrow` takes such results.
        """
        from ngramdb.executor.results import dataframes

        self._require_rows()
        batches = self.batches(n_rows)
        # Those that settle the types are still to be read: who asks for a stream may want its schema alone.
        with self._lock:
            while len(self._buffer) - self._next < n_rows and self._pull():
                pass
            first = self._buffer[self._next : self._next + n_rows]
        return dataframes.record_batches(self.columns, self.types, first, batches, self.arrow_types)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows that were not read yet by Arrow's C stream protocol, as `arrow_batches` gives them.

        So pandas, polars, DuckDB and pyarrow take a result as it is: `polars.DataFrame(result)`
        (`polars.from_arrow` makes a Series of structs of every object with this method). Rows are read when
        the stream is; DuckDB requests one stream for the schema, and another.
        """
        return self.arrow_batches().__arrow_c_stream__(requested_schema)

    @memory_errors()
    def df(self) -> pandas.DataFrame:
        """The rows that were not read yet as a `pandas.DataFrame`.

        Whole numbers with NULLs are Int64, and texts are of pandas' own type for them (str since pandas 3).
        """
        from ngramdb.executor.results import dataframes

        self._require_rows()
        frame: pandas.DataFrame = dataframes.pandas_frame(self.columns, self.types, self.fetchall())
        return frame

    @memory_errors()
    def pl(self) -> polars.DataFrame:
        """The rows that were not read yet as a `polars.DataFrame`, typed as `arrow` types them."""
        from ngramdb.executor.results import dataframes

        self._require_rows()
        frame: polars.DataFrame = dataframes.polars_frame(self.columns, self.types, self.fetchall())
        return frame

    # ---- printing ---------------------------------------------------------------------------------------

    def _preview(self) -> display.Preview:
        """The first rows and a line with their number; all of them are still to be read."""
        from ngramdb.executor.results import display

        with self._lock:
            while (
                self.columns and len(self._head) < SHOWN_ROWS and self._batches is not None and self._pull()
            ):
                pass
            size = self._size() if self.columns else ""
            return display.Preview(self.columns, self._head, size, self.n_rows, self.summary, self._remarks)

    def _size(self) -> str:
        """How many rows there are, and how many of them are shown."""
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
        from ngramdb.executor.results import display

        return display.as_text(self._preview())

    def _repr_html_(self) -> str:
        from ngramdb.executor.results import display

        return display.as_html(self._preview())


def supervised(result: Result, work: Interrupt, at_end: Callable[[], object] | None = None) -> Result:
    """The same result, its rows made under a token: what stops the statement stops their making.

    `at_end` is called when all rows are made, or the result is closed: it reads nothing of the corpus then.
    """
    result._work, result._at_end = work, at_end
    if result.pieces is not None:
        result.pieces = under(work, result.pieces)
    if result.places is not None:
        result.places = under(work, result.places)
    return result
