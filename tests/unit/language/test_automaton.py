"""The automaton at work, beside lark's own parser on random texts of small grammars."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark, Transformer, UnexpectedInput

from ngramdb.language.syntax import END, RefusedError, State, make_tables

# Aliases, rules that pass a single part on, inlined rules at the beginning, in the middle and at the end of
# others, repetitions, and rules that may be empty.
GRAMMAR = """
start: item* _tail?
?item: sum | "N" _pair "Y" -> named
sum: product ("P" product)*
?product: "X" | product "M" "X" | "L" sum? "R"
_pair: "A" | "A" "B"
_tail: "Z" _tail?
"""
TERMINALS = "NYPXMLRABZ"


class Both(Transformer):
    """Builds the same nested lists for both parsers."""

    def __getattr__(self, name):
        if name in ("start", "sum", "named", "product"):
            return lambda parts: [name, *map(_plain, parts)]
        raise AttributeError(name)


def _plain(part):
    return part if isinstance(part, list) else str(part)


TABLES = make_tables(GRAMMAR, ["start"])
LARK = Lark(GRAMMAR, parser="lalr", start="start", keep_all_tokens=True, transformer=Both())
TEXTS = st.one_of(
    st.text(TERMINALS, max_size=8),
    st.lists(
        st.sampled_from(["X", "XPX", "LXMXR", "LR", "NAY", "NABY", "XMX", "Z", "LXPXR"]), max_size=8
    ).map("".join),
)


def _built(text):
    state = State(TABLES, "start", Both())
    for letter in text:
        state.take(letter, letter)
    return state.take(END)


@given(TEXTS)
def test_the_automaton_builds_what_lark_builds_and_refuses_what_lark_refuses(text):
    try:
        expected = LARK.parse(text)
    except UnexpectedInput:
        with pytest.raises(RefusedError):
            _built(text)
    else:
        assert _built(text) == expected


@given(TEXTS)
def test_what_is_accepted_can_be_taken_and_nothing_else(text):
    state = State(TABLES, "start", Both())
    for letter in text:
        accepted = state.accepts(letter)
        try:
            state.take(letter, letter)
        except RefusedError:
            assert not accepted
            return
        assert accepted
    if state.accepts(END):
        assert state.take(END) == _built(text)  # questions have changed nothing


def test_a_repetition_takes_linear_time_and_no_depth():
    assert len(_built("X" + "PX" * 50_000)[1]) == 100_002
    assert len(_built("Z" * 5_000)) == 5_001
