"""corpus.near_duplicates and corpus.delete_near_duplicates."""

from __future__ import annotations

import pytest

import ngramdb
from ngramdb.errors import InvalidArgument, NotSupportedError, PlanError

TEXTS = [
    "The quick brown fox jumps.",
    "the quick, brown fox jumps over the lazy dog",
    "The quick brown fox jumps over the lazy dog!",
    "something else that nobody has written before",
    "tiny",
    "Tiny.",
]


@pytest.fixture
def db():
    with ngramdb.connect() as made:
        yield made


@pytest.fixture
def corpus(db):
    made = db.create_corpus("c", tokenizer="words")
    years = [3, 1, 2, 4, 5, 6]
    made.append([{"text": text, "year": year} for text, year in zip(TEXTS, years, strict=True)])
    return made


def test_rows(corpus):
    found = corpus.near_duplicates()
    assert found.columns == ("doc", "kept_doc", "contained", "jaccard", "length", "kept_length", "reason")
    rows = {row[0]: row[1:] for row in found.fetchall()}
    assert rows.keys() == {0, 2, 4} and found.summary["total"] == 3
    assert rows[0] == (1, 1.0, pytest.approx(3 / 7), 6, 10, "words")
    assert rows[2][:3] == (1, 1.0, 1.0) and rows[2][-1] == "equal"
    assert rows[4][0] == 5 and rows[4][-1] == "equal"


def test_orders_of_keep_and_conditions(corpus):
    def pairs(*args, **named):
        return [row[:2] for row in corpus.near_duplicates(*args, **named).fetchall()]

    assert pairs(keep="first") == [(2, 1), (5, 4)]
    assert pairs(keep_by="year") == [(0, 1), (2, 1), (5, 4)]
    assert pairs(keep_by="year", descending=True) == [(1, 2), (4, 5)]
    assert pairs("year <> 2") == [(0, 1), (4, 5)]
    assert pairs("year < ?", params=[5], limit=1) == [(0, 1)]
    assert pairs(candidates="minhash", keep="first") == [(2, 1), (5, 4)]
    assert pairs(candidates=(4, 2), keep="first") == [(2, 1), (5, 4)]
    assert pairs(contained=0.5, n=4, keep_by="year") == [(0, 1), (2, 1), (5, 4)]


def test_another_corpus(corpus, db):
    old = db.create_corpus("old", tokenizer="bytes")
    old.append(["nothing", "THE QUICK brown fox jumps over"])
    found = corpus.near_duplicates(against="old", keep="first", rejected=True)
    assert [(row[0], row[1], row[-1]) for row in found.fetchall()] == [
        (0, "old:1", "words"),
        (1, "old:1", "too few words"),
        (2, "c:1", "equal"),
        (5, "c:4", "equal"),
    ]
    assert found.summary["total"] == 3 and found.summary["rejected"] == 1
    assert corpus.delete_near_duplicates(against=old) == 3
    details = [one.details for one in corpus.removed_documents()]
    assert [(one["kept"], one.get("kept_in")) for one in details] == [(1, "old"), (1, None), (5, None)]
    with pytest.raises(PlanError, match="contained in itself"):
        corpus.near_duplicates(against="c")
    with pytest.raises(InvalidArgument, match="against must be a corpus or the name of one, not 3"):
        corpus.near_duplicates(against=3)


def test_removal(corpus):
    assert corpus.delete_near_duplicates("year <= ?", params=[3], reason="copies") == 2
    assert [row[0] for row in corpus.near_duplicates().fetchall()] == [4]
    removal = corpus.removals()[0]
    assert (removal.n_documents, removal.reason) == (2, "copies")
    assert removal.statement == (
        "DELETE NEAR DUPLICATES FROM c CONTAINED >= 1.0 NGRAM 3 WORDS CANDIDATES INDEX KEEP LONGEST "
        "WHERE year <= ? -- parameter 1: 3"
    )
    found = {one.doc_id: (one.details["kept"], one.details["reason"]) for one in corpus.removed_documents()}
    assert found == {0: (1, "words"), 2: (1, "equal")}
    assert corpus.delete_near_duplicates(keep_by="year") == 1
    assert corpus.delete_near_duplicates() == 0
    assert corpus.count_docs() == 3


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"contained": 0}, "contained must be a number above 0"),
        ({"contained": True}, "contained must be a number above 0"),
        ({"n": 0}, "n must be"),
        ({"n": 101}, "n must be at most 100"),
        ({"keep": "best"}, "keep must be one of longest, first"),
        ({"candidates": "lsh"}, "candidates must be one of index, minhash"),
        ({"candidates": (0, 1)}, "a number of bands or rows must be"),
        ({"candidates": (1000, 5)}, "at most 4,096, not 5,000"),
        ({"descending": True}, "the order of keep_by, which is missing"),
    ],
)
def test_errors(corpus, named, message):
    for verb in (corpus.near_duplicates, corpus.delete_near_duplicates):
        with pytest.raises(InvalidArgument, match=message):
            verb(**named)


def test_parts_and_limits(corpus):
    part = corpus.where("year < 3")
    assert [row[:2] for row in part.near_duplicates().fetchall()] == [(2, 1)]
    with pytest.raises(NotSupportedError):
        part.delete_near_duplicates()
    with pytest.raises(InvalidArgument, match="a reason must be"):
        corpus.delete_near_duplicates(reason=1)
