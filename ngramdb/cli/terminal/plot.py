"""The output mode `plot`: a bar for each row, as for histograms of DUPLICATES or counts by groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from rich.cells import cell_len, set_cell_size

from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.cells import QUANTITIES, encodable
from ngramdb.cli.terminal.screen import FALLBACK_COLUMNS, Screen, Tabular, is_number, to_display
from ngramdb.cli.terminal.table import write_table
from ngramdb.display import visible

# The longest plot, in rows; the rows behind it are counted.
PLOTTED_ROWS = 1000
# The greatest share of a line that the text before a bar may have.
LABEL_SHARE = 0.4
# Eighths of a character.
EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
RANGE = ("least", "most")
# The column that is drawn of PERPLEXITY, AGREEMENT and NOVELTY, by another one that only they have.
MEASURES = {"perplexity_known": "perplexity", "sparse_share": "share", "uniqueness": "share"}


def write_plot(result: Tabular, screen: Screen) -> None:
    """Write a bar for each row, as long as its number.

    That is the measure of PERPLEXITY, AGREEMENT or NOVELTY, or the column `count`, else the first one with
    numbers behind the first column; of ranges (`least`, `most`) the one behind them. A result without such a
    column is drawn as a table.
    """
    rows = iter(result)
    shown = list(islice(rows, PLOTTED_ROWS))
    n_more = sum(1 for _ in rows)
    place = _value_column(result.columns, shown)
    if place is None:
        write_table(_Rows(result, shown), screen)
    else:
        _draw(result.columns, shown, place, screen)
    if n_more:
        screen.draw(screen.styled(f"{human.count(n_more, 'more row')}", "2") + "\n")


class _Rows:
    """The first rows of a result, which were read already."""

    def __init__(self, result: Tabular, rows: Sequence[tuple[Any, ...]]) -> None:
        self.columns, self.summary = result.columns, result.summary
        self.n_rows: int | None = len(rows)
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)


def _value_column(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> int | None:
    """Return the number of the column that bars are drawn of, None if there is none."""
    of_numbers = [i for i in range(len(columns)) if _are_numbers([row[i] for row in rows])]
    if tuple(columns[:2]) == RANGE:
        return 2 if 2 in of_numbers else None
    names = {"count", *(MEASURES[name] for name in columns if name in MEASURES)}
    named = [i for i in of_numbers if columns[i] in names]
    behind = [i for i in of_numbers if i > 0]
    return next(iter(named or behind), None)


def _are_numbers(values: Sequence[Any]) -> bool:
    """Return True if all values but NULL are numbers, and there is one."""
    known = [value for value in values if value is not None]
    return bool(known) and all(map(is_number, known))


def _draw(columns: Sequence[str], rows: Sequence[tuple[Any, ...]], place: int, screen: Screen) -> None:
    width = screen.width or FALLBACK_COLUMNS
    before = range(place)
    of_label = [i for i in before if not any(isinstance(row[i], (list, tuple)) for row in rows)] or before
    if not MEASURES.keys().isdisjoint(columns):  # the group, without its tokens
        of_label = [i for i in before if columns[i] not in QUANTITIES]
    between = "–" if tuple(columns[:2]) == RANGE else " "
    heads, *labels = (
        encodable(visible(between.join(parts)), screen)
        for parts in ([cells[i] for i in of_label] for cells in (columns, *map(_shown, rows)))
    )
    values = [row[place] for row in rows]
    numbers = [f"{one:,}" if isinstance(one, int) else visible(to_display(one)) for one in values]
    name = encodable(visible(columns[place]), screen)
    longest = min(max(map(cell_len, [heads, *labels])), max(int(width * LABEL_SHARE), 1))
    digits = max(map(len, [name, *numbers]))
    room = max(width - longest - digits - 4, 1)
    largest = max(map(_size, values), default=0.0) or 1.0
    line = f"{_fitted(heads, longest, screen)}  {name:>{digits}}"
    screen.draw(screen.styled(line.rstrip(), "2") + "\n")
    for label, number, value in zip(labels, numbers, values, strict=True):
        bar = _bar(_size(value) / largest * room, screen)
        screen.draw(f"{_fitted(label, longest, screen)}  {number:>{digits}}  {bar}".rstrip() + "\n")


def _shown(row: Sequence[Any]) -> list[str]:
    return ["NULL" if value is None else to_display(value) for value in row]


def _fitted(text: str, width: int, screen: Screen) -> str:
    """Return the text with exactly this width, aligned to the right."""
    size = cell_len(text)
    if size > width:
        mark = screen.ellipsis[:width]
        return set_cell_size(text, width - len(mark)) + mark
    return " " * (width - size) + text


def _size(value: Any) -> float:
    number = float(value) if is_number(value) else 0.0
    return number if math.isfinite(number) and number > 0 else 0.0


def _bar(length: float, screen: Screen) -> str:
    """Return a bar of this many characters; one that is not empty has at least the shortest mark."""
    if not screen.unicode:
        return "#" * max(round(length), length > 0)
    eighths = max(round(length * 8), length > 0)
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8]
