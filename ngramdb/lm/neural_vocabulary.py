"""Corpus models as distributions over the vocabulary of a neural model, whose ids the corpus has in part.

A corpus model gives any token that the corpus lacks the probability of all unknown words together. Over a
vocabulary with many such ids this does not sum to 1, unless they share it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ngramdb.errors import InvalidArgument
from ngramdb.lm.models import LanguageModel, as_ids
from ngramdb.lm.values import END, UNKNOWN, Floats, Integers, Scores


def vocabulary_distribution(model: LanguageModel, context: ArrayLike, n_ids: int, *, eos: int) -> Floats:
    """Return a corpus model's distribution over a neural model's ids: (n_ids,) float64, sum 1.

    The share of unknown words is divided equally among the ids that the corpus lacks: a corpus model gives
    each of them all of it.

    Parameters
    ----------
    model : over a corpus with the neural model's token ids
    context : token ids
    n_ids : the size of the neural model's vocabulary
    eos : the id of the end of a document

    Raises
    ------
    InvalidArgument
        the model has no answer after the context, or gives scores, not probabilities
    """
    _check_spec(model)
    found = model.dist(context)
    ids = np.where(found.ids == END, eos, found.ids)
    kept = (ids >= 0) & (ids < n_ids)
    probs = np.zeros(n_ids)
    np.add.at(probs, ids[kept], found.probs[kept])
    lacking = _lacking_ids(model, n_ids, eos)
    if len(lacking):
        probs[lacking] = found.probs[ids == UNKNOWN].sum() / len(lacking)
    total = probs.sum()
    if not total > 0:
        raise InvalidArgument(f"{model.spec} has no answer after this context")
    shares: Floats = probs / total
    return shares


def vocabulary_scores(model: LanguageModel, ids: ArrayLike, n_ids: int, *, eos: int) -> Scores:
    """Score a text as `vocabulary_distribution` would, for `interpolate`: eos in the text is `</s>`.

    The distributions sum to 1 if the neural model has all of the corpus's ids, and the corpus lacks some.

    Parameters
    ----------
    model, n_ids, eos : as in `vocabulary_distribution`
    ids : (n,) token ids

    Raises
    ------
    InvalidArgument
        the model gives scores, not probabilities
    """
    _check_spec(model)
    tokens = as_ids(ids)
    tokens = np.where(tokens == eos, END, tokens)
    scores = model.score(tokens)
    lacking = _lacking_ids(model, n_ids, eos)
    prob = scores.prob.copy()
    prob[np.isin(tokens, lacking)] /= max(1, len(lacking))
    return replace(scores, prob=prob)


def _lacking_ids(model: LanguageModel, n_ids: int, eos: int) -> Integers:
    types, _ = model.index.types()
    return np.setdiff1d(np.arange(n_ids), np.append(types, eos))


def _check_spec(model: LanguageModel) -> None:
    if not model.spec.is_probability:
        raise InvalidArgument(f"{model.spec} gives scores, not probabilities")
