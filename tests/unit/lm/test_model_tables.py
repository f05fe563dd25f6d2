"""Tables of the models of corpora: the same answers as the models, however a corpus is stored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from support.language_corpora import View, corpora

from ngramdb.errors import InvalidArgument, QueryCancelled
from ngramdb.interrupts import Interrupt
from ngramdb.lm import (
    BEGIN,
    END,
    Backoff,
    InfGram,
    KneserNey,
    analyze,
    make,
    make_table,
    model_tables,
    perplexity,
)

TEXTS = [[0, 1, 2, 3], [2, 2, 99, 1, 2, 3, 4, 0], [], [8, 8, END, 1, BEGIN, 0, 1, END, BEGIN, 5], [7, 1, 2]]
SPECS = [KneserNey(order=2), KneserNey(order=3), KneserNey(order=5), Backoff(order=3), Backoff(0.7, order=4)]


def assert_same(model, table, texts):
    flat = [token for text in texts for token in text]
    offsets = np.cumsum([0, *map(len, texts)])
    for document in (False, True):
        expected = model.score_many(flat, offsets, document=document)
        found = table.score_many(flat, offsets, document=document)
        np.testing.assert_allclose(found.prob, expected.prob, rtol=1e-5)
        assert found.effective_n.tolist() == expected.effective_n.tolist()
        most = np.minimum(expected.suffix_n, model.spec.order)
        is_given = np.array([token == BEGIN for text in texts for token in [*text, *[0] * document]])
        assert (found.suffix_n == most)[~is_given].all()
        for text in texts:
            state, own = table.state(document=document), model.state(document=document)
            for token in text:
                assert state.read(token) == pytest.approx(own.read(token), rel=1e-5)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_table_answers_as_its_model(view, documents, spec):
    model = make(spec, view, analyze(view))
    table = make_table(model)
    assert table.spec == spec and table.n_bytes > 0
    assert_same(model, table, [*TEXTS, *documents])
    for context in ([], [0, 1], [BEGIN, 0], [99, 1], [1, 2, 3, 4, 0, 1]):
        found, expected = table.dist(context), model.dist(context)
        by_id = dict(zip(found.ids.tolist(), found.probs.tolist(), strict=True))
        for token, prob in zip(expected.ids.tolist(), expected.probs.tolist(), strict=True):
            assert by_id[token] == pytest.approx(prob, rel=1e-5)
    measured, expected = perplexity(table, documents), perplexity(model, documents)
    assert measured.perplexity == pytest.approx(expected.perplexity, rel=1e-5)
    assert measured.is_probability == expected.is_probability


@pytest.mark.parametrize("spec", [KneserNey(order=3), Backoff(order=3)], ids=str)
def test_separators_cut_documents(spec):
    view = View([[0, 1, 9, 0, 1, 2, 9], [9, 1, 2], [0, 9, 9, 2]], [[0, 1, 2]])
    model = make(spec, view, analyze(view, separator=9), separator=9)
    table = make_table(model)
    assert table.index.separator == 9
    assert_same(model, table, [[0, 1, 9, 1, 2], [9], [0, 9], [1, 2, 0, 1]])
    texts = [[0, 1, 9, 1, 2, 9], [2, 9, 0]]
    assert perplexity(table, texts).n_tokens == perplexity(model, texts).n_tokens


@settings(max_examples=40, deadline=None)
@given(corpora())
def test_random_corpora(drawn):
    kept, view = drawn
    for spec in (KneserNey(order=3), Backoff(order=3)):
        model = make(spec, view, analyze(view))
        assert_same(model, make_table(model), [*kept, [0, 1, 2, 3, 4], [7, 0]])


def test_large_ids():
    view = View([[5, 4_000_000_000, 5, 7], [5, 7]])
    model = make(KneserNey(order=3), view, analyze(view))
    assert_same(model, make_table(model), [[5, 4_000_000_000, 5, 7], [4_000_000_000, 8]])


@pytest.mark.parametrize(
    "spec", [KneserNey(), KneserNey(order=1), KneserNey(order=3, min_count=2), Backoff(), InfGram(order=3)]
)
def test_models_without_a_table(view, spec):
    with pytest.raises(InvalidArgument, match="a table needs"):
        make_table(make(spec, view, analyze(view)))


def test_levels_longer_than_a_piece(documents, monkeypatch):
    monkeypatch.setattr(model_tables, "CHUNK", 3)
    view = View(documents)
    for spec in SPECS:
        model = make(spec, view, analyze(view))
        assert_same(model, make_table(model), TEXTS)


def test_making_a_table_stops(view):
    model = make(KneserNey(order=3), view, analyze(view))
    stop = Interrupt()
    stop.set()
    with pytest.raises(QueryCancelled), stop:
        make_table(model)
