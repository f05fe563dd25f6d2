"""An HTML table, to paste into a page or a mail. Numbers have the class `number`, NULL the class `null`.

In a concordance the left context stands at the right of its cell, and the match in bold.
"""

from __future__ import annotations

from html import escape

from ngramdb.cli.terminal.render.base import LEFT, MATCH, RIGHT, Tabular, is_number, to_display
from ngramdb.cli.terminal.screen import Screen


def write_html(result: Tabular, screen: Screen) -> None:
    """Write the result as a table of its own, a row a line, streamed."""
    head = "".join(f"<th>{escape(name)}</th>" for name in result.columns)
    screen.write(f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n")
    concordance = {LEFT, MATCH, RIGHT} <= set(result.columns)
    parts = [name if concordance else "" for name in result.columns]
    for row in result:
        screen.write("<tr>" + "".join(map(_cell, row, parts)) + "</tr>\n")
    screen.write("</tbody>\n</table>\n")


def _cell(value: object, part: str) -> str:
    if value is None:
        return '<td class="null"></td>'
    kind = ' class="number"' if is_number(value) else ""
    text = escape(to_display(value), quote=False)
    if part == LEFT:
        return f'<td class="left" style="text-align: right">{text}</td>'
    return f'<td class="match"><b>{text}</b></td>' if part == MATCH else f"<td{kind}>{text}</td>"
