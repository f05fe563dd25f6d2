"""Every error that ngramdb raises on purpose, under one root.

A message names the operation, the object, the value found, the value expected, and the remedy. Everything
that a caller may want to act upon is an attribute, so that no caller has to parse the text.

The names that PEP 249 requires are classes of the same tree (`Error` is the root itself):

    NgramdbError
      InterfaceError      InvalidArgument
      DatabaseError
        ProgrammingError  QueryError: ParseError, BindError, PlanError …
        OperationalError  ExecutionError: ResourceError …; QueryCancelled: Interrupted, TimeoutExceeded;
                          StorageError: LockedError …
        DataError         LoadError, which is an ExecutionError, too
        NotSupportedError rollback of what is committed
        IntegrityError, InternalError: never raised here
"""

from __future__ import annotations


class NgramdbError(Exception):
    """Root of every error that ngramdb raises on purpose."""


Error = NgramdbError


class Warning(Exception):
    """PEP 249's class for warnings; ngramdb raises none."""


class PhraseWarning(UserWarning):
    """A phrase that found nothing may have another meaning: its star is an ordinary character."""


class TokenBoundaryWarning(PhraseWarning):
    """A phrase that found nothing, or too little, occurs in the corpus with other tokens."""


class ConditionWarning(UserWarning):
    """A condition holds for no document, whatever its fields: a comparison with NULL, or an empty range."""


class VersionWarning(UserWarning):
    """The version that was the newest when the connection was opened is no longer kept."""


class ExportWarning(UserWarning):
    """Exported documents differ from the loaded ones, or cannot be loaded into every corpus."""


class InterfaceError(NgramdbError):
    """The Python interface was used incorrectly, regardless of the database."""


class DatabaseError(NgramdbError):
    """An error of the database, or of a request to it."""


class ProgrammingError(DatabaseError):
    """The request is invalid."""


class OperationalError(DatabaseError):
    """The request failed while it was running."""


class DataError(DatabaseError):
    """Invalid data."""


class IntegrityError(DatabaseError):
    """PEP 249's class for broken relations between tables; ngramdb never raises it."""


class InternalError(DatabaseError):
    """PEP 249's class for an inconsistent database; see CorruptionError."""


class NotSupportedError(DatabaseError):
    """A feature that PEP 249 defines and this database lacks, or that needs a library of an extra."""


class QueryError(ProgrammingError):
    """A statement that cannot be run as written.

    `text` is the whole statement; `start` and `stop` are the half-open character range of the error, or
    None; `line` and `column` count from 1. `str(error)` shows the line with a caret below the place.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        start: int | None = None,
        stop: int | None = None,
    ) -> None:
        self.message = message
        super().__init__(message)
        self.place(text, start, stop)

    def place(self, text: str | None, start: int | None, stop: int | None) -> None:
        """Set the place of the error, once it is known."""
        self.text = text
        self.start = start
        self.stop = stop
        self.line: int | None = None
        self.column: int | None = None
        if text is not None and start is not None:
            self.line = text.count("\n", 0, start) + 1
            self.column = start - (text.rfind("\n", 0, start) + 1) + 1

    def __str__(self) -> str:
        if self.text is None or self.start is None or self.line is None or self.column is None:
            return self.message
        line = self.text.split("\n")[self.line - 1].rstrip("\r")
        stop = self.stop if self.stop is not None else self.start + 1
        source, indent = _window(line, self.column - 1)
        width = max(1, min(stop - self.start, len(source) - indent))
        caret = " " * indent + "^" * width
        return f"{self.message} (line {self.line}, column {self.column})\n  {source}\n  {caret}"


# Maximum number of characters of a line that are shown before and after the place of an error.
_SHOWN_BEFORE = 60
_SHOWN_BEHIND = 60


def _window(line: str, place: int) -> tuple[str, int]:
    """Return the part of a line around a place, without control characters, and the place within it."""
    start = max(0, place - _SHOWN_BEFORE)
    stop = place + _SHOWN_BEHIND
    head = "…" if start > 0 else ""
    tail = "…" if stop < len(line) else ""
    shown = "".join(char if char.isprintable() else " " for char in line[start:stop])
    return head + shown + tail, len(head) + place - start


class ParseError(QueryError):
    """The text is not a statement of the language. `expected` lists the tokens possible at that place."""

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        start: int | None = None,
        stop: int | None = None,
        expected: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, text=text, start=start, stop=stop)
        self.expected = expected


class BindError(QueryError):
    """A name in the statement does not exist. `nearest` is the closest one that does, or None."""

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        start: int | None = None,
        stop: int | None = None,
        nearest: str | None = None,
    ) -> None:
        super().__init__(message, text=text, start=start, stop=stop)
        self.nearest = nearest


class PlanError(QueryError):
    """The statement is well formed, but cannot be answered (for example a parameter without a value)."""


class ReadingOnly(PlanError):
    """The statement may change something, but only queries are allowed."""


class ExecutionError(OperationalError):
    """A statement failed while it ran."""


class LoadError(ExecutionError, DataError):
    """A document could not be loaded.

    `source` names the file; `line` counts from 1, or is None; for a table it counts rows, as `unit` says.
    """

    def __init__(
        self, message: str, *, source: str | None = None, line: int | None = None, unit: str = "line"
    ) -> None:
        self.message = message
        self.source = source
        self.line = line
        self.unit = unit
        place = "" if source is None else source if line is None else f"{source}, {unit} {line}"
        super().__init__(f"{place}: {message}" if place else message)


class ResourceError(ExecutionError):
    """A limit was exceeded. `limit` and `asked`, the amount required, are in the message's unit."""

    def __init__(self, message: str, *, limit: int | None = None, asked: int | None = None) -> None:
        self.limit = limit
        self.asked = asked
        super().__init__(message)


class QueryCancelled(OperationalError):
    """The statement was stopped before its end; the database is unchanged, or as described by `committed`.

    A separate branch, so that code which handles failures of a statement does not handle its cancellation.

    `fraction` is the share of the work that was done (0 to 1), or None if it is unknown; `elapsed` is the
    time in seconds, or None. `committed` is the last version of the database that the work had committed,
    which stays; None if there is none.
    """

    def __init__(
        self,
        message: str = "interrupted",
        *,
        fraction: float | None = None,
        elapsed: float | None = None,
        committed: int | None = None,
    ) -> None:
        self.fraction = fraction
        self.elapsed = elapsed
        self.committed = committed
        how_far = "" if elapsed is None else f" after {elapsed:.2g} s"
        if fraction is not None and fraction < 1:
            how_far += f", {int(100 * fraction)}% done"
        super().__init__(f"{message}{how_far}; {what_stays(committed)}")


def what_stays(committed: int | None) -> str:
    """Return the sentence about the database after stopping work that had committed a version, or None."""
    if committed is None:
        return "the database is unchanged"
    return f"changes committed until then remain, up to version {committed} of the database"


class Interrupted(QueryCancelled):
    """The statement was stopped by `Connection.interrupt()`."""


class TimeoutExceeded(QueryCancelled):
    """The statement exceeded its time limit of `timeout` seconds."""

    def __init__(
        self,
        message: str = "stopped by its timeout",
        *,
        timeout: float | None = None,
        fraction: float | None = None,
        elapsed: float | None = None,
        committed: int | None = None,
    ) -> None:
        self.timeout = timeout
        super().__init__(message, fraction=fraction, elapsed=elapsed, committed=committed)


class StorageError(OperationalError):
    """The database on disk cannot be read or written. `path` names the file or folder."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        self.path = path
        super().__init__(message)


class NotADatabase(StorageError):
    """The folder exists but holds no ngramdb database."""


class DatabaseGone(StorageError):
    """The opened database is no longer at its path: it is missing, or another one is there."""


class FormatVersionError(StorageError):
    """The file was written by a newer ngramdb. `found` and `supported`: format versions or feature names."""

    def __init__(
        self, message: str, *, path: str | None = None, found: object = None, supported: object = None
    ) -> None:
        self.found = found
        self.supported = supported
        super().__init__(message, path=path)


class CorruptionError(StorageError):
    """A file is damaged. `offset` is in bytes; `expected` and `found` are the compared values."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        expected: object = None,
        found: object = None,
    ) -> None:
        self.offset = offset
        self.expected = expected
        self.found = found
        super().__init__(message, path=path)


class LockedError(StorageError):
    """Another writer has locked the database. `holder` is its process id, if known."""

    def __init__(self, message: str, *, path: str | None = None, holder: int | None = None) -> None:
        self.holder = holder
        super().__init__(message, path=path)


class ConflictError(StorageError):
    """Without locks (in an object store): another writer has committed first."""


class ReadOnlyError(StorageError):
    """The database was opened read-only."""


class InvalidArgument(InterfaceError, ValueError):
    """A Python argument of the wrong kind or out of range."""


def name_item(error: NgramdbError, index: int) -> None:
    """Begin the message of an error with the index of the item of a batch that it is about."""
    if isinstance(error, QueryError):
        error.message = f"item {index}: {error.message}"
    elif error.args:
        error.args = (f"item {index}: {error.args[0]}", *error.args[1:])


class HasErrors:
    """The exceptions as attributes of connections, as PEP 249 requires for code that imports no module."""

    Warning = Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    OperationalError = OperationalError
    ProgrammingError = ProgrammingError
    IntegrityError = IntegrityError
    DataError = DataError
    InternalError = InternalError
    NotSupportedError = NotSupportedError
