"""Values from the command line for placeholders."""

from __future__ import annotations

import pytest

from ngramdb.cli.common import UsageError
from ngramdb.cli.shell.statement_text import Parameters, Value, parse_value


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
