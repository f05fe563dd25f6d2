"""Arrays that verbs return, as tables of pandas."""

from __future__ import annotations

import json

import numpy as np
import pyarrow
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


@pytest.mark.parametrize("others", [[0.5], [0.5, None], [[0.5]], [[0.5], [2, 3]]])
def test_whole_numbers_that_no_float_can_be_stay_what_they_are(others):
    big = 2**53 + 1
    values = [[big] if isinstance(others[0], list) else big, *others]
    with ngramdb.connect() as db:
        made = db.create_corpus("c")
        made.append([{"text": "a", **({} if value is None else {"n": value})} for value in values])
        question = "DOCS RETURNING n FROM c"
        assert db.execute(question).df()["n"].tolist() == values
        texts = [json.loads(json.dumps(value), parse_int=str, parse_float=str) for value in values]
        assert db.execute(question).arrow()["n"].to_pylist() == texts
        assert db.execute(question).pl()["n"].to_list() == texts
        if not isinstance(others[0], list):
            assert pyarrow.Table.from_batches(db.execute(question).arrow_batches(1))["n"].to_pylist() == texts


def test_whole_numbers_beside_fractions_are_floats_where_they_can_be():
    with ngramdb.connect() as db:
        db.create_corpus("c").append([{"text": "a", "n": 2**53}, {"text": "a", "n": 0.5}])
        frame = db.execute("DOCS RETURNING n FROM c").df()
        assert frame["n"].dtype == np.float64 and frame["n"].tolist() == [2.0**53, 0.5]
