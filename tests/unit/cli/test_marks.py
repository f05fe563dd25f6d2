"""Marks in a document's text."""

from __future__ import annotations

import pytest

from ngramdb.cli.shell.statement_text import MOST_NGRAMS, Marks, marks_of


def marked(text: str, *ngrams: str, ignore_case: bool = False) -> list[str]:
    return [text[start:stop] for start, stop in Marks(ngrams, ignore_case).find(text)]


@pytest.mark.parametrize(
    ("text", "ngrams", "expected"),
    [
        ("the cat sat", ["cat"], ["cat"]),
        ("a catalog, a cat", ["cat"], ["cat"]),
        ("a catalog", ["cat"], ["cat"]),
        ("the\n  cat", ["the cat"], ["the\n  cat"]),
        ("for i in range (3)", ["range("], ["range ("]),
        ("a b a b", ["a b", "b"], ["a b", "a b"]),
        ("x.* y", [".*"], [".*"]),
        ("nothing", ["cat"], []),
        ("日本語", ["本"], ["本"]),
        ("a", ["", " "], []),
    ],
)
def test_ngrams_are_found_as_words_and_else_inside_words(
    text: str, ngrams: list[str], expected: list[str]
) -> None:
    assert marked(text, *ngrams) == expected


def test_case_counts_unless_it_is_ignored() -> None:
    assert marked("The cat", "the") == []
    assert marked("The cat", "the", ignore_case=True) == ["The"]


def test_a_statement_and_its_parameters_say_what_to_look_for() -> None:
    marks = marks_of("DOCS WHERE \"a\\u0062\" AND COUNT(?) > 2 AND x = 'c'", ["d e"])
    assert marks is not None
    assert marks.find("ab c d e") == [(0, 2), (5, 8)]
    assert marks_of("DOCS WHERE x = 'c'", None) is None
    assert marks_of('DOCS WHERE "', None) is None
    named = marks_of("DOCS WHERE :x", {"x": "word", "y": [1, 2]})
    assert named is not None and named.find("a word") == [(2, 6)]
    ignoring = marks_of('DOCS WHERE "the" ignore  case', None)
    assert ignoring is not None and ignoring.find("The") == [(0, 3)]


def test_many_ngrams_are_cut_to_what_a_pattern_takes() -> None:
    assert Marks([f"w{i}" for i in range(10 * MOST_NGRAMS)]).find("none of them") == []
