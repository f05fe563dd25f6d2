"""Mixtures of models: distributions, and weights that fit held-out documents."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.language_corpora import View, corpora, model_of

from ngramdb.errors import InvalidArgument
from ngramdb.lm import (
    BEGIN,
    UNKNOWN,
    Backoff,
    InfGram,
    KneserNey,
    Mixture,
    NGram,
    WittenBell,
    analyze,
    make,
    perplexity,
    tune,
)

SPECS = (KneserNey(), InfGram(), NGram(order=3), WittenBell(order=2))
WEIGHTS = [[0.5, 0.2, 0.2, 0.1], [0.1, 0.3, 0.4, 0.2], [0.25, 0.25, 0.25, 0.25]]


def models_of(view, specs=SPECS):
    statistics = analyze(view, 4)
    return [make(spec, view, statistics) for spec in specs]


@given(corpora(), st.lists(st.integers(-1, 5), max_size=5), st.booleans())
def test_a_mixture_is_a_distribution(corpus, text, begins):
    kept, view = corpus
    if not any(kept):
        return
    mixture = Mixture(models_of(view), WEIGHTS, [2, 3])
    context = [BEGIN, *text] if begins else text
    found = mixture.dist(context)
    assert found.probs.sum() == pytest.approx(1, abs=1e-9)
    n = len(found)
    alone = mixture.prob_many(context * n, np.arange(n + 1) * len(context), found.ids)
    np.testing.assert_allclose(alone, found.probs, rtol=1e-12)


@given(corpora(), st.lists(st.integers(-1, 5), max_size=6))
def test_a_text_has_the_probabilities_of_the_distributions(corpus, text):
    kept, view = corpus
    if not any(kept):
        return
    mixture = Mixture(models_of(view), WEIGHTS, [2, 3])
    scores = mixture.score(text)
    for at, token in enumerate(text):
        found = mixture.dist(text[:at])
        place = np.flatnonzero(found.ids == (token if token in found.ids else UNKNOWN))
        assert scores.prob[at] == pytest.approx(found.probs[place].sum())


def held_out(seed, n):
    random = np.random.default_rng(seed)
    return [((random.zipf(1.4, 40) + 3 * np.arange(40)) % 60).tolist() for _ in range(n)]


def test_tuned_weights_are_better_than_each_model_and_by_n_better_still():
    models = models_of(View(held_out(1, 100)), (KneserNey(), InfGram(), WittenBell()))
    documents = held_out(2, 100)
    measured = [perplexity(model, documents).perplexity for model in (models[0], models[2])]
    fixed = tune(models, documents, by_effective_n=False)
    by_n = tune(models, documents)
    assert fixed.weights.shape == (1, 3) and len(by_n.weights) == len(by_n.bounds) + 1 > 1
    found = [perplexity(mixture, documents).perplexity for mixture in (fixed, by_n)]
    assert found[1] <= found[0] + 1e-9 and found[0] < min(measured) * 1.0001


def test_a_model_alone_has_all_of_the_weight():
    model = model_of([[0, 1, 2], [0, 2]], KneserNey())
    mixture = tune([model], [[0, 1]])
    assert mixture.weights.tolist() == [[1.0]]
    np.testing.assert_allclose(mixture.score([0, 1, 2]).prob, model.score([0, 1, 2]).prob)


def test_what_is_no_mixture_is_refused():
    view = View([[0, 1]])
    models = models_of(view)
    with pytest.raises(InvalidArgument, match="probabilities"):
        Mixture([make(Backoff(), view)], [1])
    with pytest.raises(InvalidArgument, match="same corpus"):
        Mixture([models[0], model_of([[0, 1]], KneserNey())], [0.5, 0.5])
    with pytest.raises(InvalidArgument, match="shape"):
        Mixture(models, [0.5, 0.5])
    with pytest.raises(InvalidArgument, match="sum to 1"):
        Mixture(models, [0.5, 0.5, 0.5, 0])
    with pytest.raises(InvalidArgument, match="at least one"):
        tune([], [[0]])
    with pytest.raises(InvalidArgument, match="no held-out token"):
        tune(models, [], document=False)
