"""Colours while typing."""

from __future__ import annotations

import pytest
from prompt_toolkit.document import Document

from ngramdb.cli.shell.editing import STYLE, StatementLexer, styled_lines
from ngramdb.language.editing import KINDS, first_mistake

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


# ---- The mark at the first mistake while a statement is being typed.


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", None),
        ("COU", None),
        ("COUX", "COUX"),
        ("COUNT", None),
        ("COUNT 'a", None),
        ("COUNT 'a'", "'a'"),
        ('COUNT "a', None),
        ('COUNT "a" FRO', None),
        ('COUNT "a" FROX', "FROX"),
        ('COUNT "a" FROX wiki', "FROX"),
        ('COUNT "a" FROM wiki;', None),
        ("COUNT;", ";"),
        ('COUNT "a"; SHOW', None),
        ('COUNT "a"; SHOX;', "SHOX"),
        ('COUNT "a" [1..', None),
        ("DOCS WHERE x >", None),
        ("DOCS LIMIT 5.", None),
        ("DOCS LIMIT abc", "abc"),
        ("/* open", None),
    ],
)
def test_only_what_typing_on_cannot_mend_is_a_mistake(text: str, mistake: str | None) -> None:
    found = first_mistake(text)
    assert (None if found is None else text[found[0] : found[1]]) == mistake


def test_no_beginning_of_a_right_statement_has_a_mistake() -> None:
    for text in (
        'COUNT "natural" [1..3] "language" IGNORE CASE FROM wiki AT VERSION 3 + `a b`;',
        "DOCS WHERE meta.`site name` >= 2.5 AND (source IN ('it''s', 'b') OR NOT x IS NOT NULL) LIMIT 10;",
        "COPY wiki FROM 'data/*.jsonl' (FORMAT jsonl, METADATA (a, b)) ON ERROR SKIP;",
        'DIST GIVEN [5613, 4086] USING KNESER_NEY ORDER 5 MIN COUNT 2 TOP :k; -- "done"',
    ):
        for stop in range(len(text) + 1):
            assert first_mistake(text[:stop]) is None, text[:stop]


def test_the_mark_is_a_style_on_top_of_the_colour() -> None:
    (line,) = styled_lines('COUNT "a" FROX x')
    assert [piece for style, piece in line if "mistake" in style] == ["FROX"]
    assert "".join(piece for _, piece, *_ in line) == 'COUNT "a" FROX x'
