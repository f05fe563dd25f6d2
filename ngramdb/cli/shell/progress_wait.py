"""The line that shows that a statement is running, how long it has been, and how long it will take."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Protocol

from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.progress import time_left
from ngramdb.cli.terminal.screen import FALLBACK_COLUMNS, detect

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
