"""Regular expressions over words: an automaton finds what `re.fullmatch` finds."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.errors import InvalidArgument, ResourceError
from ngramdb.tokenizers.regular import Words
from ngramdb.tokenizers.vocabulary import unmarked

WORDS = [
    "",
    "a",
    "ab",
    "Ab",
    "aab",
    "b\n",
    "ſ",
    "s",
    "K",
    "k",
    "é",
    "É",
    "ß",
    "ẞ",
    "1",
    "٣",
    "_",
    " ",
    "東",
    "😀",
    "aaab-1",
    "\ud800",
]

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "é",
        "k",
        "s",
        ".",
        "\\w",
        "\\W",
        "\\d",
        "\\s",
        "\\S",
        "[ab]",
        "[^ab]",
        "[^\\W\\d]",
        "[a-é]",
        "(?i:A)",
        "^",
        "$",
        "ß",
        "東",
        "(?:)",
    ]
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "{2,}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=5,
)


def words(texts: list[str]) -> Words:
    return Words("".join(texts), np.array(list(map(len, texts)), dtype=np.int64))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(EXPRESSIONS, st.booleans())
def test_matching_is_fullmatch(expression: str, ignore_case: bool) -> None:
    compiled = re.compile(expression, re.IGNORECASE if ignore_case else 0)
    expected = [i for i, word in enumerate(WORDS) if compiled.fullmatch(word)]
    assert words(WORDS).matching(expression, ignore_case).tolist() == expected


@pytest.mark.parametrize("expression", ["(?=a)a", "(?<!a)a", r"(a)\1", r"\ba", "(a)?(?(1)b|c)"])
def test_what_needs_backtracking_is_refused(expression: str) -> None:
    with pytest.raises(InvalidArgument, match="is not supported in regular expressions over tokens"):
        words(WORDS).matching(expression)


@pytest.mark.parametrize("expression", ["(a{1,90}){1,90}", "(a|b)*a(a|b){14}", "a{0,100000}"])
def test_too_many_states_are_refused_at_once(expression: str) -> None:
    with pytest.raises(ResourceError, match="states"):
        words(["ab"]).matching(expression)


def test_no_expression_takes_long() -> None:
    long = words(["a" * 50_000 + "b"])
    assert not len(long.matching("(a+)+c"))
    assert len(long.matching("((a*)*)*b"))


def test_no_words_match_nothing() -> None:
    assert not len(words([]).matching("a*"))


def test_marks_go_with_their_letters() -> None:
    assert unmarked("Ünïcode e\u0301 ß 각 İ") == "Unicode e ß 각 I"
