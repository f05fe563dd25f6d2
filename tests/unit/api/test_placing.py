"""Errors found while a statement runs point into its text; settings answer in the language's notation."""

from __future__ import annotations

import pytest

import ngramdb


@pytest.mark.parametrize(
    ("statement", "kind", "message", "marked"),
    [
        ("CREATE CORPUS wiki", ngramdb.BindError, "corpus wiki exists already", "wiki"),
        ("CREATE CORPUS x TOKENIZER 'wrods'", ngramdb.PlanError, "unknown tokenizer 'wrods'", "'wrods'"),
        ("CREATE CORPUS x TOKENIZER 'no.json'", ngramdb.PlanError, "no such file 'no.json'", "'no.json'"),
        ("EXPLAIN ANALYZE DROP CORPUS wiki", ngramdb.PlanError, "EXPLAIN ANALYZE runs", "DROP CORPUS wiki"),
        ("RESTORE CORPUS wiki TO VERSION 99", ngramdb.BindError, "version 99 is not kept", "99"),
        ("RESTORE CORPUS wiki TO VERSION 'x'", ngramdb.BindError, "no version is kept as 'x'", "'x'"),
        ("KEEP VERSION 99 AS 'x'", ngramdb.BindError, "version 99 is not kept", "99"),
        ("KEEP VERSION 1 AS '2'", ngramdb.PlanError, "choose another name", "'2'"),
        ("DROP VERSION 'x'", ngramdb.BindError, "no version is kept as 'x'", "'x'"),
        ("ALTER CORPUS wiki ADD CORPUS gone AT VERSION 1", ngramdb.BindError, "'gone'", "gone AT VERSION 1"),
        ("DROP CORPUS wikki", ngramdb.BindError, "no corpus 'wikki'; did you mean wiki?", "wikki"),
    ],
)
def test_errors_of_running_statements_have_a_place(db, wiki, statement, kind, message, marked):
    text = "SHOW CORPORA;\n  " + statement
    with pytest.raises(kind) as caught:
        db.execute(text)
    error = caught.value
    assert message in error.message and error.text == text
    assert text[error.start : error.stop] == marked
    assert (error.line, error.column) == (2, 3 + statement.index(marked))
    *_, source, caret = str(error).splitlines()
    assert source[caret.index("^") : caret.rindex("^") + 1] == marked


def test_an_error_without_a_better_place_points_to_its_statement(db):
    with pytest.raises(ngramdb.BindError, match="no corpus exists yet") as caught:
        db.execute('SHOW CORPORA; COUNT "a"')
    assert (caught.value.line, caught.value.column) == (1, 15)


def test_verbs_raise_the_same_errors_without_a_place(db, wiki):
    with pytest.raises(ngramdb.BindError, match="corpus wiki exists already") as caught:
        db.create_corpus("wiki")
    assert caught.value.line is None
    with pytest.raises(ngramdb.InvalidArgument, match="unknown tokenizer"):
        db.create_corpus("x", tokenizer="wrods")


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        ("SET progress = off", "progress = FALSE"),
        ("RESET progress", "progress = TRUE"),
        ("SET threads = 2", "threads = 2"),
        ("SET timeout = 0.5", "timeout = 0.5"),
        ("RESET timeout", "timeout = 0"),
        ("SET disabled_rules = 'flatten'", "disabled_rules = 'flatten'"),
        ("RESET disabled_rules", "disabled_rules = ''"),
    ],
)
def test_settings_answer_as_a_statement_would_give_them(db, statement, answer):
    assert repr(db.execute(statement)) == answer
    db.execute(f"SET {answer}")
