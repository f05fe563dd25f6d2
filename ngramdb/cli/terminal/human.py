"""Numbers as people read them: counts, durations and sizes. Pure functions from numbers to text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap


def count(n: int, noun: str = "") -> str:
    """Return a number with thousands separators and its noun: `count(2, "row")` is `2 rows`."""
    if not noun:
        return f"{n:,}"
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of the few nouns in messages: corpus and regular ones."""
    return "corpora" if noun == "corpus" else f"{noun}s"


def short(n: int) -> str:
    """Return a count at human scale, three digits and a letter: 1,234,567 is '1.23M'."""
    if n < 1000:
        return str(n)
    value = float(n)
    for letter in ("k", "M", "B"):
        value /= 1000
        if value < 999.5:
            return f"{value:.3g}{letter}"
    return f"{value / 1000:,.4g}T"


# From here on the digits of a number are no longer seen at a glance.
BIG = 1_000_000


def beside(n: int) -> str:
    """Return the number, if large with its scale: 1,234,567,890 is '1,234,567,890 (1.23 B)'."""
    scale = short(abs(n))
    return f"{n:,}" if abs(n) < BIG else f"{n:,} ({'-' if n < 0 else ''}{scale[:-1]} {scale[-1]})"


def duration(seconds: float) -> str:
    """Return a duration with three significant digits in a suitable unit, from microseconds to minutes."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def size(n_bytes: int | float) -> str:
    """Return a size in bytes, kB, MB, GB or TB (powers of 1000)."""
    if n_bytes < 1000:
        return f"{n_bytes:.0f} B"
    value = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5:
            return f"{value:.3g} {unit}"
    return f"{value / 1000:,.4g} TB"


# ---- Long lines within the width of a terminal: words stay whole, what belongs together stays below itself.


# The second column of a list is not squeezed below this; it goes to a line of its own instead.
NARROWEST = 24
GAP = 2

_PLAN_LINE = re.compile(r"(?P<tree>[│├└─ |`-]*)(?P<what>.*?)(?P<gap>\s{2,}(?P<facts>.*))?")


def two_columns(rows: Iterable[tuple[str, str]], width: int | None) -> Iterator[str]:
    """Lines of a list of names and what they are; without a width each is one line."""
    listed = list(rows)
    first = max((len(name) for name, _ in listed), default=0) + GAP
    for name, about in listed:
        if width is None or first + len(about) <= width:
            yield f"{name:<{first}}{about}".rstrip()
        elif width - first >= NARROWEST:
            head, *others = wrap(about, width - first) or [""]
            yield f"{name:<{first}}{head}"
            yield from (" " * first + line for line in others)
        else:
            yield name
            yield from (" " * 4 + line for line in wrap(about, max(NARROWEST, width - 4)))


def error_lines(message: str, width: int | None) -> str:
    """Fit an error's message into a width: words are wrapped, the line with the caret is cut around it."""
    lines = message.split("\n")
    if width is None or max(map(len, lines)) <= width:
        return message
    fitted: list[str] = []
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and _is_caret(lines[i + 1]):
            fitted.extend(_around(line, lines[i + 1], width))
        elif not _is_caret(line):
            fitted.extend(wrap(line, width, subsequent_indent="  ") or [""])
    return "\n".join(fitted)


def _is_caret(line: str) -> bool:
    return bool(line.strip()) and not line.strip().strip("^")


def _around(source: str, caret: str, width: int) -> tuple[str, str]:
    place = caret.index("^")
    start = max(0, min(place - width // 2, len(source) - width))
    return source[start : start + width], caret[start : start + width]


def plan_lines(line: str, width: int | None) -> Iterator[str]:
    """Yield a line of a plan's drawing; if it is too long, its facts go below their subject."""
    match = _PLAN_LINE.fullmatch(line)
    if width is None or len(line) <= width or match is None:
        yield line
        return
    below = match["tree"].replace("├─", "│ ").replace("└─", "  ").replace("|-", "| ").replace("`-", "  ")
    yield from wrap(match["what"], width, initial_indent=match["tree"], subsequent_indent=f"{below}  ")
    yield from wrap(match["facts"] or "", width, initial_indent=f"{below}  ", subsequent_indent=f"{below}  ")
