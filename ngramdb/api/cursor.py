"""The cursor of PEP 249, for code written against it. `Connection.execute` does the same without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ngramdb.errors import InterfaceError, PlanError
from ngramdb.executor.result import Result as Result
from ngramdb.executor.result import Row
from ngramdb.interrupts import ProgressCallback
from ngramdb.planner.parameters import ParameterValues
from ngramdb.questions.parsing import check_values

# A column as described by PEP 249: name, type, display size, internal size, precision, scale, NULLs.
ColumnDescription = tuple[str, str | None, None, None, None, None, None]


class Executes(Protocol):
    """The part of a connection that a cursor needs."""

    def execute(
        self,
        sql: str,
        params: ParameterValues = None,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Result:
        """Run statements and return the result of the last one."""


_CERTAIN = (bool, int, float, str)

# The connection's class, which this module does not import.
ConnectionT = TypeVar("ConnectionT", bound=Executes)


class Cursor(Generic[ConnectionT]):
    """A cursor that runs statements and reads the rows of the last one. Made by `Connection.cursor`.

    Not to be shared by threads; a connection may have many.

    Attributes
    ----------
    connection : Connection
    arraysize : int, the number of rows that `fetchmany` returns by default
    """

    def __init__(self, connection: ConnectionT) -> None:
        self.connection = connection
        self.arraysize = 1
        self._result: Result | None = None
        self._n_read = 0
        self._closed = False

    # ---- running ----------------------------------------------------------------------------------------

    def execute(
        self,
        operation: str,
        parameters: ParameterValues = None,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Cursor[ConnectionT]:
        """Run a statement, as `Connection.execute` does, and return the cursor for reading."""
        self._forget()
        self._result = self.connection.execute(operation, parameters, timeout=timeout, progress=progress)
        return self

    def executemany(
        self, operation: str, seq_of_parameters: Iterable[ParameterValues]
    ) -> Cursor[ConnectionT]:
        """Run a statement once for each set of parameters. Rows are discarded, as PEP 249 allows.

        All sets are checked before anything runs: each needs a value for every placeholder, and no others.

        Raises
        ------
        PlanError
            A set with too few or too many values; the message has its number, counted from 1.
        """
        self._forget()
        every = list(seq_of_parameters)
        for number, parameters in enumerate(every, start=1):
            try:
                check_values(operation, parameters)
            except PlanError as error:
                error.message = f"set {number} of {len(every)}: {error.message}"
                raise
        for parameters in every:
            self.connection.execute(operation, parameters).close()
        return self

    # ---- reading ----------------------------------------------------------------------------------------

    @property
    def result(self) -> Result:
        """The last statement's result, with `summary`, `df()`, `arrow()` and its other methods.

        Raises
        ------
        InterfaceError
            No statement has been executed, or the cursor is closed.
        """
        self._check_open()
        if self._result is None:
            raise InterfaceError("nothing to read: no statement has been executed")
        return self._result

    @property
    def description(self) -> tuple[ColumnDescription, ...] | None:
        """Seven items per column: the name, the type if it is certain, and None five times.

        The type is the name of a Python type. Columns of lists and objects have None: the type of their
        items is only known from the values, and libraries that read types (polars) need it.
        """
        if self._result is None or not self._result.columns:
            return None
        return tuple(
            (name, kind.__name__ if kind in _CERTAIN else None, None, None, None, None, None)
            for name, kind in zip(self._result.columns, self._result.types, strict=True)
        )

    @property
    def rowcount(self) -> int:
        """The number of rows of the last statement; -1 if it is unknown until they are read."""
        if self._result is None or not self._result.columns or self._result.n_rows is None:
            return -1
        return self._result.n_rows

    @property
    def rownumber(self) -> int | None:
        """The index, from 0, of the row that is read next; None without rows."""
        return None if self.description is None else self._n_read

    @property
    def lastrowid(self) -> None:
        """Always None: documents are added many at a time."""
        return None

    def fetchone(self) -> Row | None:
        """Return the next row, or None after the last."""
        row = self._rows().fetchone()
        self._n_read += row is not None
        return row

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Return the next `size` rows (by default `arraysize`), fewer at the end."""
        rows = self._rows().fetchmany(self.arraysize if size is None else size)
        self._n_read += len(rows)
        return rows

    def fetchall(self) -> list[Row]:
        """Return all rows that have not been read yet."""
        rows = self._rows().fetchall()
        self._n_read += len(rows)
        return rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self.fetchone, None)

    def _rows(self) -> Result:
        if not self.result.columns:
            raise InterfaceError("nothing to read: the last statement has no rows")
        return self.result

    # ---- life -------------------------------------------------------------------------------------------

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing, for PEP 249."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, for PEP 249."""

    def close(self) -> None:
        """Close the cursor; using it afterwards raises InterfaceError. Closing twice is a no-op."""
        if not self._closed:
            self._forget()
        self._closed = True

    def __enter__(self) -> Cursor[ConnectionT]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")

    def _forget(self) -> None:
        """Release the last result, before the next one or the end."""
        self._check_open()
        if self._result is not None:
            self._result.close()
        self._result, self._n_read = None, 0
