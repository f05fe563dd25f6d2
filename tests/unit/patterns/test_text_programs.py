"""Programs of regular expressions against Python's `re`, and the strings that their matches contain."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.polls import cpu_below, is_stopped, n_polls

from ngramdb._cext.text.expressions import TextProgram
from ngramdb.errors import InvalidArgument
from ngramdb.patterns import text_literals, text_programs
from ngramdb.patterns.automaton import same_letters

EXAMPLES = settings(max_examples=400, deadline=None, derandomize=True)
HEADER = Path(__file__).parents[3] / "ngramdb/_cext/include/ngramdb/text/expressions.hpp"

# One character each. Letters of several cases, marks, other scripts, and a byte that belongs to no character.
ATOMS = [
    *"abAB1日é",
    "🎉",
    r"\.",
    ".",
    r"\w",
    r"\d",
    r"\s",
    r"\W",
    "[ab]",
    "[^a]",
    "[a-zé]",
    r"[\w.]",
    "s",
    "k",
    "i",
]
CHARACTERS = [*"abAB1 .\n_éik日本", "e\u0301", "🎉", "ſ", "\u212a", "ß", "İ", "ı", "\udce9"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}", "{2,}", "{1,2}?"]
PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\Z", "(?=a)", r"(?!\w)", "(?<=b)", r"(?<!\d)"]

WORDS = "needle needful Needless hay 555-1234 me@here.org 東京都と京都 漢字かな STRASSE Straße NEEDLE"

atoms = st.sampled_from(ATOMS)
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        inner.map("(?:{}|)".format),
        inner.map("(?i:{})".format),
        st.tuples(inner, st.sampled_from(REPEATS)).map("({0[0]}){0[1]}".format),
        st.tuples(st.sampled_from(PLACES), inner).map("".join),
        st.tuples(inner, st.sampled_from(PLACES)).map("".join),
    ),
    max_leaves=7,
)
flags = st.sampled_from(["", "", "(?i)", "(?s)", "(?m)", "(?a)", "(?im)"])
texts = st.lists(st.lists(st.sampled_from(CHARACTERS), max_size=14).map("".join), min_size=3, max_size=6)


def program_of(expression: str, flags: int = 0) -> TextProgram:
    return TextProgram(*text_programs.compiled(expression, flags))


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def check(expression: str, text: str) -> None:
    program, found = program_of(expression), list(re.finditer(expression, text))
    spans = [(len(encoded(text[: m.start()])), len(encoded(text[: m.end()]))) for m in found if m[0]]
    assert list(map(tuple, program.spans(encoded(text)).tolist())) == spans
    assert program.occurs_in(encoded(text)) == bool(found)
    literals = text_literals.literals_of(text_programs.parsed(expression, 0))
    for match in found:
        for one_of in literals:
            assert any(contains(match[0], *literal) for literal in one_of)


def contains(text: str, literal: str, ignore_case: bool) -> bool:
    if not ignore_case:
        return literal in text
    spelled = "".join(f"[{''.join(map(re.escape, same_letters(letter)))}]" for letter in literal)
    return re.search(spelled, text) is not None


@EXAMPLES
@given(flags, expressions, texts)
def test_matches_are_those_of_re(flags, expression, texts):
    try:
        program_of(flags + expression)
    except InvalidArgument as error:
        assert "can match no character" in str(error)
        return
    for text in texts:
        check(flags + expression, text)


@pytest.mark.parametrize(
    "expression",
    [
        "needle",
        "^needle",
        "needle$",
        r"\bneed",
        r"le\b",
        "need(le|ful)",
        "[nm]ee+dle",
        r"\d{3}-\d{4}",
        "need.*hay",
        "(?i)NeeDle",
        r"\w+@\w+\.(com|org)",
        "東京.{1,3}京都",
        "[\u4e00-\u9fff]{2,}",
        r"(?i)straße|ſtrasse",
    ],
)
def test_usual_queries_are_answered_as_by_re(expression):
    words = WORDS.split()
    for k in range(len(words)):
        check(expression, " ".join(words[k:] + words[:k]))
        check(expression, "\n".join(words[k:]))


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        (r"(a)\1", "references to groups"),
        ("(a)?(?(1)b|c)", "conditions on groups"),
        ("(?=ab)", "more than one character"),
        ("(a*)*", r"\(a\+\)\*"),
        (r"(\b)+", "no character"),
        ("((a{1000}){100})", "smaller bounds"),
    ],
)
def test_what_is_not_supported_is_named(expression, named):
    with pytest.raises(InvalidArgument, match=named):
        program_of(expression)


def test_time_is_linear_where_backtracking_would_not_end():
    for expression in ["(a+)+b", "(a|aa)+b", "(x+x+)+y", r"\w+@", "(.*a){5}c"]:
        with cpu_below(60):  # 20 ms
            assert not len(program_of(expression).spans(b"a" * 100_000))


@pytest.mark.parametrize("expression", ["[bc]", "(a+)+b", "a+b", r"(?:\w)*?b"])
def test_searches_can_be_stopped(expression):
    program, text = program_of(expression), b"a" * 3_000_000
    n = n_polls(lambda: program.occurs_in(text))
    assert n >= 4
    assert all(is_stopped(lambda: program.occurs_in(text), polls) for polls in (0, n // 2))


def test_programs_are_checked():
    def made(steps, ranges=()):
        no_sets = np.empty(0, dtype=np.uint32)
        table = np.array(ranges, dtype=np.uint32).reshape(-1, 3)
        return TextProgram(np.array(steps, dtype=np.int32), table, 1, no_sets, b"", False)

    assert made([(text_programs.DONE, 0, 0)]).occurs_in(b"")
    for steps in ([(0, 0, 0)], [(0, 5, 0), (5, 0, 0)], [(2, 0, 9), (5, 0, 0)], [(9, 0, 0), (5, 0, 0)]):
        with pytest.raises((ValueError, RuntimeError)):
            made(steps)
    with pytest.raises((ValueError, IndexError, RuntimeError)):
        made([(5, 0, 0)], [(3, 1, 2)])


@pytest.mark.skipif(not HEADER.exists(), reason="an installed package has no headers")
def test_codes_are_those_of_the_kernel():
    header = HEADER.read_text(encoding="utf-8")
    steps = "SET RUN SPLIT JUMP ASSERT DONE"
    tests = "TEXT_BEGIN LINE_BEGIN TEXT_END LINE_END TEXT_END_OR_FINAL_LINE BORDER NO_BORDER"
    looks = "BEFORE NOT_BEFORE AFTER NOT_AFTER"
    for name, names in (("Code", steps.split()), ("Test", [*tests.split(), *looks.split()])):
        found = re.search(rf"enum {name} : int32_t {{([^}}]*)}}", header)
        assert found is not None
        codes = [one.strip().removeprefix("k").lower() for one in found[1].split(",")]
        assert codes == [one.replace("_", "").lower() for one in names]
        assert [getattr(text_programs, one) for one in names] == list(range(len(names)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("colou?r.*blue", [{"color", "colour"}, {"blue"}]),
        ("(foo|bar)baz", [{"foobaz", "barbaz"}]),
        (r"\w+@\w+\.com", [{".com"}, {"@"}]),
        ("(ab|c.)+x", [{"ab", "c"}, {"x"}]),
        ("x*", []),
        ("(?i)think", [{"think"}]),
        ("(?i:ab)cd", [{"ab"}, {"cd"}]),
    ],
)
def test_strings_that_every_match_contains(expression, expected):
    found = text_literals.literals_of(text_programs.parsed(expression, 0))
    assert {frozenset(one.text for one in some) for some in found} == set(map(frozenset, expected))
