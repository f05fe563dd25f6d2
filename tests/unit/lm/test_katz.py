"""Katz backoff against its formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.language_corpora import View, corpora
from support.reference_models import BEGIN, END, UNKNOWN, ReferenceKatz

from ngramdb.errors import InvalidArgument
from ngramdb.lm import Katz, ModelSpec, analyze, katz, make

orders = st.sampled_from([1, 2, 3, 5])
texts = st.lists(st.integers(-1, 5), max_size=7)


@settings(max_examples=30, deadline=None)
@given(corpora(), orders, texts)
def test_a_text_is_scored_as_the_formula_has_it(corpus, order, text):
    kept, view = corpus
    model = make(Katz(order), view, analyze(view, 4))
    reference = ReferenceKatz(kept, order, 4)
    sentence = [*text, END]
    expected = [reference.p(token, (BEGIN, *text[:i])) for i, token in enumerate(sentence)]
    np.testing.assert_allclose(model.score(text, document=True).prob, expected, rtol=1e-9)
    expected = [reference.p(token, tuple(text[:i])) for i, token in enumerate(text)]
    np.testing.assert_allclose(model.score(text).prob, expected, rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(corpora(), orders, texts, st.booleans())
def test_a_distribution_is_what_single_probabilities_say_and_sums_to_one(corpus, order, text, begins):
    _, view = corpus
    model = make(Katz(order), view, analyze(view, 4))
    context = [BEGIN, *text] if begins else text
    found = model.dist(context)
    assert abs(found.probs.sum() - 1) < 1e-9
    alone = [model.prob(context, int(token)).prob for token in found.ids]
    np.testing.assert_allclose(found.probs, alone, rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(corpora(), orders, st.lists(st.sampled_from([*range(-1, 5), END, BEGIN]), max_size=8), st.booleans())
def test_a_state_gives_single_probabilities(corpus, order, text, begins):
    _, view = corpus
    model = make(Katz(order), view, analyze(view, 4, separator=3), separator=3)
    state, other = model.state(document=begins), model.state(document=False)
    for i, token in enumerate(text):
        context = [BEGIN, *text[:i]] if begins else text[:i]
        expected = model.prob(context, token)
        assert other.read(state, token) == (pytest.approx(expected.prob), expected.effective_n)
        assert state.copy().read(token)[0] == pytest.approx(expected.prob)
        assert model.prob(state.context, token).prob == pytest.approx(expected.prob)
        state.read(token)
        assert state.context == other.context
    with pytest.raises(InvalidArgument, match="another model"):
        state.read(make(Katz(2), view, analyze(view, 4, separator=3), separator=3).state(), 1)


def test_discounts_are_those_of_good_turing():
    # t(r): 100, 40, 20, 10; x = 4 · 10 / 100 = 0.4
    expected = [(2 * 40 / 100 - 0.4) / 0.6, (3 * 20 / 80 - 0.4) / 0.6, (4 * 10 / 60 - 0.4) / 0.6]
    np.testing.assert_allclose(katz.good_turing((100, 40, 20, 10)), [1, *expected, 1])
    assert katz.good_turing((0, 0, 0, 0)).tolist() == katz.good_turing((4, 4, 4, 4)).tolist() == [1] * 5


def test_the_cache_of_contexts_is_bounded(monkeypatch):
    rng = np.random.default_rng(3)
    view = View([rng.integers(0, 30, 40).tolist() for _ in range(30)])
    text = rng.integers(0, 30, 200)
    expected = make(Katz(3), view).score(text).prob
    monkeypatch.setattr(katz, "MOST_CACHED", 60)
    np.testing.assert_array_equal(make(Katz(3), view).score(text).prob, expected)


def test_what_it_lacks_is_said():
    model = make(Katz(), View([[1, 2, 1], [2]]))
    assert str(model.spec) == "KATZ ORDER 5" and model.note is None
    assert model.prob([], UNKNOWN).prob > 0
    with pytest.raises(InvalidArgument, match="at most 10, not 11"):
        Katz(11)
    with pytest.raises(InvalidArgument, match="has no MIN COUNT"):
        ModelSpec("katz", min_count=2)
