"""Conditions that hold for no document, or for every one, regardless of the data: answered with a warning."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import ngramdb
from ngramdb import ConditionWarning
from ngramdb.errors import PlanError

NEVER = {
    "year = ?": "year IS NULL finds documents without the field",
    "year != ?": "year IS NOT NULL finds documents that have the field",
    "NOT year > ?": "year IS NOT NULL finds documents that have the field",
    "kind LIKE ?": "kind IS NULL finds documents without the field",
    "year NOT IN (2000, ?)": "year NOT IN (…, NULL) is never true, as in SQL; leave",
    "NOT year IN (2000, ?)": "leave NULL out of the list",
    "year IN (?)": "year IN (NULL) is never true",
    "year BETWEEN ? AND 2010": "year <= … has one bound only",
    "year BETWEEN 2000 AND ?": "year >= … has one bound only",
    "NOT year BETWEEN 1990 AND ?": "BETWEEN 1990 AND NULL is true of no value from 1990 on, as in SQL",
    "NOT year BETWEEN ? AND NULL": "NOT year BETWEEN NULL AND NULL is never true; year IS NOT NULL finds",
    "tags BETWEEN 'a' AND ?": "tags >= … has one bound only",
    "NOT tags BETWEEN 'a' AND ?": "NOT tags BETWEEN 'a' AND NULL is true of no value from 'a' on",
    "NOT YEAR(dates) BETWEEN ? AND 3000": "BETWEEN NULL AND 3000 is true of no value up to 3000",
}


@pytest.fixture
def db():
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(
            [
                {"text": "a b", "year": 2000, "kind": "x", "tags": ["b", None], "dates": ["2020-05-01"]},
                {"text": "a c", "year": 2010, "kind": "y", "tags": ["a", "c"], "dates": ["1999-01-01"]},
                {"text": "a", "kind": "z"},
                {"text": "b"},
            ]
        )
        yield connection


@pytest.mark.parametrize("null", [None, math.nan, np.float64("nan")], ids=repr)
@pytest.mark.parametrize("condition", NEVER)
def test_a_comparison_with_null_says_that_it_is_never_true(db, condition, null):
    corpus, said = db.corpus("c"), NEVER[condition]
    asked = {
        "count_docs": lambda: corpus.count_docs(condition, params=[null]),
        "docs": lambda: corpus.docs(condition, params=[null]).fetchall(),
        "docs in order": lambda: corpus.docs(condition, params=[null], order_by="year").fetchall(),
        "kwic": lambda: corpus.kwic("a", condition, params=[null]).fetchall(),
        "ngrams": lambda: corpus.ngrams(1, where=condition, params=[null]).fetchall(),
        "sample": lambda: corpus.sample(2, where=condition, params=[null]).fetchall(),
    }
    for name, ask in asked.items():
        with pytest.warns(ConditionWarning) as caught:
            assert not ask(), name
        assert [said in str(one.message) for one in caught] == [True], name
        assert caught[0].filename == __file__, name
    for begin in ("COUNT DOCS WHERE", 'COUNT "a" WHERE', 'KWIC "a" WHERE', "NGRAMS 1 WHERE", "DOCS WHERE"):
        assert said in db.execute(f"{begin} {condition}", [None]).notes[0]
    with pytest.warns(ConditionWarning):
        assert corpus.delete(condition, params=[null]) == 0


def test_a_filter_makes_an_error_of_it_before_anything_is_removed(db):
    corpus = db.corpus("c")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConditionWarning)
        with pytest.raises(ConditionWarning):
            corpus.delete('"a" AND (kind = ? OR kind = ?)', params=["x", None])
    assert corpus.n_documents == 4


def test_a_null_among_values_that_are_found_is_said(db):
    with pytest.warns(ConditionWarning, match=r"year IN \(…, NULL\) finds nothing for NULL; year IS NULL"):
        assert db.corpus("c").count_docs("year IN ?", params=[[2000, None]]) == 1


@pytest.mark.parametrize(
    "bounds, why", [((2010, 2000), "lower bound comes first"), (("b", "a"), "lower bound")]
)
def test_a_range_with_its_bounds_exchanged_is_said(db, bounds, why):
    field = "kind" if isinstance(bounds[0], str) else "year"
    with pytest.warns(ConditionWarning, match="the lower bound comes first"):
        assert db.corpus("c").count_docs(f"{field} BETWEEN ? AND ?", params=bounds) == 0


@pytest.mark.parametrize(
    "condition",
    ["year IS NULL", "NOT year IS NULL", "year IN (2000)", "NOT year IN (2000)", "year BETWEEN 1 AND 1"],
)
def test_other_conditions_say_nothing(db, condition):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.corpus("c").count_docs(condition)
    assert not db.execute(f"COUNT DOCS WHERE {condition}").notes


def test_a_negated_range_with_one_bound_says_what_it_finds(db):
    answered = db.execute("COUNT DOCS WHERE NOT year BETWEEN ? AND 2005", [None])
    assert answered.fetchall() == [(1,)]
    assert answered.notes == ("NOT year BETWEEN NULL AND 2005 is true of no value up to 2005, as in SQL",)


@pytest.mark.parametrize("source", ["c", "c + other", "other + c", "c AT VERSION ?"])
def test_overlap_of_a_corpus_with_itself_is_said_and_removes_nothing(db, source):
    """Each document has all of its n-grams itself, so that the condition would be true of all."""
    corpus = db.corpus("c")
    db.create_corpus("other", tokenizer="words").append(["x y z"])
    params = [db.version] if "?" in source else None
    condition = f"OVERLAP({source}, 1) >= 0.8"
    with pytest.warns(ConditionWarning, match="every document of c overlaps with itself"):
        assert corpus.count_docs(condition, params=params) == 4
    assert "overlaps with itself" in db.execute(f"DOCS FROM c WHERE {condition}", params).notes[0]
    for where in (condition, f"NOT {condition}", f'"a" OR {condition}'):
        with pytest.raises(PlanError, match="DELETE would remove them all; compare with another corpus"):
            corpus.delete(where, params=params)
    assert corpus.n_documents == 4


@pytest.mark.parametrize("source", ["other", "c - c", "c AT VERSION 2", "other - c + c"])
def test_overlap_with_other_documents_needs_no_note(db, source):
    """Another corpus, or another version; or a sum that may have anything."""
    db.create_corpus("other", tokenizer="words").append(["a b", "a c", "a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.corpus("c").count_docs(f"OVERLAP({source}, 1) >= 0.8")
        db.execute(f"DELETE DOCS FROM c WHERE OVERLAP({source}, 1) > 1")
