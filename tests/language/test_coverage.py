"""The golden files leave out no statement, keyword, clause or rewrite rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from support.golden import FILES, FOLDER, Case, cases, corpora, parsed
from support.registered import statements

from ngramdb.language.parser import keywords
from ngramdb.planner.planner import rule_names

PAGE = Path(__file__).parents[2] / "docs" / "language.md"


def answered(file: Path) -> list[Case]:
    """Return the cases whose answer is not an error."""
    return [
        case
        for case in cases(file)
        if corpora(file) and parsed(case.statement) and not case.expected.startswith("error: ")
    ]


def test_every_kind_of_statement_is_answered() -> None:
    kinds: set[type] = set()
    for file in FILES:
        for case in answered(file):
            kinds |= set(map(type, parsed(case.statement)))
    assert kinds == statements()


def test_every_keyword_is_in_an_answered_statement() -> None:
    texts = " ".join(
        case.statement for file in FILES for case in answered(file) if parsed(case.statement)
    ).upper()
    assert [word for word in sorted(keywords()) if not re.search(rf"\b{word}\b", texts)] == []


def syntax() -> Iterator[tuple[str, str]]:
    """Each statement's first keyword with each keyword of its clauses, from docs/language.md."""
    grammar = (
        PAGE.read_text(encoding="utf-8")
        .partition("## The grammar in one place")[2]
        .partition("    source:")[0]
    )
    head = ""
    for line in re.findall(r"^      (?:  )?(\S.*)$", grammar, re.MULTILINE):
        words = re.findall(r"\b[A-Z]{2,}\b", line)
        head = head if line.startswith("[") else words[0]
        yield from ((head, word) for word in words)


def test_every_clause_of_the_language_page_is_in_an_answered_statement() -> None:
    answers = (re.findall(r"\w+", case.statement.upper()) for file in FILES for case in answered(file))
    said = {(words[0], word) for words in answers for word in words}
    assert len(set(syntax())) > 90
    assert sorted(set(syntax()) - said) == []


def test_every_rule_changes_a_plan() -> None:
    named = {
        name
        for file in FILES
        for case in answered(file)
        for line in case.expected.split("\n")
        if line.startswith('"rules: ')
        for name in line.strip('"').removeprefix("rules: ").split(", ")
    }
    always = {"order_operands", "scan_candidates", "negation_as_difference"}  # choices, which no plan names
    assert set(rule_names()) - always - named == set()


def test_there_are_many_errors_and_no_statement_stands_twice() -> None:
    texts = [case.statement for case in cases(FOLDER / "errors.test")]
    assert len(texts) >= 250
    assert len(set(texts)) == len(texts)
