"""Arguments of models, samplers and mixtures that are of another type than they should be."""

from __future__ import annotations

import numpy as np
import pytest
from support.language_corpora import DOCUMENTS, model_of

from ngramdb.errors import InvalidArgument
from ngramdb.lm import (
    Backoff,
    Generator,
    Greedy,
    InfGram,
    KneserNey,
    NGram,
    Sampling,
    Search,
    interpolate,
)

MODEL = model_of([list(document) for document in DOCUMENTS], InfGram())
GENERATOR = Generator(MODEL)
TAKING = {
    "weight": lambda odd: Backoff(odd),
    "order of backoff": lambda odd: Backoff(0.4, odd),
    "order": lambda odd: NGram(odd),
    "min_count": lambda odd: KneserNey(3, odd),
    "temperature": lambda odd: Sampling(odd),
    "top_k": lambda odd: Sampling(top_k=odd),
    "top_p": lambda odd: Sampling(top_p=odd),
    "beams": lambda odd: Search(odd),
    "diversity": lambda odd: Search(3, odd),
    "tokens": lambda odd: GENERATOR.generate([1], odd, Greedy()),
    "continuations": lambda odd: GENERATOR.generate([1], 3, Sampling(), n_return=odd),
}


@pytest.mark.parametrize(
    "odd", ["0.4", "x", [1], 0.5j, True, np.array([0.4, 0.5]), float("nan"), {}], ids=repr
)
@pytest.mark.parametrize("taking", TAKING)
def test_what_is_not_a_number_is_an_invalid_argument(taking, odd):
    with pytest.raises(InvalidArgument):
        TAKING[taking](odd)


def test_numbers_of_numpy_are_numbers():
    assert Backoff(np.float32(0.5)).weight == 0.5
    assert Search(np.int8(3), np.float64(0.5)).beams == 3
    assert Sampling(np.float32(0.5), np.int64(2), np.float16(0.5)).top_k == 2


@pytest.mark.parametrize("odd", ["x", None, 0.5j, [], [[0.5]], ["a"], [[1], [1, 2]], {}], ids=repr)
def test_probabilities_are_an_array_of_real_numbers(odd):
    scores = MODEL.score([1, 2, 1])
    for neural in (odd, [odd] * 3) if not isinstance(odd, list) else (odd,):
        with pytest.raises(InvalidArgument):
            interpolate(scores, neural)
        with pytest.raises(InvalidArgument):
            interpolate(scores, [0.5] * 3).mix(scores, neural)


@pytest.mark.parametrize("ids", [[], [99, 98]], ids=repr)
def test_nothing_is_fitted_to_tokens_without_an_answer(ids):
    scores = model_of([[1, 2]], NGram(2)).score(ids)
    assert np.isnan(scores.prob[1:]).all()
    if ids:
        scores = scores[1:]
    with pytest.raises(InvalidArgument, match="does not answer for any of the"):
        interpolate(scores, [0.5] * len(scores))
