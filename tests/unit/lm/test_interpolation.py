"""Mixtures with a neural model's probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb.errors import InvalidArgument
from ngramdb.lm import Scores, interpolate, relative_improvement
from ngramdb.lm.neural import best_weight, features, perplexity_of


def scores_of(prob, sparse, effective_n=None):
    n = len(prob)
    ones = np.ones(n, dtype=np.int64)
    lengths = (
        np.full(n, 3, dtype=np.int32) if effective_n is None else np.asarray(effective_n, dtype=np.int32)
    )
    return Scores(
        np.asarray(prob, dtype=np.float64), lengths, ones, 5 * ones, np.asarray(sparse, dtype=np.bool_)
    )


@pytest.fixture
def random():
    return np.random.default_rng(3)


def test_the_weight_has_the_least_perplexity_of_all(random):
    corpus, neural = random.uniform(0, 1, 500), random.uniform(0.05, 0.6, 500)
    weight = best_weight(corpus, neural)
    least = perplexity_of(weight * corpus + (1 - weight) * neural)
    for other in np.linspace(0, 1, 101):
        assert least <= perplexity_of(other * corpus + (1 - other) * neural) + 1e-9


def test_a_useless_model_gets_no_weight_and_a_perfect_one_all(random):
    neural = random.uniform(0.1, 0.5, 50)
    assert best_weight(np.zeros(50), neural) == 0.0
    assert best_weight(np.ones(50), neural) == 1.0
    assert best_weight(np.empty(0), np.empty(0)) == 0.0


def test_sparse_estimates_have_a_weight_of_their_own(random):
    sparse = random.random(400) < 0.5
    right = random.random(400) < np.where(sparse, 0.95, 0.2)
    corpus = scores_of(np.where(right, 1.0, 0.0), sparse)
    neural = random.uniform(0.05, 0.5, 400)
    found = interpolate(corpus, neural)
    assert found.sparse_weight > 0.7 > 0.4 > found.weight
    mixed = found.perplexity(corpus, neural)
    assert mixed < perplexity_of(neural)
    assert 0 < relative_improvement(perplexity_of(neural), mixed) < 1


def test_tokens_without_an_answer_are_left_to_the_neural_model():
    corpus = scores_of([np.nan, 1.0, 1.0], [False, True, True])
    neural = np.array([0.3, 0.5, 0.5])
    found = interpolate(corpus, neural)
    np.testing.assert_allclose(found.mix(corpus, neural), [0.3, 1.0, 1.0])


def test_relative_improvement_is_measured_towards_a_perplexity_of_one():
    assert relative_improvement(10.0, 10.0) == 0.0
    assert relative_improvement(10.0, 1.0) == pytest.approx(1.0)
    # From 10 to 5.5: half of the 9 that can go away.
    assert relative_improvement(10.0, 5.5) == pytest.approx(0.5)


def test_a_forest_tells_contexts_apart(random):
    pytest.importorskip("sklearn")
    effective_n = random.integers(2, 12, 3000)
    right = random.random(3000) < effective_n / 12
    corpus = scores_of(np.where(right, 0.9, 0.0), np.zeros(3000, dtype=bool), effective_n)
    neural = np.full(3000, 0.2)
    simple = interpolate(corpus, neural)
    forest = interpolate(corpus, neural, per_token=True, seed=1)
    assert forest.perplexity(corpus, neural) < simple.perplexity(corpus, neural)
    assert (
        forest.weights(corpus) == interpolate(corpus, neural, per_token=True, seed=1).weights(corpus)
    ).all()


def test_a_weight_depends_on_the_context_alone():
    one, other = scores_of([0.1], [True]), scores_of([0.9], [True])
    assert (features(one) == features(other)).all()


@pytest.mark.parametrize("wrong", [[0.5], [0.5, 1.5, 0.1], [-1.0, 0.2, 0.3]])
def test_what_is_no_probability_of_each_token_is_refused(wrong):
    with pytest.raises(InvalidArgument):
        interpolate(scores_of([0.1, 0.2, 0.3], [True] * 3), wrong)
