"""Agreement: how often a model assigns the next token of human text more than half of its probability.

Source: Liu et al. 2024 (infini-gram), section 4: token-wise agreement, by effective n; sparse ∞-gram
estimates are reported separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb import bool_arguments
from ngramdb.errors import InvalidArgument
from ngramdb.lm.evaluation import Progress, batches_of, score_batch
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.spec import is_whole
from ngramdb.lm.values import Integers, shown_arrays

# A token agrees if its probability is above this: it is then the most probable one.
AGREES_ABOVE = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """Agreement by effective n. Entry i of every array is effective n = i + 1.

    n_tokens : (m,) int64, tokens predicted with that effective n: the histogram
    n_agreeing : (m,) int64, those to which the model assigned more than one half
    n_sparse, n_sparse_agreeing : the same for estimates whose context has a single continuation
    share, sparse_share : the agreeing fraction of all tokens, and of those with a sparse estimate
    """

    n_tokens: Integers
    n_agreeing: Integers
    n_sparse: Integers
    n_sparse_agreeing: Integers
    mean_effective_n: float
    median_effective_n: float

    def __repr__(self) -> str:
        return shown_arrays(
            "Agreement",
            share=self.share,
            total=self.total,
            sparse_share=self.sparse_share,
            mean_effective_n=self.mean_effective_n,
            n_tokens=self.n_tokens,
            n_agreeing=self.n_agreeing,
        )

    @property
    def total(self) -> int:
        return int(self.n_tokens.sum())

    @property
    def share(self) -> float:
        """The agreeing fraction of all tokens."""
        return _share(self.n_agreeing.sum(), self.n_tokens.sum())

    @property
    def sparse_share(self) -> float:
        """The agreeing fraction of the tokens with a sparse estimate."""
        return _share(self.n_sparse_agreeing.sum(), self.n_sparse.sum())

    @property
    def by_effective_n(self) -> NDArray[np.float64]:
        """The agreeing fraction for each effective n: (m,) float64, NaN if no token has that effective n."""
        with np.errstate(invalid="ignore"):
            return self.n_agreeing / self.n_tokens


@bool_arguments.checked
def measure_agreement(
    model: LanguageModel,
    documents: Iterable[ArrayLike],
    *,
    document: bool = False,
    skip: int = 0,
    progress: Progress | None = None,
) -> Agreement:
    """Measure the token-wise agreement of a model with documents of token ids.

    Tokens without an answer (n-gram models after an unseen context) do not agree. The n-gram model of the
    paper is InfGram(order=n), which backs off to shorter contexts, so that its effective n varies up to n.

    Parameters
    ----------
    model : any model
    documents : sequences of token ids
    document : each begins after `<s>`, and its `</s>` is predicted
    skip : the number of tokens at the start of each document, a prompt for example, that are context only
    progress : called after each batch

    Raises
    ------
    InvalidArgument
        `skip` is not a whole number of at least 0.

    Notes
    -----
    Cost: that of scoring. Source: Liu et al. 2024, section 4.
    """
    if not is_whole(skip) or skip < 0:
        raise InvalidArgument(f"skip is a whole number of at least 0, not {skip!r}")
    tables = np.zeros((4, 1), dtype=np.int64)
    n_documents = 0
    for batch in batches_of(documents):
        scored = score_batch(model, batch, document=document)
        scores = scored.scores
        if skip:
            places = np.arange(len(scores)) - np.repeat(scored.bounds[:-1], np.diff(scored.bounds))
            scores = scores[places >= skip]
        n_documents += len(batch)
        with np.errstate(invalid="ignore"):
            agrees = scores.prob > AGREES_ABOVE
        highest = int(scores.effective_n.max(initial=0))
        if highest >= tables.shape[1]:
            tables = np.pad(tables, ((0, 0), (0, highest + 1 - tables.shape[1])))
        kinds = (np.ones_like(agrees), agrees, scores.sparse, scores.sparse & agrees)
        for table, chosen in zip(tables, kinds, strict=True):
            counted = np.bincount(scores.effective_n[chosen], minlength=len(table))
            table += counted.astype(np.int64)
        if progress is not None:
            progress(n_documents, int(tables[0].sum()))
    mean, median = _middle(tables[0, 1:])
    n_tokens, n_agreeing, n_sparse, n_sparse_agreeing = tables[:, 1:]
    return Agreement(n_tokens, n_agreeing, n_sparse, n_sparse_agreeing, mean, median)


def _share(part: np.int64, whole: np.int64) -> float:
    return float(part / whole) if whole else float("nan")


def _middle(histogram: Integers) -> tuple[float, float]:
    """Return mean and median of effective n."""
    total = int(histogram.sum())
    if total == 0:
        return float("nan"), float("nan")
    values = np.arange(1, len(histogram) + 1)
    reached = np.cumsum(histogram)
    low = values[np.searchsorted(reached, (total - 1) // 2, side="right")]
    high = values[np.searchsorted(reached, total // 2, side="right")]
    return float((values * histogram).sum() / total), float(low + high) / 2


# ---- The figure of agreement with a text, as in Liu et al. 2024 (figures 4 and 5). Needs matplotlib.


# Above this effective n there is one bar for all: long verbatim passages would leave the axis mostly empty.
LAST_BAR = 32
# Inches.
PANEL_WIDTH, HEIGHT = 4.0, 3.2
LIGHT, DARK, LINE = "#c9d6e8", "#33578a", "#b5482a"


def draw_agreement(panels: Mapping[str, Agreement], path: str, *, sparse: str = "sparse") -> None:
    """Draw a panel per model, and one for the sparse estimates of the last, to a file.

    Bars are tokens by effective n, the dark part of a bar the agreeing ones; the line is their share.

    Parameters
    ----------
    panels : the result of `measure_agreement` by the model's name
    path : the file; its suffix selects PNG, SVG or PDF
    sparse : the title of the panel of sparse estimates

    Raises
    ------
    InvalidArgument
        No panel, a suffix that matplotlib does not support, or matplotlib is not installed.
    """
    if not panels:
        raise InvalidArgument("a figure of agreement needs at least one model")
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
    """Return the histogram up to LAST_BAR; its last bar includes all from there on."""
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
