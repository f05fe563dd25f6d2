"""First guesses of newcomers: each has its meaning, or an error that names the statement here."""

from __future__ import annotations

import pytest

import ngramdb

# Guesses of users of SQL, CQL and Sketch Engine, infini-gram and of prompts, with a part of the advice.
GUESSES = {
    "SELECT * FROM c": "DOCS WHERE",
    "SELECT COUNT(*) FROM c": "COUNT DOCS",
    "SHOW DATABASES": "CORPORA",
    "SHOW STATS": "DESCRIBE",
    "COUNT TOKENS": 'COUNT ""',
    "COUNT WORDS": 'COUNT ""',
    "COUNT DISTINCT year": "GROUP BY",
    "DISTINCT year": "GROUP BY",
    "DOCS HAVING 1": "DOCS WHERE",
    'DOCS WITH "a"': "DOCS WHERE",
    'DOCS CONTAINING "a"': "DOCS WHERE",
    'DOCS WHERE text CONTAINS "a"': "MATCH TEXT",
    'DOCS WHERE "a" IN text': "leave IN",
    "DOCS 1": "doc_id = 1",
    "DOCUMENT 1": "doc_id = 1",
    "NGRAMS 2 HAVING count > 1": "MIN COUNT",
    "NGRAMS 2 ORDER BY count DESC": "TOP",
    "NGRAMS": "NGRAMS 2",
    "NGRAMS 2 LIKE 'a%'": "STARTING WITH",
    "BIGRAMS": "NGRAMS 2",
    "LOAD 'x.jsonl'": "COPY",
    "EXPORT c TO 'x'": "COPY (DOCS",
    "INSERT INTO c VALUES ('a')": "COPY",
    "ROLLBACK": "RESTORE",
    "BEGIN": "commit",
    "HELP": ".help",
    "STATS": "DESCRIBE",
    "VERSION": "SHOW VERSIONS",
    "RANDOM 5": "SAMPLE",
    'FIND "a"': "KWIC",
    'CONC "a"': "KWIC",
    'SEARCH "a" AND "b"': "DOCS WHERE",
    '[word="a"]': '"a"',
    'COUNT [word="a.*"]': "/a.*/",
    'COUNT [word="a"] []{0,3} [word="b"]': '"a"',
    'KWIC [lemma="a"]': "no lemma",
    'COUNT [] "b"': "write *",
    'COUNT "a" [] "b"': "written *",
    'COUNT "a" %c': "IGNORE CASE",
    'COUNT "a"i': "IGNORE CASE",
    'COUNT "a" ... "b"': "[0..5]",
    'COUNT "a" NEAR/3 "b"': "WITHIN 5 TOKENS",
    'COUNT "a" W/3 "b"': "WITHIN 5 TOKENS",
    'COUNT "a" BY year': "GROUP BY year",
    'KWIC "a" SORT BY right': "ORDER BY",
    'KWIC "a" WINDOW 5,5': "both sides",
    'KWIC "a" LEFT 5': "WINDOW 5",
    'COLLOCATES "a" SPAN 5': "WINDOW 5",
    "KEYWORDS OF year > 2000": "WHERE year",
    "KEYWORDS WHERE year > 2000": "AGAINST REST",
    "COMPARE a b": "KEYWORDS",
    'NEXT "a"': "DIST GIVEN",
    'PREDICT "a"': "GENERATE",
    'P("a" | "b")': "PROB",
    'PROB "a" | "b"': "GIVEN",
    'INFGRAM "a b"': "USING INFGRAM",
    'ENTROPY "a"': "SCORE",
    'GENERATE "a"': "TOKENS 20",
    "TRACE 'a'": 'write "a"',
}
MEANT = ('COLLOCATES "a"', 'DISPERSION "a"', "DESCRIBE", 'DIST "a"', "NGRAMS 2 LIMIT 5", 'COUNT("a")')


@pytest.fixture(scope="module")
def db():
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(
            [{"text": "a b a c", "year": 2000}, {"text": "b a", "year": 2001}]
        )
        yield connection


@pytest.mark.parametrize("guess", GUESSES)
def test_a_guess_is_answered_with_what_it_means(db, guess):
    with pytest.raises(ngramdb.QueryError) as caught:
        db.execute(guess)
    assert GUESSES[guess] in str(caught.value).splitlines()[0]
    assert "one starts with" not in str(caught.value)


@pytest.mark.parametrize("guess", MEANT)
def test_a_guess_has_its_meaning(db, guess):
    assert db.execute(guess).fetchall()
