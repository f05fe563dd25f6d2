"""How far a load is, drawn on standard error for a person at a terminal and for nobody else."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from ngramdb.cli import human
from ngramdb.cli.screen import detect

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ngramdb.api import LoadProgress


class LoadWatch:
    """The progress callback of a load, and a context manager that takes the bar off the screen at its end.

    ```
    with LoadWatch("loading wiki") as watch:
        corpus.load(paths, progress=watch)
    ```

    `n_documents` makes it a bar that fills, otherwise it only moves. Nothing is drawn before the first
    report, nor where standard error is no terminal or the bar is not `wanted`.
    """

    def __init__(self, title: str, n_documents: int | None = None, wanted: bool = True) -> None:
        self._title = title
        self._n_documents = n_documents
        self._screen = detect(sys.stderr)
        self._wanted = wanted and self._screen.is_terminal
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, progress: LoadProgress) -> None:
        """Draw a report."""
        if not self._wanted:
            return
        if self._bar is None:
            self._start()
        if self._bar is not None and self._task is not None:
            done = progress.documents if self._n_documents is not None else None
            self._bar.update(self._task, completed=done, facts=facts(progress))

    def _start(self) -> None:
        # rich takes a tenth of a second to import; only people at a terminal pay for it
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(file=sys.stderr, no_color=not self._screen.colour, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(self._title, total=self._n_documents, facts="")
        self._bar.start()

    def __enter__(self) -> LoadWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def facts(progress: LoadProgress) -> str:
    """What a report says, in a few words: documents, tokens, speed."""
    speed = human.size(progress.text_bytes / max(progress.elapsed, 1e-9))
    return f"{progress.documents:,} documents, {human.short(progress.tokens)} tokens, {speed}/s"
