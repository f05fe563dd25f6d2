"""HTML of objects for notebooks: tables of values, in which no text acts as markup."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence

from ngramdb.diacritics import last_cut
from ngramdb.terminal_escapes import visible

# Maximum number of characters of a value.
SHOWN_CHARACTERS = 200
# One sign for the ends of lines and cells; a lone surrogate cannot be written at all.
_SIGNS = str.maketrans({"\n": "⏎", "\t": "⇥", "\r": "␍"})
_SURROGATES = re.compile("[\ud800-\udfff]")


def shown(value: object, limit: int = SHOWN_CHARACTERS) -> str:
    """Return a value on one line, cut to `limit` characters."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else str(value)
    # Only the beginning is read: a document's text may be long.
    text = text[: limit + 1]
    text = _SURROGATES.sub("�", visible(text.translate(_SIGNS)))
    return text if len(text) <= limit else text[: last_cut(text, limit - 1)] + "…"


def is_number(value: object) -> bool:
    """Return True if a value is shown as a number, aligned to the right."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    below: Iterable[str] = (),
    styles: Mapping[str, str] | None = None,
) -> str:
    """Return a table with lines of text below it; numbers to the right, NULL in grey.

    `styles` has the CSS of columns by name.
    """
    of_columns = [(styles or {}).get(name, "") for name in columns]
    head = "".join(map(_head, columns, of_columns))
    body = "".join(f"<tr>{''.join(map(_cell, row, of_columns))}</tr>" for row in rows)
    drawn = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if columns else ""
    return drawn + "".join(f"<p>{html.escape(visible(line))}</p>" for line in below)


def _head(name: str, style: str) -> str:
    return f'<th style="{style}">{_escaped(name)}</th>' if style else f"<th>{_escaped(name)}</th>"


def _cell(value: object, style: str) -> str:
    if value is None:
        return '<td style="color: #999">NULL</td>'
    style = style or ("text-align: right" if is_number(value) else "text-align: left")
    return f'<td style="{style}">{_escaped(value)}</td>'


def _escaped(value: object) -> str:
    return html.escape(shown(value))
