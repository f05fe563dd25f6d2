"""Verbs match texts under the setting `match` exactly like their statements."""

from __future__ import annotations

import inspect

import pytest

import ngramdb
from ngramdb.api.corpus import Corpus
from ngramdb.registries import MATCHES

TEXTS = ["A banana and a cat", "a Banana", "Anna"]

# By verb: a call with an n-gram and flags, and the statement for the same n-gram with its modifiers.
VERBS = {
    "count": (lambda c, ngram, flags: [(c.count(ngram, **flags),)], "COUNT {}"),
    "counts": (lambda c, ngram, flags: c.counts(ngram, **flags).fetchall(), "COUNT {}"),
    "kwic": (lambda c, ngram, flags: c.kwic(ngram, **flags).fetchall(), "KWIC {}"),
    "occurrences": (
        lambda c, ngram, flags: [(c.occurrences(ngram, **flags).doc_ids.size,)],
        "COUNT {}",
    ),
    "collocates": (
        lambda c, ngram, flags: c.collocates(ngram, window=2, **flags).fetchall(),
        "COLLOCATES OF {} WINDOW 2",
    ),
    "dispersion": (lambda c, ngram, flags: c.dispersion(ngram, **flags).fetchall(), "DISPERSION OF {}"),
}
FLAGS = [
    ({}, ""),
    ({"match_text": True}, " MATCH TEXT"),
    ({"match_text": False}, " MATCH TOKENS"),
    ({"ignore_case": True}, " IGNORE CASE"),
    ({"match_text": False, "ignore_case": True}, " MATCH TOKENS IGNORE CASE"),
    ({"match_text": True, "ignore_case": True}, " MATCH TEXT IGNORE CASE"),
]


@pytest.fixture(scope="module", params=["words", "bytes"])
def connection(request):
    with ngramdb.connect() as db:
        db.create_corpus("c", request.param).append(TEXTS)
        yield db


@pytest.fixture(params=MATCHES)
def db(connection, request):
    connection.settings["match"] = request.param
    return connection


def test_every_verb_that_matches_text_is_compared():
    found = {
        name
        for name, function in inspect.getmembers(Corpus, inspect.isfunction)
        if "match_text" in inspect.signature(function).parameters
    }
    assert found == {*VERBS, "cut_spans"}


@pytest.mark.parametrize("flags, modifiers", FLAGS)
def test_occurrences_are_cut_as_by_the_statement(db, flags, modifiers):
    for text in ("a", "A", "Banana"):
        with db.trial() as trial:
            expected = trial.execute(f'CUT SPANS WHERE "{text}"{modifiers} FROM c').fetchall()
        with db.trial() as trial:
            assert [tuple(trial.corpus("c").cut_spans(text, **flags))] == list(map(tuple, expected))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("flags, modifiers", FLAGS)
def test_a_verb_answers_as_its_statement_under_every_setting(db, verb, flags, modifiers):
    ask, statement = VERBS[verb]
    for text in ("a", "A", "Banana"):
        expected = db.execute(statement.format(f'"{text}"{modifiers}')).fetchall()
        assert ask(db.corpus("c"), text, flags) == expected
        assert ask(db.corpus("c"), ngramdb.pattern(f'"{text}"'), flags) == expected


def test_many_counts_are_those_of_single_ones(db):
    corpus = db.corpus("c")
    ngrams = ["a", "A", [1], "", "a", "Banana"]
    assert corpus.count_many(ngrams).tolist() == [corpus.count(ngram) for ngram in ngrams]
    assert corpus.count_many(["a"]).tolist() == [corpus.count("a")]
    assert corpus.count_many([[1], [2, 3]]).tolist() == [corpus.count([1]), corpus.count([2, 3])]


def test_letter_case_may_matter_whatever_the_setting_says(db):
    corpus = db.corpus("c")
    as_text = db.settings["match"] != "tokens"
    assert corpus.count("Banana", ignore_case=False) == corpus.count("Banana", match_text=as_text) == 1


def test_n_grams_contain_what_the_setting_says(db):
    written = 'NGRAMS 2 CONTAINING "banana"'
    try:
        expected = db.execute(written).fetchall()
    except ngramdb.QueryError as error:  # CONTAINING takes whole words
        with pytest.raises(ngramdb.QueryError) as caught:
            db.corpus("c").ngrams(2, containing="banana")
        assert caught.value.message == error.message
    else:
        assert db.corpus("c").ngrams(2, containing="banana").fetchall() == expected
