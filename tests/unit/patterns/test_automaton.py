"""Automata over the bytes of a string, and the tokens that are run through them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from ngramdb.patterns.automaton import DEAD, Automaton, Pieces


def accepts(automaton: Automaton, data: bytes) -> bool:
    states = np.zeros(1, dtype=np.int32)
    for byte in data:
        if states[0] == DEAD or states[0] == automaton.accepting:
            return False
        states = automaton.read(states, np.array([byte], dtype=np.uint8))
    return bool(states[0] == automaton.accepting)


@pytest.mark.parametrize(
    "text, ignore_case, same, others",
    [
        ("aé", False, ["aé"], ["a", "aéa", "Aé", "aÉ", "a\u0301"]),
        ("aé", True, ["aé", "Aé", "AÉ"], ["a", "aéa", "bé"]),
        ("kk", True, ["kk", "K\u212a", "\u212a\u212a"], ["k", "\u212a", "kkk"]),  # the Kelvin sign
        ("a\x00", False, ["a\x00"], ["a", "\x00"]),
    ],
)
def test_what_is_accepted(text, ignore_case, same, others):
    automaton = Automaton(text, ignore_case)
    assert all(accepts(automaton, other.encode()) for other in same)
    assert not any(accepts(automaton, other.encode()) for other in others)


@pytest.mark.parametrize("ignore_case", [False, True])
def test_a_long_string_takes_little_memory(ignore_case):
    Automaton("aé", True)  # tables of case are made once
    text = "a long tale, " * 80_000
    tracemalloc.start()
    Automaton(text, ignore_case)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50 * len(text)


def test_tokens_from_a_state_are_those_of_a_search_through_all():
    tokens = [
        b"a",
        b"ab",
        b"abc",
        b"abcd",
        b"abcde",
        b"",
        b"b",
        b"a\x00",
        b"a\x00\x00",
        b"cd",
        b"A",
        b"Abcdx",
    ]
    flat = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(token) for token in tokens])])
    for text in ("abcd", "a", "a\x00\x00\x00", "bcd", "x"):
        automaton = Automaton(text, True)
        steps = Pieces(flat, offsets, automaton).steps(0)
        lower = [token.lower() for token in tokens]
        whole = text.encode()
        assert sorted(set(steps.complete.tolist())) == [
            i for i, token in enumerate(lower) if token.startswith(whole)
        ]
        assert sorted(steps.partial.tolist()) == [
            i for i, token in enumerate(lower) if whole.startswith(token) and token != whole
        ]
