"""Every error that ngramdb raises on purpose, under one root.

A message says what failed, on what, what was found and what was expected, and what to do next. What a
caller may want to act upon is an attribute, so that nobody has to parse the text.
"""

from __future__ import annotations


class NgramdbError(Exception):
    """Root of every error that ngramdb raises on purpose."""


class QueryError(NgramdbError):
    """A statement that cannot be run as written.

    `text` is the whole statement; `start` and `stop` are the half-open character range at fault (or None);
    `line` and `column` count from 1. `str(error)` shows the line with a caret under the place.
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
        self.text = text
        self.start = start
        self.stop = stop
        self.line: int | None = None
        self.column: int | None = None
        if text is not None and start is not None:
            self.line = text.count("\n", 0, start) + 1
            self.column = start - (text.rfind("\n", 0, start) + 1) + 1
        super().__init__(message)

    def __str__(self) -> str:
        if self.text is None or self.start is None or self.line is None or self.column is None:
            return self.message
        line = self.text.split("\n")[self.line - 1].rstrip("\r")
        stop = self.stop if self.stop is not None else self.start + 1
        source, indent = _window(line, self.column - 1)
        width = max(1, min(stop - self.start, len(source) - indent))
        caret = " " * indent + "^" * width
        return f"{self.message} (line {self.line}, column {self.column})\n  {source}\n  {caret}"


# Characters of a line that are shown before and behind the place of an error.
_SHOWN_BEFORE = 60
_SHOWN_BEHIND = 60


def _window(line: str, place: int) -> tuple[str, int]:
    """The part of a line around a place, without control characters, and where the place is in it."""
    start = max(0, place - _SHOWN_BEFORE)
    stop = place + _SHOWN_BEHIND
    head = "…" if start > 0 else ""
    tail = "…" if stop < len(line) else ""
    shown = "".join(char if char.isprintable() else " " for char in line[start:stop])
    return head + shown + tail, len(head) + place - start


class ParseError(QueryError):
    """The text is not a statement of the language. `expected` lists what could have stood there."""

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


class ExecutionError(NgramdbError):
    """A statement failed while it ran."""


class LoadError(ExecutionError):
    """A document could not be loaded. `source` names the file; `line` counts from 1, or is None."""

    def __init__(self, message: str, *, source: str | None = None, line: int | None = None) -> None:
        self.message = message
        self.source = source
        self.line = line
        place = "" if source is None else source if line is None else f"{source}, line {line}"
        super().__init__(f"{place}: {message}" if place else message)


class ResourceError(ExecutionError):
    """A limit was reached. `limit` and `asked` are in the unit that the message names."""

    def __init__(self, message: str, *, limit: int | None = None, asked: int | None = None) -> None:
        self.limit = limit
        self.asked = asked
        super().__init__(message)


class QueryCancelled(ExecutionError):
    """The statement was interrupted; the database is as it was."""


class StorageError(NgramdbError):
    """The database on disk cannot be read or written. `path` names the file or folder."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        self.path = path
        super().__init__(message)


class NotADatabase(StorageError):
    """The folder exists but holds no ngramdb database."""


class FormatVersionError(StorageError):
    """The file was written by a newer ngramdb. `found` and `supported`: format versions or feature names."""

    def __init__(
        self, message: str, *, path: str | None = None, found: object = None, supported: object = None
    ) -> None:
        self.found = found
        self.supported = supported
        super().__init__(message, path=path)


class CorruptionError(StorageError):
    """A file is damaged. `offset` is in bytes; `expected` and `found` are what the check compared."""

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
    """Another writer holds the database. `holder` is its process id, where known."""

    def __init__(self, message: str, *, path: str | None = None, holder: int | None = None) -> None:
        self.holder = holder
        super().__init__(message, path=path)


class ReadOnlyError(StorageError):
    """The database was opened read-only."""


class InvalidArgument(NgramdbError, ValueError):
    """A Python argument of the wrong kind or out of range."""
