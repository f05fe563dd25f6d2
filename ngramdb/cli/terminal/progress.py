"""Progress of work, drawn on standard error at a terminal only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.screen import FALLBACK_COLUMNS, detect
from ngramdb.display import visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ngramdb.api import LoadProgress


BAR_COLUMNS = 24
# The time elapsed, and the blanks between what is shown.
TIME_COLUMNS = 10
# No estimate is shown before this time and this share of the input.
LEAST_ELAPSED_S = 1.0
LEAST_SHARE = 0.005


Drawn = TypeVar("Drawn", bound="Bar")


class Bar:
    """A bar, and a context manager that takes it off the screen at its end.

    It fills if a share of the work is known; otherwise it only moves. Nothing is drawn before the first
    report, or if standard error is not a terminal or the bar is not `wanted`.
    """

    def __init__(self, title: str, wanted: bool = True) -> None:
        self._title = visible(title)
        self._screen = detect(sys.stderr)
        self._wanted = wanted and self._screen.is_terminal
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def draw(self, share: float | None, words: str) -> None:
        """Draw a report; the words are to fit into `room` columns."""
        if not self._wanted:
            return
        if self._bar is None:
            self._start()
        if self._bar is not None and self._task is not None:
            total = None if share is None else 1.0
            self._bar.update(self._task, total=total, completed=share, facts=words)

    @property
    def room(self) -> int:
        """The columns that the bar and the times leave for words."""
        return (self._screen.width or FALLBACK_COLUMNS) - len(self._title) - BAR_COLUMNS - TIME_COLUMNS

    def _start(self) -> None:
        # rich takes a tenth of a second to import; only people at a terminal pay for it
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(file=self._screen.stream, no_color=not self._screen.colour, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=BAR_COLUMNS),
            TextColumn("{task.fields[facts]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(self._title, total=None, facts="")
        self._bar.start()

    def __enter__(self: Drawn) -> Drawn:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class LoadWatch(Bar):
    """The progress callback of a load.

    ```
    with LoadWatch("loading wiki") as watch:
        corpus.load(paths, progress=watch)
    ```

    `n_documents`: at most this many documents.
    """

    def __init__(self, title: str, n_documents: int | None = None, wanted: bool = True) -> None:
        super().__init__(title, wanted)
        self._n_documents = n_documents

    def __call__(self, progress: LoadProgress) -> None:
        """Draw a report."""
        share = share_done(progress, self._n_documents)
        self.draw(share, facts(progress, share, self.room))


class MeasureWatch(Bar):
    """The progress callback of measurements by documents: `perplexity` and `agreement`.

    Parameters
    ----------
    share : the share done after a number of documents, None if unknown
    begun : called before anything is drawn
    """

    def __init__(
        self, share: Callable[[int], float | None], begun: Callable[[], None], wanted: bool = True
    ) -> None:
        super().__init__("measuring", wanted)
        self.share = share
        self._begun = begun
        self._first: tuple[float, float] | None = None

    def __call__(self, n_documents: int, n_tokens: int) -> None:
        """Draw a report."""
        self._begun()
        share = self.share(n_documents)
        done = [] if share is None else [f"{int(100 * share)} %", self._left(share)]
        work = [human.count(n_documents, "document"), f"{human.short(n_tokens)} tokens"]
        self.draw(share, fitting([*done, *work], self.room))

    def _left(self, share: float) -> str:
        """Return an estimate from the time since the first report, which excludes training the model."""
        now = time.monotonic()
        if self._first is None:
            self._first = now, share
        elapsed, done = now - self._first[0], share - self._first[1]
        if share >= 1.0 or done <= 0.0:
            return ""
        # As if what is left were the rest of what has been watched.
        return time_left(elapsed, done / (done + 1.0 - share))


def share_done(progress: LoadProgress, n_documents: int | None = None) -> float | None:
    """Return the share of the input that is read and tokenized, and then merged, from 0 to 1, if known.

    A load with a limit ends at the limit or at the end of its files, whatever comes first.
    """
    if progress.merged is not None:
        return progress.merged
    shares = []
    if n_documents:
        shares.append(progress.documents / n_documents)
    if progress.read_bytes is not None and progress.total_bytes:
        shares.append(progress.read_bytes / progress.total_bytes)
    return min(max(shares), 1.0) if shares else None


def facts(progress: LoadProgress, share: float | None = None, room: int | None = None) -> str:
    """Return a report in a few words: progress, remaining time, documents, tokens, speed.

    Words that do not fit into `room` columns are left out, the last first.
    """
    speed = human.size(progress.text_bytes / max(progress.elapsed, 1e-9))
    done = [] if share is None else [f"{int(100 * share)} %", time_left(progress.elapsed, share)]
    if progress.merged is not None:
        done = [f"merging segments, {int(100 * progress.merged)} %"]
    work = [f"{progress.documents:,} documents", f"{human.short(progress.tokens)} tokens", f"{speed}/s"]
    return fitting([*done, *work], room)


def fitting(words: list[str], room: int | None) -> str:
    """Return the non-empty words joined by commas; the last ones are left out if they do not fit."""
    said = [part for part in words if part]
    while room is not None and len(said) > 1 and len(", ".join(said)) > room:
        said.pop()
    return ", ".join(said)


def time_left(elapsed: float, share: float) -> str:
    """Return an estimate in words, from the time so far; '' before it can be estimated."""
    if share >= 1.0:
        # The rest is sorting and writing, which no report counts.
        return "building the index"
    if elapsed < LEAST_ELAPSED_S or share < LEAST_SHARE:
        return ""
    return f"{human.duration(max(1, round(elapsed * (1 - share) / share)))} left"


# ---- The line that shows that a statement is running, how long it has been, and how long it will take.


# A statement that takes no longer than this is not worth a line, in seconds.
PATIENCE_S = 1.0
# Interval at which the line is redrawn, in seconds.
REDRAWN_S = 0.2
# The terminal's output after the line on an interrupt.
ECHO = "^C"


class Work(Protocol):
    """The argument of progress callbacks: `fraction` of the work that is done, None if unknown."""

    @property
    def fraction(self) -> float | None: ...


class Waiting:
    """Draws the line on standard error while its block runs, from the second second on; see `stop`.

    ```
    with Waiting() as waiting:
        result = connection.execute(statement, progress=waiting)
    ```
    A separate thread draws it, so that it moves even if the work reports nothing. Nothing is drawn if
    standard error is not a terminal, or if it is not `wanted`.
    """

    def __init__(self, wanted: bool = True) -> None:
        self._screen = detect(sys.stderr)
        self._wanted = wanted and self._screen.is_terminal
        self._fraction: float | None = None
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._width = 0
        self._thread: threading.Thread | None = None

    def __call__(self, work: Work) -> None:
        """Take down how far the work is."""
        self._fraction = work.fraction

    def __enter__(self) -> Waiting:
        if self._wanted:
            self._thread = threading.Thread(target=self._draw, name="ngramdb-waiting", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the line off the screen for good: an answer, or another bar, comes. Harmless when repeated."""
        if not self._stopped.is_set():
            with self._lock:
                self._stopped.set()
                self._erase()

    def _draw(self) -> None:
        elapsed = PATIENCE_S
        stopped = self._stopped.wait(PATIENCE_S)
        while not stopped:
            with self._lock:
                if self._stopped.is_set():
                    return
                self._show(running(elapsed, self._fraction))
            stopped = self._stopped.wait(REDRAWN_S)
            elapsed += REDRAWN_S

    def _show(self, text: str) -> None:
        room = (self._screen.width or FALLBACK_COLUMNS) - len(ECHO) - 1
        shown = text[:room]
        # Blanks and carriage returns do on every terminal, dumb ones included.
        self._screen.draw("\r" + self._screen.styled(shown, "2") + " " * (self._width - len(shown)))
        self._screen.stream.flush()
        self._width = len(shown)

    def _erase(self) -> None:
        if self._width:
            self._screen.draw("\r" + " " * (self._width + len(ECHO)) + "\r")
            self._screen.stream.flush()
            self._width = 0


def running(elapsed: float, fraction: float | None) -> str:
    """Return the text of the line: `running, 3 s, 40 %, 5 s left (Ctrl-C stops it)`."""
    parts = ["running", human.duration(int(elapsed))]
    # One that is done, and yet runs, was that of a first part of the work.
    if fraction is not None and fraction < 1:
        left = time_left(elapsed, fraction)
        parts.extend(part for part in (f"{int(100 * fraction)} %", left) if part)
    return ", ".join(parts) + " (Ctrl-C stops it)"
