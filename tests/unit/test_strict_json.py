"""The strict reader of JSON objects: types, places and advice in its errors."""

from __future__ import annotations

import re

import pytest

from ngramdb.errors import CorruptionError
from ngramdb.limits import MAX_INTEGER
from ngramdb.strict_reading import JsonObject, is_integers, parse_json


def reader(**value):
    return JsonObject(value, "a.json", "report", "build it again")


@pytest.mark.parametrize(
    ("value", "read", "message"),
    [
        ({}, lambda r: r.integer("n"), "report.n is None, expected a value"),
        ({"n": True}, lambda r: r.integer("n"), "report.n is True, expected an integer from 0 to"),
        ({"n": 2.0}, lambda r: r.integer("n"), "report.n is 2.0, expected an integer"),
        ({"n": 4}, lambda r: r.integer("n", 5, 7), "report.n is 4, expected an integer from 5 to 7"),
        ({"n": MAX_INTEGER + 1}, lambda r: r.integer("n"), "expected an integer"),
        ({"n": [1, -1]}, lambda r: r.integers("n"), "expected an array of integers"),
        ({"n": True}, lambda r: r.number("n"), "expected a number from 0 to inf"),
        ({"n": 9.5}, lambda r: r.number("n", 9), "report.n is 9.5, expected a number from 0 to 9"),
        ({"n": ""}, lambda r: r.text("n"), "report.n is '', expected a text"),
        ({"n": 1}, lambda r: r.text("n", empty=True), "report.n is 1, expected a text"),
        ({"n": "b"}, lambda r: r.matching("n", re.compile("a+")), "expected a text like a+"),
        ({"n": ["a", 1]}, lambda r: r.texts("n"), "expected an array of texts"),
        ({"n": {}}, lambda r: r.items("n", lambda item: item), "expected a JSON array"),
        (
            {"n": [{}, 5]},
            lambda r: r.items("n", lambda item: item),
            "report.n[1] is 5, expected a JSON object",
        ),
        ({"n": [{"m": 1}]}, lambda r: r.items("n", lambda item: item.text("m")), "report.n[0].m is 1"),
        ({"n": 5}, lambda r: r.child("n"), "report.n is 5, expected a JSON object"),
        ({"n": {"m": 1}}, lambda r: r.child("n").text("m"), "report.n.m is 1, expected a text"),
        ({"n": 1, "m": 2}, lambda r: r.only(["n"]), "report.m is 2, expected no such field"),
    ],
)
def test_errors_name_file_place_expected_and_advice(value, read, message):
    with pytest.raises(CorruptionError) as error:
        read(reader(**value))
    assert str(error.value).startswith("a.json: report.") and str(error.value).endswith("; build it again")
    assert message in str(error.value)
    assert error.value.path == "a.json"


def test_values_of_the_right_types_are_returned():
    one = reader(n=3, x=0.5, t="", a=["b"], i=[0, 7], o={"k": [{"n": 1}, {"n": 2}]})
    assert (one.integer("n"), one.number("x"), one.number("n"), one.text("t", empty=True)) == (
        3,
        0.5,
        3.0,
        "",
    )
    assert (one.texts("a"), one.integers("i"), one.has("z")) == (("b",), (0, 7), False)
    assert one.child("o").items("k", lambda item: item.integer("n")) == (1, 2)
    one.only("nxtaio")
    assert not is_integers([1, True]) and is_integers([])


@pytest.mark.parametrize(
    "text", [b"{", b"\xff", b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":-Infinity}', b"[" * 100_000, b""]
)
def test_invalid_json_is_rejected(text):
    with pytest.raises(ValueError):
        parse_json(text)
    with pytest.raises(CorruptionError, match=r"^a\.json: invalid JSON in the report: .*; build it again$"):
        JsonObject.parse(text, "a.json", "report", "build it again")
