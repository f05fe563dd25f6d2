r"""Comma- and tab-separated values: a header line, then a line per row, streamed.

NULL is an empty field in both. In csv an empty string is `""`, which distinguishes the two, and
fields are quoted where they need it. In tsv nothing is quoted: a tab, a line feed, a carriage return and a
backslash inside a value are written \t, \n, \r and \\, so that a line is always a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ngramdb.cli.terminal.render.base import Tabular, to_text
from ngramdb.cli.terminal.screen import Screen

_NEEDS_QUOTES = re.compile(r'[",\r\n]')
_TSV_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


def write_csv(result: Tabular, screen: Screen) -> None:
    """Write the result as comma-separated values (RFC 4180, lines ended by a line feed)."""
    _write(result, screen, ",", _csv_field)


def write_tsv(result: Tabular, screen: Screen) -> None:
    """Write the result as tab-separated values."""
    _write(result, screen, "\t", _tsv_field)


def _write(result: Tabular, screen: Screen, separator: str, field: Callable[[object], str]) -> None:
    screen.write(separator.join(map(field, result.columns)) + "\n")
    for row in result:
        screen.write(separator.join(map(field, row)) + "\n")


def _csv_field(value: object) -> str:
    text = to_text(value)
    if value == "" or _NEEDS_QUOTES.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _tsv_field(value: object) -> str:
    return to_text(value).translate(_TSV_ESCAPES)
