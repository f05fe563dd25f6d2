"""Arrays that verbs return, as tables of pandas."""

from __future__ import annotations

import numpy as np
import pytest

import ngramdb

pytest.importorskip("pandas")


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        made = db.create_corpus("c")
        made.append(["a b a b c", "a c"])
        yield made


def test_scores_have_a_row_for_each_token(corpus):
    scores = corpus.score("a b c")
    frame = scores.df()
    assert frame["prob"].tolist() == scores.prob.tolist()
    assert frame["logprob"].tolist() == scores.logprob.tolist()
    assert list(frame) == ["prob", "logprob", "count", "context_count", "effective_n", "sparse"]
    assert frame["count"].dtype == np.int64 and frame["sparse"].dtype == np.bool_


def test_scores_of_documents_have_their_number(corpus):
    many = corpus.score_many(["a b", "c", "a a b"])
    frame = many.df()
    assert frame["document"].tolist() == [0, 0, 1, 2, 2, 2]
    np.testing.assert_array_equal(frame["prob"].to_numpy(), many.all.prob)  # one of them is NaN


def test_places_have_a_row_for_each_occurrence(corpus):
    frame = corpus.occurrences("a").df()
    assert frame.values.tolist() == [[0, 0, 1], [0, 2, 1], [1, 0, 1]]
    assert list(frame) == ["doc_ids", "positions", "lengths"]
