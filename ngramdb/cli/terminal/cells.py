"""Cells of a table: a value as one line of text, what stands out in it, and how it is cut to a width."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from ngramdb.cli.terminal import human
from ngramdb.cli.terminal.screen import LEFT, MATCH, RIGHT, Screen, Span, is_number, to_display
from ngramdb.diacritics import first_cut, last_cut
from ngramdb.display import visible

# Characters of a text that are read: more than any terminal is wide, far less than a document.
LOOKED_AT = 2000
# Share of the width before the first mark of a text that is cut around it.
SHARE_BEFORE = 3

# Columns that count something, whose digits are grouped for a person; ids and years are not counts.
QUANTITIES = frozenset(
    {
        *("count", "cont_count", "context_count", "documents", "tokens", "vocabulary", "bytes", "length"),
        *("skipped", "rows", "probes", "removed", "deleted", "bytes_before", "bytes_after"),
        *("documents_dropped", "ngrams", "waste", "duplicate_tokens", "longest", "contaminated"),
        *("unknown", "unanswered", "zero", "agreeing", "sparse_tokens", "sparse_agreeing", "most_probable"),
        *("novel", "different", "once", "twice", "more"),
    }
)
# Columns of tokens, in which a blank at an end matters and must be visible.
TOKENS = frozenset({"token", "ngram", "span"})
# Columns with a document's text, in which what was searched for stands out.
TEXTS = frozenset({"text"})

# Below this, four digits after the point are not enough.
SMALLEST_SCORE = 0.0005

_DECIMAL = re.compile(r"-?\d+(?:\.\d+)?")
_SIGNS = str.maketrans({"\n": "⏎", "\t": "⇥", "\r": "␍"})

MARK_STYLE = "bold red"


@dataclass(frozen=True)
class Cell:
    """One line of text; `marks` are the ranges in it that stand out, in order."""

    text: str
    marks: tuple[Span, ...] = ()

    def styled(self) -> Text:
        """Return the cell for drawing."""
        text = Text(self.text)
        for start, stop in self.marks:
            text.stylize(MARK_STYLE, start, stop)
        return text


def make_cells(values: Sequence[object], column: str, screen: Screen, scores: bool) -> list[Cell | None]:
    """Return the cells of a column, None for NULL; `scores`: rows are tokens with probabilities."""
    aligned = _aligned(values) if screen.is_terminal and not scores else None
    if aligned is not None:
        return [None if text is None else Cell(text) for text in aligned]
    alone = len(values) == 1
    return [None if value is None else make_cell(value, column, screen, alone, scores) for value in values]


def _aligned(values: Sequence[object]) -> list[str | None] | None:
    """Floats with their points below each other, six digits for the largest; None for other columns."""
    floats = [value for value in values if value is not None]
    if not floats or not all(isinstance(value, float) for value in floats):
        return None
    shown = [to_display(value) for value in floats]
    if not all(_DECIMAL.fullmatch(text) for text in shown):
        return None
    largest = max(floats, key=abs)  # type: ignore[arg-type]
    n_digits = min(max(map(_n_decimals, shown)), max(1, _n_decimals(f"{largest:#.6g}")))
    return [None if value is None else f"{value:.{n_digits}f}" for value in values]


def _n_decimals(number: str) -> int:
    return len(number.partition(".")[2])


def make_cell(value: object, column: str, screen: Screen, alone: bool, scores: bool = False) -> Cell:
    """Return the value's cell; `alone` is True for the only row, which has room for a scale.

    `scores` is whether rows are tokens with their probabilities, to be compared at a glance.
    """
    if not screen.is_terminal:
        return Cell(encodable(visible(to_display(value)), screen))
    if isinstance(value, float) and scores:
        return Cell(_score(value))
    if is_number(value):
        return Cell(_number(value, column, alone))
    text = to_display(value)
    if column == MATCH:
        shown = _seen(text[:LOOKED_AT], screen)
        return Cell(shown, ((0, len(shown)),))
    if column == LEFT:
        text = text.rstrip(" ")
    elif column == RIGHT:
        text = text.lstrip(" ")
    if column in TOKENS:
        text = _ends_shown(text, screen)
    if column in TEXTS and screen.marks is not None:
        return _marked(text, screen.marks(text), screen)
    if len(text) > LOOKED_AT:
        text = text[-LOOKED_AT:] if column == LEFT else text[:LOOKED_AT] + screen.ellipsis
    return Cell(_seen(text, screen))


def _seen(text: str, screen: Screen) -> str:
    """Return the text as drawn: with one sign for a line's end if the encoding has one."""
    if screen.unicode:
        text = text.translate(_SIGNS)
    return encodable(visible(text), screen)


def _number(value: object, column: str, alone: bool) -> str:
    if not isinstance(value, int) or (column not in QUANTITIES and column != "value"):
        return to_display(value)
    return human.beside(value) if alone or column == "value" else f"{value:,}"


def _score(value: float) -> str:
    """Points below each other; what is too small for that at two digits."""
    return f"{value:.4f}" if value == 0 or abs(value) >= SMALLEST_SCORE else f"{value:.1e}"


def _ends_shown(text: str, screen: Screen) -> str:
    """Return the text with a visible sign for each space at its ends."""
    inner = text.strip(" ")
    if len(inner) == len(text):
        return text
    sign = "␣" if screen.unicode else "_"
    n_before = len(text) - len(text.lstrip(" "))
    return sign * n_before + inner + sign * (len(text) - n_before - len(inner))


def _marked(text: str, spans: Sequence[Span], screen: Screen) -> Cell:
    """Return the text from a little before the first mark, as a cell; from its beginning if that is near."""
    first = max(0, spans[0][0] - LOOKED_AT // 2) if spans else 0
    stop = first + LOOKED_AT
    shown = screen.ellipsis if first else ""
    marks: list[Span] = []
    place = first
    for span_start, span_stop in spans:
        if span_start >= stop:
            break
        shown += _seen(text[place:span_start], screen)
        begin = len(shown)
        shown += _seen(text[span_start : min(span_stop, stop)], screen)
        marks.append((begin, len(shown)))
        place = min(span_stop, stop)
    shown += _seen(text[place:stop], screen)
    return Cell(shown + (screen.ellipsis if stop < len(text) else ""), tuple(marks))


def encodable(text: str, screen: Screen) -> str:
    r"""Replace characters that the stream lacks by \xNN, so that the width is the one that is drawn."""
    return text.encode(screen.encoding, "backslashreplace").decode(screen.encoding)


def cut(cell: Cell, width: int, screen: Screen, from_left: bool = False) -> Cell:
    """Cut the cell to a width: around its first mark, to its beginning, or with `from_left` to its end."""
    if cell_len(cell.text) <= width:
        return cell
    mark = screen.ellipsis if width >= len(screen.ellipsis) else "." * width
    if from_left:
        return Cell(mark + _last(cell.text, width - len(mark)))
    cell = _from_mark(cell, width, mark)
    if cell_len(cell.text) <= width:
        return cell
    text = set_cell_size(cell.text, width - len(mark))
    if cell.text.startswith(text):  # otherwise half of a wide character is a blank
        text = text[: last_cut(cell.text, len(text))]
    marks = tuple((start, min(stop, len(text))) for start, stop in cell.marks if start < len(text))
    return Cell(text + mark, marks)


def _from_mark(cell: Cell, width: int, mark: str) -> Cell:
    """Drop what precedes the cell's first mark by far, if the mark would be cut off otherwise."""
    if not cell.marks or cell_len(cell.text[: cell.marks[0][1]]) <= width - len(mark):
        return cell
    start = cell.marks[0][0]
    before = _last(cell.text[:start], max(0, width // SHARE_BEFORE - len(mark)))
    if len(before) == start:  # nothing would be left out
        return cell
    shift = len(mark) + len(before) - start
    marks = tuple((begin + shift, end + shift) for begin, end in cell.marks)
    return Cell(mark + before + cell.text[start:], marks)


def _last(text: str, width: int) -> str:
    """Return the longest end of a text that fits a width in terminal columns."""
    widths = itertools.accumulate(map(cell_len, reversed(text)))
    n_kept = sum(1 for _ in itertools.takewhile(lambda used: used <= width, widths))
    return text[first_cut(text, len(text) - n_kept) :]
