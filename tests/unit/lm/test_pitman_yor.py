"""Pitman-Yor models against their formula, and their fit against a corpus that lacks each token once."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.language_corpora import View, corpora, small_documents
from support.reference_models import BEGIN, END, ReferencePitmanYor

from ngramdb.lm import KneserNey, PitmanYor, analyze, make

orders = st.sampled_from([None, 1, 2, 3, 5])


@settings(max_examples=40)
@given(corpora(), orders, st.integers(1, 3), st.lists(st.integers(-1, 5), max_size=8))
def test_a_text_is_scored_as_the_formula_has_it(corpus, order, min_count, text):
    kept, view = corpus
    model = make(PitmanYor(order=order, min_count=min_count), view, analyze(view, 4))
    reference = ReferencePitmanYor(kept, order, model.levels, min_count=min_count)
    sentence = [*text, END]
    expected = [reference.p(token, (BEGIN, *text[:i])) for i, token in enumerate(sentence)]
    np.testing.assert_allclose(model.score(text, document=True).prob, expected, rtol=1e-9)
    expected = [reference.p(token, tuple(text[:i])) for i, token in enumerate(text)]
    np.testing.assert_allclose(model.score(text).prob, expected, rtol=1e-9)


@settings(max_examples=40)
@given(corpora(), orders, st.integers(1, 3), st.lists(st.integers(-1, 5), max_size=5), st.booleans())
def test_a_distribution_is_what_single_probabilities_say_and_sums_to_one(
    corpus, order, min_count, text, begins
):
    _, view = corpus
    model = make(PitmanYor(order=order, min_count=min_count), view, analyze(view, 4))
    context = [BEGIN, *text] if begins else text
    found = model.dist(context)
    assert abs(found.probs.sum() - 1) < 1e-9
    alone = [model.prob(context, int(token)).prob for token in found.ids]
    np.testing.assert_allclose(found.probs, alone, rtol=1e-12)


LEVELS = [
    [0.6, 1.1, 1.4, 0.3, 0.0, 0.5, 0.8, 1.1, 0.2, 0.0],
    [0.7, 1.2, 1.3, 0.2, 0.0, 0.8, 0.9, 1.6, 0.1, 0.0],
    [0.9, 1.4, 2.4, 0.1, 0.0, 0.4, 1.3, 1.7, 0.4, 0.0],
]


class LeftOutOnce(ReferencePitmanYor):
    """The same over counts from which n-grams that end with one token are taken away."""

    def __init__(self, documents, order):
        super().__init__(documents, order, LEVELS)
        self.n_lefts = defaultdict(Counter)
        for document in documents:
            sentence = (BEGIN, *document, END)
            for stop in range(2, len(sentence) + 1):
                for start in range(1, stop):
                    self.n_lefts[sentence[start:stop]][sentence[start - 1]] += 1

    def adjusted(self, ngram):
        if ngram == (BEGIN,):
            return 0
        if ngram[0] == BEGIN or len(ngram) == self.order:
            return self.c.count[ngram]
        return sum(count > 0 for count in self.n_lefts[ngram].values())

    def left_out(self, sentence, at):
        """Log-probability of sentence[at] without it."""
        self.change(sentence, at, -1)
        found = math.log(self.p(sentence[at], sentence[:at]))
        self.change(sentence, at, 1)
        return found

    def change(self, sentence, at, n):
        for start in range(at + 1):
            ngram = sentence[start : at + 1]
            self.c.count[ngram] += n
            if start > 0:
                self.n_lefts[ngram][sentence[start - 1]] += n


@given(small_documents, orders)
def test_the_likelihood_is_that_of_tokens_that_are_not_there(documents, order):
    documents = [document for document in documents if document]  # empty ones carry no information
    if not documents:
        return
    view = View(documents)
    model = make(KneserNey(order=order), view, analyze(view, 4))
    reference = LeftOutOnce(documents, order)
    sentences = [(BEGIN, *document, END) for document in documents]
    expected = sum(reference.left_out(s, at) for s in sentences for at in range(1, len(s)))
    levels = LEVELS[:order] if order else LEVELS
    tokens = model.left_out(10**6)
    assert len(tokens) <= sum(len(s) - 1 for s in sentences)  # one that is twice there has a weight
    found, slopes = tokens.log_likelihood(levels, 1 / reference.v)
    assert found == pytest.approx(expected, rel=1e-9)
    for i, row in enumerate(levels):
        for k in range(10):
            more = [list(level) for level in levels]
            more[i][k] = row[k] + 1e-6
            change = (tokens.log_likelihood(more, 1 / reference.v)[0] - found) / 1e-6
            assert slopes[i, k] == pytest.approx(change, abs=1e-3 * max(1.0, abs(change)))


def test_a_fit_makes_left_out_tokens_likelier():
    random = np.random.default_rng(1)
    documents = [(random.zipf(1.3, 30) % 50).tolist() for _ in range(300)]
    view = View(documents)
    statistics = analyze(view, 4)
    tokens = make(KneserNey(), view, statistics).left_out(10**6)
    fitted = make(PitmanYor(), view, statistics).levels.tolist()
    plain = [list(statistics.discount(n)) for n in range(1, 5)]
    assert tokens.log_likelihood(fitted, 1 / 51)[0] > tokens.log_likelihood(plain, 1 / 51)[0] + 10


def test_a_sample_does_not_depend_on_segments():
    random = np.random.default_rng(2)
    documents = [(random.zipf(1.3, 200) % 50).tolist() for _ in range(200)]
    views = (
        View(documents),
        View(documents[:50], documents[50:]),
        View(documents + documents[:9], documents[:9], signs=[1, -1]),
    )
    levels = [make(PitmanYor(order=3), view, analyze(view, 4)).levels for view in views]
    assert np.array_equal(levels[0], levels[1]) and np.array_equal(levels[0], levels[2])
    tokens = [len(make(KneserNey(), view).left_out(4000)) for view in views]
    assert len(set(tokens)) == 1 and 1000 < tokens[0] < 12_000


def test_the_fit_is_the_same_each_time(view):
    first, second = (make(PitmanYor(), view, analyze(view)) for _ in range(2))
    assert np.array_equal(first.levels, second.levels)
