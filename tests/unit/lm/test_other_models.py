"""n-gram, ∞-gram and stupid backoff by their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.language_corpora import DOCUMENTS, View, corpora, model_of
from support.reference import ReferenceIndex
from support.reference_models import BEGIN, END, UNKNOWN, ReferenceCounts, reference_backoff

from ngramdb._cext.corpus.index import Index
from ngramdb.lm import Backoff, InfGram, KneserNey, NGram, make

orders = st.sampled_from([None, 1, 2, 3])
texts = st.lists(st.integers(-1, 5), max_size=7)


@given(corpora(), orders, texts)
def test_a_score_of_stupid_backoff_is_the_first_that_is_not_zero(corpus, order, text):
    kept, view = corpus
    model = make(Backoff(order=order), view)
    sentence = [*text, END]
    expected = [reference_backoff(kept, token, (BEGIN, *text[:i]), order) for i, token in enumerate(sentence)]
    np.testing.assert_allclose(model.score(text, document=True).prob, expected, rtol=1e-12)
    expected = [reference_backoff(kept, token, tuple(text[:i]), order) for i, token in enumerate(text)]
    np.testing.assert_allclose(model.score(text).prob, expected, rtol=1e-12)


@given(corpora(), orders, texts)
def test_ngrams_and_infgrams_are_what_the_index_itself_says(corpus, order, text):
    """Two ways to the same numbers: the walk along suffixes, and the index's own search."""
    kept, view = corpus
    index: Index = view.index
    offsets = [0, len(text)]
    for spec in (NGram(order=order), InfGram(order=order)):
        scores = make(spec, view).score(text)
        count, context_count, effective_n, sparse = index.score(
            text, offsets, spec.kind == "infgram", order or 0
        )
        np.testing.assert_array_equal(scores.count, count)
        np.testing.assert_array_equal(scores.context_count, np.maximum(context_count, 0))
        np.testing.assert_array_equal(scores.effective_n, effective_n)
        asked = np.flatnonzero(context_count > 0)
        np.testing.assert_array_equal(scores.sparse[asked], sparse[asked])
        np.testing.assert_allclose(scores.prob[asked], count[asked] / context_count[asked])
        assert np.isnan(np.delete(scores.prob, asked)).all()
    assert ReferenceIndex(kept).n_tokens == index.n_tokens


@given(corpora(), st.integers(1, 3), texts, st.booleans())
def test_the_infgram_takes_the_longest_context_that_occurs_often_enough(corpus, least, text, begins):
    kept, view = corpus
    model = make(InfGram(min_count=least), view)
    counts = ReferenceCounts(kept)
    context = (BEGIN, *text) if begins else tuple(text)
    while context and counts.count[context] < least:
        context = context[1:]
    for token in (0, 1, 2, END):
        found = model.prob([BEGIN, *text] if begins else text, token)
        if context:
            assert found.context_count == counts.count[context]
            assert found.cont_count == counts.count[(*context, token)]
            assert found.sparse == (len(counts.nexts[context]) == 1 and END not in counts.nexts[context])
        assert found.effective_n == len(context) + 1


SPECS = [NGram(), NGram(order=2), NGram(order=1), InfGram(), InfGram(order=3), InfGram(min_count=2)]


@given(
    corpora(), st.sampled_from([*SPECS, Backoff(), Backoff(order=3), Backoff(order=4, min_count=2)]), texts
)
def test_distributions_are_what_single_probabilities_say(corpus, spec, text):
    _, view = corpus
    model = make(spec, view)
    for context in (text, [BEGIN, *text]):
        found = model.dist(context)
        alone = [model.prob(context, int(token)).prob for token in found.ids]
        np.testing.assert_allclose(found.probs, alone, rtol=1e-12)
        if spec.is_probability and len(found):
            assert abs(found.probs.sum() - 1) < 1e-9
        if not len(found) and spec.is_probability:
            assert model.prob(context, 0).prob is None
        if not spec.is_probability:
            # Tokens that are left out are treated as unknown.
            absent = [token for token in (UNKNOWN, *range(7)) if token not in found.ids]
            scores = {model.prob(context, token).prob for token in absent}
            assert len(scores) == 1 and 0 < scores.pop() < min(found.probs, default=1)


def test_ngrams_below_the_least_count_are_unseen(documents):
    model = model_of(documents, NGram(order=2, min_count=3))
    assert model.prob([2], 3).cont_count == 6
    assert model.prob([2], 6) == (0.0, 0, model.prob([2], 3).context_count, 2, False)
    assert model.prob([8], END).prob is None  # the context occurs once


def test_an_unknown_word_has_no_probability_after_a_known_context_but_a_score(documents):
    assert model_of(documents, InfGram()).prob([0, 1], UNKNOWN).prob == 0.0
    assert model_of(documents, Backoff()).prob([0, 1], UNKNOWN).prob == pytest.approx(0.4**102)
    assert model_of(documents, Backoff(order=2)).prob([0, 1], UNKNOWN).prob == pytest.approx(0.4**101)
    assert model_of(documents, Backoff(weight=0.01)).prob([0, 1], UNKNOWN).prob == pytest.approx(
        0.01**2 * 0.4**100
    )


def test_texts_with_unknown_words_can_be_ranked_by_stupid_backoff(documents):
    model = model_of(documents, Backoff())
    scores = [model.score(text).total_logprob for text in ([0, 1, UNKNOWN], [0, 77, UNKNOWN], [UNKNOWN] * 3)]
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == 3


def test_no_score_of_stupid_backoff_underflows():
    text = list(range(50)) * 30
    model = model_of([text], Backoff())
    scores = model.score([*text, 3])
    assert np.isfinite(scores.logprob).all()
    assert model.dist(text).probs.min() > 0
    assert np.isfinite(model_of([text], Backoff(weight=1e-300)).score([*text, 3, UNKNOWN]).logprob).all()


def test_notes_say_what_a_reader_must_know(documents):
    assert "scores, not probabilities" in model_of(documents, Backoff()).note
    assert model_of(documents, NGram()).note is None
    assert "0.5, 1 and 1.5 stand in" in model_of(documents, KneserNey()).note


def test_a_discount_of_nothing_is_said():
    """KenLM takes discounts from 0 on, too: a context of one successor may leave nothing to other words."""
    documents = [[], [], [2, 1, 3], [], [3]]
    model = model_of(documents, KneserNey(order=2))
    assert model.prob([3], 77).prob == 0
    assert "a discount is 0 for n-grams of length 2, so that" in model.note
    assert "discount is 0" not in model_of([[0, 1, 2], [0, 2]], KneserNey(order=2)).note


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_symbols_of_every_width_give_the_same_answers(kind):
    from support.indexes import index_of

    view = View(DOCUMENTS)
    other = View(DOCUMENTS)
    other.index = index_of(DOCUMENTS, dtype=kind)
    text = [0, 1, 2, 3, 9, 1]
    for spec in (KneserNey(), Backoff(), InfGram()):
        assert make(spec, view).score(text).prob.tolist() == make(spec, other).score(text).prob.tolist()


def test_a_gap_among_the_ids_is_no_token():
    from support.indexes import segment_of

    documents = [[0, 254, 255, 1], [254, 255, 7]]
    view = View(documents)
    packed = View(documents)
    packed.index = Index([segment_of(documents, np.uint8, gap=100)], [1])
    for spec in (KneserNey(), InfGram()):
        expected = make(spec, view).score([254, 255, 1, 100, 99], document=True).prob
        assert (
            make(spec, packed).score([254, 255, 1, 100, 99], document=True).prob.tolist() == expected.tolist()
        )
