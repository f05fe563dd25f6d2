"""A Markdown table, as GitHub and pandoc read it. Numbers are aligned to the right; NULL is empty."""

from __future__ import annotations

from itertools import chain, islice

from ngramdb.cli.terminal.render.base import Tabular, is_number, to_display
from ngramdb.cli.terminal.screen import Screen

# Rows read to distinguish columns of numbers from others before the first line is written.
PEEKED_ROWS = 100

_ESCAPES = str.maketrans(
    {"|": "\\|", "\\": "\\\\", "\n": "<br>", "\r": "", "\t": " ", "<": "&lt;", "&": "&amp;"}
)


def write_markdown(result: Tabular, screen: Screen) -> None:
    """Write the result as a Markdown table, streamed after the first rows."""
    rows = iter(result)
    first = list(islice(rows, PEEKED_ROWS))
    screen.write(_line([_cell(name) for name in result.columns]))
    columns = zip(*first, strict=True) if first else [() for _ in result.columns]
    screen.write(_line(["---:" if _is_numeric(column) else "---" for column in columns]))
    for row in chain(first, rows):
        screen.write(_line([_cell(value) for value in row]))


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _cell(value: object) -> str:
    return to_display(value).translate(_ESCAPES)


def _is_numeric(column: tuple[object, ...]) -> bool:
    values = [value for value in column if value is not None]
    return bool(values) and all(map(is_number, values))
