"""Strings in texts: all places, in linear time, in any case."""

from __future__ import annotations

import random

import pytest
from support.polls import cpu_below
from support.reference_questions import text_places

from ngramdb.conditions.stored_text import Sought
from ngramdb.patterns import StoredText


@pytest.mark.parametrize("ignore_case", [False, True])
def test_places_are_those_of_a_plain_search(ignore_case):
    chance = random.Random(7)
    for _ in range(3000):
        letters = chance.choice(["a", "ab", "aAb", "aſsS\u0345ι", "\ud800x"])
        text = "".join(chance.choices(letters, k=chance.randrange(40)))
        string = "".join(chance.choices(letters, k=chance.randrange(1, 9)))
        expected = [start for start, _ in text_places(string, text, ignore_case)]
        assert Sought(StoredText("", string, ignore_case)).starts(text).tolist() == expected


@pytest.mark.parametrize(
    ("string", "text", "n"),
    [
        ("a" * 20_000, "A" * 300_000, 280_001),
        ("a" * 20_000 + "b", "a" * 300_000, 0),
        ("b" + "a" * 20_000, "a" * 300_000, 0),
        ("ab" * 10_000, "aB" * 150_000, 140_001),
        (("a" * 999 + "b") * 20, ("a" * 999 + "b") * 300, 281),
        ("a" * 1_000_000, "b", 0),
    ],
)
def test_texts_that_repeat_themselves_take_linear_time(string, text, n):
    with cpu_below(60):  # a search from each place takes hours
        assert len(Sought(StoredText("", string, ignore_case=True)).starts(text)) == n
