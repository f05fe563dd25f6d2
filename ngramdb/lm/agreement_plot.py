"""The figure of agreement with a text, as Liu et al. 2024 (figures 4 and 5) draw it. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument
from ngramdb.lm.agreement import Agreement
from ngramdb.lm.values import Integers

# Above this effective n there is one bar for all: long verbatim passages would make the axis a desert.
LAST_BAR = 32
# Inches.
PANEL_WIDTH, HEIGHT = 4.0, 3.2
LIGHT, DARK, LINE = "#c9d6e8", "#33578a", "#b5482a"


def draw_agreement(panels: Mapping[str, Agreement], path: str, *, sparse: str = "sparse") -> None:
    """Draw a panel for each model, and one for the sparse estimates of the last, into a file.

    Bars are tokens by effective n, the dark part of a bar those that agree; the line is their share.

    Parameters
    ----------
    panels : the result of `measure_agreement` by the model's name
    path : the file; its ending chooses PNG, SVG or PDF
    sparse : the title of the panel of sparse estimates

    Raises
    ------
    InvalidArgument
        No panel, an ending that matplotlib does not know, or matplotlib is not installed.
    """
    if not panels:
        raise InvalidArgument("a figure of agreement has at least one model")
    try:
        figures = import_module("matplotlib.figure")
    except ImportError as error:
        raise InvalidArgument("figures need matplotlib: pip install matplotlib") from error
    drawn = [(name, found.n_tokens, found.n_agreeing) for name, found in panels.items()]
    last = list(panels.values())[-1]
    drawn.append((sparse, last.n_sparse, last.n_sparse_agreeing))
    figure = figures.Figure(figsize=(PANEL_WIDTH * len(drawn), HEIGHT), layout="constrained")
    for axes, (name, n_tokens, n_agreeing) in zip(
        figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True
    ):
        _panel(axes, name, _binned(n_tokens), _binned(n_agreeing))
    try:
        figure.savefig(path)
    except ValueError as error:
        raise InvalidArgument(f"{path}: {error}") from error


def _binned(histogram: Integers) -> Integers:
    """The histogram up to LAST_BAR; its last bar is of all from there on."""
    if len(histogram) <= LAST_BAR:
        return histogram
    return np.append(histogram[: LAST_BAR - 1], histogram[LAST_BAR - 1 :].sum())


def _panel(axes: Any, name: str, n_tokens: Integers, n_agreeing: Integers) -> None:
    total = int(n_tokens.sum())
    share = f", {n_agreeing.sum() / total:.0%} agree" if total else ""
    axes.set_title(f"{name}: {total:,} tokens{share}", fontsize=10)
    axes.set_xlabel("effective n")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("tokens")
    lengths = np.arange(1, len(n_tokens) + 1)
    axes.bar(lengths, n_tokens, color=LIGHT, width=0.9)
    axes.bar(lengths, n_agreeing, color=DARK, width=0.9)
    right = axes.twinx()
    right.set_ylim(0, 1.02)
    right.set_ylabel("share that agrees")
    with np.errstate(invalid="ignore"):
        right.plot(lengths, n_agreeing / n_tokens, color=LINE, marker=".", linewidth=1)
