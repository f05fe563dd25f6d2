"""Mixtures of models over one corpus, with weights by the length of the longest context that occurs.

A weight depends on the context alone, so that a mixture of distributions is a distribution: Liu et al. 2024,
section 5, for two models. The weights are those of the greatest likelihood of held-out documents, by
expectation and maximization, which never makes it smaller (Jelinek & Mercer 1980).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import LanguageModel, as_ids, pack
from ngramdb.lm.values import Distribution, Floats, Integers, Scores
from ngramdb.types import checked_flags

# Held-out tokens that share weights of their own, and steps of the fit.
GROUP_TOKENS = 1000
N_STEPS = 200
# The fit ends earlier when no weight changes by more than this.
LEAST_CHANGE = 1e-6


class Mixture:
    """Σ λ · P of several models over one corpus. λ: of the effective n of the context in the first one.

    Parameters
    ----------
    models : distributions, all over the same corpus at the same version; not stupid backoff
    weights : (groups, models), rows that sum to 1; one row for fixed weights
    bounds : (groups - 1,) ascending: from this effective n of the context on, the next row applies

    Raises
    ------
    InvalidArgument
        scores of stupid backoff, models over different corpora, or weights of another shape
    """

    def __init__(
        self, models: Sequence[LanguageModel], weights: ArrayLike, bounds: Sequence[int] = ()
    ) -> None:
        _check(models)
        self.models = tuple(models)
        self.weights: Floats = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        self.bounds = tuple(int(bound) for bound in bounds)
        if self.weights.shape != (len(self.bounds) + 1, len(self.models)):
            raise InvalidArgument(
                f"{len(self.models)} models and {len(self.bounds)} bounds need weights of shape "
                f"({len(self.bounds) + 1}, {len(self.models)}), not {self.weights.shape}"
            )
        if (self.weights < 0).any() or not np.allclose(self.weights.sum(axis=1), 1.0, atol=1e-9):
            raise InvalidArgument("weights must be at least 0, and each row of them must sum to 1")
        # Attributes that `ngramdb.lm.perplexity` reads.
        self.index, self.spec = self.models[0].index, self.models[0].spec

    @checked_flags
    def score_many(self, flat: ArrayLike, offsets: ArrayLike, *, document: bool = False) -> Scores:
        """Score documents flat[offsets[i]:offsets[i + 1]], as a model does; counts are those of the first."""
        return self._mixed([model.score_many(flat, offsets, document=document) for model in self.models])

    @checked_flags
    def score(self, ids: ArrayLike, *, document: bool = False) -> Scores:
        """Score every token given the tokens before it, as a model does."""
        array = as_ids(ids)
        return self.score_many(array, [0, len(array)], document=document)

    def prob_many(self, flat: ArrayLike, offsets: ArrayLike, tokens: ArrayLike) -> Floats:
        """Return P(tokens[i] | flat[offsets[i]:offsets[i + 1]]) for n pairs."""
        return self._mixed([model.scores_of(flat, offsets, tokens) for model in self.models]).prob

    def dist(self, context: ArrayLike) -> Distribution:
        """Return the distribution: tokens of all models' distributions, UNKNOWN for any other."""
        found = [model.dist(context) for model in self.models]
        ids = np.unique(np.concatenate([one.ids for one in found]))
        columns = np.full((len(ids), len(found)), np.nan)
        for k, one in enumerate(found):
            if len(one):
                columns[:, k] = 0.0
                columns[np.searchsorted(ids, one.ids), k] = one.probs
        n = np.full(len(ids), found[0].effective_n)
        probs = self._weighted(columns, n)
        return Distribution(ids, probs, None, found[0].context_count, found[0].effective_n)

    def _mixed(self, found: Sequence[Scores]) -> Scores:
        first = found[0]
        prob = self._weighted(np.column_stack([one.prob for one in found]), first.suffix_n)
        return Scores(
            prob,
            *(first.effective_n, first.count, first.context_count, first.sparse, True),
            *(first.suffix_n, first.suffix_count),
        )

    def _weighted(self, probs: Floats, n: Integers) -> Floats:
        """Mix probabilities (tokens, models). Models without an answer leave their weight to the others."""
        weights = self.weights[np.searchsorted(self.bounds, n, side="right")]
        weights = np.where(np.isnan(probs), 0.0, weights)
        total = weights.sum(axis=1)
        mixed = (weights * np.nan_to_num(probs)).sum(axis=1)
        shares: Floats = np.divide(mixed, total, out=np.full(len(mixed), np.nan), where=total > 0)
        return shares

    def __repr__(self) -> str:
        return f"<mixture of {', '.join(str(model.spec) for model in self.models)}>"


@checked_flags
def tune(
    models: Sequence[LanguageModel],
    documents: Iterable[ArrayLike],
    *,
    by_effective_n: bool = True,
    document: bool = True,
) -> Mixture:
    """Return the mixture of models with the greatest likelihood of held-out documents.

    Parameters
    ----------
    models : as of `Mixture`
    documents : token ids of texts that the corpus does not contain
    by_effective_n : tune weights for each effective n of the context that 1,000 tokens have, or one more
        often; else one weight for each model
    document : the texts are documents: `<s>` comes before them, and `</s>` is scored

    Raises
    ------
    InvalidArgument
        as `Mixture`, or no token to tune on
    """
    _check(models)
    flat, offsets = pack(documents)
    found = [model.score_many(flat, offsets, document=document) for model in models]
    probs = np.column_stack([one.prob for one in found])
    n = found[0].suffix_n
    if not len(probs):
        raise InvalidArgument("there is no held-out token to tune weights on")
    bounds = _bounds(n) if by_effective_n else []
    group = np.searchsorted(bounds, n, side="right")
    fixed = _best_weights(probs, np.full(len(models), 1.0 / len(models)))
    weights = [_best_weights(probs[group == k], fixed) if bounds else fixed for k in range(len(bounds) + 1)]
    return Mixture(models, np.array(weights), bounds)


def _check(models: Sequence[LanguageModel]) -> None:
    if not models:
        raise InvalidArgument("a mixture needs at least one model")
    scores = [model for model in models if not model.spec.is_probability]
    if scores:
        raise InvalidArgument(f"a mixture needs probabilities, and {scores[0].spec} gives scores")
    if any(model.index is not models[0].index for model in models):
        raise InvalidArgument("the models of a mixture must be over the same corpus at the same version")


def _bounds(n: Integers) -> list[int]:
    """Return effective n's from which on groups begin: each group but the last has GROUP_TOKENS or more."""
    lengths, counts = np.unique(n, return_counts=True)
    bounds: list[int] = []
    size, left = 0, int(counts.sum())
    for length, count in zip(lengths.tolist(), counts.tolist(), strict=True):
        if size >= GROUP_TOKENS and left >= GROUP_TOKENS:
            bounds.append(length)
            size = 0
        size += count
        left -= count
    return bounds


def _best_weights(probs: Floats, weights: Floats) -> Floats:
    """Return weights of models (k,) under which tokens, given (tokens, k), are likelier than under these."""
    answered = np.nan_to_num(probs)
    answered = answered[answered.max(axis=1) > 0]
    for _ in range(N_STEPS if len(answered) else 0):
        interrupts.check()
        parts = weights * answered
        before, weights = weights, (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(weights - before).max() < LEAST_CHANGE:
            break
    best: Floats = weights / weights.sum()
    return best
