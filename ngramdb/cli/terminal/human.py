"""Numbers as people read them: counts, durations and sizes. Pure functions from numbers to text."""

from __future__ import annotations


def count(n: int, noun: str = "") -> str:
    """The number with thousands separators and its noun with or without an s: `count(1, "row")` is 1 row."""
    if not noun:
        return f"{n:,}"
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {plural(noun)}"


def plural(noun: str) -> str:
    """The plural of the few nouns that the faces use: corpus and regular ones."""
    return "corpora" if noun == "corpus" else f"{noun}s"


def short(n: int) -> str:
    """A count at human scale, three digits and a letter: 1,234,567 is '1.23M'."""
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
    """The number with its scale beside it where it is big: 1,234,567,890 is '1,234,567,890 (1.23 B)'."""
    scale = short(abs(n))
    return f"{n:,}" if abs(n) < BIG else f"{n:,} ({'-' if n < 0 else ''}{scale[:-1]} {scale[-1]})"


def duration(seconds: float) -> str:
    """A duration with three significant digits in the unit that suits it, from microseconds to minutes."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def size(n_bytes: int | float) -> str:
    """A size in bytes, kB, MB, GB or TB (powers of 1000)."""
    if n_bytes < 1000:
        return f"{n_bytes:.0f} B"
    value = float(n_bytes)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5:
            return f"{value:.3g} {unit}"
    return f"{value / 1000:,.4g} TB"
