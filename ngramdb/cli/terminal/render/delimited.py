"""Comma- and tab-separated values, streamed, in the dialect of `COPY` and of the service."""

from __future__ import annotations

from ngramdb.api.verbs import rows_as
from ngramdb.cli.terminal.render.base import Tabular, plain
from ngramdb.cli.terminal.screen import Screen


def write_csv(result: Tabular, screen: Screen) -> None:
    """Write the result as comma-separated values (RFC 4180, lines end with a line feed)."""
    _write(result, screen, "csv")


def write_tsv(result: Tabular, screen: Screen) -> None:
    """Write the result as tab-separated values, quoted like CSV."""
    _write(result, screen, "tsv")


def _write(result: Tabular, screen: Screen, kind: str) -> None:
    rows = ([value if isinstance(value, float) else plain(value) for value in row] for row in result)
    for line in rows_as.delimited_lines(result.columns, rows, kind):
        screen.write(line + "\n")
