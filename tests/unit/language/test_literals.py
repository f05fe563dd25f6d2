"""Literals: what they stand for, and where exactly a wrong one is wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.errors import ParseError
from ngramdb.language import ast
from ngramdb.language.parser import parse_statement
from ngramdb.language.scanner import MAX_TOKEN_ID

characters = st.characters(exclude_categories=["Cs"])


def ngram(literal: str) -> object:
    statement = parse_statement(f"COUNT {literal}")
    assert isinstance(statement, ast.Count)
    assert isinstance(statement.what, ast.Contains)
    return statement.what.pattern


def value(literal: str) -> object:
    statement = parse_statement(f"SET x = {literal}")
    assert isinstance(statement, ast.SetSetting)
    assert isinstance(statement.value, ast.Value)
    return statement.value.value


@given(st.text(characters), st.booleans())
def test_text_written_as_json_comes_back(text: str, ascii_only: bool) -> None:
    assert ngram(json.dumps(text, ensure_ascii=ascii_only)) == ast.Text(text)


@given(st.text(characters))
def test_string_with_doubled_quotes_comes_back(text: str) -> None:
    literal = "'" + text.replace("'", "''") + "'"
    assert value(literal) == text


@given(st.text(characters, min_size=1))
def test_name_with_doubled_backquotes_comes_back(name: str) -> None:
    assert parse_statement("USE `" + name.replace("`", "``") + "`") == ast.Use(ast.Name(name))


@given(st.lists(st.integers(0, MAX_TOKEN_ID)))
def test_token_ids_come_back(ids: list[int]) -> None:
    assert ngram(str(ids)) == ast.TokenIds(tuple(ids))
    assert ngram("[\n" + "\t,\r\n".join(f"00{i}" for i in ids) + " ]") == ast.TokenIds(tuple(ids))


@given(st.integers(-(10**308) + 1, 10**308 - 1) | st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back(number: int | float) -> None:
    found = value(repr(number))
    assert found == number
    assert type(found) is type(number)


def test_constants_are_told_from_numbers_and_strings() -> None:
    assert value("TRUE") is True
    assert value("false") is False
    assert value("Null") is None
    assert value("'TRUE'") == "TRUE"


def test_text_may_hold_line_breaks_and_semicolons() -> None:
    assert ngram('"one;\n-- two\t/* "') == ast.Text("one;\n-- two\t/* ")


def test_leading_zeros_do_not_count_as_digits() -> None:
    zeros = "0" * 5_000
    assert value(f"{zeros}7") == 7
    assert value(f"-{zeros}7") == -7
    assert ngram(f"[{zeros}1, {zeros}]") == ast.TokenIds((1, 0))


@pytest.mark.parametrize(
    ("statement", "marked", "words"),
    [
        (r'COUNT "a\x41"', r"\x", "unknown escape"),
        (r'COUNT "a\'"', r"\'", "unknown escape"),
        ('COUNT "a\\\n"', "\\\n", "U+000A"),
        (r'COUNT "\n\u00g0"', r"\u", "four hexadecimal digits"),
        (r'COUNT "\\\u12"', r"\u", "four hexadecimal digits"),
        (r'COUNT "x\udc00"', r"\udc00", "surrogate"),
        (r'COUNT "\ud800\ud800"', r"\ud800", "surrogate"),
        ('COUNT "x\ud800"', "\ud800", "surrogate"),
        ("COUNT [7, -1]", "-1", "negative"),
        ("COUNT [-0]", "-0", "negative"),
        ("COUNT [4294967296, 1]", "4294967296", "too large"),
        ("COUNT [1, " + "9" * 5_000 + "]", "9" * 5_000, "too large"),
        ("COUNT [1, 2 3]", "2 3", "whole numbers"),
        ("COUNT [1_000]", "1_000", "whole numbers"),
        ("COUNT [+1]", "+1", "whole numbers"),
        ("COUNT [١]", "١", "whole numbers"),
        ('COUNT "a" [1..] "b"', "[1..]", "a gap is written"),
        ('COUNT "a" [..3] "b"', "[..3]", "a gap is written"),
        ('COUNT "a" [1...3] "b"', "[1...3]", "a gap is written"),
        ('COUNT "a" [-1..3] "b"', "[-1..3]", "a gap is written"),
        ('COUNT "a" [a..b] "b"', "[a..b]", "a gap is written"),
        ('COUNT "a" [5..4] "b"', "[5..4]", "lower bound"),
        ('COUNT "a" [0..9999999999] "b"', "[0..9999999999]", "too long"),
        ("DOCS WHERE x = 1" + "0" * 308, "1" + "0" * 308, "too large"),
        ("DOCS WHERE x > 1_000", "1_000", "without separators: 1000"),
        ("COUNT [1, ]", " ", "missing"),
        ("COUNT [,]", ",", "missing"),
        ("SET x = -1" + "0" * 308, "-1" + "0" * 308, "too large"),
        ("SET x = 1e999", "1e999", "too large"),
        ("SET x = " + "1" * 5_000, "1" * 5_000, "too large"),
        ("SET x = 1.", "1.", "is not a number"),
        ("SET x = 1.2.3", "1.2.3", "is not a number"),
        ("SET x = 0x10", "0x10", "is not a number"),
        ("USE ``", "``", "empty"),
    ],
)
def test_wrong_literal_is_marked_at_its_own_place(statement: str, marked: str, words: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_statement(statement)
    assert statement[caught.value.start : caught.value.stop] == marked
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("statement", "start", "mark"),
    [
        ('COUNT "a', 6, '"'),
        ('COUNT "a\\"', 6, '"'),
        ("SET x = 'it''s", 8, "'"),
        ("SET x = '''", 8, "'"),
        ("USE `a``", 4, "`"),
        ("COUNT /* a *", 6, "*/"),
        ("COUNT [1, 2; CHECK", 6, "]"),
    ],
)
def test_literal_that_is_never_closed_is_marked_where_it_starts(
    statement: str, start: int, mark: str
) -> None:
    with pytest.raises(ParseError, match="never closed") as caught:
        parse_statement(statement)
    assert (caught.value.start, caught.value.stop) == (start, start + 1)
    assert caught.value.message.endswith(f"a {mark} is missing")
