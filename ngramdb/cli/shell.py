"""A session: a connection, where results go and how they look. The command line and the REPL both drive one.

`run` takes a whole script and stops at its first error; nothing here reads keys or knows prompts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from ngramdb.api import Connection, Result, connect
from ngramdb.cli import dot, human
from ngramdb.cli.common import StatementFailed, message_of
from ngramdb.cli.parameters import Parameters
from ngramdb.cli.progress import LoadWatch
from ngramdb.cli.render import MODES, default_mode, render
from ngramdb.cli.screen import Screen, detect
from ngramdb.cli.script import Script, Unit, lines_of
from ngramdb.errors import InvalidArgument, NgramdbError, QueryCancelled, QueryError

# How deep scripts may read scripts; a script that reads itself ends here.
DEEPEST_READ = 16


class Shell:
    """The state that statements and dot commands share.

    `path` is the database's folder or None for one in memory. `mode` None means: what suits the place that
    results go to. `progress` false draws no bar for a COPY. `note` is told what is no result, times and
    messages; they go to standard error unless a REPL takes them over.
    """

    def __init__(
        self,
        path: str | None,
        *,
        read_only: bool = False,
        mode: str | None = None,
        timer: bool = False,
        progress: bool = True,
        parameters: Parameters | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self.mode = mode
        self.timer = timer
        self.progress = progress
        self.parameters = parameters or Parameters([])
        self.note = note or _note_on_standard_error
        self.connection: Connection = connect(path, read_only=read_only)
        self.output_file: TextIO | None = None
        self.finished = False
        self._depth = 0

    # ---- scripts ------------------------------------------------------------------------------------------

    def run(self, script: Script) -> None:
        """Run every statement and dot command of the script until the first error or `.quit`.

        Raises the error of the statement, its place turned into the script's; for a script with a name it is
        a StatementFailed that begins with name and line.
        """
        for unit in script:
            try:
                self.run_unit(unit)
            except QueryCancelled:
                raise
            except (NgramdbError, OSError) as error:
                if isinstance(error, QueryError):
                    script.relocate(error, unit)
                if isinstance(error, BrokenPipeError) or script.name is None:
                    raise
                place = f"{script.name}, line {script.line_of(unit)}"
                raise StatementFailed(f"{place}: {message_of(error)}") from error
            if self.finished:
                return

    def run_text(self, text: str) -> None:
        """Run statements that were typed rather than read from a file."""
        self.run(Script(lines_of(text)))

    def run_file(self, path: str) -> None:
        """Run the statements of a UTF-8 file."""
        if self._depth >= DEEPEST_READ:
            raise InvalidArgument(
                f"{path}: more than {DEEPEST_READ} scripts within scripts; does it read itself?"
            )
        self._depth += 1
        try:
            with open(path, encoding="utf-8") as lines:
                self.run(Script(lines, name=path))
        finally:
            self._depth -= 1

    def run_unit(self, unit: Unit) -> None:
        """Run one statement or dot command."""
        if unit.is_command:
            dot.run(self, unit.text)
        else:
            self.statement(unit.text)

    def statement(self, text: str) -> None:
        """Run one statement, write its result, and note the time it took when the timer is on."""
        started = time.perf_counter()
        screen = self.screen()
        with self._answer(text) as result:
            render(result, screen, self.mode)
            if not result.columns and screen.is_terminal and "message" in result.summary:
                self.note(str(result.summary["message"]))
        screen.stream.flush()
        if self.timer:
            self.note(f"time: {human.duration(time.perf_counter() - started)}")

    def _answer(self, text: str) -> Result:
        """Execute a statement; a COPY draws how far it is."""
        with LoadWatch("loading", wanted=self.progress) as watch:
            self.connection.progress = watch
            try:
                return self.connection.execute(text, self.parameters.for_statement(text))
            finally:
                self.connection.progress = None

    # ---- what dot commands change -------------------------------------------------------------------------

    def screen(self) -> Screen:
        """Where results go now; looked at anew for every result, since terminals change their size."""
        return detect(self.output_file or sys.stdout)

    def effective_mode(self) -> str:
        """The mode of the next result."""
        return self.mode or default_mode(self.screen())

    def set_mode(self, mode: str | None) -> None:
        """Choose an output mode; None goes back to the one that suits the output."""
        if mode is not None and mode not in MODES:
            raise InvalidArgument(f"unknown mode {mode!r}; there are {', '.join(MODES)} and auto")
        self.mode = mode

    def send_to(self, path: str | None) -> None:
        """Send results to a file (replacing what is in it) or, with None, back to standard output."""
        opened = None if path is None else open(path, "w", encoding="utf-8", newline="\n")  # noqa: SIM115
        if self.output_file is not None:
            self.output_file.close()
        self.output_file = opened

    def reopen(self, path: str | None) -> None:
        """Go on with another database; the current one stays open if that one cannot be opened."""
        connection = connect(path, read_only=self.read_only and path is not None)
        self.connection.close()
        self.connection, self.path = connection, path

    def current_corpus(self) -> str | None:
        """The corpus that a statement without FROM asks, None when that is not clear."""
        try:
            return self.connection.corpus().name
        except NgramdbError:
            return None

    def title(self) -> str:
        """What the database is called in a banner."""
        return "in memory, nothing is kept" if self.path is None else str(Path(self.path))

    def close(self) -> None:
        """Close the output file and the database."""
        with suppress(OSError):
            self.send_to(None)
        self.connection.close()


def _note_on_standard_error(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
