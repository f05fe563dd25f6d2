"""Mixing a corpus model with a neural one: λ · P_corpus + (1 - λ) · P_neural, tuned on validation data.

Source: Liu et al. 2024 (infini-gram), section 5: one λ for sparse estimates and another for the others; the
relative improvement is the fraction of the perplexity above 1 that disappears, (1 - PPL_mixed / PPL_neural) /
(1 - 1 / PPL_neural).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb import bool_arguments
from ngramdb.errors import InvalidArgument
from ngramdb.lm.values import Floats, Scores

# Steps of bisection: λ is then known to better than 1e-9.
BISECTIONS = 40

# Trees of the forest, and the least number of tokens per leaf.
N_TREES = 100
LEAF_TOKENS = 20

# Groups of tokens by the forest's prediction, each with a weight.
N_GROUPS = 16


@dataclass(frozen=True, eq=False)
class ForestWeights:
    """A random forest that predicts whether the corpus model is better; tokens are grouped by its prediction.

    bounds : (g - 1,) float64, ascending, between the groups
    weights : (g,) float64, λ of each group
    """

    forest: Any
    bounds: Floats
    weights: Floats

    def of(self, corpus: Scores) -> Floats:
        """Return λ of every token: (n,) float64."""
        if len(corpus) == 0:
            return np.empty(0)
        groups = np.searchsorted(self.bounds, self.forest.predict(features(corpus)), side="right")
        chosen: Floats = self.weights[groups]
        return chosen


@dataclass(frozen=True, eq=False)
class Interpolation:
    """A mixture tuned on validation data.

    Attributes
    ----------
    weight : λ for estimates that are not sparse
    sparse_weight : λ for sparse ones
    forest : a λ for each token, instead of both; or None
    """

    weight: float
    sparse_weight: float
    forest: ForestWeights | None = None

    def weights(self, corpus: Scores) -> Floats:
        """Return λ of every token: (n,) float64; 0 if the corpus model has no answer.

        Parameters
        ----------
        corpus : scores of the tokens under the corpus model
        """
        if self.forest is not None:
            chosen = self.forest.of(corpus)
        else:
            chosen = np.where(corpus.sparse, self.sparse_weight, self.weight)
        return np.where(np.isnan(corpus.prob), 0.0, chosen)

    def mix(self, corpus: Scores, neural: ArrayLike) -> Floats:
        """Return the mixture's probability of every token: (n,) float64.

        Parameters
        ----------
        corpus : scores of the tokens under the corpus model
        neural : (n,) probabilities of the same tokens under the neural model

        Raises
        ------
        InvalidArgument
            Arrays of different lengths, or values that are not probabilities.
        """
        _check_distribution(corpus)
        other = _probabilities(neural, len(corpus))
        weight = self.weights(corpus)
        return weight * np.nan_to_num(corpus.prob) + (1.0 - weight) * other

    def perplexity(self, corpus: Scores, neural: ArrayLike) -> float:
        """Return the perplexity of the mixture: exp of the mean negative log-probability.

        Parameters
        ----------
        corpus, neural : as in `mix`
        """
        return perplexity_of(self.mix(corpus, neural))


@bool_arguments.checked
def interpolate(
    corpus: Scores, neural: ArrayLike, *, per_token: bool = False, seed: int = 0
) -> Interpolation:
    """Fit the mixture with the least perplexity on validation tokens.

    Parameters
    ----------
    corpus : scores of the tokens under the corpus model (usually ∞-gram)
    neural : (n,) probabilities of the same tokens under the neural model
    per_token : use a weight for every token, by a random forest on effective n and counts (needs
        scikit-learn)

    Raises
    ------
    InvalidArgument
        Arrays of different lengths, values that are not probabilities (such as scores of stupid backoff), no
        token for which the corpus model has an answer, or scikit-learn is not installed.
    """
    _check_distribution(corpus)
    other = _probabilities(neural, len(corpus))
    answered = ~np.isnan(corpus.prob)
    if not answered.any():
        raise InvalidArgument(
            f"the corpus model has an answer for none of the {len(corpus):,} validation tokens, so there is "
            "nothing to fit; use a text that resembles the corpus"
        )
    sparse = answered & corpus.sparse
    dense = answered & ~corpus.sparse
    found = Interpolation(
        weight=best_weight(corpus.prob[dense], other[dense]),
        sparse_weight=best_weight(corpus.prob[sparse], other[sparse]),
    )
    if not per_token:
        return found
    forest = _forest(corpus, other, answered, seed)
    return Interpolation(found.weight, found.sparse_weight, forest)


def best_weight(corpus: Floats, neural: Floats) -> float:
    """Return the λ in [0, 1] with the greatest sum of log(λ · corpus + (1 - λ) · neural).

    The sum is concave in λ: its slope is bisected. 0 without tokens.
    """

    def slope(weight: float) -> float:
        mixed = weight * corpus + (1.0 - weight) * neural
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.nansum((corpus - neural) / mixed))

    if len(corpus) == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if slope(middle) > 0:
            low = middle
        else:
            high = middle
    return 0.0 if high < 1e-9 else 1.0 if low > 1 - 1e-9 else (low + high) / 2


def perplexity_of(probs: ArrayLike) -> float:
    """Return exp of the mean negative logarithm; infinite if a probability is 0, NaN without any."""
    values = np.asarray(probs, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return float(np.exp(-np.log(values).mean())) if values.size else float("nan")


def relative_improvement(neural_perplexity: float, mixed_perplexity: float) -> float:
    """Return the fraction of the possible improvement that was reached: 1 is a perplexity of 1.

    Parameters
    ----------
    neural_perplexity, mixed_perplexity : those of the neural model alone, and of the mixture

    Notes
    -----
    Source: Liu et al. 2024, section 5.1.
    """
    return (1 - mixed_perplexity / neural_perplexity) / (1 - 1 / neural_perplexity)


def features(corpus: Scores) -> NDArray[np.float64]:
    """Return the features of each token's context, (n, 4) float64: its longest suffix, and sparsity.

    No feature depends on the token itself: otherwise the mixture would not be a distribution.
    """
    return np.column_stack(
        [
            corpus.suffix_n.astype(np.float64),
            np.log2(1.0 + corpus.suffix_n),
            corpus.sparse.astype(np.float64),
            np.log2(1.0 + corpus.suffix_count),
        ]
    )


def _forest(corpus: Scores, neural: Floats, answered: NDArray[np.bool_], seed: int) -> ForestWeights:
    try:
        ensemble = import_module("sklearn.ensemble")
    except ImportError as error:
        raise InvalidArgument(
            "a weight for every token needs scikit-learn: pip install scikit-learn, or leave per_token out"
        ) from error
    if answered.sum() < 2 * LEAF_TOKENS:
        raise InvalidArgument(
            f"a weight for every token needs at least {2 * LEAF_TOKENS} validation tokens that the corpus "
            f"model has an answer for, not {answered.sum()}"
        )
    prob, other = corpus.prob[answered], neural[answered]
    forest = ensemble.RandomForestRegressor(
        n_estimators=N_TREES, min_samples_leaf=LEAF_TOKENS, oob_score=True, random_state=seed, n_jobs=1
    )
    forest.fit(features(corpus)[answered], (prob > other).astype(np.float64))
    # Predictions of trees for tokens that they were not fitted on: they will be like this on a test text.
    said = forest.oob_prediction_
    bounds = np.unique(np.quantile(said, np.linspace(0, 1, N_GROUPS + 1)[1:-1]))
    groups = np.searchsorted(bounds, said, side="right")
    weights = [best_weight(prob[groups == g], other[groups == g]) for g in range(len(bounds) + 1)]
    return ForestWeights(forest, bounds, np.array(weights))


def _check_distribution(corpus: Scores) -> None:
    if not corpus.is_probability:
        raise InvalidArgument(
            "a mixture needs probabilities, and stupid backoff gives scores that do not sum to 1; "
            "use infgram or kneser_ney"
        )


def _probabilities(values: ArrayLike, n: int) -> Floats:
    try:
        given = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise InvalidArgument(f"the neural model's probabilities are not an array: {error}") from error
    if given.size and given.dtype.kind not in "fiu":
        raise InvalidArgument(f"the neural model's probabilities are real numbers, not {given.dtype}")
    array = given.astype(np.float64)
    if array.shape != (n,):
        raise InvalidArgument(f"{n} tokens were scored, but there are probabilities of shape {array.shape}")
    if array.size and not (array.min() >= 0.0 and array.max() <= 1.0 + 1e-6):
        raise InvalidArgument("the neural model's values are not probabilities; take exp of logarithms first")
    return array
