"""Scripts: statements and dot commands out of lines of text, one after the other, with their places.

A line that begins with a dot, if a statement may begin there, is a dot command; everything else is collected
until its `;`. Statements are handed out as soon as they are complete, so that a script may be a pipe that
is still being written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ngramdb.cli.common import StatementFailed, UsageError, message_of
from ngramdb.cli.shell import dot
from ngramdb.cli.shell.session import Shell
from ngramdb.cli.shell.statement_text import Parameters
from ngramdb.errors import InvalidArgument, NgramdbError, QueryCancelled, QueryError
from ngramdb.language.scanner import is_complete, split
from ngramdb.questions.parsing import check_values, parsed
from ngramdb.strict_reading import open_named


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


# ---- Running scripts in a session: statements and dot commands, one after the other.


# Maximum depth of scripts that read scripts; a script that reads itself ends here.
DEEPEST_READ = 16


def opened(kind: str, text: str, in_full: bool) -> tuple[Script | None, list[Unit] | None]:
    """Return the script of an input and, if nothing may run before all of it is parsed, its units.

    That applies to typed input, and with `in_full` to files and standard input, which otherwise run while
    they are read. None for such a file.
    """
    if kind == "text":
        return _parsed(Script(lines_of(text)))
    if text == "-":
        script = Script(sys.stdin, name="standard input")
        return _parsed(script) if in_full else (script, None)
    if os.path.isdir(text):
        raise UsageError(f"{text} is a folder; -f takes a file of statements")
    if not in_full:
        return None, None
    with open(text, encoding="utf-8") as lines:
        return _parsed(Script(lines, name=text))


def _parsed(script: Script) -> tuple[Script, list[Unit]]:
    units = list(script)
    parse_all(script, units)
    return script, units


def run_script(shell: Shell, script: Script, units: Iterable[Unit] | None = None, depth: int = 0) -> None:
    """Run every statement and dot command of the script until the first error or `.quit`.

    `units` are those of the script if it has been read already; `depth` is the number of scripts around it.

    Raises the error of the statement, its place turned into the script's; for a script with a name it is
    a StatementFailed that begins with name and line.
    """
    for unit in script if units is None else units:
        with script.placing(unit):
            if not unit.is_command:
                shell.statement(unit.text)
            elif (path := dot.run(shell, unit.text)) is not None:
                run_file(shell, path, depth)
        if shell.finished:
            return


def run_text(shell: Shell, text: str) -> None:
    """Run typed statements: all of them, or none if one is invalid."""
    script = Script(lines_of(text))
    units = list(script)
    if len(units) > 1:
        parse_all(script, units)
        check_units([(script, unit) for unit in units], shell.parameters)
    run_script(shell, script, units)


def run_file(shell: Shell, path: str, depth: int = 0) -> None:
    """Run the statements of a UTF-8 file."""
    if depth >= DEEPEST_READ:
        raise InvalidArgument(f"{path}: more than {DEEPEST_READ} nested scripts; does it read itself?")
    with open(open_named(path), encoding="utf-8") as lines:
        run_script(shell, Script(lines, name=path), depth=depth + 1)


# ---- What is noticed before the first statement runs: invalid statements, surplus values.


# Commands that run statements from outside the script, or repeatedly.
RUN_OTHERS = ("read", "watch")

Units = Sequence[tuple[Script, Unit]]


def parse_all(script: Script, units: Iterable[Unit]) -> None:
    """Raise the first error that parsing the units gives, up to a `.quit`; nothing is run."""
    for unit in units:
        with script.placing(unit):
            if not unit.is_command:
                parsed(unit.text)
            elif dot.parsed(unit.text)[0].name == "quit":
                return


def check_units(units: Units, parameters: Parameters) -> Parameters | None:
    """Raise at the first placeholder without a value; nothing is run.

    The units have been parsed before. Returns the parameters as they are after them; None if that is
    not known, since some of them run other scripts.
    """
    left = parameters.copy()
    for script, unit in units:
        if unit.is_command:
            name = dot.parsed(unit.text)[0].name
            if name in RUN_OTHERS:
                return None
            if name == "quit":
                break
            continue
        with script.placing(unit):
            check_values(unit.text, left.for_statement(unit.text))
    return left
