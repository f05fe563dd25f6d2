"""The splitter: statements end at semicolons that are semicolons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.language.parser import parse
from ngramdb.language.scanner import Piece, is_complete, split


def test_statements_are_cut_at_semicolons() -> None:
    assert split(' COUNT "a";\nCHECK ;DOCS -- all\n') == [
        Piece('COUNT "a";', 1, True),
        Piece("CHECK ;", 12, True),
        Piece("DOCS", 19, False),
    ]


@pytest.mark.parametrize("inside", ['"a;b"', "'a;''b;'", "`a;b`", "/* ; */ x", "-- ;\n x", r'"\";"'])
def test_semicolons_in_literals_names_and_comments_do_not_end_a_statement(inside: str) -> None:
    text = f"COUNT {inside};"
    assert split(text) == [Piece(text, 0, True)]


@pytest.mark.parametrize("text", ["", "  \n", ";", " ; ;-- done", "/* ; */"])
def test_empty_statements_are_left_out(text: str) -> None:
    assert split(text) == []
    assert is_complete(text)


@pytest.mark.parametrize("text", ["CHECK;", "CHECK; -- done", "CHECK;\n\n/* done */", "CHECK;;", ")(;"])
def test_text_that_ends_with_a_semicolon_is_complete(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize(
    "text",
    [
        "CHECK",
        "CHECK; CHECK",
        'COUNT "a;',
        "COUNT 'a;",
        "USE `a;",
        "CHECK; /* ;",
        'COUNT "a\\";',
        "COUNT [1,",
    ],
)
def test_text_that_goes_on_is_not_complete(text: str) -> None:
    assert not is_complete(text)


@given(
    st.lists(st.sampled_from(['COUNT ";"', "CHECK", "USE `;`", "SET x = ';'", "DOCS -- ;\n", "/*;*/DOCS"]))
)
def test_pieces_parse_to_what_the_whole_text_does(statements: list[str]) -> None:
    text = ";\n".join(statements)
    pieces = split(text)
    assert tuple(s for piece in pieces for s in parse(piece.text)) == parse(text)
    assert len(pieces) == len(statements)


@given(st.text() | st.text("\"'`;-/*[] \n\\a"))
def test_pieces_stand_in_the_text_in_order_and_leave_out_only_blanks(text: str) -> None:
    place = 0
    for piece in split(text):
        assert piece.start >= place
        assert text[piece.start :].startswith(piece.text)
        assert split(text[place : piece.start]) == []
        place = piece.start + len(piece.text)
    assert split(text[place:]) == []
