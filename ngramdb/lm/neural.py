"""Use with neural models: their probabilities of a text's tokens, and a corpus model in their generation.

Nothing here imports a neural library until one of its models is passed; arrays of torch and of numpy are both
accepted. The neural model and the corpus must share their token ids (as in a corpus made with the model's
tokenizer.json).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ngramdb.errors import InvalidArgument
from ngramdb.lm.interpolation import Interpolation
from ngramdb.lm.models import LanguageModel, as_ids
from ngramdb.lm.values import END, Distribution, Floats, Integers, Scores

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
        raise InvalidArgument(f"a window has at least 2 tokens, not {size}")
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
