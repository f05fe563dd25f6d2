"""Corpus models over the ids of a neural model sum to 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.language_corpora import corpora, model_of

from ngramdb.errors import InvalidArgument
from ngramdb.lm import (
    END,
    UNKNOWN,
    Backoff,
    InfGram,
    KneserNey,
    NGram,
    PitmanYor,
    WittenBell,
    analyze,
    make,
    vocabulary_distribution,
    vocabulary_scores,
)

EOS, N_IDS = 9, 50
SPECS = [KneserNey(), KneserNey(order=2), WittenBell(), PitmanYor(order=3), InfGram()]


@given(corpora(), st.sampled_from(SPECS), st.lists(st.integers(0, 12), max_size=6))
def test_a_text_is_scored_by_distributions_over_all_ids(corpus, spec, text):
    kept, view = corpus
    if not any(kept):
        return
    model = make(spec, view, analyze(view, 4))
    scores = vocabulary_scores(model, text, N_IDS, eos=EOS)
    context = []
    for token, prob in zip(text, scores.prob, strict=True):
        found = vocabulary_distribution(model, context, N_IDS, eos=EOS)
        assert found.sum() == pytest.approx(1, abs=1e-9) and found.min() >= 0
        if context or spec.kind != "infgram":  # without a context it takes no end
            assert found[token] == pytest.approx(prob)
        context = [*context, END if token == EOS else token]


def test_ids_that_the_corpus_lacks_share_what_one_unknown_word_has():
    model = model_of([[0, 1, 2, 0, 1], [0, 2]], KneserNey())
    share = model.prob([0], UNKNOWN).prob
    found = vocabulary_distribution(model, [0], 1000, eos=999)
    assert found[500] == pytest.approx(share / 996) and found[999] == pytest.approx(model.prob([0], END).prob)
    alone = model.prob_many([0] * 1000, np.arange(1001), np.arange(1000)).prob
    assert alone.sum() > 1.5  # each of them having all of it


def test_what_is_no_distribution_is_refused():
    documents = [[0, 1, 2]]
    with pytest.raises(InvalidArgument, match="scores"):
        vocabulary_distribution(model_of(documents, Backoff()), [0], 10, eos=9)
    with pytest.raises(InvalidArgument, match="scores"):
        vocabulary_scores(model_of(documents, Backoff()), [0], 10, eos=9)
    with pytest.raises(InvalidArgument, match="no answer"):
        vocabulary_distribution(model_of(documents, NGram()), [7], 10, eos=9)
