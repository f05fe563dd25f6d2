"""Capabilities of a stream (a terminal, its width, colours, characters), and output modes.

Every decision about colour, box characters and widths is taken here once, so that the renderers only draw.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TextIO, cast

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


# ---- Output modes: each turns a result into text on a screen.


# Columns of a concordance: what is left of the match is aligned to it and cut at its beginning.
LEFT, MATCH, RIGHT = "left", "match", "right"


class Tabular(Protocol):
    """The part of a result that a renderer uses: names of columns, and rows as tuples in that order.

    `summary` holds facts beside the rows; `n_rows` is the number of rows, None while it is not known.
    """

    columns: tuple[str, ...]
    summary: dict[str, Any]
    n_rows: int | None

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Streamed(Tabular, Protocol):
    """A result whose answer is one text: `pieces` are its parts, as they are made."""

    pieces: Iterator[str] | None


def plain(value: object) -> object:
    """Convert the value for JSON: arrays and numpy scalars to lists and numbers, bytes to text.

    Not-a-number and the infinities become None, because JSON cannot represent them.
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return plain(value.tolist())
    return str(value)


def to_json(value: object) -> str:
    """Return the value as one line of JSON, without escapes for characters outside ASCII."""
    return json.dumps(plain(value), ensure_ascii=False)


def to_text(value: object) -> str:
    """Format the value for programs: numbers in full, true/false, lists and objects as JSON.

    None is for the caller to decide (each mode writes NULL its own way); here it is the empty string, as is
    a float that is not a number. Infinities are `inf` and `-inf`.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    if isinstance(value, int):
        return str(value)
    converted = plain(value)
    return converted if isinstance(converted, str) else to_json(converted)


def to_display(value: object) -> str:
    """Format the value for users: like `to_text`, with floats at six significant digits."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return to_text(value)


def is_number(value: object) -> bool:
    """Return True if the value is shown as a number, aligned to the right (True and False are not)."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or type(value).__module__ == "numpy"


# ---- Modes.


Writer = Callable[[Tabular, Screen], None]

# The order is the one that help and `.mode` show.
MODES: tuple[str, ...] = ("table", "json", "jsonl", "csv", "tsv", "markdown", "html", "line", "plot")


def default_mode(screen: Screen) -> str:
    """Return table for a terminal, else the mode of the file's ending, else tab-separated values."""
    return screen.mode or ("table" if screen.is_terminal else "tsv")


def mode_of(name: str) -> str | None:
    """Return the mode of a file's ending: csv for `a.csv`. None for an unknown ending."""
    ending = os.path.splitext(name)[1][1:].lower()
    return ending if ending in MODES else None


def draws_table(screen: Screen, mode: str | None = None) -> bool:
    """Return True if a result in this mode is a table with its summary and notes below it."""
    return screen.is_terminal and (mode or default_mode(screen)) == "table"


def render(result: Tabular, screen: Screen, mode: str | None = None) -> None:
    """Write the result to the screen in the mode, or in the screen's default mode.

    A result without columns (a statement that answers nothing) writes nothing.
    """
    if not result.columns:
        return
    writer(mode or default_mode(screen))(result, screen)


def write_pieces(result: Streamed, screen: Screen) -> None:
    """Write a result that is one text while it is made, and below it, dimmed, the facts of its summary."""
    for piece in result.pieces or ():
        screen.draw(visible(piece, lines=True))
        screen.stream.flush()
    screen.write("\n")
    known = [("logprob", to_display(logprob)) for _, _, logprob in result]
    known += [(name, value) for name, value in result.summary.items() if name != "note"]
    facts = [", ".join(f"{name} {value}" for name, value in known)]
    if "note" in result.summary:
        facts.append(f"note: {result.summary['note']}")
    for line in facts:
        screen.draw(screen.styled(line, "2") + "\n")


def writer(mode: str) -> Writer:
    """Return the function that writes a result in the mode. Raises KeyError for a mode not in `MODES`."""
    module = import_module(f"ngramdb.cli.terminal.{mode if mode in ('table', 'plot') else 'formats'}")
    function: Writer = getattr(module, f"write_{mode}")
    return function
