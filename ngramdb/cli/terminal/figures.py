"""Figures of answers by matplotlib: lines by order, effective n or length of n-grams, and histograms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from ngramdb.errors import InvalidArgument

# Inches of a panel.
WIDTH, HEIGHT = 4.2, 3.2
LIGHT, LINE = "#c9d6e8", "#b5482a"
# Marks on the axis of x.
MOST_MARKS = 12


@dataclass
class Series:
    """Values by label; None marks a missing one. `sizes` are tokens, a histogram behind the values."""

    name: str
    labels: list[str] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


@dataclass
class Chart:
    """Series with a title for each axis; with `is_panelled` each has a panel of its own."""

    x: str
    y: str
    series: list[Series]
    is_panelled: bool = False


# What is drawn: the columns of x, the column of y, and that of sizes. The first that an answer has counts.
_DRAWN: tuple[tuple[tuple[str, ...], str, str | None], ...] = (
    (("effective_n",), "share", "tokens"),
    (("least", "most"), "share", "tokens"),
    (("order",), "perplexity", None),
    (("n",), "share", None),
    (("least", "most"), "texts", None),
)


def chart_of(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Chart:
    """Return the chart of an answer.

    Raises
    ------
    InvalidArgument
        The answer is not one of the tables that can be drawn.
    """
    at = {name: i for i, name in enumerate(columns)}
    drawn = [one for one in _DRAWN if {*one[0], one[1], one[2] or one[1]} <= at.keys()]
    if not drawn:
        raise InvalidArgument(
            "--figure draws PERPLEXITY, AGREEMENT BY LENGTH, COUNT or a file, NOVELTY, and DUPLICATES "
            "BY LENGTH or COUNT; --plot draws bars of other answers"
        )
    xs, y, sizes = drawn[0]
    if xs == ("order",):  # the group follows the order
        names = [at["model"], *range(at["order"] + 1, at["documents"])]
    else:
        names = list(range(at[xs[0]]))
    found: dict[str, Series] = {}
    for row in rows:
        name = ", ".join(_name(columns[i], row[i]) for i in names if row[i] is not None) or y
        one = found.setdefault(name, Series(name))
        one.labels.append("–".join(_label(row[at[x]]) for x in xs))
        one.values.append(None if row[at[y]] is None else float(row[at[y]]))
        if sizes is not None:
            one.sizes.append(int(row[at[sizes]]))
    return Chart(" to ".join(xs).replace("_", " "), y, list(found.values()), sizes is not None)


def _name(column: str, value: Any) -> str:
    return str(value) if column == "model" else f"{column} {value}"


def _label(value: Any) -> str:
    if value is None:
        return "∞"
    return f"{value:g}" if isinstance(value, float) else str(value)


def draw_figure(chart: Chart, path: str) -> None:
    """Draw the chart into a file, whose suffix selects PNG, SVG or PDF.

    Raises
    ------
    InvalidArgument
        matplotlib is not installed, or does not support the suffix.
    """
    try:
        figures = import_module("matplotlib.figure")
    except ImportError as error:
        raise InvalidArgument("figures need matplotlib: pip install matplotlib") from error
    panels = [[one] for one in chart.series] if chart.is_panelled else [chart.series]
    figure = figures.Figure(figsize=(WIDTH * max(len(panels), 1), HEIGHT), layout="constrained")
    every = figure.subplots(1, max(len(panels), 1), squeeze=False)[0]
    for axes, series in zip(every, panels, strict=False):
        _panel(axes, chart, series)
    try:
        figure.savefig(path)
    except (ValueError, OSError) as error:
        raise InvalidArgument(f"{path}: {error}") from error


def _panel(axes: Any, chart: Chart, series: list[Series]) -> None:
    labels = list(dict.fromkeys(label for one in series for label in one.labels))
    places = {label: i for i, label in enumerate(labels)}
    step = -(-len(labels) // MOST_MARKS) or 1
    axes.set_xticks(range(0, len(labels), step), labels[::step])
    axes.set_xlabel(chart.x)
    lines = axes
    if chart.is_panelled:
        (one,) = series
        axes.set_title(one.name, fontsize=10)
        axes.set_ylabel("tokens")
        axes.bar([places[label] for label in one.labels], one.sizes, color=LIGHT, width=0.9)
        lines = axes.twinx()
    lines.set_ylabel(chart.y)
    for one in series:
        pairs = zip(one.labels, one.values, strict=True)
        # matplotlib leaves out what is not a number.
        points = [(places[label], float("nan") if value is None else value) for label, value in pairs]
        colour = {"color": LINE} if chart.is_panelled else {}
        x, y = ([point[i] for point in points] for i in (0, 1))
        lines.plot(x, y, marker=".", linewidth=1, label=one.name, **colour)
    if chart.y == "share":
        lines.set_ylim(0, 1.02)
    elif chart.y == "perplexity":
        lines.set_yscale("log")
    if len(series) > 1:
        axes.legend(fontsize=8)
