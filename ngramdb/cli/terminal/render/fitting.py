"""Which columns of a table are drawn within a terminal's width, and how wide.

Numbers are never cut. A concordance keeps its match, documents room for their text; the least useful goes
first. Pure functions over the columns' widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ngramdb.cli.terminal.render.base import LEFT, MATCH, RIGHT
from ngramdb.cli.terminal.render.cells import TEXTS, Cell

# Columns of tokens' scores that are dropped first if space is short: rows are in the text's order.
SPARE = ("sparse", "token_id", "position")
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
    """Return the columns of a table of tokens without the least useful ones, if not all fit."""
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
