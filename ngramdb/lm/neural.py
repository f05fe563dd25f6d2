"""Use with neural models: mixtures, their probabilities of a text's tokens, and a corpus model in generation.

A mixture is λ · P_corpus + (1 - λ) · P_neural, tuned on validation data.

Source: Liu et al. 2024 (infini-gram), section 5: one λ for sparse estimates and another for the others; the
relative improvement is the fraction of the perplexity above 1 that disappears, (1 - PPL_mixed / PPL_neural) /
(1 - 1 / PPL_neural).

Nothing here imports a neural library until one of its models is passed; arrays of torch and of numpy are both
accepted. The neural model and the corpus must share their token ids (as in a corpus made with the model's
tokenizer.json).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import LanguageModel, as_ids
from ngramdb.lm.values import END, Distribution, Floats, Integers, Scores
from ngramdb.types import checked_flags

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


@checked_flags
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
            f"the corpus model does not answer for any of the {len(corpus):,} validation tokens, so there is "
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
        raise InvalidArgument(f"the neural model's probabilities must be real numbers, not {given.dtype}")
    array = given.astype(np.float64)
    if array.shape != (n,):
        raise InvalidArgument(f"{n} tokens were scored, but there are probabilities of shape {array.shape}")
    if array.size and not (array.min() >= 0.0 and array.max() <= 1.0 + 1e-6):
        raise InvalidArgument("the neural model's values are not probabilities; take exp of logarithms first")
    return array


# ---- Neural models' probabilities, and a corpus model in their generation.


# Tokens that a neural model reads at a time if its configuration does not limit them.
WINDOW = 1024

# Default weight of the corpus: small if the corpus has seen several continuations, larger if it has seen
# only one. Liu et al. 2024, section 5.1, tune them; `interpolate` does, too.
WEIGHT, SPARSE_WEIGHT = 0.2, 0.5


def neural_probabilities(causal: Any, ids: ArrayLike, *, bos: int, window: int | None = None) -> Floats:
    """Return a causal model's probability of each token given those before it: (n,) float64.

    Parameters
    ----------
    causal : a causal language model as in transformers: `causal(input_ids=tensor).logits`
    ids : (n,) token ids
    bos : the id that precedes a text's first token
    window : most tokens that the model reads at a time; longer texts are read in windows that overlap by
        half, so that every token but the first ones has at least half a window before it

    Raises
    ------
    InvalidArgument
        a window below 2, an id that the model lacks, or torch is not installed
    """
    tokens = as_ids(ids)
    size = _window_of(causal) if window is None else window
    if size < 2:
        raise InvalidArgument(f"a window must have at least 2 tokens, not {size}")
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise InvalidArgument("a model of transformers needs torch: pip install torch") from error
    text = np.concatenate([np.array([bos], dtype=np.int64), tokens])
    _check_ids(text, getattr(getattr(causal, "config", None), "vocab_size", None))
    probs = np.empty(len(tokens))
    step = max(1, size // 2)
    device = getattr(causal, "device", None)
    done = 0
    with torch.no_grad(), _evaluating(causal):
        while done < len(tokens):
            first = max(0, done - step) if done else 0
            piece = text[first : first + size]
            logits = _array(causal(input_ids=torch.tensor(piece[np.newaxis], device=device)).logits)[0]
            stop = min(len(tokens), first + len(piece))
            wanted = tokens[done:stop]
            _check_ids(wanted, logits.shape[1])
            rows = softmax(logits[done - first : stop - first])
            probs[done:stop] = rows[np.arange(len(wanted)), wanted]
            done = stop
    return probs


def _check_ids(ids: Integers, n_vocabulary: Any) -> None:
    """Raise for invalid ids before the model reads them: its own error, if any, would not name the id."""
    least, most = int(ids.min()), int(ids.max())
    if isinstance(n_vocabulary, int) and (least < 0 or most >= n_vocabulary):
        wrong = least if least < 0 else most
        raise InvalidArgument(
            f"the model has {n_vocabulary:,} tokens, ids 0 to {n_vocabulary - 1}, but not {wrong}"
        )


@contextmanager
def _evaluating(causal: Any) -> Iterator[None]:
    """Switch the model to evaluation: in training it would drop units at random."""
    training = getattr(causal, "training", False) is True
    if training:
        causal.eval()
    try:
        yield
    finally:
        if training:
            causal.train()


def softmax(logits: ArrayLike) -> Floats:
    """Return probabilities of logits, along the last axis: float64."""
    values = np.asarray(logits, dtype=np.float64)
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares


class CorpusLogits:
    """A logits processor of transformers that mixes a corpus model into generation.

        processor = CorpusLogits(corpus.language_model("infgram"), eos=tokenizer.eos_token_id)
        model.generate(**inputs, logits_processor=LogitsProcessorList([processor]))

    Every next-token distribution becomes λ · P_corpus + (1 - λ) · P_neural, in logarithms. If the corpus
    model has no answer, or puts all of its probability on ids that the neural model lacks, the scores stay
    unchanged.

    Parameters
    ----------
    model : over a corpus with the neural model's token ids
    weights : the result of `interpolate`; by default fixed weights, larger for sparse estimates
    eos : the id of the end of a document; without one, a document's end is never predicted
    prompt : ids at a prompt's beginning that are not text (such as `<s>`), where contexts stop

    Source: Liu et al. 2024, section 5 (the mixture); the logits are logarithms of it.
    """

    def __init__(
        self,
        model: LanguageModel,
        weights: Interpolation | None = None,
        *,
        eos: int | None = None,
        prompt: tuple[int, ...] = (),
    ) -> None:
        self.model = model
        self.weights = Interpolation(WEIGHT, SPARSE_WEIGHT) if weights is None else weights
        self.eos = eos
        self.prompt = prompt

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return the mixture's logarithms for rows of (batch, length) ids and (batch, vocabulary) logits."""
        contexts, logits = _array(input_ids), _array(scores)
        mixed = np.stack([self._row(ids, row) for ids, row in zip(contexts, logits, strict=True)])
        # Return a tensor on the same device and of the same type.
        return scores.new_tensor(mixed) if hasattr(scores, "new_tensor") else mixed.astype(logits.dtype)

    def _row(self, ids: Any, logits: Any) -> Any:
        context = as_ids(ids)
        borders = np.flatnonzero(np.isin(context, [*self.prompt, *([] if self.eos is None else [self.eos])]))
        distribution = self.model.dist(context[borders[-1] + 1 :] if len(borders) else context)
        tokens, probs = self._places(distribution, len(logits))
        if not len(tokens):
            return logits
        weight = float(self.weights.weights(_scores_of(distribution))[0])
        mixed = (1.0 - weight) * softmax(logits)
        mixed[tokens] += weight * probs / probs.sum()
        mixed[np.isneginf(logits)] = 0.0  # what another processor has excluded stays excluded
        with np.errstate(divide="ignore"):
            return np.log(mixed)

    def _places(self, distribution: Distribution, n_vocabulary: int) -> tuple[Integers, Floats]:
        """Return ids and probabilities of the tokens that the neural model has."""
        ids = distribution.ids
        if self.eos is not None:
            ids = np.where(ids == END, self.eos, ids)
        kept = (ids >= 0) & (ids < n_vocabulary) & (distribution.probs > 0)
        return ids[kept], distribution.probs[kept]


def _scores_of(distribution: Distribution) -> Scores:
    """Return the features that weights need, for a context whose next token is not known yet."""
    one = np.ones(1)
    return Scores(
        one,
        np.array([distribution.effective_n], dtype=np.int32),
        np.array([distribution.context_count]),
        np.array([distribution.context_count]),
        np.array([distribution.sparse]),
    )


def _window_of(causal: Any) -> int:
    """Return the number of tokens that the model reads at a time."""
    configuration = getattr(causal, "config", None)
    found = getattr(configuration, "max_position_embeddings", None)
    return found if isinstance(found, int) and found >= 2 else WINDOW


def _array(values: Any) -> Any:
    """Return a tensor's values as a numpy array."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if hasattr(values, "float") and values.is_floating_point():
            values = values.float()  # numpy lacks bfloat16
    return np.asarray(values)
