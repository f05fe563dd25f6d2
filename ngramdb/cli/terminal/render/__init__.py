"""Output modes: each turns a result into text on a screen.

`render(result, screen, mode)` is the one door. A mode is a module with a function
`write(result, screen)`; its module is imported when it is first used, so that piped output costs neither
rich nor its import time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module

from ngramdb.cli.terminal.render.base import Streamed, Tabular, to_display
from ngramdb.cli.terminal.screen import Screen
from ngramdb.terminal_escapes import visible

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
    module = import_module(f"{__name__}.{'table' if mode == 'table' else 'formats'}")
    function: Writer = getattr(module, f"write_{mode}")
    return function
