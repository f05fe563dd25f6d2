"""Sentences inside documents: a token that separates them is `</s>` and `<s>` at once, exactly."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.language_corpora import View, tokens

from ngramdb.errors import InvalidArgument
from ngramdb.lm import (
    BEGIN,
    END,
    UNKNOWN,
    Backoff,
    Generator,
    Greedy,
    InfGram,
    KneserNey,
    NGram,
    Sampling,
    Search,
    analyze,
    draft,
    make,
    measure_agreement,
    perplexity,
    write_arpa,
)
from ngramdb.lm.spec import separator_of

# Several models a text: more than the time that is thought enough for one.
unhurried = settings(deadline=None, max_examples=60)

# The separator sorts before all other tokens, among them, or behind them.
SEPARATORS = [0, 3, 9]


def shifted(sentence, separator):
    """The sentence with ids that leave room for the separator."""
    return [token + (token >= separator) for token in sentence]


def joined(sentences, separator):
    """One document; an empty sentence at its end needs the separator that ends it."""
    document = []
    for i, sentence in enumerate(sentences):
        document += ([separator] if i else []) + sentence
    return [*document, separator] if len(sentences) > 1 and not sentences[-1] else document


@st.composite
def cut_corpora(draw):
    """Sentences that remain, a View with a document a sentence, and one with several sentences a document; in
    both some documents are taken away again.
    """
    separator = draw(st.sampled_from(SEPARATORS))
    sentence = st.lists(tokens.map(lambda token: token + (token >= separator)), max_size=6)
    groups = draw(st.lists(st.lists(sentence, min_size=1, max_size=4), min_size=1, max_size=4))
    gone = draw(st.lists(st.lists(sentence, min_size=1, max_size=3), max_size=2))
    ends = draw(st.booleans())

    def document(group):
        made = joined(group, separator)
        # As a file whose last line is ended, too; a document without tokens is an empty sentence as it is.
        return [*made, separator] if ends and made and made[-1] != separator else made

    parts = [[] for _ in range(draw(st.integers(1, 3)))]
    for group in draw(st.permutations(groups + gone)):
        parts[draw(st.integers(0, len(parts) - 1))].append(group)
    stored = [*parts, gone] if gone else parts
    signs = [1] * len(parts) + ([-1] if gone else [])
    whole = View(*([document(group) for group in part] for part in stored), signs=signs)
    apart = View(*([one for group in part for one in group] for part in stored), signs=signs)
    return separator, apart, whole


models = st.one_of(
    st.builds(KneserNey, st.sampled_from([None, 1, 2, 3, 5]), st.integers(1, 3)),
    st.builds(NGram, st.sampled_from([None, 1, 2, 4]), st.integers(1, 2)),
    st.builds(InfGram, st.sampled_from([None, 3]), st.integers(1, 2)),
    st.builds(Backoff, st.just(0.4), st.sampled_from([None, 1, 3]), st.integers(1, 2)),
)


def pair_of(spec, corpus):
    """The model over the corpus with a document a sentence, and over the other one."""
    separator, apart, whole = corpus
    return make(spec, apart), make(spec, whole, separator=separator)


def assert_same_scores(left, right):
    np.testing.assert_array_equal(left.prob, right.prob)
    for name in ("effective_n", "count", "context_count", "sparse"):
        assert getattr(left, name).tolist() == getattr(right, name).tolist(), name


@unhurried
@given(cut_corpora(), st.integers(2, 6))
def test_statistics_are_those_of_a_document_per_sentence(corpus, max_length):
    separator, apart, whole = corpus
    expected, found = analyze(apart, max_length), analyze(whole, max_length, separator=separator)
    for name in ("n_tokens", "n_documents", "n_left_of_end", "n_types", "continuation", "raw"):
        assert getattr(found, name) == getattr(expected, name), name


@unhurried
@given(cut_corpora(), models, st.lists(st.integers(-1, 6), max_size=6), st.booleans())
def test_scores_are_those_of_a_document_per_sentence(corpus, spec, text, whole):
    expected, found = pair_of(spec, corpus)
    text = [token for token in text if token != corpus[0]]
    assert_same_scores(expected.score(text, document=whole), found.score(text, document=whole))


@unhurried
@given(cut_corpora(), models, st.lists(st.integers(-1, 6), max_size=5), st.booleans())
def test_distributions_are_those_of_a_document_per_sentence(corpus, spec, text, begins):
    expected, found = pair_of(spec, corpus)
    context = [BEGIN] * begins + [token for token in text if token != corpus[0]]
    left, right = expected.dist(context), found.dist(context)
    assert left.ids.tolist() == right.ids.tolist()
    np.testing.assert_allclose(left.probs, right.probs, rtol=1e-13)
    assert (left.context_count, left.effective_n) == (right.context_count, right.effective_n)
    alone = [found.prob(context, int(token)).prob for token in right.ids]
    np.testing.assert_allclose(right.probs, alone, rtol=1e-12)


@unhurried
@given(cut_corpora(), st.lists(tokens, max_size=4), st.integers(0, 2**31))
def test_generated_texts_are_those_of_a_document_per_sentence(corpus, text, seed):
    expected, found = pair_of(KneserNey(), corpus)
    context = [BEGIN, *shifted(text, corpus[0])]
    for method in (Greedy(), Sampling(), Sampling(0.7, top_k=3), Search(2)):
        left = Generator(expected).generate(context, 4, method, seed=seed)
        right = Generator(found).generate(context, 4, method, seed=seed)
        assert [item.ids for item in left] == [item.ids for item in right]
        assert corpus[0] not in right[0].ids
    left, right = (draft(model, context, 5) for model in pair_of(InfGram(), corpus))
    assert (left.ids.tolist(), left.probs.tolist()) == (right.ids.tolist(), right.probs.tolist())


@unhurried
@given(cut_corpora(), st.integers(2, 4))
def test_arpa_files_are_those_of_a_document_per_sentence(corpus, order):
    lines = []
    for model in pair_of(KneserNey(order), corpus):
        file = io.StringIO()
        write_arpa(model, file, lambda token: f"w{token}")
        lines.append(file.getvalue().splitlines())
    # A sentence's end sorts as the separator does.
    assert sorted(lines[0]) == sorted(lines[1])


@unhurried
@given(cut_corpora(), models, st.lists(st.lists(tokens, max_size=4), min_size=1, max_size=4))
def test_a_separator_in_a_text_ends_a_sentence_and_begins_one(corpus, spec, sentences):
    separator = corpus[0]
    expected, found = pair_of(spec, corpus)
    sentences = [shifted(sentence, separator) for sentence in sentences]
    text = joined(sentences, separator)
    alone = [expected.score(sentence, document=True) for sentence in sentences]
    scores = found.score(text, document=True)
    if len(sentences) > 1 and not sentences[-1]:
        assert scores.prob[-1] == 1.0  # the last separator has ended the last sentence
        scores = scores[:-1]
    np.testing.assert_array_equal(scores.prob, np.concatenate([scores.prob for scores in alone]))
    assert scores.count.tolist() == [n for scores in alone for n in scores.count.tolist()]


@unhurried
@given(cut_corpora(), models, st.lists(tokens, min_size=1, max_size=4))
def test_a_context_begins_behind_its_last_separator(corpus, spec, text):
    separator, _, whole = corpus
    model = make(spec, whole, separator=separator)
    *context, token = shifted(text, separator)
    before = [*context, 1 + (separator <= 1), separator]
    assert model.prob([*before, *context], token) == model.prob([BEGIN, *context], token)
    assert model.prob(context, separator) == model.prob(context, END)
    flat, offsets = np.array([*before, *context]), [0, len(before), len(before) + len(context)]
    together = model.prob_many(flat, offsets, [separator, token])
    alone = [model.prob([BEGIN], END), model.prob(context, token)]
    assert together.cont_count.tolist() == [answer.cont_count for answer in alone]
    expected = [np.nan if answer.prob is None else answer.prob for answer in alone]
    np.testing.assert_array_equal(together.prob, expected)


@unhurried
@given(cut_corpora(), st.lists(st.lists(tokens, max_size=4), min_size=1, max_size=4))
def test_perplexity_takes_a_last_separator_for_the_end(corpus, sentences):
    separator = corpus[0]
    expected, found = pair_of(KneserNey(3), corpus)
    sentences = [shifted(sentence, separator) for sentence in sentences]
    document = joined(sentences, separator)
    apart = perplexity(expected, sentences)
    for text in (document, [*document, separator] if document and document[-1] != separator else document):
        together = perplexity(found, [text])
        assert (together.n_tokens, together.n_unknown) == (apart.n_tokens, apart.n_unknown)
        assert together.perplexity == pytest.approx(apart.perplexity, rel=1e-12)
        agreed = measure_agreement(found, [text], document=True)
        assert agreed.total == apart.n_tokens


def test_lines_are_sentences_as_in_a_file():
    # Three lines, one of them empty, the last one ended; a document without tokens is an empty sentence.
    statistics = analyze(View([[1, 2, 0, 0, 1, 0], []]), separator=0)
    assert (statistics.n_tokens, statistics.n_documents) == (3, 4)
    assert statistics.n_types[0] == 3  # 1, 2, </s>


def test_an_absent_separator_changes_nothing(view):
    text = [0, 1, 2, 3, 9]
    model, other = make(KneserNey(), view), make(KneserNey(), view, separator=77)
    assert_same_scores(model.score(text, document=True), other.score(text, document=True))


def test_statistics_hold_for_the_sentences_they_were_taken_of(view):
    statistics = analyze(view, separator=2)
    assert statistics.describes(view, 2)
    assert not statistics.describes(view)
    with pytest.raises(InvalidArgument, match="run ANALYZE again"):
        make(KneserNey(), view, statistics)
    assert make(KneserNey(), view, statistics, separator=2).prob([], UNKNOWN).prob


@pytest.mark.parametrize("separator", [-1, 2**32 - 1, 2**40])
def test_a_separator_is_a_token_id(view, separator):
    with pytest.raises(InvalidArgument, match="a separator must be a token id"):
        make(KneserNey(), view, separator=separator)


class Words:
    kind = "words"

    def encode(self, text):
        known = {"<eos>": 5, "a": 1}
        return np.array([known.get(word, -1) for word in text.split()], dtype=np.int64)


def corpus_with(**options):
    return SimpleNamespace(entry=SimpleNamespace(options=options), tokenizer=Words())


def test_the_separator_is_an_option_of_the_corpus():
    assert separator_of(corpus_with()) is None
    assert separator_of(corpus_with(sentence_separator="<eos>")) == 5
    assert separator_of(corpus_with(sentence_separator="not-yet-seen")) is None
    with pytest.raises(InvalidArgument, match="is one token, but 'a <eos>' is 2 tokens"):
        separator_of(corpus_with(sentence_separator="a <eos>"))


def test_corpora_of_a_sum_share_their_separator():
    def sum_of(*views):
        return SimpleNamespace(terms=[SimpleNamespace(view=view) for view in views], tokenizer=Words())

    eos = corpus_with(sentence_separator="<eos>")
    assert separator_of(sum_of(eos, eos)) == 5
    with pytest.raises(InvalidArgument, match="'<eos>' and none"):
        separator_of(sum_of(eos, corpus_with()))
