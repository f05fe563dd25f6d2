"""JSON: one array of objects, or an object a line. Both are streamed: no row waits for the last one."""

from __future__ import annotations

from collections.abc import Iterator

from ngramdb.cli.terminal.render.base import Tabular, to_json
from ngramdb.cli.terminal.screen import Screen
from ngramdb.visible import encodable_json, visible_json


def write_json(result: Tabular, screen: Screen) -> None:
    """Write the result as one JSON array with an object per row, a row a line."""
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
