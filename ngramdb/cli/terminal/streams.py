"""Standard output and error while a command runs: at a terminal nothing steers it that is not ours.

Whatever is printed (messages of argparse, warnings, tracebacks) goes through `visible`. What draws, a table's
frame, colours, a bar, asks for the `bare` stream and makes the texts in its drawing visible itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from ngramdb.visible import visible


class VisibleStream:
    """A terminal's text stream, through which only `visible` text is written."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(visible(text, lines=True))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def bare(stream: TextIO) -> TextIO:
    """The stream as it is, for what makes its texts visible itself."""
    return stream.stream if isinstance(stream, VisibleStream) else stream


def is_terminal(stream: TextIO | None) -> bool:
    """Whether the stream is an open terminal (a closed or missing stream is not)."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


@contextmanager
def visible_streams() -> Iterator[None]:
    """Standard output and error, where they are terminals, show what is printed on them as visible text."""
    before = sys.stdout, sys.stderr
    guarded = [cast("TextIO", VisibleStream(stream)) if is_terminal(stream) else stream for stream in before]
    sys.stdout, sys.stderr = guarded
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
