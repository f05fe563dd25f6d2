"""Results as a table: a column for each size, how a figure grows, its bar, and whether it is met."""

from __future__ import annotations

from collections.abc import Sequence

from peerbench.machine import description
from peerbench.report import duration, significant, today

from scalebench.rows import TOKENS, Bar, Results, Row, rows

HEAD = """Written by `python benchmarks/scale.py --write`; what is measured, and how, is in `README.md`.
Growth is the ratio of the largest size's figure to the smallest one's; if marked *a token*, of the figure
divided by the number of tokens. Bars are set for 1 G tokens and judged at the largest size that was
measured, unless a size is named."""


def report(results: dict[int, Results]) -> str:
    """The whole report; `results` by size, ascending."""
    sizes = list(results)
    sections = [f"# Growing corpora\n\n{today()}; {description()}.\n\n{HEAD}"]
    for heading, part in rows():
        lines = [_line(row, results) for row in part]
        shown = [line for line in lines if any(line[1 : 1 + len(sizes)])]
        if shown:
            sections.append(f"## {heading}\n\n{_table(sizes, shown)}")
    missing = _missing(results)
    if missing:
        sections.append("## Not measured\n\n" + "\n".join(missing))
    return "\n\n".join(sections) + "\n"


def size_name(n: int) -> str:
    """For example `300 M`, `1 G`."""
    return f"{n / 1e9:g} G" if n >= 1e9 else f"{n / 1e6:g} M"


def _line(row: Row, results: dict[int, Results]) -> list[str]:
    values = {size: row.value(found) for size, found in results.items()}
    known = {size: value for size, value in values.items() if value is not None}
    cells = ["" if value is None else _shown(value, row.unit) for value in values.values()]
    growth = _growth(row, known, results)
    told = "" if growth is None else f"{significant(growth)}×" + (" a token" if row.per_token else "")
    return [row.title, *cells, told, *_judged(row, known, growth)]


def _growth(row: Row, known: dict[int, float], results: dict[int, Results]) -> float | None:
    """The largest size's value against the smallest one's."""
    if len(known) < 2 or row.unit in ("", "×"):
        return None
    small, large = min(known), max(known)
    if not known[small]:
        return None
    growth = known[large] / known[small]
    if row.per_token:
        n_tokens = [TOKENS(results[size]) or size for size in (small, large)]
        growth /= n_tokens[1] / n_tokens[0]
    return growth


def _judged(row: Row, known: dict[int, float], growth: float | None) -> list[str]:
    """The bar, and whether it is met."""
    bar = row.bar
    if bar is None or not known:
        return ["", ""]
    at = bar.at if bar.at in known else max(known)
    value = growth if bar.of_growth else known[at]
    told = _bar(bar, row.unit)
    if value is None:
        return [told, ""]
    return [told, "yes" if bar.met(value) else "**no**"]


def _bar(bar: Bar, unit: str) -> str:
    sign = "≥" if bar.at_least else "≤"
    if bar.of_growth:
        return f"{sign} {bar.limit:g}×"
    at = "" if bar.at == 1_000_000_000 else f", {size_name(bar.at)}"
    return f"{sign} {_shown(bar.limit, unit)}{at}"


def _shown(value: float, unit: str) -> str:
    if unit == "":
        return f"{value:g}"
    if unit == "×":
        return f"{significant(value)}×"
    if unit in ("ns", "s"):
        return duration(value * (1e9 if unit == "s" else 1))
    return f"{value:.3f} MB" if unit == "MB" else f"{significant(value)} {unit}"


def _table(sizes: Sequence[int], lines: list[list[str]]) -> str:
    """Markdown, columns padded so that it reads well as text too."""
    head = ["", *(size_name(size) for size in sizes), "growth", "bar", "met?"]
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    rule = ["-" * widths[0]] + ["-" * (max(width, 2) - 1) + ":" for width in widths[1:]]
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in [head, rule, *lines])


def _missing(results: dict[int, Results]) -> list[str]:
    return [
        f"- {job} at {size_name(size)}: {figures['missing']}"
        for size, found in results.items()
        for job, figures in found.items()
        if "missing" in figures
    ]
