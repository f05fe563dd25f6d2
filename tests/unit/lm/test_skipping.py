"""Kneser-Ney over contexts with gaps against its formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.language_corpora import View, corpora
from support.reference_models import BEGIN, END, UNKNOWN, ReferenceSkipKneserNey

from ngramdb._cext.lm import models as kernel
from ngramdb.errors import InvalidArgument
from ngramdb.lm import KneserNey, ModelSpec, SkipKneserNey, analyze, make, skipping

orders = st.sampled_from([1, 2, 3, 4, 6])
texts = st.lists(st.integers(-1, 5), max_size=7)


@settings(max_examples=30, deadline=None)
@given(corpora(), orders, texts)
def test_a_text_is_scored_as_the_formula_has_it(corpus, order, text):
    kept, view = corpus
    model = make(SkipKneserNey(order), view, analyze(view, 4))
    reference = ReferenceSkipKneserNey(kept, order, skipping.FARTHEST, 4)
    sentence = [*text, END]
    expected = [reference.p(token, (BEGIN, *text[:i])) for i, token in enumerate(sentence)]
    np.testing.assert_allclose(model.score(text, document=True).prob, expected, rtol=1e-9)
    expected = [reference.p(token, tuple(text[:i])) for i, token in enumerate(text)]
    np.testing.assert_allclose(model.score(text).prob, expected, rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(corpora(), orders, texts, st.booleans())
def test_a_distribution_is_what_single_probabilities_say_and_sums_to_one(corpus, order, text, begins):
    _, view = corpus
    model = make(SkipKneserNey(order), view, analyze(view, 4))
    context = [BEGIN, *text] if begins else text
    found = model.dist(context)
    assert abs(found.probs.sum() - 1) < 1e-9
    alone = [model.prob(context, int(token)).prob for token in found.ids]
    np.testing.assert_allclose(found.probs, alone, rtol=1e-12)
    np.testing.assert_allclose(model.shares(context).all(), found.probs[:-1], rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(corpora(), orders, st.lists(st.tuples(texts, texts), max_size=4), st.booleans())
def test_chains_and_batches_are_single_probabilities(corpus, order, pairs, cut):
    _, view = corpus
    separator = 2 if cut else None
    model = make(SkipKneserNey(order), view, analyze(view, 4, separator=separator), separator=separator)
    flat = [token for context, _ in pairs for token in context]
    offsets = np.cumsum([0, *(len(context) for context, _ in pairs)])
    tokens = [token for _, chain in pairs for token in chain]
    token_offsets = np.cumsum([0, *(len(chain) for _, chain in pairs)])
    expected = [
        model.prob([*context, *chain[:i]], token).prob
        for context, chain in pairs
        for i, token in enumerate(chain)
    ]
    found = model.chain_scores_of(flat, offsets, tokens, token_offsets)
    np.testing.assert_allclose(found.prob, expected, rtol=1e-12)
    scored = model.score_many(flat, offsets, document=True).prob
    alone = [model.score(context, document=True).prob for context, _ in pairs]
    np.testing.assert_allclose(scored, np.concatenate([*alone, []]), rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(corpora(), texts)
def test_order_two_is_kneser_ney(corpus, text):
    _, view = corpus
    statistics = analyze(view, 4)
    for order in (1, 2):
        found = make(SkipKneserNey(order), view, statistics).score(text, document=True)
        expected = make(KneserNey(order), view, statistics).score(text, document=True)
        np.testing.assert_allclose(found.prob, expected.prob, rtol=1e-9)
        assert found.count.tolist() == expected.count.tolist()


def test_borders_within_a_text_cut_its_contexts():
    documents = [[1, 2, 3, 1, 2], [2, 3, 1], [3]]
    view = View(documents)
    model = make(SkipKneserNey(3), view, analyze(view, 4))
    plain = make(KneserNey(3), view, analyze(view, 4))
    unknown = plain.prob([], UNKNOWN).prob
    scored = model.score([1, 2, END, 3, BEGIN, 1]).prob
    assert scored[2] == pytest.approx(model.prob([1, 2], END).prob)
    assert scored[3] == pytest.approx(model.prob([], 3).prob)
    assert scored[4] == pytest.approx(model.prob([3], UNKNOWN).prob / unknown)
    assert scored[5] == pytest.approx(model.prob([BEGIN], 1).prob)


def test_a_sample_of_the_counts_is_about_as_they_are():
    rng = np.random.default_rng(5)
    documents = [rng.zipf(1.5, 40).clip(1, 300).tolist() for _ in range(500)]
    view = View(documents)
    index = make(KneserNey(3), view, analyze(view, 3)).index
    skips = kernel.Skips(index, 2)
    every, some = skips.counts_of_counts(1, 4), skips.counts_of_counts(1, 4, n_most=20_000)
    assert (some < every).all() and (every.sum() / some.sum()) == pytest.approx(3, rel=0.1)
    for row, sampled in zip(every, some, strict=True):
        assert sampled / sampled[0] == pytest.approx(row / row[0], abs=0.06)


def test_what_it_lacks_is_said():
    view = View([[1, 2, 1], [2]])
    model = make(SkipKneserNey(), view)
    assert str(model.spec) == "SKIP_KNESER_NEY ORDER 5" and "kinds of contexts with gaps" in model.note
    with pytest.raises(InvalidArgument, match="at most 8, not 9"):
        SkipKneserNey(9)
    with pytest.raises(InvalidArgument, match="has no MIN COUNT"):
        ModelSpec("skip_kneser_ney", min_count=2)
    with pytest.raises(ValueError, match="need discounts"):
        kernel.Skips(model.index, 2).probabilities(np.zeros((1, 2), dtype=np.int64), [1])
