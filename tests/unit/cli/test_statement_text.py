"""Values from the command line for placeholders."""

from __future__ import annotations

import pytest

from ngramdb.cli.common import UsageError
from ngramdb.cli.shell.statement_text import MOST_NGRAMS, Marks, Parameters, Value, marks_of, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("natural language", "natural language"),
        ("10", 10),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ('"10"', "10"),
        ('"a\\nb"', "a\nb"),
        ("[5613, 4086]", [5613, 4086]),
        ("[]", []),
        ("[1, 2.5]", [1, 2.5]),
        ('["a", "b"]', ["a", "b"]),
        ('["a", null]', ["a", None]),
        ('[["a"]]', [["a"]]),
        ("[not json", "[not json"),
        ('"open', '"open'),
        ("true", True),
        ("FALSE", False),
        ("null", None),
        ('"true"', "true"),
        ("true story", "true story"),
        ("{", "{"),
        ("", ""),
        ("1 2", "1 2"),
    ],
)
def test_a_value_is_a_number_a_list_or_a_text(text: str, value: Value) -> None:
    parsed = parse_value(text)
    assert parsed == value and type(parsed) is type(value)


def test_positional_values_are_used_up_statement_by_statement() -> None:
    parameters = Parameters(["a", "b", "3"])
    assert parameters.for_statement('COUNT "?"') is None
    assert parameters.for_statement("PROB ? GIVEN ?") == ["a", "b"]
    assert parameters.for_statement("DIST GIVEN 'x' TOP ?") == [3]
    parameters.check_all_used()


def test_too_few_positional_values_are_handed_on_as_they_are() -> None:
    parameters = Parameters(["a"])
    assert parameters.for_statement("PROB ? GIVEN ?") == ["a"]


def test_values_left_over_are_wrong_usage() -> None:
    parameters = Parameters(["a", "b"])
    parameters.for_statement("COUNT ?")
    with pytest.raises(UsageError, match="2 --param values were given, but the statements use 1"):
        parameters.check_all_used()


def test_named_values_go_to_every_statement_that_asks() -> None:
    parameters = Parameters(["x=of the", "k=3"])
    assert parameters.for_statement("COUNT :x") == {"x": "of the"}
    assert parameters.for_statement("DIST GIVEN :x TOP :k") == {"x": "of the", "k": 3}
    assert parameters.for_statement("SHOW CORPORA") is None
    parameters.check_all_used()


def test_a_leading_equals_sign_makes_a_value_positional() -> None:
    assert Parameters(["=x=y"]).for_statement("COUNT ?") == ["x=y"]


def test_named_and_positional_values_do_not_mix() -> None:
    with pytest.raises(UsageError, match="cannot be mixed"):
        Parameters(["x=1", "2"])


# ---- Marks in a document's text.


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
