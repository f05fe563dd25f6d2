"""A table fitted to the terminal.

Numbers are in full and to the right, texts cut to one line, columns that do not fit left out in the middle.

At a terminal at most `screen.n_rows` rows are drawn and the last line has their total; in a file or a
pipe every row and every cell is written in full. Widths are decided here (`fit`), drawing is rich's.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from textwrap import wrap
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.human import plan_lines
from ngramdb.cli.terminal.render.base import LEFT, Tabular, is_number
from ngramdb.cli.terminal.render.cells import LOOKED_AT, Cell, cut, encodable, make_cells
from ngramdb.cli.terminal.render.fitting import (
    Column,
    fit,
    overhead,
    without_empty,
    without_spare,
    without_spare_of_versions,
)
from ngramdb.cli.terminal.screen import Screen
from ngramdb.executor.results.display import facts
from ngramdb.terminal_escapes import visible

# Columns of sentences to be read to their end, which take as many lines as they need.
PROSE = frozenset({"description", "problem"})
# In fewer terminal columns they are cut like all others: one word per line is hard to read.
NARROWEST_PROSE = 24


def write_table(result: Tabular, screen: Screen) -> None:
    """Draw the result as a table, and its footer at a terminal."""
    if result.columns == ("plan",):
        _write_plan(result, screen)
        return
    rows, n_rows = _shown_rows(result, screen)
    if screen.is_terminal and not rows and "message" in result.summary:
        screen.write(f"{visible(str(result.summary['message']))}\n")
        return
    scores = "logprob" in result.columns
    columns = [
        _column(name, [row[i] for row in rows], screen, scores) for i, name in enumerate(result.columns)
    ]
    kept = without_spare(columns, screen.width) if scores else columns
    if {"version", "action"} <= set(result.columns):
        kept = without_spare_of_versions(columns, screen.width)
    documents = {"doc_id", "text"} <= set(result.columns)
    if documents:
        kept = without_empty(columns, screen.width)
    shown, widths = fit(kept, screen.width)
    _draw(shown, widths, screen)
    if screen.is_terminal:
        parts = [_of("row", n_rows, len(rows))]
        n_shown = sum(column is not None for column in shown)
        note = result.summary.get("note")
        if n_shown < len(columns):
            parts.append(
                _of("column", len(columns), n_shown, n_empty=len(columns) - len(kept) if documents else 0)
            )
        if not getattr(result, "exact", True):
            parts.append("an estimate from a sample")
        parts.extend(map(visible, facts(result.summary, n_rows)))
        for line in wrap(", ".join(parts), screen.width or LOOKED_AT):
            screen.draw(screen.styled(line, "2") + "\n")
        for line in wrap(visible(f"note: {note}"), screen.width or LOOKED_AT) if note else ():
            screen.draw(screen.styled(line, "2") + "\n")


def _of(noun: str, n: int, n_shown: int, n_empty: int = 0) -> str:
    """Return the number and, if fewer are drawn, how many: '100,000 rows (40 shown)'."""
    empty = f", {n_empty:,} with NULL only" if n_empty else ""
    return human.count(n, noun) + (f" ({n_shown:,} shown{empty})" if n_shown < n else "")


# Replacements in a plan's tree for an encoding without box characters.
_ASCII_TREE = str.maketrans({"│": "|", "├": "|", "└": "`", "─": "-", "…": "."})


def _write_plan(result: Tabular, screen: Screen) -> None:
    """EXPLAIN answers a drawing of its own, which a frame would only harm."""
    for (line,) in result:
        text = visible(str(line))
        for part in plan_lines(text if screen.unicode else text.translate(_ASCII_TREE), screen.width):
            screen.write(part + "\n")


def _shown_rows(result: Tabular, screen: Screen) -> tuple[list[tuple[Any, ...]], int]:
    """Return the rows to draw and the number of all rows.

    If the number is unknown, the rest is counted without being kept.
    """
    rows: Iterator[tuple[Any, ...]] = iter(result)
    if not screen.is_terminal:
        shown = list(rows)
        return shown, len(shown)
    shown = list(islice(rows, screen.n_rows))
    if result.n_rows is not None:
        return shown, result.n_rows
    return shown, len(shown) + sum(1 for _ in rows)


def _column(name: str, values: list[object], screen: Screen, scores: bool) -> Column:
    cells = make_cells(values, name, screen, scores)
    present = [value for value in values if value is not None]
    title = encodable(visible(name), screen)
    natural = max([cell_len(title), *(4 if cell is None else cell_len(cell.text) for cell in cells)])
    return Column(title, cells, bool(present) and all(map(is_number, present)), natural)


def _draw(columns: list[Column | None], widths: list[int], screen: Screen) -> None:
    table = Table(box=box.SQUARE if screen.unicode else box.ASCII, show_edge=True, header_style="bold")
    for column, width in zip(columns, widths, strict=True):
        if column is None:
            table.add_column(Text("…" if screen.unicode else "."), width=1, no_wrap=True)
            continue
        header = Text(cut(Cell(column.name), width, screen).text)
        justify = "right" if column.numeric or column.name == LEFT else "left"
        no_wrap = not _is_prose(column, width)
        table.add_column(header, width=width, no_wrap=no_wrap, justify=justify)  # type: ignore[arg-type]
    n_rows = max((len(column.cells) for column in columns if column is not None), default=0)
    for i in range(n_rows):
        cells = (_cell(column, i, width, screen) for column, width in zip(columns, widths, strict=True))
        table.add_row(*cells)
    _console(screen, overhead(len(widths)) + sum(widths)).print(table)


def _is_prose(column: Column, width: int) -> bool:
    return column.name in PROSE and width >= NARROWEST_PROSE


def _cell(column: Column | None, i: int, width: int, screen: Screen) -> Text:
    if column is None:
        return Text("…" if screen.unicode else ".", style="dim")
    cell = column.cells[i]
    if cell is None:
        return Text("NULL"[:width], style="dim")
    if _is_prose(column, width):
        return cell.styled()
    return cut(cell, width, screen, from_left=column.name == LEFT).styled()


def _console(screen: Screen, width: int) -> Console:
    return Console(
        file=screen.stream,
        width=width,
        force_terminal=screen.colour,
        color_system="standard" if screen.colour else None,
        no_color=not screen.colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
