"""A table fitted to the terminal.

Numbers are in full and to the right, texts cut to one line, columns that do not fit left out in the middle.

At a terminal at most `screen.n_rows` rows are drawn and the last line has their total; in a file or a
pipe every row and every cell is written in full. Widths are decided here (`fit`), drawing is rich's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import wrap
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.cells import LOOKED_AT, TEXTS, Cell, cut, encodable, make_cells
from ngramdb.cli.terminal.human import plan_lines
from ngramdb.cli.terminal.screen import LEFT, MATCH, RIGHT, Screen, Tabular, is_number
from ngramdb.display import visible
from ngramdb.executor.display import facts

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
    kept = columns if WITH_SPARE.isdisjoint(result.columns) else without_spare(columns, screen.width)
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


# ---- Which columns of a table are drawn within a terminal's width, and how wide.


# Tables with one of these columns are those of tokens' scores, of PERPLEXITY and of AGREEMENT.
WITH_SPARE = frozenset({"logprob", "perplexity_known", "sparse_share"})
# Their columns that are dropped first if space is short: rows of tokens are in the text's order.
SPARE = (
    *("sparse", "token_id", "position", "zero", "unanswered", "bits_per_token", "perplexity_nonzero"),
    *("sparse_agreeing", "sparse_tokens", "median_effective_n", "most_probable"),
)
# Columns of versions that are left out, one by one, before times and actions are cut: the last is current.
SPARE_OF_VERSIONS = ("current", "by", "tokens")
# The column of their names, which goes before these if no version has one.
NAMES_OF_VERSIONS = "kept_as"
# A text column is not squeezed below this many terminal columns; others are left out instead.
SMALLEST_FIELD = 12
# Contexts of a match may become narrower.
SMALLEST_CONTEXTS = 8
# A document's text gets this share of the width before a field is shown, …
TEXT_SHARE = 3
# … and columns on either side of a match that are kept before its position is shown.
SMALLEST_CONTEXT = 20
# Fields beside a match take this much of the room that contexts have beyond that, until a field is readable …
READABLE_FIELD = 16
# … and then this share of it.
FIELDS_SHARE = 2
# Columns that every document has; fields are the others.
DOCUMENT = frozenset({"doc_id", "length", "corpus", *TEXTS})


@dataclass(frozen=True)
class Column:
    """A column ready for drawing: its cells on one line each (None = NULL), its width when nothing is cut."""

    name: str
    cells: list[Cell | None]
    numeric: bool
    natural: int

    @property
    def smallest(self) -> int:
        """The width below which the column is of no use: numbers are never cut."""
        return self.natural if self.numeric else min(self.natural, SMALLEST_FIELD)

    @property
    def is_empty(self) -> bool:
        """True if it has cells, and all of them are NULL."""
        return bool(self.cells) and all(cell is None for cell in self.cells)


def without_spare(columns: list[Column], width: int | None) -> list[Column]:
    """Return the columns of a table of scores without the least useful ones, if not all fit."""
    kept = list(columns)
    for name in SPARE:
        if width is None or _smallest_total(list(kept)) <= width:
            break
        kept = [column for column in kept if column.name != name]
    return kept


def without_spare_of_versions(columns: list[Column], width: int | None) -> list[Column]:
    """Return the columns of a table of versions without the least useful ones, if one would be cut."""
    has_names = not any(column.name == NAMES_OF_VERSIONS and column.is_empty for column in columns)
    kept = list(columns)
    for name in (*(() if has_names else (NAMES_OF_VERSIONS,)), *SPARE_OF_VERSIONS):
        if width is None or overhead(len(kept)) + sum(column.natural for column in kept) <= width:
            break
        kept = [column for column in kept if column.name != name]
    return kept


def without_empty(columns: list[Column], width: int | None) -> list[Column]:
    """Return the columns of documents without empty fields, if a text would be cut otherwise."""
    if width is None or overhead(len(columns)) + sum(column.natural for column in columns) <= width:
        return columns
    return [column for column in columns if column.name in DOCUMENT or not column.is_empty]


def fit(columns: list[Column], width: int | None) -> tuple[list[Column | None], list[int]]:
    """Return the visible columns and their widths; None represents those left out in the middle.

    Without a width everything is drawn as wide as it is. Numbers get what they need; texts share the rest
    evenly, and what a short text does not need goes to the longer ones.
    """
    if width is None:
        return list(columns), [column.natural for column in columns]
    if {LEFT, MATCH, RIGHT} <= {column.name for column in columns}:
        return _concordance(columns, width)
    roomy = width // TEXT_SHARE
    shown: list[Column | None] = list(columns)
    n_kept = len(columns)
    while n_kept > 1 and _smallest_total(shown, roomy) > width:
        n_kept -= 1
        n_left = (n_kept + 1) // 2
        shown = [*columns[:n_left], None, *columns[len(columns) - (n_kept - n_left) :]]
    return shown, _share(shown, width - overhead(len(shown)), roomy)


def overhead(n_columns: int) -> int:
    """Return the width of a table's frame: a bar and two spaces per column, and the last bar."""
    return 3 * n_columns + 1


def _concordance(columns: list[Column], width: int) -> tuple[list[Column | None], list[int]]:
    """Keep the match in full and contexts beside it; other columns are dropped from the last one on."""
    kept = list(columns)
    while True:
        parts = [next(column for column in kept if column.name == name) for name in (LEFT, MATCH, RIGHT)]
        others = [column for column in kept if column not in parts]
        room = width - overhead(len(kept)) - sum(column.smallest for column in others)
        contexts = room - parts[1].natural
        wanted = sum(min(column.natural, SMALLEST_CONTEXT) for column in (parts[0], parts[2]))
        if contexts >= wanted or not others:
            break
        if len(others) == 1 and contexts >= 2 * SMALLEST_CONTEXTS:  # the document's number rather than words
            break
        kept.remove(others[-1])
    left, match, right = parts
    fields = _beside_contexts(others, contexts - wanted, contexts - left.natural - right.natural)
    room -= sum(fields) - sum(column.smallest for column in others)
    widths = {match.name: max(1, min(match.natural, room - 2 * min(SMALLEST_CONTEXTS, room // 4)))}
    half = max(1, (room - widths[MATCH]) // 2)
    widths[LEFT] = max(1, min(left.natural, max(half, room - widths[MATCH] - right.natural)))
    widths[RIGHT] = max(1, min(right.natural, room - widths[MATCH] - widths[LEFT]))
    beside = iter(fields)
    return list(kept), [widths[column.name] if column in parts else next(beside) for column in kept]


def _beside_contexts(fields: list[Column], spare: int, unused: int) -> list[int]:
    """Widths of fields beside a match: at first their smallest, then from what contexts can spare.

    `spare` is what contexts have beyond what they want, `unused` what they have beyond their texts.
    """
    widths = [column.smallest for column in fields]
    readable = [
        max(width, min(column.natural, READABLE_FIELD)) for width, column in zip(widths, fields, strict=True)
    ]
    widened = _widened(widths, readable, spare)
    spare -= sum(widened) - sum(widths)
    unused -= sum(widened) - sum(widths)
    return _widened(widened, [column.natural for column in fields], max(spare // FIELDS_SHARE, unused))


def _widened(widths: list[int], wanted: list[int], room: int) -> list[int]:
    """Share `room` evenly among the widths, none above its wanted width."""
    found = list(widths)
    order = sorted(range(len(found)), key=lambda i: wanted[i] - found[i])
    for n_done, i in enumerate(order):
        more = min(wanted[i] - found[i], max(room, 0) // (len(order) - n_done))
        found[i] += more
        room -= more
    return found


def _smallest(column: Column | None, roomy: int) -> int:
    if column is None:
        return 1
    if column.name in TEXTS and not column.numeric:
        return min(column.natural, max(SMALLEST_FIELD, roomy))
    return column.smallest


def _smallest_total(columns: Sequence[Column | None], roomy: int = 0) -> int:
    return overhead(len(columns)) + sum(_smallest(column, roomy) for column in columns)


def _share(columns: list[Column | None], available: int, roomy: int) -> list[int]:
    """Widths within `available`: numbers first, then texts from the narrowest to the widest.

    A document's text comes last: it gets what is left, and never less than its smallest width.
    """
    widths = [_smallest(column, roomy) for column in columns]
    texts = [i for i, column in enumerate(columns) if column is not None and not column.numeric]
    available -= sum(width for i, width in enumerate(widths) if i not in texts)
    last = [i for i in texts if _name(columns[i]) in TEXTS]
    reserved = sum(widths[i] for i in last)
    others = sorted(set(texts) - set(last), key=lambda i: _natural(columns[i]))
    for n_done, i in enumerate(others):
        n_left = len(others) - n_done
        limit = min(available // (n_left + len(last)), (available - reserved) // n_left)
        widths[i] = max(1, min(_natural(columns[i]), limit))
        available -= widths[i]
    for n_done, i in enumerate(last):
        widths[i] = max(1, min(_natural(columns[i]), available // (len(last) - n_done)))
        available -= widths[i]
    return widths


def _name(column: Column | None) -> str:
    return "" if column is None else column.name


def _natural(column: Column | None) -> int:
    return 1 if column is None else column.natural
