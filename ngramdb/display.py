r"""Text for people: at a terminal, and as HTML in notebooks.

Everything that users see at a terminal passes through `visible`, which escapes characters that would control
it as \n, \xNN or \uNNNN: names of corpora, fields and files as well as texts may contain escape sequences,
and overrides of the direction of the following text. In tables for notebooks no text acts as markup.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ngramdb.diacritics import last_cut
from ngramdb.lazy import lazy_module, lazy_pattern

if TYPE_CHECKING:
    import html
else:
    html = lazy_module("html")

# Control characters of ASCII and Latin-1, which begin escape sequences (ESC and U+009B), ring, erase or move
# back; Unicode's line and paragraph separators; embeddings, overrides and isolates of bidirectional text.
_SPANS = ((0x00, 0x1F), (0x7F, 0x9F), (0x2028, 0x2029), (0x202A, 0x202E), (0x2066, 0x2069))
STEERING_CHARACTERS = tuple(chr(code) for first, last in _SPANS for code in range(first, last + 1))
_CLASS = "[" + "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in _SPANS) + "]"
_STEERING = lazy_pattern(_CLASS)
# The same characters without those of which lines of text consist.
_STEERING_IN_LINES = lazy_pattern(rf"(?![\n\t]){_CLASS}")
_BEYOND_ASCII = lazy_pattern(r"[^\x00-\x7f]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str, lines: bool = False) -> str:
    r"""Escape characters that control the terminal; with `lines`, line feeds and tabs stay.

    >>> visible("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    pattern = _STEERING_IN_LINES if lines else _STEERING
    return pattern.sub(lambda match: written_out(match[0]), text)


def written_out(character: str) -> str:
    """Return the escape for one such character."""
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def visible_json(text: str) -> str:
    """Return JSON with the same characters in JSON's own escapes, so that it decodes to the same value."""
    return _STEERING_IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def encodable_json(text: str, encoding: str) -> str:
    r"""Return JSON for a stream with this encoding: unless it is UTF-8, all but ASCII is escaped.

    JSON is UTF-8 (RFC 8259, section 8.1), and any other encoding lacks characters or is misread.

    >>> encodable_json('["é"]', "cp1252"), encodable_json('["é"]', "UTF-8")
    ('["\\u00e9"]', '["é"]')
    """
    if text.isascii() or codecs.lookup(encoding).name == "utf-8":
        return text
    return _BEYOND_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], text)


# ---- HTML of objects for notebooks.


# Maximum number of characters of a value.
SHOWN_CHARACTERS = 200
# One sign for the ends of lines and cells; a lone surrogate cannot be written at all.
_SIGNS = str.maketrans({"\n": "⏎", "\t": "⇥", "\r": "␍"})
_SURROGATES = lazy_pattern("[\ud800-\udfff]")


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
