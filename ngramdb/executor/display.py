"""Display of a result: a table in a terminal, a table in a notebook.

Both show the first rows and their number, and leave all rows readable.
"""

from __future__ import annotations

import math
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ngramdb import display
from ngramdb.display import is_number, shown, visible

# Maximum number of characters of a value, in a table and on a line for the value alone.
SHOWN_CHARACTERS = 60
SHOWN_CHARACTERS_ALONE = display.SHOWN_CHARACTERS
# Columns of output of unknown width: a file, a notebook, a log.
FALLBACK_COLUMNS = 160
# No column of text is made narrower than this to fit a screen, nor is the only column of a table.
NARROWEST = 8
BETWEEN = "  "

# CSS of the parts of a concordance's line: the match between its contexts.
CONCORDANCE = {
    "left": "text-align: right",
    "match": "text-align: center; font-weight: bold",
    "right": "text-align: left",
}


class Preview(NamedTuple):
    """The beginning of a result: its first rows, and texts about the number of rows and other facts."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    size: str
    n_rows: int | None
    summary: Mapping[str, Any]
    remarks: tuple[str, ...]


def as_text(result: Preview) -> str:
    """Return a table that fits the terminal: wide texts are cut, columns without room are named below it."""
    if not result.columns:
        return visible(str(result.summary.get("message", "(done)")), lines=True)
    rows, footer = result.rows, _footer(result)
    limit = SHOWN_CHARACTERS if len(result.columns) > 1 else SHOWN_CHARACTERS_ALONE
    columns = [_Column(name, [row[i] for row in rows], limit) for i, name in enumerate(result.columns)]
    shown = _fitting(columns, shutil.get_terminal_size((FALLBACK_COLUMNS, 24)).columns)
    if len(shown) < len(columns):
        footer += f" (no room for {', '.join(column.name for column in columns[len(shown) :])})"
    rule = BETWEEN.join("─" * column.width for column in shown)
    body = [BETWEEN.join(column.line(i) for column in shown).rstrip() for i in range(len(rows))]
    head = BETWEEN.join(column.head() for column in shown).rstrip()
    notes = [visible(f"note: {note}", lines=True) for note in result.remarks]
    return "\n".join([head, rule, *body, footer, *notes])


def as_html(result: Preview) -> str:
    """Return an HTML table; numbers to the right, NULL in grey, values in full up to the limit of a cell.

    In a concordance the match is bold between its left and right context.
    """
    if not result.columns:
        return display.table((), (), [str(result.summary.get("message", "(done)"))])
    below = [_footer(result), *(f"note: {note}" for note in result.remarks)]
    is_concordance = set(CONCORDANCE) <= set(result.columns)
    return display.table(result.columns, result.rows, below, CONCORDANCE if is_concordance else None)


def _footer(result: Preview) -> str:
    """Return the number of rows and the summary of all of them, in parentheses."""
    said = [visible(fact) for fact in facts(result.summary, result.n_rows)]
    return f"({', '.join([result.size, *said])})"


class _Column:
    """The cells of one column, and its width."""

    def __init__(self, name: str, values: list[Any], limit: int) -> None:
        self.name = shown(name, limit)
        self._cells = [shown(value, limit) for value in values]
        self.is_number = bool(values) and all(value is None or is_number(value) for value in values)
        self.width = max(map(width_of, (name, *self._cells)))

    @property
    def narrowest(self) -> int:
        """Return the least useful width: numbers are shown in full or not at all."""
        return self.width if self.is_number else min(self.width, max(NARROWEST, width_of(self.name)))

    def head(self) -> str:
        return self._padded(self.name)

    def line(self, i: int) -> str:
        return self._padded(self._cells[i])

    def _padded(self, text: str) -> str:
        text = cut(text, self.width)
        blanks = " " * (self.width - width_of(text))
        return blanks + text if self.is_number else text + blanks


def _fitting(columns: list[_Column], n_columns: int) -> list[_Column]:
    """Return as many columns, from the left, as fit a screen, with the widest ones narrowed."""
    shown = list(columns)
    while len(shown) > 1 and _total(column.narrowest for column in shown) > n_columns:
        shown.pop()
    excess = _total(column.width for column in shown) - n_columns
    while excess > 0:
        widest = max(shown, key=lambda column: column.width - column.narrowest)
        if widest.width == widest.narrowest:
            # One column, wider than the screen: numbers are shown in full, text is cut.
            if not widest.is_number:
                widest.width = max(1, n_columns)
            break
        rivals = sorted((column.width for column in shown if not column.is_number), reverse=True)
        step = max(1, rivals[0] - rivals[1]) if len(rivals) > 1 else excess
        taken = min(excess, step, widest.width - widest.narrowest)
        widest.width -= taken
        excess -= taken
    return shown


def _total(widths: Iterable[int]) -> int:
    every = list(widths)
    return sum(every) + len(BETWEEN) * (len(every) - 1)


def width_of(text: str) -> int:
    """Return the columns that a text takes: two for wide East Asian characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def cut(text: str, width: int) -> str:
    """Return the text, cut with an ellipsis if it does not fit."""
    if width_of(text) <= width:
        return text
    kept, taken = [], 1
    for c in text:
        taken += width_of(c)
        if taken > width:
            break
        kept.append(c)
    return "".join(kept) + "…"


# ---- the summary below the table, in words: the same at the prompt, in Python and in notebooks


def facts(summary: Mapping[str, Any], n_rows: int | None) -> Iterator[str]:
    """Yield `25 in all`, `context count 4`, …: no zeros, and no total that equals the number of rows."""
    for name, value in summary.items():
        if name == "seed":
            yield f"seed {value}"
            continue
        if not value or not isinstance(value, int | float | str) or (name == "total" and value == n_rows):
            continue
        if name == "note":  # a sentence, which has its own line
            continue
        if isinstance(value, float) and math.isnan(value):  # unknown
            continue
        words = {"total": f"{_shown(value)} in all", "message": _shown(value)}
        yield words.get(name, f"{name.replace('_', ' ')} {_shown(value)}")


# Facts that `drawn` describes in words.
_OF_A_DRAWING = frozenset(
    {"seed", "sampled", "sampled_tokens", "total", "sampled_documents", "documents", "standard_error"}
)


def beside(summary: Mapping[str, Any], columns: tuple[str, ...], n_rows: int | None) -> str | None:
    """Return the facts of a result on one line, for formats without a line below the rows; None if empty.

    Facts in the only row are left out, and those in the note on a sample (`drawn`). A result without
    columns has a message only, and a plan has all of it in its lines.
    """
    if columns in ((), ("plan",)):
        return None
    said = {*(columns if n_rows == 1 else ()), *(_OF_A_DRAWING if "seed" in summary else ())}
    return ", ".join(facts({name: summary[name] for name in summary if name not in said}, n_rows)) or None


def drawn(summary: Mapping[str, Any], exact: bool) -> str | None:
    """Describe the random sample of an answer, with the seed that reproduces it; None without one."""
    if "seed" not in summary:
        return None
    seed = f"seed {summary['seed']}"
    if "sampled_documents" in summary:
        said = f"a sample of {summary['sampled_documents']:,} of {summary['documents']:,} documents, {seed}"
        error = summary["standard_error"]
        known = (
            ""
            if exact or math.isnan(error)
            else f", standard error {error:{',.0f' if error >= 10 else '.3g'}}"
        )
        return said if exact else f"an estimate from {said}{known}"
    if "sampled" in summary:
        tokens = f" ({summary['sampled_tokens']:,} tokens)" if "sampled_tokens" in summary else ""
        return f"a sample of {summary['sampled']:,}{tokens} of {summary['total']:,}, {seed}"
    return f"drawn with {seed}"


def _shown(value: float | str) -> str:
    if isinstance(value, bool):
        return "true"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return value
