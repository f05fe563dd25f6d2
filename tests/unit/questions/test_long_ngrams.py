"""N-grams longer than any document: an answer without rows, without memory for one of them."""

from __future__ import annotations

import tracemalloc

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


# Each has some thousand rows of some hundred tokens: more than the megabyte that is allowed.
@pytest.mark.parametrize(
    "statement",
    [
        "NGRAMS 500",
        "NGRAMS 500 WHERE y = 2",
        "NGRAMS 500 TOP 5000",
        "NGRAMS 500 WITH DOCS",
        'NGRAMS 500 CONTAINING "1"',
        "NGRAMS 500 IGNORE CASE",
        "NGRAMS 480..500",
        "KEYWORDS WHERE y = 2 AGAINST REST NGRAMS 500",
        "COUNT *{500} GROUP BY FORM",
    ],
)
def test_answers_larger_than_memory_limit_are_refused(statement):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="bytes")
        corpus.append([{"text": "".join(map(str, range(i, i + 700))), "y": i} for i in (2, 700, 1400)])
        db.execute("SET memory_limit = '1MB'")
        with pytest.raises(ngramdb.ResourceError, match=r"tokens.* memory_limit is 1,") as refused:
            db.execute(statement).fetchall()
        assert refused.value.limit < refused.value.asked


def test_forms_take_memory_by_occurrences_not_by_their_tokens():
    with ngramdb.connect() as db:
        db.create_corpus("c", tokenizer="bytes").append(["x" * 6000])
        tracemalloc.start()
        try:
            rows = db.execute("COUNT ? GROUP BY FORM", ("x" * 3000,)).fetchall()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert [tuple(row) for row in rows] == [("x" * 3000, 3001)]
    assert peak < 3001 * 3000


# Each reads some thousand n-grams of some hundred tokens, but returns few of them.
@pytest.mark.parametrize(
    "statement",
    [
        "NGRAMS 500 TOP 3",
        "NGRAMS 500 WITH DOCS TOP 3",
        'NGRAMS 500 CONTAINING "1" TOP 3',
        "NGRAMS 500 IGNORE CASE TOP 3",
        "NGRAMS 480..500 TOP 3",
        "KEYWORDS WHERE y = 2 AGAINST REST NGRAMS 500 TOP 3",
    ],
)
def test_only_ngrams_that_are_returned_take_memory_by_their_length(statement):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="bytes")
        corpus.append([{"text": "".join(map(str, range(i, i + 700))), "y": i} for i in (2, 700, 1400)])
        expected = db.execute(statement).fetchall()
        db.execute("SET memory_limit = '4MB'")
        assert db.execute(statement).fetchall() == expected
        assert len(expected) == 3


def test_one_long_form_does_not_make_the_others_take_as_much_memory():
    with ngramdb.connect() as db:
        db.create_corpus("c", tokenizer="bytes").append(["y" * 6000, *["xz"] * 100, *["wz"] * 100])
        db.execute("SET memory_limit = '1MB'")
        rows = db.execute('COUNT (? | "x" | "w") GROUP BY FORM', ("y" * 6000,)).fetchall()
    assert sorted((len(form), n) for form, n in map(tuple, rows)) == [(1, 100), (1, 100), (6000, 1)]
