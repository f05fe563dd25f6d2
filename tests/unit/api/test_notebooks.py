"""Objects in notebooks: HTML with the same facts as their representation, and texts are escaped."""

from __future__ import annotations

import math

import pytest

import ngramdb

MARKUP = "<b>&\x1b[2J"
OBJECTS = {
    "Connection": lambda db, corpus: db,
    "Corpus": lambda db, corpus: corpus,
    "part": lambda db, corpus: corpus.where("year = 2019"),
    "Settings": lambda db, corpus: db.settings,
    "Result": lambda db, corpus: db.execute("DOCS"),
    "Removals": lambda db, corpus: corpus.removals(),
    "Scores": lambda db, corpus: corpus.score("natural zebra language"),
    "DocumentScores": lambda db, corpus: corpus.score_many([[0, 1], [2]]),
    "Perplexity": lambda db, corpus: corpus.perplexity(["natural language"]),
    "Spans": lambda db, corpus: corpus.trace_arrays("natural language"),
    "NextTokens": lambda db, corpus: corpus.dist_arrays("natural"),
    "Places": lambda db, corpus: corpus.occurrences("natural"),
}


@pytest.fixture
def removed(db, wiki):
    wiki.append([MARKUP])
    wiki.delete('"the"', reason=MARKUP)
    return wiki


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_have_html_in_which_texts_are_no_markup(db, removed, name):
    shown = OBJECTS[name](db, removed)._repr_html_()
    assert shown.startswith(("<table>", "<p>")) and "<b>" not in shown and "\x1b" not in shown


def test_html_has_the_facts(db, removed):
    assert ">wiki</td>" in db._repr_html_() and ">words</td>" in db._repr_html_()
    assert "field year" in removed._repr_html_()
    assert ">perplexity_known</td>" in removed.perplexity(["natural"])._repr_html_()
    assert "&lt;b&gt;&amp;" in removed.removals()._repr_html_()
    assert ">slow_statement</td>" in db.settings._repr_html_()


def test_closed_objects_and_dropped_ones_still_have_html(db, wiki):
    db.drop_corpus("wiki")
    assert "no corpus" in wiki._repr_html_()
    db.close()
    assert "closed" in db._repr_html_()


def test_long_arrays_show_their_first_rows(wiki):
    scores = wiki.score("natural " * 30)
    shown = scores._repr_html_()
    assert "(30 rows, 20 shown)" in shown and shown.count("<tr>") == 21
    assert math.isnan(scores.prob[-1]) or "NULL" not in shown


def test_many_removals_are_shown_in_few_lines(db, wiki):
    for i in range(30):
        wiki.delete(f"year = {3000 + i} OR " + " OR ".join(f"year = {n}" for n in range(3100, 3200)))
        wiki.append([{"text": "a", "year": 3000 + i + 1}])
    removals = wiki.removals()
    assert isinstance(removals, list) and len(removals) == 29
    assert len(repr(removals)) < 5_000 and "29 rows, 20 shown" in repr(removals)
    assert len(repr(removals[0])) < 300 and "version=" in repr(removals[0])
    assert removals[0].statement.count(" OR ") == 100


def test_removals_that_are_none(wiki):
    assert wiki.removals() == [] and "(0 rows)" in repr(wiki.removals())


def test_results_are_frames_for_polars(db, wiki):
    polars = pytest.importorskip("polars")
    wiki.append([{"text": "a list", "tags": ["one", "two"]}])
    for statement in ("NGRAMS 2 TOP 3", "DOCS", "DOCS RETURNING *", 'KWIC "language"', 'TRACE "the end"'):
        expected = db.execute(statement).pl()
        found = polars.read_database(statement, db)
        assert found.columns == expected.columns and found.rows() == expected.rows(), statement
        pieces = polars.read_database(statement, db, iter_batches=True, batch_size=2)
        assert [row for piece in pieces for row in piece.rows()] == expected.rows(), statement
    assert isinstance(polars.from_arrow(db.execute("NGRAMS 2")), polars.Series)  # as of any such stream
    assert isinstance(polars.DataFrame(db.execute("NGRAMS 2")), polars.DataFrame)


def test_types_in_descriptions_are_certain_ones(db, wiki):
    cursor = db.cursor().execute("NGRAMS 2")
    assert dict(column[:2] for column in cursor.description)["token_ids"] is None
    assert {column[1] for column in cursor.description} == {"str", "int", None}


def test_addresses_give_remote_connections():
    assert type(ngramdb.connect_remote("http://localhost:1")) is ngramdb.RemoteConnection
    assert type(ngramdb.connect("http://localhost:1", token="x")) is ngramdb.RemoteConnection
    with pytest.raises(ngramdb.InvalidArgument, match="not the address"):
        ngramdb.connect_remote("corpora.ngdb")
