"""N-grams longer than any document: an answer without rows, without memory for one of them."""

from __future__ import annotations

import pytest

import ngramdb


@pytest.fixture
def corpus():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="bytes")
        corpus.append([{"text": "x" * 1500, "y": 1}, {"text": "xy" * 900, "y": 2}, {"text": "y", "y": 1}])
        yield corpus


@pytest.mark.parametrize("n", [1801, 3301, 10**7, 2**31 - 1, 2**32, 2**40])
def test_none_is_found(corpus, n):
    assert corpus.keywords("y = 1", n=n).fetchall() == []
    for where in (None, "y = 2"):
        assert corpus.ngrams(n, where).fetchall() == []


def test_those_of_the_longest_document_are_found(corpus):
    assert [row[2:5:2] for row in corpus.keywords("y = 1", n=1800).fetchall()] == [(0, 1)]
    assert [row[2] for row in corpus.ngrams(1800).fetchall()] == [1]
    assert [row[2] for row in corpus.ngrams(1800, "y = 2").fetchall()] == [1]
    assert corpus.ngrams(1800, "y = 1").fetchall() == []
    assert [row[2] for row in corpus.ngrams(1500, "y = 1").fetchall()] == [1]
