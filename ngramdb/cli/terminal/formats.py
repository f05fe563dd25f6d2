"""Output modes but the table. All are streamed: no row waits for the last one."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import chain, islice

from ngramdb.api.verbs import row_formats
from ngramdb.cli.terminal.screen import (
    LEFT,
    MATCH,
    RIGHT,
    Screen,
    Tabular,
    is_number,
    plain,
    to_display,
    to_json,
)
from ngramdb.display import encodable_json, visible, visible_json


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


# ---- A Markdown table, as GitHub and pandoc read it. Numbers are aligned to the right; NULL is empty.


# Rows read to distinguish columns of numbers from others before the first line is written.
PEEKED_ROWS = 100

_ESCAPES = str.maketrans(
    {"|": "\\|", "\\": "\\\\", "\n": "<br>", "\r": "", "\t": " ", "<": "&lt;", "&": "&amp;"}
)


def write_markdown(result: Tabular, screen: Screen) -> None:
    """Write the result as a Markdown table, streamed after the first rows."""
    rows = iter(result)
    first = list(islice(rows, PEEKED_ROWS))
    screen.write(_line([_markdown_cell(name) for name in result.columns]))
    columns = zip(*first, strict=True) if first else [() for _ in result.columns]
    screen.write(_line(["---:" if _is_numeric(column) else "---" for column in columns]))
    for row in chain(first, rows):
        screen.write(_line([_markdown_cell(value) for value in row]))


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"


def _markdown_cell(value: object) -> str:
    return to_display(value).translate(_ESCAPES)


def _is_numeric(column: tuple[object, ...]) -> bool:
    values = [value for value in column if value is not None]
    return bool(values) and all(map(is_number, values))


# ---- An HTML table, to paste into a page or a mail. Numbers have the class `number`, NULL the class `null`.


def write_html(result: Tabular, screen: Screen) -> None:
    """Write the result as a table of its own, one row per line, streamed."""
    head = "".join(f"<th>{escape(name)}</th>" for name in result.columns)
    screen.write(f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n")
    concordance = {LEFT, MATCH, RIGHT} <= set(result.columns)
    parts = [name if concordance else "" for name in result.columns]
    for row in result:
        screen.write("<tr>" + "".join(map(_html_cell, row, parts)) + "</tr>\n")
    screen.write("</tbody>\n</table>\n")


def _html_cell(value: object, part: str) -> str:
    if value is None:
        return '<td class="null"></td>'
    kind = ' class="number"' if is_number(value) else ""
    text = escape(to_display(value), quote=False)
    if part == LEFT:
        return f'<td class="left" style="text-align: right">{text}</td>'
    return f'<td class="match"><b>{text}</b></td>' if part == MATCH else f"<td{kind}>{text}</td>"


# ---- JSON: one array of objects, or an object a line. Both are streamed: no row waits for the last one.


def write_json(result: Tabular, screen: Screen) -> None:
    """Write the result as one JSON array with an object per row, one row per line."""
    separator = "["
    for line in _objects(result, screen):
        screen.write(separator + line)
        separator = ",\n "
    screen.write("[]\n" if separator == "[" else "]\n")


def write_jsonl(result: Tabular, screen: Screen) -> None:
    """Write the result as JSON lines: an object per row."""
    for line in _objects(result, screen):
        screen.write(line + "\n")


def _objects(result: Tabular, screen: Screen) -> Iterator[str]:
    columns = result.columns
    for row in result:
        line = to_json(dict(zip(columns, row, strict=True)))
        line = encodable_json(line, screen.encoding)
        yield visible_json(line) if screen.is_terminal else line


# ---- Comma- and tab-separated values, streamed, in the dialect of `COPY` and of the service.


def write_csv(result: Tabular, screen: Screen) -> None:
    """Write the result as comma-separated values (RFC 4180, lines end with a line feed)."""
    _write(result, screen, "csv")


def write_tsv(result: Tabular, screen: Screen) -> None:
    """Write the result as tab-separated values, quoted like CSV."""
    _write(result, screen, "tsv")


def _write(result: Tabular, screen: Screen, kind: str) -> None:
    rows = ([value if isinstance(value, float) else plain(value) for value in row] for row in result)
    for line in row_formats.delimited_lines(result.columns, rows, kind):
        screen.write(line + "\n")
