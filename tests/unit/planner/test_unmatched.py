"""Patterns that match nothing in any corpus get a note in every statement; others get none."""

from __future__ import annotations

from pathlib import Path

import pytest

import ngramdb
from ngramdb.planner.binding.unmatched import of_expression

IMPOSSIBLE = {
    r"[a-z.]+@[a-z.]+": '/[a-z.]+/ "@" /[a-z.]+/',
    r"\d{3}-\d{4}": r'/\d{3}/ "-" /\d{4}/',
    "time flies": '"time" "flies"',
    ".*n't": """/.*n/ "'" "t\"""",
    "well-.*": None,
    r"e\.g": '"e" "." "g"',
}
POSSIBLE = [
    "wom[ae]n",
    "a-?b",
    "-",
    "-.*",
    "a*-",
    r"\.",
    "(a b|c)",
    "a|b c",
    "x{1,3}y",
    "[a b]+",
    "-+",
    "^-$",
    "(?x)a b",
]
STATEMENTS = (
    "COUNT {}",
    "COUNT DOCS WHERE {}",
    "DOCS WHERE NOT {}",
    "DELETE DOCS WHERE {}",
    "KWIC {}",
    "COLLOCATES {}",
    "DISPERSION {}",
    "NGRAMS 2 CONTAINING {}",
    'COUNT "a" WHERE {}',
    'COUNT ("a" | {})',
    "COPY (DOCS WHERE {}) TO 'out.jsonl'",
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_expressions_that_no_token_matches_are_noted(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(["time flies, don't it? a well-known fact"])
        for expression in IMPOSSIBLE:
            result = connection.execute(statement.format(f"/{expression}/"))
            assert "one token at a time" in result.summary.get("note", ""), expression


def test_advice_is_the_pattern_that_matches() -> None:
    for expression, pattern in IMPOSSIBLE.items():
        said = of_expression(expression)
        assert said is not None and (pattern is None or said.endswith(f"write {pattern}")), expression


def test_expressions_that_may_match_get_no_note() -> None:
    assert [expression for expression in POSSIBLE if of_expression(expression)] == []


def test_python_warns_too() -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c")
        corpus.append(["time flies"])
        with pytest.warns(ngramdb.ConditionWarning, match="one token at a time"):
            assert corpus.count_docs("/time flies/") == 0


def test_case_that_is_ignored_of_the_last_n_gram_only_is_noted() -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(["A b"])
        for statement in ('COUNT "a" OR "b" IGNORE CASE', 'COUNT DOCS WHERE "a" OR "b" IGNORE CASE'):
            assert "the last n-gram alone" in connection.execute(statement).summary["note"]
        for statement in ('COUNT "a" IGNORE CASE OR "b" IGNORE CASE', 'COUNT "a" IGNORE CASE OR "b"'):
            assert "note" not in connection.execute(statement).summary


def test_wildcards_of_other_programs_are_noted_even_if_the_text_occurs() -> None:
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(["go go going go* woman why?"])
        notes = {
            text: connection.execute(f'KWIC "{text}"').summary.get("note", "")
            for text in ("go*", "wom?n", "go", "why?")
        }
    assert '"go" PREFIX' in notes["go*"] and "/wom.n/" in notes["wom?n"]
    assert notes["go"] == notes["why?"] == ""
