"""LIKE and ILIKE against a matcher of ten lines, on every kind of column, and in linear time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.polls import cpu_below

import ngramdb
from ngramdb.conditions.field_values import Lists, Objects, Strings, Values
from ngramdb.conditions.predicates import outcome
from ngramdb.errors import ExecutionError, PlanError
from ngramdb.planner.plan import Resembles

# Few letters, so that much matches; what regular expressions take for signs; line breaks; more than ASCII.
LETTERS = "aAbB%_\\.*$^[(|?+{é É\n\r\0😀ſ\u212a"
TEXTS = st.text(LETTERS, max_size=12)
TEMPLATES = st.text("aAb" + 3 * "%_" + "\\.éÉ\n\0😀", max_size=10)


def brute(text: str, template: str, ignore_case: bool) -> bool:
    """By the definition: every sign of the template takes one character, any, or any number of them."""
    reached = {0}
    i = 0
    while i < len(template):
        sign = template[i]
        literally = sign == "\\" and i + 1 < len(template)
        if literally:
            i += 1
            sign = template[i]
        if sign == "%" and not literally:
            reached = set(range(min(reached), len(text) + 1)) if reached else set()
        else:
            any_one = sign == "_" and not literally
            same = ignored if ignore_case else str.__eq__
            reached = {k + 1 for k in reached if k < len(text) and (any_one or same(text[k], sign))}
        i += 1
    return len(text) in reached


def ignored(one: str, other: str) -> bool:
    """Return True if characters are the same under simple case folding, as defined by Unicode."""
    return folded(one) == folded(other)


def folded(letter: str) -> str:
    return letter.casefold() if len(letter.casefold()) == 1 else letter


def columns(texts: list[str]) -> dict[str, Values]:
    """The texts as every kind of column has them, a missing value behind them."""
    plain = pa.array([*texts, None], pa.string())
    chunked = pa.chunked_array([plain[:1], plain[1:]])
    owners = np.arange(len(texts))
    missing = np.array([False] * len(texts) + [True])
    return {
        "plain": Strings(plain),
        "chunked": Strings(chunked),
        "dictionary": Strings(plain.dictionary_encode()),
        "mixed": Objects([*texts, None]),
        "in lists of anything": Objects([*([7, text, None] for text in texts), None]),
        "in lists": Lists(Strings(plain[:-1]), owners, missing),
    }


@given(st.lists(TEXTS, min_size=1, max_size=6), TEMPLATES, st.booleans())
@settings(deadline=None, max_examples=300)
@example(["a\n"], "a", False)
@example(["\\"], "\\", False)
@example(["\u212a"], "k", True)
def test_like_is_what_its_definition_says_on_every_kind_of_column(texts, template, ignore_case):
    expected = [*(brute(text, template, ignore_case) for text in texts), False]
    for kind, column in columns(texts).items():
        true, unknown = outcome(Resembles(template, ignore_case), column)
        assert true.tolist() == expected, kind
        assert unknown.tolist() == [False] * len(texts) + [True], kind


@pytest.mark.parametrize("ignore_case", [False, True])
def test_like_takes_time_that_grows_with_the_text_alone(ignore_case):
    texts = ["a" * 20_000, "A" * 20_000]
    for template in ("%a" * 25 + "%b", "%a_" * 25 + "%b", "%" * 200 + "b", "%_" * 50 + "b"):
        for kind, column in columns(texts).items():
            with cpu_below(60):  # a moment; trying each length of each % takes ages
                assert not outcome(Resembles(template, ignore_case), column)[0].any(), kind


def test_a_template_that_is_too_long_is_an_error_of_ours():
    for column in columns(["a"]).values():
        with pytest.raises(ExecutionError, match=r"a template of LIKE with 1,000,000 characters is too long"):
            outcome(Resembles("_" * 1_000_000), column)


def test_numbers_and_objects_resemble_nothing():
    true, unknown = outcome(Resembles("%"), Objects([1, {"a": "b"}, [["a"]], True, "", None, ["", 1]]))
    assert true.tolist() == [False, False, False, False, True, False, True]
    assert unknown.tolist() == [False] * 5 + [True, False]


def test_a_field_of_mixed_types_is_asked_in_linear_time_and_stops(capfd):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([{"text": "x", "f": "a" * 3000}, {"text": "x", "f": 5}, {"text": "x", "f": "ab"}])
        for operator in ("LIKE", "ILIKE"):
            sql = f"DOCS WHERE f {operator} ? FROM c"
            assert db.execute(sql, ["%a" * 25 + "%b"]).fetchall() == []
            assert [row[0] for row in db.execute(sql, ["%a%b"]).fetchall()] == [2]
        for template in ("_" * 10_001, "_" * 100_000, "%a" * 6_000):
            with pytest.raises(PlanError, match="a template of LIKE has at most 10,000 characters, not "):
                db.execute("COUNT DOCS WHERE f ILIKE ? FROM c", [template])
        assert db.execute("COUNT DOCS WHERE f LIKE ? FROM c", ["%a" * 5000]).fetchall() == [(0,)]
        assert capfd.readouterr().err == ""
