"""Perplexity and agreement of several models at once, by groups of documents and of tokens.

The scores are those of `ngramdb.lm.evaluation`, whose measures are these of a single group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.lm.evaluation import AGREES_ABOVE, ScoredBatch, are_known
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.values import Integers, Measure


class GroupPerplexity(NamedTuple):
    """The sums of a group: of all tokens, and of known ones."""

    every: Measure
    known: Measure
    n_unknown: int


class PerplexityTable:
    """Sums over the documents of each group, under one model."""

    # Per group: tokens, unanswered ones, those of probability 0, and the sum of the others' logarithms; the
    # same for known words.
    _COLUMNS = 8

    def __init__(self, model: LanguageModel) -> None:
        self._types, _ = model.index.types()
        self._separator = model.index.separator
        self._sums = np.zeros((0, self._COLUMNS))

    def add(self, batch: ScoredBatch, groups: Integers) -> None:
        """Add documents, given the number of the group of each."""
        logprob = batch.scores.logprob
        known = are_known(batch.tokens, self._types, self._separator)
        unanswered, zero = np.isnan(logprob), np.isneginf(logprob)
        positive = np.where(unanswered | zero, 0.0, logprob)
        columns = (np.ones(len(logprob)), unanswered, zero, positive)
        owners = np.repeat(groups, np.diff(batch.bounds))
        self._sums = grown(self._sums, groups)
        for i, column in enumerate(columns):
            for first, weights in ((0, column), (4, column * known)):
                found = np.bincount(owners, weights, minlength=len(self._sums))
                self._sums[:, first + i] += found

    def group(self, number: int) -> GroupPerplexity:
        """Return the sums of a group."""
        row = self._sums[number].tolist() if number < len(self._sums) else [0.0] * self._COLUMNS
        every, known = (
            Measure(int(tokens), int(unanswered), int(zero), logprob)
            for tokens, unanswered, zero, logprob in (row[:4], row[4:])
        )
        return GroupPerplexity(every, known, every.n_tokens - known.n_tokens)


# Names of the columns of `AgreementTable.counts`.
AGREEMENT_COUNTS = ("tokens", "agreeing", "sparse_tokens", "sparse_agreeing", "most_probable")


class AgreementTable:
    """Numbers of tokens in each group, of those that agree, and the same of sparse estimates.

    counts : (groups, 5) int64, `AGREEMENT_COUNTS`
    """

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros((0, len(AGREEMENT_COUNTS)), dtype=np.int64)

    def add(self, scores: Any, groups: Integers, most_probable: NDArray[np.bool_] | None = None) -> None:
        """Add scored tokens, given the group of each and which are the most probable in their contexts."""
        with np.errstate(invalid="ignore"):
            agrees = scores.prob > AGREES_ABOVE
        first = np.zeros(len(agrees), dtype=np.bool_) if most_probable is None else most_probable
        kinds = (np.ones_like(agrees), agrees, scores.sparse, scores.sparse & agrees, first)
        self.counts = grown(self.counts, groups)
        for i, chosen in enumerate(kinds):
            self.counts[:, i] += np.bincount(groups[chosen], minlength=len(self.counts))


def grown(table: NDArray[Any], groups: Integers) -> NDArray[Any]:
    """Return a table with a row for each number of a group; new rows are 0."""
    missing = int(groups.max(initial=-1)) + 1 - len(table)
    # Twice as many rows as needed, so that a table that grows row by row is copied rarely.
    return np.pad(table, ((0, missing + len(table)), (0, 0))) if missing > 0 else table


def most_probable(model: LanguageModel, batch: ScoredBatch, best: dict[tuple[int, ...], float]) -> Any:
    """Return for each token whether no other one is more probable after its context: (m,) bool.

    Parameters
    ----------
    model : an n-gram or ∞-gram model; documents have no `<s>`
    best : the greatest probability by context, extended by new contexts

    Notes
    -----
    Cost: the distribution after each different context whose token has at most one half.
    """
    scores, tokens = batch.scores, batch.tokens
    with np.errstate(invalid="ignore"):
        found = scores.prob > AGREES_ABOVE
        unsure = np.flatnonzero(~found & (scores.prob > 0))
    lengths = scores.effective_n[unsure].tolist()
    for place, length in zip(unsure.tolist(), lengths, strict=True):
        interrupts.check()
        context = tuple(tokens[place - length + 1 : place].tolist())
        if context not in best:
            best[context] = float(model.dist(context).probs.max(initial=0.0))
        found[place] = scores.prob[place] >= best[context]
    return found


def bit_lengths(values: Sequence[int] | Integers) -> Integers:
    """Return the number of bits of each value: n for those from 2**(n - 1) to 2**n - 1, 0 for 0."""
    _, exponents = np.frexp(np.asarray(values, dtype=np.float64))
    return exponents.astype(np.int64)
