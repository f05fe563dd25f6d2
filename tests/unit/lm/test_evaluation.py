"""Perplexity and agreement: sums over tokens, however they are batched."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from support.language_corpora import DOCUMENTS, View, model_of

from ngramdb import interrupts
from ngramdb.errors import Interrupted
from ngramdb.lm import (
    Backoff,
    InfGram,
    KneserNey,
    NGram,
    analyze,
    language_index,
    make,
    measure_agreement,
    perplexity,
)


def test_perplexity_is_the_mean_over_all_tokens_and_ends(documents):
    model = model_of(documents, KneserNey())
    text = [[0, 1, 2, 3], [2, 99, 3], []]
    found = perplexity(model, text)
    probs = [p for document in text for p in model.score(document, document=True).prob]
    assert found.n_tokens == 10
    assert found.n_unknown == 1
    assert found.perplexity == pytest.approx(math.exp(-np.log(probs).mean()))
    known = np.delete(probs, 6)
    assert found.perplexity_known == pytest.approx(math.exp(-np.log(known).mean()))
    assert found.per_document.tolist() == [
        pytest.approx(model.score(document, document=True).perplexity) for document in text
    ]
    assert found.document_lengths.tolist() == [5, 4, 1]
    assert found.bits_per_token == pytest.approx(-np.log2(probs).mean())
    assert found.tokens_per_second > 0


def test_batches_do_not_show(documents, monkeypatch):
    model = model_of(documents, KneserNey(order=3))
    whole = perplexity(model, DOCUMENTS, document=False)
    monkeypatch.setattr(sys.modules["ngramdb.lm.evaluation"], "BATCH_TOKENS", 4)
    seen = []
    cut = perplexity(model, iter(DOCUMENTS), document=False, progress=lambda *done: seen.append(done))
    assert cut.perplexity == pytest.approx(whole.perplexity, rel=1e-12)
    np.testing.assert_allclose(cut.per_document, whole.per_document)
    assert len(seen) > 2 and seen == sorted(seen) and seen[-1] == (len(DOCUMENTS), sum(map(len, DOCUMENTS)))


def test_tokens_without_an_answer_are_counted_apart(documents):
    found = perplexity(model_of(documents, NGram(order=3)), [[0, 1, 7, 7, 2]], document=False)
    assert found.n_unanswered == 2  # after 1 7 and after 7 7
    assert found.n_zero == 1  # 7 after 0 1
    assert found.perplexity == math.inf


def test_scores_are_no_probabilities(documents):
    assert not perplexity(model_of(documents, Backoff()), [[0, 1]]).is_probability


def test_agreement_counts_tokens_above_one_half_by_effective_n(view, documents):
    model = make(InfGram(), view)
    found = measure_agreement(model, documents)
    scores = [model.score(document) for document in documents]
    prob = np.concatenate([s.prob for s in scores])
    effective_n = np.concatenate([s.effective_n for s in scores])
    sparse = np.concatenate([s.sparse for s in scores])
    assert found.total == len(prob)
    assert found.share == pytest.approx((prob > 0.5).mean())
    assert found.sparse_share == pytest.approx((prob[sparse] > 0.5).mean())
    for n in range(1, len(found.n_tokens) + 1):
        assert found.n_tokens[n - 1] == (effective_n == n).sum()
        assert found.n_agreeing[n - 1] == ((effective_n == n) & (prob > 0.5)).sum()
        assert found.n_sparse[n - 1] == ((effective_n == n) & sparse).sum()
    assert found.mean_effective_n == pytest.approx(effective_n.mean())
    assert found.median_effective_n == np.median(effective_n)


def test_agreement_with_nothing_is_no_number(documents):
    found = measure_agreement(model_of(documents, InfGram()), [])
    assert found.total == 0 and math.isnan(found.share) and math.isnan(found.median_effective_n)


def test_long_work_can_be_stopped(documents):
    random = np.random.default_rng(1)
    view = View([random.integers(0, 50, 200_000).tolist()])
    model = make(KneserNey(), view, analyze(view))
    stopped = interrupts.Interrupt()
    stopped.set()
    with stopped:
        with pytest.raises(Interrupted):
            model.score(random.integers(0, 50, 50_000))
        with pytest.raises(Interrupted):
            analyze(view)
        with pytest.raises(Interrupted):
            language_index(view).ngrams(4)


def test_what_models_share_is_made_once(view):
    assert language_index(view) is language_index(view)
    assert make(KneserNey(), view).index is make(InfGram(), view).index
