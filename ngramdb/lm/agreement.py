"""Agreement: how often a model gives the next token of human text more than half of its probability.

Source: Liu et al. 2024 (infini-gram), section 4: token-wise agreement, by effective n; sparse ∞-gram
estimates apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb import flags
from ngramdb.errors import InvalidArgument
from ngramdb.lm.evaluation import Progress, batches_of, score_batch
from ngramdb.lm.measures import shown_arrays
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.spec import is_whole

# A token agrees when its probability is above this: it is then the most probable one.
AGREES_ABOVE = 0.5

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Agreement:
    """Agreement by effective n. Entry i of every array is effective n = i + 1.

    n_tokens : (m,) int64, tokens predicted with that effective n: the histogram
    n_agreeing : (m,) int64, those that the model gave more than one half
    n_sparse, n_sparse_agreeing : the same of estimates whose context has one continuation only
    share, sparse_share : of all tokens, and of those with a sparse estimate, the part that agrees
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
        """Of all tokens, those that agree."""
        return _share(self.n_agreeing.sum(), self.n_tokens.sum())

    @property
    def sparse_share(self) -> float:
        """Of the tokens with a sparse estimate, those that agree."""
        return _share(self.n_sparse_agreeing.sum(), self.n_sparse.sum())

    @property
    def by_effective_n(self) -> NDArray[np.float64]:
        """(m,) float64, NaN where no token has that effective n."""
        with np.errstate(invalid="ignore"):
            return self.n_agreeing / self.n_tokens


@flags.checked
def measure_agreement(
    model: LanguageModel,
    documents: Iterable[ArrayLike],
    *,
    document: bool = False,
    skip: int = 0,
    progress: Progress | None = None,
) -> Agreement:
    """Token-wise agreement of a model with documents of token ids.

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
    """Mean and median of effective n."""
    total = int(histogram.sum())
    if total == 0:
        return float("nan"), float("nan")
    values = np.arange(1, len(histogram) + 1)
    reached = np.cumsum(histogram)
    low = values[np.searchsorted(reached, (total - 1) // 2, side="right")]
    high = values[np.searchsorted(reached, total // 2, side="right")]
    return float((values * histogram).sum() / total), float(low + high) / 2
