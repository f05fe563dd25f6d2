"""A session: a connection, where results go and how they look. The command line and the REPL both drive one.

Scripts are run by `running`; nothing here reads keys or knows prompts.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from ngramdb.api import Connection, connect
from ngramdb.api.connecting import connect_later
from ngramdb.cli.shell.statement_text import Parameters, ParameterValues, advise, marks_of
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import LoadWatch, Waiting
from ngramdb.cli.terminal.screen import (
    MODES,
    SHOWN_ROWS,
    Screen,
    bare,
    detect,
    draws_table,
    mode_of,
    render,
    write_pieces,
)
from ngramdb.errors import ExecutionError, InvalidArgument, NgramdbError, PlanError, QueryCancelled
from ngramdb.executor import display
from ngramdb.formats import database_around
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    import subprocess

    from ngramdb.api import LoadProgress, Result
    from ngramdb.cli.terminal import figures
else:
    figures = lazy_module("ngramdb.cli.terminal.figures")
    subprocess = lazy_module("subprocess")


# The frame, the header, the footer, and the prompt above and below.
LINES_AROUND_A_TABLE = 8
# More rows than this are for a file: that is too many pages, and a table keeps all of them.
MOST_PAGED_ROWS = 10_000
# Rows of a table on a low screen; larger tables go to a pager.
FEWEST_ROWS = 10


class AtPrompt(Protocol):
    """Additional facilities of a session at a prompt: a pager, an editor, keys."""

    def paged(self, stream: TextIO) -> AbstractContextManager[TextIO]:
        """Return a stream for an answer that may be longer than the screen."""

    def edit(self, path: str | None) -> None:
        """Open an editor on a file or on the last statement; what comes out of it is typed next."""

    keys: str
    pager: bool


class Shell:
    """The state that statements and dot commands share.

    `path` is the database's folder or None for one in memory. `mode` None means: what suits the place that
    results go to; `n_rows` is how many rows a table shows at a terminal, None for what fits. `progress` false
    draws no bars and lines while work is done. `timeout` are the seconds that a statement may take. `note` is
    given what is not a result, times and messages; they go to standard error unless a REPL takes them over.
    `prompt` is None but at a prompt. `figure` is the file into which answers are drawn, too.
    """

    def __init__(
        self,
        path: str | None,
        *,
        read_only: bool = False,
        mode: str | None = None,
        timer: bool = False,
        progress: bool = True,
        timeout: float | None = None,
        parameters: Parameters | None = None,
        note: Callable[[str], None] | None = None,
        figure: str | None = None,
    ) -> None:
        self.path = path
        self.figure = figure
        self.read_only = read_only
        self.mode = mode
        self.timer = timer
        self.progress = progress
        self.timeout = timeout
        self.n_rows: int | None = None
        self.prompt: AtPrompt | None = None
        self.parameters = parameters or Parameters([])
        self.note = note or _note_on_standard_error
        self.connection: Connection = self._connect(path)
        self.output_file: LateFile | None = None
        self.once: LateFile | None = None
        self.finished = False
        # True after the hint on how to see the rows that a table leaves out.
        self._hinted = False

    def statement(self, text: str) -> None:
        """Run one statement, write its result, and note the time it took when the timer is on."""
        started = time.perf_counter()
        parameters = self.parameters.for_statement(text)
        with Waiting(self.progress) as waiting, self._answers(waiting) as screen:
            with self._answer(text, parameters, waiting) as result:
                if self.figure is not None and result.columns:
                    result = _drawn(result, self.figure)
                if screen.is_terminal and {"text", "doc_id"} <= set(result.columns):
                    marks = marks_of(text, parameters)
                    screen = replace(screen, marks=None if marks is None else marks.find)
                if result.pieces is not None and draws_table(screen, self.mode):
                    write_pieces(result, self._unpaged(waiting))
                else:
                    render(result, screen, self.mode)
                if result.columns:
                    self._begin_file()
                screen.stream.flush()
            elapsed = time.perf_counter() - started
        self._comment(result, screen)
        if self.timer:
            self.note(f"time: {human.duration(elapsed)}")

    def _answer(self, text: str, parameters: ParameterValues, waiting: Waiting) -> Result:
        """Execute a statement; a COPY draws how far it is, others do after a second."""
        with LoadWatch("loading", wanted=self.progress) as watch:

            def loading(report: LoadProgress) -> None:
                waiting.stop()
                watch(report)

            self.connection.progress = loading
            try:
                return self.connection.execute(text, parameters, progress=waiting)
            except PlanError as error:
                if parameters is not None:
                    advise(error)
                raise
            finally:
                self.connection.progress = None

    def _comment(self, result: Result, screen: Screen) -> None:
        """Write what accompanies the rows: totals, notes, a change's summary, why documents failed."""
        if not draws_table(screen, self.mode):  # a table has it below
            known = display.beside(result.summary, result.columns, result.n_rows)
            if known is not None:
                self.note(f"summary: {known}")
            for note in result.notes:
                self.note(f"note: {note}")
        reasons = result.summary.get("reasons")
        if isinstance(reasons, list):
            for reason in reasons:
                self.note(f"  skipped: {reason}")
        if not screen.is_terminal:
            return
        if not result.columns and "message" in result.summary:
            self.note(str(result.summary["message"]))
        n_rows = result.n_rows or 0
        is_cut = self.prompt is not None and n_rows > screen.n_rows and (self.mode or "table") == "table"
        if is_cut and not self._hinted:
            self._hinted = True
            more = f".rows {n_rows} shows them all, in a pager"
            self.note(
                f"({more})" if n_rows <= MOST_PAGED_ROWS else "(.once FILE writes them all into a file)"
            )

    def _unpaged(self, waiting: Waiting) -> Screen:
        """Return the screen for output that appears while it is computed, which a pager would hold back."""
        return detect(cast("TextIO", Announced(self._stream(), waiting.stop)))

    def write(self, text: str) -> None:
        """Write a text of the program's own to the results' destination, through the pager if it is long."""
        with self._paged(self._stream()) as taken:
            detect(taken).write(text)

    def _stream(self) -> TextIO:
        return bare(sys.stdout) if self.output_file is None else cast("TextIO", self.output_file)

    def _begin_file(self) -> None:
        """Replace the file for results whose rows take no characters, too."""
        file = self.output_file if self.once is None else self.once
        if file is not None:
            file.begin()

    def _paged(self, stream: TextIO) -> AbstractContextManager[TextIO]:
        return nullcontext(stream) if self.prompt is None or self.output_file else self.prompt.paged(stream)

    @contextmanager
    def _answers(self, waiting: Waiting) -> Iterator[Screen]:
        """Return the screen for one answer: once a file or a command, else the pager, if there is one."""
        once = self.once
        stream = self._stream()
        file = self.output_file if once is None else once
        with self._paged(stream) if once is None else destination(once) as taken:
            announced = cast("TextIO", Announced(taken, waiting.stop))
            try:
                yield replace(
                    detect(announced),
                    n_rows=self.shown_rows(),
                    mode=None if file is None else file.mode,
                )
            finally:
                if once is not None and once.has_begun:
                    self.once = None

    # ---- what dot commands change -------------------------------------------------------------------------

    def screen(self) -> Screen:
        """Return the results' screen; determined anew per result, since terminals change their size."""
        return replace(
            detect(self._stream()), mode=None if self.output_file is None else mode_of(self.output_file.name)
        )

    def shown_rows(self) -> int:
        """Return the rows that a table shows: those requested, or at a prompt as many as fit the screen."""
        import shutil

        if self.n_rows is not None:
            return self.n_rows
        if self.prompt is None:
            return SHOWN_ROWS
        n_lines = shutil.get_terminal_size().lines - LINES_AROUND_A_TABLE
        return max(FEWEST_ROWS, min(SHOWN_ROWS, n_lines))

    def set_mode(self, mode: str | None) -> None:
        """Choose an output mode; None goes back to the one that suits the output."""
        if mode is not None and mode not in MODES:
            raise InvalidArgument(f"unknown mode {mode!r}; there are {', '.join(MODES)} and auto")
        self.mode = mode

    def send_to(self, path: str | None) -> None:
        """Send results to a file (replacing what is in it) or, with None, back to standard output."""
        if path is not None and path.startswith("|"):
            raise InvalidArgument("a command receives one result: use .once | command")
        taken = None if path is None else LateFile(path)
        if path is not None:
            open(path, "a").close()  # whether it can be written; what is in it stays until there is a result
        if self.output_file is not None:
            self.output_file.close()
        self.output_file = taken

    def reopen(self, path: str | None) -> None:
        """Go on with another database; the current one stays open if that one cannot be opened."""
        connection = self._connect(path)
        self.connection.close()
        self.connection, self.path = connection, path

    def _connect(self, path: str | None) -> Connection:
        if path is None or path == ":memory:" or self.read_only:
            connection = connect(path, read_only=self.read_only and path is not None)
        else:
            connection = connect_later(path)
        if self.timeout is not None:
            connection.settings["timeout"] = self.timeout
        return connection

    def current_corpus(self) -> str | None:
        """Return the corpus of statements without FROM, or None if that is not clear."""
        try:
            self.connection.refresh()
            return self.connection.current_corpus
        except QueryCancelled:
            raise
        except NgramdbError:
            return None

    def close(self) -> None:
        """Close the output file and the database."""
        with suppress(OSError):
            self.send_to(None)
        self.connection.close()


def _drawn(result: Result, path: str) -> Result:
    """Draw an answer into a file, and return the answer, which is then in memory."""
    rows = result.fetchall()
    figures.draw_figure(figures.chart_of(result.columns, rows), path)
    made: Result = type(result).of_rows(result.columns, rows, **result.summary)
    made.types = result.types
    return made


def _note_on_standard_error(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- Destinations of results: standard output, a file, another program, opened at the first output.


class LateFile:
    """A file whose content is replaced, or a command behind a `|` that is started, when something is written.

    Without output, as after a failed statement, nothing is overwritten.
    """

    encoding = "utf-8"

    def __init__(self, name: str) -> None:
        self.name = name
        self._command = name[1:].strip() if name.startswith("|") else None
        if self._command == "":
            raise InvalidArgument("the command after | is missing; write for example .once | wc -l")
        if self._command is None:
            _check_can_be_written(name)
        self._process: subprocess.Popen[str] | None = None
        self._stream: TextIO | None = None
        #: True once it was opened, or could not be.
        self.has_begun = False

    @property
    def mode(self) -> str | None:
        """The output mode of the file's ending; None for a command."""
        return mode_of(self.name) if self._command is None else None

    def begin(self) -> TextIO:
        """Open it, also for an answer of no characters. Raises OSError for a file that cannot be written."""
        if self._stream is None:
            self.has_begun = True
            if self._command is None:
                self._stream = open(self.name, "w", encoding=self.encoding, newline="\n")  # noqa: SIM115
            else:
                sys.stdout.flush()
                pipe = subprocess.PIPE
                self._process = subprocess.Popen(
                    self._command, shell=True, stdin=pipe, encoding=self.encoding
                )
                self._stream = cast("TextIO", self._process.stdin)
        return self._stream

    def write(self, text: str) -> int:
        return self.begin().write(text)

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """Close the file, or wait for the command. Raises ExecutionError for one that failed."""
        if self._stream is not None:
            with suppress(BrokenPipeError):
                self._stream.close()
        if self._process is not None and self._process.wait():
            raise ExecutionError(f"{self._command} ended with status {self._process.returncode}")


def _check_can_be_written(name: str) -> None:
    """Check the destination before a statement runs whose answer matters. Changes nothing."""
    path = os.path.abspath(name)
    folder = os.path.dirname(path)
    if (database := database_around(path)) is not None:
        raise InvalidArgument(f"{name}: this is within the database {database}; name a place outside")
    if not os.path.isdir(folder):
        raise InvalidArgument(f"{name}: folder {folder} does not exist")
    if os.path.isdir(name):
        raise InvalidArgument(f"{name}: this is a folder")
    if not os.access(name if os.path.exists(name) else folder, os.W_OK):
        raise InvalidArgument(f"{name}: not writable")


@contextmanager
def destination(file: LateFile) -> Iterator[TextIO]:
    """Open the file or command for one answer; closed afterwards, even if a command stops reading early."""
    try:
        with suppress(BrokenPipeError):
            yield cast("TextIO", file)
    finally:
        file.close()


class Announced:
    """A text stream that does something before the first characters are written to it."""

    def __init__(self, stream: TextIO, announce: Callable[[], None]) -> None:
        self._stream = stream
        self._announce: Callable[[], None] | None = announce
        self.encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        announce, self._announce = self._announce, None
        if announce is not None:
            announce()
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()
