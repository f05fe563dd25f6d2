"""An HTML table, to paste into a page or a mail. Numbers have the class `number`, NULL the class `null`."""

from __future__ import annotations

from html import escape

from ngramdb.cli.render.base import Tabular, is_number, to_display
from ngramdb.cli.screen import Screen


def write_html(result: Tabular, screen: Screen) -> None:
    """Write the result as a table of its own, a row a line, streamed."""
    head = "".join(f"<th>{escape(name)}</th>" for name in result.columns)
    screen.write(f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n")
    for row in result:
        screen.write("<tr>" + "".join(map(_cell, row)) + "</tr>\n")
    screen.write("</tbody>\n</table>\n")


def _cell(value: object) -> str:
    if value is None:
        return '<td class="null"></td>'
    kind = ' class="number"' if is_number(value) else ""
    return f"<td{kind}>{escape(to_display(value), quote=False)}</td>"
