"""The most probable next tokens, against the whole distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.language_corpora import View, corpora

from ngramdb._cext.lm.models import Ranking
from ngramdb.lm import (
    BEGIN,
    END,
    UNKNOWN,
    Backoff,
    Generator,
    Greedy,
    InfGram,
    KneserNey,
    Sampling,
    Search,
    Stops,
    analyze,
    make,
)
from ngramdb.lm.generation import _draw
from ngramdb.lm.shares import drawn_place

specs = st.builds(
    lambda kind, order, min_count: kind(order=order, min_count=min_count),
    st.sampled_from([KneserNey, Backoff]),
    st.sampled_from([None, 1, 2, 3, 5]),
    st.integers(1, 3),
)
contexts = st.builds(
    lambda begins, ids: [BEGIN, *ids] if begins else ids,
    st.booleans(),
    st.lists(st.integers(-1, 5), max_size=6),
)
stop_conditions = st.builds(
    Stops,
    st.lists(st.lists(st.integers(-1, 4), min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
    st.sampled_from([0.0, 0.0, 1e-9, 0.05, 0.21, 0.6]),
)
METHODS = [
    Greedy(),
    Sampling(top_k=1),
    Sampling(top_k=3),
    Sampling(top_k=40),
    Sampling(top_p=0.3),
    Sampling(top_p=0.9),
    Sampling(top_p=0.999999),
    Sampling(temperature=0.5),
    Sampling(temperature=2.0, top_p=0.7),
    Sampling(temperature=0.8, top_k=4, top_p=0.6),
    Search(1),
    Search(4),
    Search(3, diversity=0.7),
    Search(4, diversity=20.0),
]


class FullGenerator(Generator):
    """Chooses from whole distributions. `is_close`: two tokens were told apart by rounding alone."""

    is_close = False

    def _choice(self, context, method, random, stops):
        ids, probs = stops.probable(*self._candidates(context, None))
        if not len(ids):
            return None
        best = int(np.argmax(probs)) if isinstance(method, Greedy) else _draw(probs, method, random)
        return int(ids[best]), float(probs[best])

    def _candidates_after(self, context, k):
        distribution = self.model.dist(context)
        possible = (distribution.ids != UNKNOWN) & (distribution.probs > 0)
        shares = self.model.shares(context)
        steps = np.diff(np.sort(shares.all()))
        self.is_close = self.is_close or bool(((steps > 0) & (steps < 1e-12)).any())
        # Rounded alike, so that equal texts stay equal.
        return distribution.ids[possible], distribution.probs[possible] / (shares.total or 1)


def model_over(view, spec):
    return make(spec, view, analyze(view) if spec.kind == "kneser_ney" else None)


@given(corpora(), specs, contexts)
def test_shares_are_the_distribution(corpus, spec, context):
    model = model_over(corpus[1], spec)
    shares = model.shares(context)
    assert (np.diff(shares.places) > 0).all() and (shares.places < len(model.vocabulary.ids)).all()
    probs = shares.all()
    expected = [model.prob(context, int(token)).prob for token in model.vocabulary.ids]
    possible = probs > 0  # a score of 0: too rare, where `prob` has what an unknown word has
    np.testing.assert_allclose(probs[possible], np.array(expected)[possible], rtol=1e-12)
    # Without any discount, Kneser-Ney leaves nothing to tokens that were never seen there.
    assert spec.kind == "backoff" or not np.array(expected)[~possible].any()
    assert shares.total == pytest.approx(probs.sum(), rel=1e-12)


@given(corpora(), specs, contexts, st.integers(1, 8), st.floats(0.05, 0.999))
def test_the_most_probable_tokens_are_those_of_the_distribution(corpus, spec, context, k, share):
    model = model_over(corpus[1], spec)
    shares = model.shares(context)
    probs = shares.all()
    ids = model.vocabulary.ids
    order = np.argsort(-probs, kind="stable")

    expected = np.union1d(order[:k], np.flatnonzero(ids == END))
    expected = expected[probs[expected] > 0]
    found, found_probs = shares.top(k)
    assert found.tolist() == ids[expected].tolist()
    assert found_probs.tolist() == probs[expected].tolist()


@given(
    corpora(),
    specs,
    contexts,
    st.floats(0.05, 30.0) | st.just(1.0),
    st.floats(0.01, 1.0) | st.just(1.0),
    st.floats(0.0, 1.0, exclude_max=True),
)
def test_draws_are_those_of_the_whole_distribution(corpus, spec, context, temperature, share, at):
    model = model_over(corpus[1], spec)
    shares = model.shares(context)
    probs = shares.all()
    drawn = shares.draw(temperature, share, at)
    possible = np.flatnonzero(probs > 0)
    if not len(possible):
        assert drawn is None
        return
    expected = {
        int(model.vocabulary.ids[possible[drawn_place(probs[possible], temperature, share, near)]])
        for near in (max(0.0, at - 1e-9), at, at + 1e-9)
    }
    assert drawn[0] in expected
    place = np.flatnonzero(model.vocabulary.ids == drawn[0])[0]
    assert drawn[1] == pytest.approx(probs[place] / probs.sum(), rel=1e-9)
    assert shares.prob(drawn[0]) == probs[place]


def test_a_ranking_refuses_what_no_model_has():
    ranking = Ranking(np.array([0.5, 0.25, 0.25]))
    good, half = np.array([0, 2]), np.array([0.5, 0.5])
    for places, probs, rest in (
        (np.array([0, 3]), half, 0.5),
        (np.array([-1, 2]), half, 0.5),
        (np.array([2, 0]), half, 0.5),
        (good, half[:1], 0.5),
        (good, half, float("nan")),
        (good, half, -1.0),
    ):
        with pytest.raises(ValueError, match="not the shares of a model"):
            ranking.draw(places, probs, rest, 1.0, 1.0, 0.5)
    nothing, none = np.empty(0, dtype=np.int64), np.empty(0)
    assert Ranking(none).draw(nothing, none, 1.0, 1.0, 0.9, 0.5)[0] < 0
    damaged = Ranking(np.array([np.nan, -1.0, np.inf]))
    assert damaged.draw(nothing, none, 1.0, 0.7, 0.9, 0.5)[0] < 0
    assert damaged.draw(good, np.array([np.nan, 1.0]), 1.0, 0.7, 0.9, 0.5) == (2, 1.0)


@pytest.mark.parametrize("method", METHODS, ids=str)
@given(corpus=corpora(), spec=specs, context=contexts, seed=st.integers(0, 99), stops=stop_conditions)
def test_texts_are_those_that_whole_distributions_give(method, corpus, spec, context, seed, stops):
    """The same tokens, for the same seeds: choosing from a part of the vocabulary changes no answer."""
    model = model_over(corpus[1], spec)
    n_return = method.beams if isinstance(method, Search) else 1
    options = {"seed": seed, "n_return": n_return, "stops": stops}
    found = Generator(model).generate(context, 5, method, **options)
    full = FullGenerator(model)
    expected = full.generate(context, 5, method, **options)
    assume(not full.is_close)
    assert [item.ids for item in found] == [item.ids for item in expected]
    assert [item.ended for item in found] == [item.ended for item in expected]
    assert [item.logprob for item in found] == pytest.approx([item.logprob for item in expected], abs=1e-9)
    streamed = list(Generator(model).stream(context, 5, method, seed=seed, stops=stops))
    assert sum(logprob for _, logprob in streamed) == pytest.approx(found[0].logprob, abs=1e-9)


@pytest.mark.parametrize("spec", [KneserNey(), KneserNey(order=3), Backoff(), Backoff(order=3)], ids=str)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_large_vocabularies_give_the_texts_of_whole_distributions(spec, method):
    """More types than a nucleus is looked for among first, as frequent as words are."""
    random = np.random.default_rng(8)
    documents = [(random.zipf(1.3, 40) % 3000).tolist() for _ in range(300)]
    model = model_over(View(documents[:200], documents[200:]), spec)
    assert len(model.vocabulary.ids) > 500
    for seed, context in enumerate(([], [BEGIN], [1], [1, 2, 1], documents[3][:7], [5000])):
        found = Generator(model).generate(context, 6, method, seed=seed)
        assert [item.ids for item in found] == [
            item.ids for item in FullGenerator(model).generate(context, 6, method, seed=seed)
        ]


def test_other_models_have_no_shares(documents):
    with pytest.raises(ValueError, match="successors"):
        model_over(View(documents), InfGram())._model.shares([1])
