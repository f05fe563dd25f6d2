"""Witten-Bell against its formula, over segments that are added and subtracted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.language_corpora import View, corpora
from support.reference_models import BEGIN, END, UNKNOWN, ReferenceWittenBell

from ngramdb.lm import WittenBell, make

orders = st.sampled_from([None, 1, 2, 3, 5])


@given(corpora(), orders, st.integers(1, 3), st.lists(st.integers(-1, 5), max_size=8))
def test_a_text_is_scored_as_the_formula_has_it(corpus, order, min_count, text):
    kept, view = corpus
    model = make(WittenBell(order=order, min_count=min_count), view)
    reference = ReferenceWittenBell(kept, order, min_count=min_count)
    sentence = [*text, END]
    expected = [reference.p(token, (BEGIN, *text[:i])) for i, token in enumerate(sentence)]
    np.testing.assert_allclose(model.score(text, document=True).prob, expected, rtol=1e-10)
    expected = [reference.p(token, tuple(text[:i])) for i, token in enumerate(text)]
    np.testing.assert_allclose(model.score(text).prob, expected, rtol=1e-10)


@given(corpora(), orders, st.integers(1, 3), st.lists(st.integers(-1, 5), max_size=5), st.booleans())
def test_a_distribution_is_what_single_probabilities_say_and_sums_to_one(
    corpus, order, min_count, text, begins
):
    _, view = corpus
    model = make(WittenBell(order=order, min_count=min_count), view)
    context = [BEGIN, *text] if begins else text
    found = model.dist(context)
    assert abs(found.probs.sum() - 1) < 1e-9
    alone = [model.prob(context, int(token)).prob for token in found.ids]
    np.testing.assert_allclose(found.probs, alone, rtol=1e-12)


def test_numbers_worked_out_by_hand():
    # a b | a c: after a, 2 occurrences of 2 types; without context 4 tokens and 2 ends of 4 types, of 5.
    model = make(WittenBell(order=2), View([[0, 1], [0, 2]]))
    alone = (1 + 4 / 5) / 10
    assert model.prob([], 1).prob == pytest.approx(alone)
    assert model.prob([0], 1).prob == pytest.approx((1 + 2 * alone) / 4)
    assert model.prob([0], UNKNOWN).prob == pytest.approx(2 * (4 / 5 / 10) / 4)
    assert model.prob([1], END).prob == pytest.approx((1 + (2 + 4 / 5) / 10) / 2)


@given(corpora(), orders, st.integers(1, 2), st.integers(0, 2**32))
def test_tokens_are_drawn_with_their_probabilities(corpus, order, min_count, seed):
    _, view = corpus
    model = make(WittenBell(order=order, min_count=min_count), view)
    context = [0, 1]
    unknown = model.prob(context, UNKNOWN).prob
    token, prob = model.sampler(context).next(seed)
    assert prob == pytest.approx(model.prob(context, token).prob / (1 - unknown))


def test_long_repeats_are_one_step():
    text = [*range(30)] * 40
    model = make(WittenBell(), View([text, [*range(30)]]))
    reference = ReferenceWittenBell([text[:60], [*range(30)]])
    short = make(WittenBell(), View([text[:60], [*range(30)]]))
    expected = [reference.p(token, tuple(text[:i])) for i, token in enumerate(text[:45])]
    np.testing.assert_allclose(short.score(text[:45]).prob, expected, rtol=1e-10)
    assert model.score(text).prob[-1] > 0.999
