"""A value a line, `name = value`, rows separated by an empty line: for wide rows and long texts."""

from __future__ import annotations

from ngramdb.cli.terminal.render.base import Tabular, to_display
from ngramdb.cli.terminal.screen import Screen
from ngramdb.visible import visible


def write_line(result: Tabular, screen: Screen) -> None:
    """Write the result with a value a line, names aligned, values in full."""
    names = list(map(visible, result.columns))
    width = max(map(len, names))
    for i, row in enumerate(result):
        if i:
            screen.write("\n")
        for name, value in zip(names, row, strict=True):
            text = screen.styled("NULL", "2") if value is None else visible(to_display(value))
            screen.draw(f"{name:>{width}} = {text}\n")
