"""Output modes: each turns a result into text on a screen.

`render(result, screen, mode)` is the one door. A mode is a module with a function
`write(result, screen)`; its module is imported when it is first used, so that piped output costs neither
rich nor its import time.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Protocol

from ngramdb.cli.terminal.screen import Screen
from ngramdb.display import visible

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
MODES: tuple[str, ...] = ("table", "json", "jsonl", "csv", "tsv", "markdown", "html", "line")


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
    module = import_module(f"ngramdb.cli.terminal.{'table' if mode == 'table' else 'formats'}")
    function: Writer = getattr(module, f"write_{mode}")
    return function
