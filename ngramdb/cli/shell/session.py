"""A session: a connection, where results go and how they look. The command line and the REPL both drive one.

Scripts are run by `running`; nothing here reads keys or knows prompts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from ngramdb.api import Connection, connect
from ngramdb.api.connecting import connect_later
from ngramdb.cli.shell.destination import Announced, LateFile, destination
from ngramdb.cli.shell.marks import marks_of
from ngramdb.cli.shell.parameters import Parameters, ParameterValues, advise
from ngramdb.cli.shell.progress_wait import Waiting
from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import LoadWatch
from ngramdb.cli.terminal.render import MODES, default_mode, draws_table, mode_of, render, write_pieces
from ngramdb.cli.terminal.screen import SHOWN_ROWS, Screen, bare, detect
from ngramdb.errors import InvalidArgument, NgramdbError, PlanError, QueryCancelled
from ngramdb.executor.results import display

if TYPE_CHECKING:
    from ngramdb.api import LoadProgress, Result

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
    `prompt` is None but at a prompt.
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
    ) -> None:
        self.path = path
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
                if screen.is_terminal and {"text", "doc_id"} <= set(result.columns):
                    screen = replace(screen, marks=marks_of(text, parameters))
                if result.pieces is not None and self._draws_tables(screen):
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
        if not self._draws_tables(screen):  # a table has it below
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

    def _draws_tables(self, screen: Screen) -> bool:
        return draws_table(screen, self.mode)

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

    def _output_name(self) -> str:
        return "" if self.output_file is None else self.output_file.name

    def _paged(self, stream: TextIO) -> AbstractContextManager[TextIO]:
        return _as_it_is(stream) if self.prompt is None or self.output_file else self.prompt.paged(stream)

    @contextmanager
    def _answers(self, waiting: Waiting) -> Iterator[Screen]:
        """Return the screen for one answer: once a file or a command, else the pager, if there is one."""
        once = self.once
        stream = self._stream()
        name = self._output_name() if once is None else once.name
        with self._paged(stream) if once is None else destination(once) as taken:
            announced = cast("TextIO", Announced(taken, waiting.stop))
            try:
                yield replace(
                    detect(announced),
                    n_rows=self.shown_rows(),
                    mode=None if name.startswith("|") else mode_of(name),
                )
            finally:
                if once is not None and once.has_begun:
                    self.once = None

    # ---- what dot commands change -------------------------------------------------------------------------

    def screen(self) -> Screen:
        """Return the results' screen; determined anew per result, since terminals change their size."""
        return replace(detect(self._stream()), mode=mode_of(self._output_name()))

    def shown_rows(self) -> int:
        """Return the rows that a table shows: those requested, or at a prompt as many as fit the screen."""
        import shutil

        if self.n_rows is not None:
            return self.n_rows
        if self.prompt is None:
            return SHOWN_ROWS
        n_lines = shutil.get_terminal_size().lines - LINES_AROUND_A_TABLE
        return max(FEWEST_ROWS, min(SHOWN_ROWS, n_lines))

    def effective_mode(self) -> str:
        """Return the mode of the next result."""
        return self.mode or default_mode(self.screen())

    def set_mode(self, mode: str | None) -> None:
        """Choose an output mode; None goes back to the one that suits the output."""
        if mode is not None and mode not in MODES:
            raise InvalidArgument(f"unknown mode {mode!r}; there are {', '.join(MODES)} and auto")
        self.mode = mode

    def send_to(self, path: str | None) -> None:
        """Send results to a file (replacing what is in it) or, with None, back to standard output."""
        if path is not None and path.startswith("|"):
            raise InvalidArgument("a command takes one answer: write .once | command")
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

    def title(self) -> str:
        """Return the database's name for a banner."""
        from pathlib import Path

        return "in memory, nothing is kept" if self.path is None else str(Path(self.path))

    def close(self) -> None:
        """Close the output file and the database."""
        with suppress(OSError):
            self.send_to(None)
        self.connection.close()


@contextmanager
def _as_it_is(stream: TextIO) -> Iterator[TextIO]:
    yield stream


def _note_on_standard_error(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
