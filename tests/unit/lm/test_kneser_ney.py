"""Kneser-Ney against the formulas, over segments that are added and subtracted."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.language_corpora import DOCUMENTS, View, corpora, small_documents, tokens
from support.reference_models import BEGIN, END, UNKNOWN, ReferenceKneserNey

from ngramdb.lm import KneserNey, analyze, make
from ngramdb.lm import levels as computed
from ngramdb.lm.levels import interpolated, levels_of
from ngramdb.lm.statistics import FALLBACK

orders = st.sampled_from([None, 1, 2, 3, 5])


def contexts_of(document):
    """A sentence's tokens with their contexts."""
    sentence = (*document, END)
    return [(token, (BEGIN, *document[:i])) for i, token in enumerate(sentence)]


@given(corpora(), orders, st.integers(1, 3), st.lists(st.integers(-1, 6), max_size=8))
def test_a_sentence_is_scored_as_the_formulas_have_it(corpus, order, min_count, text):
    kept, view = corpus
    model = make(KneserNey(order=order, min_count=min_count), view, analyze(view))
    reference = ReferenceKneserNey(kept, order, min_count=min_count)
    text = [token if token < 6 else UNKNOWN for token in text]
    scores = model.score(text, document=True)
    asked = contexts_of(tuple(text))
    expected = [reference.p(token, context) for token, context in asked]
    np.testing.assert_allclose(scores.prob, expected, rtol=1e-10)
    assert scores.effective_n.tolist() == [reference.matched(token, context) for token, context in asked]


@given(corpora(), orders, st.integers(1, 2), st.lists(tokens, max_size=6))
def test_without_a_sentence_contexts_begin_with_the_text(corpus, order, min_count, text):
    kept, view = corpus
    model = make(KneserNey(order=order, min_count=min_count), view, analyze(view))
    reference = ReferenceKneserNey(kept, order, min_count=min_count)
    expected = [reference.p(token, tuple(text[:i])) for i, token in enumerate(text)]
    np.testing.assert_allclose(model.score(text).prob, expected, rtol=1e-10)


@given(corpora(), orders, st.integers(1, 3), st.lists(st.integers(-1, 5), max_size=5), st.booleans())
def test_a_distribution_is_what_single_probabilities_say_and_sums_to_one(
    corpus, order, min_count, text, begins
):
    _, view = corpus
    model = make(KneserNey(order=order, min_count=min_count), view, analyze(view))
    context = [BEGIN, *text] if begins else text
    distribution = model.dist(context)
    assert abs(distribution.probs.sum() - 1) < 1e-9
    alone = [model.prob(context, int(token)).prob for token in distribution.ids]
    np.testing.assert_allclose(distribution.probs, alone, rtol=1e-12)


@given(corpora(), st.integers(2, 6))
def test_counts_of_counts_are_those_of_the_remaining_documents(corpus, max_length):
    kept, view = corpus
    statistics = analyze(view, max_length)
    reference = ReferenceKneserNey(kept)
    for length in range(1, max_length + 1):
        assert list(statistics.continuation[length - 1]) == reference.counts_of_counts(length)
        assert list(statistics.raw[length - 1]) == reference.counts_of_counts(length, raw=True)
        listed = {ngram for ngram in reference.c.count if len(ngram) == length} - {(BEGIN,)}
        assert statistics.n_types[length - 1] == len(listed)
    assert statistics.n_left_of_end == len(reference.c.lefts[(END,)])


def listed_ngrams(index, n):
    """Every n-gram with its occurrences, put together from prefixes; how many do not begin with `<s>`."""
    last, counts, fresh, n_within = index.ngrams(n)
    prefixes = [()]
    if n > 1:
        shorter, _ = listed_ngrams(index, n - 1)
        prefixes = [ngram for ngram, _ in shorter if ngram[-1] != END] + [(BEGIN,)] * (n == 2)
        assert fresh.sum() == len(prefixes) * bool(len(last))
    at = np.cumsum(fresh) - 1
    tokens, occurrences = last.tolist(), counts.tolist()
    found = [((*prefixes[k], token), count) for k, token, count in zip(at, tokens, occurrences, strict=True)]
    return found, n_within


@given(corpora(), st.integers(1, 5))
def test_ngrams_are_listed_once_each(corpus, n):
    kept, view = corpus
    listed, n_within = listed_ngrams(make(KneserNey(order=2), view).index, n)
    count = ReferenceKneserNey(kept).c.count
    expected = {ngram: k for ngram, k in count.items() if len(ngram) == n and ngram != (BEGIN,)}
    assert sorted(listed) == sorted(expected.items())
    assert [ngram[0] == BEGIN for ngram, _ in listed] == [k >= n_within for k in range(len(listed))]


@given(corpora(), st.integers(2, 5), st.sampled_from([1, 2, 3, 7, 1 << 20]))
def test_levels_have_the_probabilities_of_single_ngrams(corpus, order, chunk):
    _, view = corpus
    model = make(KneserNey(order=order), view, analyze(view, order))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(computed, "CHUNK", chunk)
        levels = levels_of(model, order)
        for n in interpolated(model, levels):
            listed, _ = listed_ngrams(model.index, n)
            check_level(model, levels[n - 1], n, [ngram for ngram, _ in listed])


def check_level(model, level, n, ngrams):
    assert len(level) == len(ngrams) + (n == 1)
    flat = np.array([token for ngram in ngrams for token in ngram[:-1]], dtype=np.int64)
    offsets = np.arange(len(ngrams) + 1) * (n - 1)
    expected = model.prob_many(flat, offsets, [ngram[-1] for ngram in ngrams]).prob
    np.testing.assert_allclose(level.prob[: len(ngrams)], expected, rtol=1e-12)


def test_at_most_two_levels_have_probabilities_at_a_time():
    view = View([[0, 1, 2, 1, 3], [2, 2, 1]])
    model = make(KneserNey(order=4), view, analyze(view, 4))
    levels = levels_of(model, 4)
    arrays = ("prob", "backoff", "counts", "suffix")
    seen = []
    for _ in interpolated(model, levels):
        seen.append([[name for name in arrays if len(getattr(level, name))] for level in levels])
    both, waiting = ["prob", "backoff"], ["counts", "suffix"]
    assert seen == [
        [both, ["prob"], waiting, waiting],
        [[], both, ["prob"], waiting],
        [[], [], both, ["prob"]],
        [[], [], [], ["prob"]],
    ]


def test_levels_take_no_more_memory_than_they_say():
    random = np.random.default_rng(2)
    view = View([(random.zipf(1.2, 50) % 5000).tolist() for _ in range(4000)])
    model = make(KneserNey(order=3), view, analyze(view, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(computed, "CHUNK", 1 << 10)  # the memory of a chunk does not depend on their number
        tracemalloc.start()
        levels = levels_of(model, 3)
        list(interpolated(model, levels))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 30 * sum(map(len, levels))


@given(small_documents, st.integers(2, 4), orders)
def test_discounts_of_the_greatest_length_are_reused_above(documents, max_length, order):
    view = View(documents)
    model = make(KneserNey(order=order), view, analyze(view, max_length))
    reference = ReferenceKneserNey(documents, order, max_length)
    text = tuple(max(documents, key=len))
    expected = [reference.p(token, context) for token, context in contexts_of(text)]
    np.testing.assert_allclose(model.score(list(text), document=True).prob, expected, rtol=1e-10)


@pytest.mark.parametrize("order", [None, 6, 7, 9])
@pytest.mark.parametrize("max_length", [5, 6])
def test_longer_ngrams_reuse_the_last_discounts_that_could_be_estimated(max_length, order):
    """Not those of a length that has too few n-grams for an estimate of its own."""
    random = np.random.default_rng(3)
    repeated = random.integers(0, 5, 20).tolist()
    documents = [random.integers(0, 5, random.integers(1, 9)).tolist() for _ in range(50)] + [repeated] * 2
    view = View(documents)
    statistics = analyze(view, max_length)
    estimated = set(range(1, max_length + 1)) - set(statistics.fallbacks())
    assert max_length not in estimated and max(estimated) >= 2
    assert statistics.discount(max_length) == FALLBACK
    assert statistics.discount(max_length + 1) == statistics.discount(max(estimated)) != FALLBACK
    model = make(KneserNey(order=order), view, statistics)
    reference = ReferenceKneserNey(documents, order, max_length)
    text = [*repeated[:15], 3, *repeated[2:12]]
    expected = [reference.p(token, context) for token, context in contexts_of(tuple(text))]
    np.testing.assert_allclose(model.score(text, document=True).prob, expected, rtol=1e-10)
    distribution = model.dist(repeated[:12])
    assert abs(distribution.probs.sum() - 1) < 1e-9
    assert ("up to" in (model.note or "")) == (order is not None and order > max_length)


def test_long_repeats_follow_the_formulas_at_every_length():
    # Chains of lengths with the same occurrences, in one document and over several, and a long text to score.
    base = [i % 7 for i in range(40)]
    documents = [base, base[5:30], [8, *base[10:35], 9], base, [3, 1, 4, 1, 5]]
    reference = ReferenceKneserNey(documents, max_length=4)
    for view in (
        View(documents),
        View(documents[:2], documents[2:]),
        View([*documents, base], [base], signs=[1, -1]),
    ):
        model = make(KneserNey(), view, analyze(view, 4))
        text = [*base[:33], 6, *base[3:20]]
        expected = [reference.p(token, context) for token, context in contexts_of(tuple(text))]
        np.testing.assert_allclose(model.score(text, document=True).prob, expected, rtol=1e-10)
        distribution = model.dist(base[2:30])
        assert abs(distribution.probs.sum() - 1) < 1e-9


@pytest.mark.parametrize("order", [None, 3])
def test_frequent_contexts_are_counted_as_rare_ones_are(order):
    """More occurrences than are counted again each time: their records are cached."""
    random = np.random.default_rng(5)
    documents = [random.integers(0, 4, random.integers(1, 12)).tolist() for _ in range(300)]
    gone = [random.integers(0, 4, 9).tolist() for _ in range(20)]
    reference = ReferenceKneserNey(documents, order)
    text = random.integers(0, 4, 30).tolist()
    expected = [reference.p(token, context) for token, context in contexts_of(tuple(text))]
    stored = (
        View(documents),
        View(documents[:100], documents[100:]),
        View([*documents, *gone], gone, signs=[1, -1]),
    )
    for view in stored:
        model = make(KneserNey(order=order), view, analyze(view))
        for _ in range(2):
            np.testing.assert_allclose(model.score(text, document=True).prob, expected, rtol=1e-10)


def test_batches_and_single_questions_agree(view):
    model = make(KneserNey(), view, analyze(view))
    contexts = [
        [*begin, *document[:i]]
        for begin, document, i in itertools.product(([], [BEGIN]), DOCUMENTS, (0, 2, 9))
    ]
    tokens_asked = [2, END, UNKNOWN, 0, 1] * len(contexts)
    contexts = [context for context in contexts for _ in range(5)]
    offsets = np.cumsum([0, *map(len, contexts)])
    flat = np.array([token for context in contexts for token in context], dtype=np.int64)
    together = model.prob_many(flat, offsets, np.array(tokens_asked))
    alone = [model.prob(context, token) for context, token in zip(contexts, tokens_asked, strict=True)]
    assert together.prob.tolist() == [answer.prob for answer in alone]
    assert together.effective_n.tolist() == [answer.effective_n for answer in alone]


def test_documents_scored_together_are_scored_as_alone(view, documents):
    model = make(KneserNey(), view, analyze(view))
    offsets = np.cumsum([0, *map(len, documents)])
    flat = np.array([token for document in documents for token in document], dtype=np.int64)
    for whole in (False, True):
        together = model.score_many(flat, offsets, document=whole)
        alone = [model.score(document, document=whole) for document in documents]
        assert together.prob.tolist() == [p for scores in alone for p in scores.prob]


def test_long_documents_are_cut_where_nobody_sees(documents):
    random = np.random.default_rng(2)
    long = random.integers(0, 3, 5000).tolist()
    view = View([*documents, long[1000:3000], long[2040:2060]])
    model = make(KneserNey(), view, analyze(view))
    whole = model.score(long).prob
    for at in (1, 1023, 1024, 1025, 2049, 2060, 4096, 4999):
        np.testing.assert_allclose(whole[at], model.prob(long[:at], long[at]).prob, rtol=1e-12)


def test_borders_within_a_text_cut_it_into_sentences(view, documents):
    model = make(KneserNey(), view, analyze(view))
    first, second = documents[0], documents[3]
    text = [BEGIN, *first, END, BEGIN, *second, END]
    scores = model.score(text)
    alone = np.concatenate([model.score(first, document=True).prob, model.score(second, document=True).prob])
    predicted = np.array([i for i, token in enumerate(text) if token != BEGIN])
    np.testing.assert_allclose(scores.prob[predicted], alone, rtol=1e-12)


def test_an_empty_corpus_knows_only_that_everything_is_unknown():
    view = View([])
    model = make(KneserNey(), view, analyze(view))
    assert model.prob([], 5).prob == 0.5
    assert model.dist([]).ids.tolist() == [END, UNKNOWN]
    assert len(model.score([])) == 0
