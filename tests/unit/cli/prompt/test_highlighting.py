"""Colours while typing."""

from __future__ import annotations

import pytest
from prompt_toolkit.document import Document

from ngramdb.cli.prompt.editing import STYLE, StatementLexer, styled_lines
from ngramdb.language.editing import KINDS

TEXTS = [
    "",
    "\n",
    'COUNT "a b" FROM wiki; -- done',
    'COUNT\n\n"a\nb"\n',
    ".mode csv",
    '"open\n',
    "é ∞ \x00 ?",
]


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_join_to_the_text(text: str) -> None:
    lines = ["".join(piece for _, piece, *_ in line) for line in styled_lines(text)]
    assert "\n".join(lines) == text


def test_kinds_become_classes() -> None:
    (line,) = styled_lines('COUNT "a"')
    assert ("class:ngramdb.keyword", "COUNT") in line
    assert ("class:ngramdb.ngram", '"a"') in line


def test_a_dot_command_is_coloured_by_its_first_word() -> None:
    assert styled_lines(".mode csv")[0][0] == ("class:ngramdb.command", ".mode")


def test_every_kind_but_plain_text_has_a_style() -> None:
    styled = {name for names, _ in STYLE.class_names_and_attrs for name in names}
    for kind in set(KINDS) - {"name", "operator", "space"}:
        assert f"ngramdb.{kind}" in styled


def test_lexer_answers_for_lines_that_are_not_there() -> None:
    line = StatementLexer().lex_document(Document("COUNT"))
    assert line(0) == [("class:ngramdb.keyword", "COUNT")]
    assert line(5) == []
