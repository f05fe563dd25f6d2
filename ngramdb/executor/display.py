"""How a result shows itself: a table in a terminal, a table in a notebook.

Both show the first rows and say how many there are; the reader misses none of them.
"""

from __future__ import annotations

import html
import shutil
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngramdb.executor.result import Result

# Characters of a value that are shown, and of a value that has the line for itself.
SHOWN_CHARACTERS = 60
SHOWN_CHARACTERS_ALONE = 200
# Columns of a screen whose width nobody knows: output that goes into a file, a notebook, a log.
FALLBACK_COLUMNS = 160
# No column of text is made narrower than this to fit a screen, nor one that is all the table has.
NARROWEST = 8
BETWEEN = "  "

_VISIBLE = {"\n": "⏎", "\t": "⇥"}


def as_text(result: Result) -> str:
    """A table that fits the terminal: wide texts are cut, columns without room are named below."""
    if not result.columns:
        return str(result.summary.get("message", "(done)"))
    rows, footer = result._preview()
    limit = SHOWN_CHARACTERS if len(result.columns) > 1 else SHOWN_CHARACTERS_ALONE
    columns = [_Column(name, [row[i] for row in rows], limit) for i, name in enumerate(result.columns)]
    shown = _fitting(columns, shutil.get_terminal_size((FALLBACK_COLUMNS, 24)).columns)
    if len(shown) < len(columns):
        footer += f" (no room for {', '.join(column.name for column in columns[len(shown) :])})"
    rule = BETWEEN.join("─" * column.width for column in shown)
    body = [BETWEEN.join(column.line(i) for column in shown).rstrip() for i in range(len(rows))]
    head = BETWEEN.join(column.head() for column in shown).rstrip()
    note = result.summary.get("note")
    return "\n".join([head, rule, *body, footer, *([f"note: {note}"] if note else [])])


def as_html(result: Result) -> str:
    """An HTML table; numbers to the right, NULL in grey, whole values as far as a cell shows them."""
    if not result.columns:
        return f"<p>{html.escape(str(result.summary.get('message', '(done)')))}</p>"
    rows, footer = result._preview()
    head = "".join(f"<th>{html.escape(name)}</th>" for name in result.columns)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"{table}<p>{html.escape(footer)}</p>"


def _html_cell(value: Any) -> str:
    if value is None:
        return '<td style="color: #999">NULL</td>'
    text = html.escape(shown(value, SHOWN_CHARACTERS_ALONE))
    if _is_number(value):
        return f'<td style="text-align: right">{text}</td>'
    return f'<td style="text-align: left">{text}</td>'


class _Column:
    """The cells of one column, and how wide it is shown."""

    def __init__(self, name: str, values: list[Any], limit: int) -> None:
        self.name = name
        self._cells = [shown(value, limit) for value in values]
        self.is_number = bool(values) and all(value is None or _is_number(value) for value in values)
        self.width = max(map(width_of, (name, *self._cells)))

    @property
    def narrowest(self) -> int:
        """The least width that says something: numbers are shown whole or not at all."""
        return self.width if self.is_number else min(self.width, max(NARROWEST, width_of(self.name)))

    def head(self) -> str:
        return self._padded(self.name)

    def line(self, i: int) -> str:
        return self._padded(self._cells[i])

    def _padded(self, text: str) -> str:
        text = cut(text, self.width)
        blanks = " " * (self.width - width_of(text))
        return blanks + text if self.is_number else text + blanks


def _fitting(columns: list[_Column], n_columns: int) -> list[_Column]:
    """As many columns, from the left, as a screen has room for, the widest narrowed."""
    shown = list(columns)
    while len(shown) > 1 and _total(column.narrowest for column in shown) > n_columns:
        shown.pop()
    excess = _total(column.width for column in shown) - n_columns
    while excess > 0:
        widest = max(shown, key=lambda column: column.width - column.narrowest)
        if widest.width == widest.narrowest:
            # One column, wider than the screen: numbers stay, text is cut all the same.
            if not widest.is_number:
                widest.width = max(1, n_columns)
            break
        rivals = sorted((column.width for column in shown if not column.is_number), reverse=True)
        step = max(1, rivals[0] - rivals[1]) if len(rivals) > 1 else excess
        taken = min(excess, step, widest.width - widest.narrowest)
        widest.width -= taken
        excess -= taken
    return shown


def _total(widths: Iterable[int]) -> int:
    every = list(widths)
    return sum(every) + len(BETWEEN) * (len(every) - 1)


def shown(value: Any, limit: int) -> str:
    """A value on one line, cut to `limit` characters."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else str(value)
    # Only the beginning is looked at: a document's text may be long.
    text = text[: limit + 1]
    text = "".join(c if c.isprintable() else _VISIBLE.get(c, "�") for c in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def width_of(text: str) -> int:
    """The columns that a text takes: two for wide East Asian characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def cut(text: str, width: int) -> str:
    """The text, or so much of it as fits, and an ellipsis."""
    if width_of(text) <= width:
        return text
    kept, taken = [], 1
    for c in text:
        taken += width_of(c)
        if taken > width:
            break
        kept.append(c)
    return "".join(kept) + "…"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
