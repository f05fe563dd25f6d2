"""Scripts: statements and dot commands out of lines of text, one after the other, with their places.

A line that begins with a dot, if a statement may begin there, is a dot command; everything else is collected
until its `;`. Statements are handed out as soon as they are complete, so that a script may be a pipe that
is still being written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ngramdb.cli.common import StatementFailed, message_of
from ngramdb.errors import InvalidArgument, NgramdbError, QueryCancelled, QueryError
from ngramdb.language.scanner import is_complete, split


@dataclass(frozen=True)
class Unit:
    """A statement or a dot command; `start` is its offset in the script's text in characters."""

    text: str
    start: int
    is_command: bool


class Script:
    """Lines of a script and what has been read of them so far.

    `name` is what messages call it (None for a statement typed by hand). Iterating yields `Unit`s.
    """

    def __init__(self, lines: Iterable[str], name: str | None = None) -> None:
        self.name = name
        self._lines = lines
        self._read: list[str] = []
        self._n_read = 0

    def __iter__(self) -> Iterator[Unit]:
        pending = ""
        for line in self._numbered_lines():
            if line.lstrip().startswith(".") and not split(pending):
                yield Unit(line.strip(), self._n_read - len(line), True)
                pending = ""
                continue
            pending += line
            if ";" in line and is_complete(pending):
                yield from _statements(pending, self._n_read - len(pending))
                pending = ""
        yield from _statements(pending, self._n_read - len(pending))

    def _numbered_lines(self) -> Iterator[str]:
        lines = iter(self._lines)
        while True:
            try:
                line = next(lines, None)
            except UnicodeDecodeError as error:
                name = self.name or "the script"
                reason = f"{name} is not {error.encoding.upper()} text: {error.reason}"
                raise InvalidArgument(reason) from error
            if line is None:
                return
            if self._n_read == 0:
                line = line.removeprefix("\ufeff")
            self._read.append(line)
            self._n_read += len(line)
            yield line

    def line_of(self, unit: Unit) -> int:
        """Return the line on which the unit begins, counted from 1."""
        return "".join(self._read).count("\n", 0, unit.start) + 1

    @contextmanager
    def placing(self, unit: Unit) -> Iterator[None]:
        """Errors of the unit in the block get their place in the script.

        In a script with a name they become a StatementFailed that begins with name and line.
        """
        try:
            yield
        except QueryCancelled:
            raise
        except (NgramdbError, OSError) as error:
            if isinstance(error, QueryError):
                self.relocate(error, unit)
            if isinstance(error, BrokenPipeError) or self.name is None:
                raise
            raise StatementFailed(f"{self.name}, line {self.line_of(unit)}: {message_of(error)}") from error

    def relocate(self, error: QueryError, unit: Unit) -> None:
        """Make an error's line, column and span refer to the whole script instead of the unit's text."""
        if error.text is None or error.start is None or error.text != unit.text:
            return
        stop = None if error.stop is None else error.stop + unit.start
        moved = QueryError(error.message, text="".join(self._read), start=error.start + unit.start, stop=stop)
        error.text, error.start, error.stop = moved.text, moved.start, moved.stop
        error.line, error.column = moved.line, moved.column


def lines_of(text: str) -> list[str]:
    """Return the text's lines with their ends, split at line feeds only."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _statements(text: str, start: int) -> Iterator[Unit]:
    for piece in split(text):
        yield Unit(piece.text, start + piece.start, False)
