"""Capabilities of a stream: whether it is a terminal, its width, colours and characters.

Every decision about colour, box characters and widths is taken here once, so that the renderers only draw.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, cast

from ngramdb.display import visible

# A half-open range of characters.
Span = tuple[int, int]

# Columns when the width of a terminal is unknown (pipes inside an editor, a serial line).
FALLBACK_COLUMNS = 80
# Rows of a table at a terminal: about a screenful, so that the statement above stays in sight.
SHOWN_ROWS = 40


@dataclass(frozen=True)
class Screen:
    """A text stream and its abilities.

    `width` is in columns and None where lines may be as long as they like (a file or a pipe). `colour` is
    false under NO_COLOR, on a dumb terminal and on everything that is not a terminal. `unicode` is false when
    the stream's encoding lacks box characters. `marks` finds the places in a document's text to highlight;
    None if nothing was searched for. `n_rows` is the largest number of rows in a table. `mode` is
    the output mode of a file's ending.
    """

    stream: TextIO
    is_terminal: bool
    width: int | None
    colour: bool
    unicode: bool
    marks: Callable[[str], list[Span]] | None = None
    n_rows: int = SHOWN_ROWS
    mode: str | None = None

    @property
    def encoding(self) -> str:
        """The stream's encoding; UTF-8 if it has none (an in-memory stream)."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    @property
    def ellipsis(self) -> str:
        """The mark for what was cut off: one character, or three dots for a poor encoding."""
        return "…" if self.unicode else "..."

    def write(self, text: str) -> None:
        """Write the text: at a terminal with what would steer it written out, elsewhere as it is."""
        self.stream.write(visible(text, lines=True) if self.is_terminal else text)

    def draw(self, text: str) -> None:
        """Write styles and moves of our own; the texts in between are `styled` or `visible` already."""
        self.stream.write(text)

    def styled(self, text: str, code: str) -> str:
        """Return the visible text between an ANSI style and its reset, or alone without colour."""
        text = visible(text, lines=True)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def detect(stream: TextIO) -> Screen:
    """Find out from the stream and the environment (NO_COLOR, TERM, COLUMNS) what can be shown."""
    stream = bare(stream)
    at_terminal = is_terminal(stream)
    width = None
    if at_terminal:
        import shutil

        width = max(20, shutil.get_terminal_size((FALLBACK_COLUMNS, 24)).columns)
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Screen(stream, at_terminal, width, at_terminal and not plain, takes_boxes(stream))


def takes_boxes(stream: TextIO) -> bool:
    """Return True if the stream's encoding has box-drawing characters and the ellipsis."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        "│─┌…µ".encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def tolerate_any_character() -> None:
    r"""Make standard output and error write \xNN for what their encoding lacks instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


# ---- Standard output and error while a command runs: at a terminal nothing steers it that is not ours.


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
    """Return the stream itself, for code that escapes its own output."""
    return stream.stream if isinstance(stream, VisibleStream) else stream


def is_terminal(stream: TextIO | None) -> bool:
    """Return True if the stream is an open terminal (a closed or missing stream is not)."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


@contextmanager
def visible_streams() -> Iterator[None]:
    """Make printed text visible on standard output and error, if they are terminals: escapes are shown."""
    before = sys.stdout, sys.stderr
    guarded = [cast("TextIO", VisibleStream(stream)) if is_terminal(stream) else stream for stream in before]
    sys.stdout, sys.stderr = guarded
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
