"""The highlighter: every character gets a kind, and words the kind that the grammar gives them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngramdb.language import editing
from ngramdb.language.editing import lex


def kinds(text: str) -> list[tuple[str, str]]:
    return [(text[start:stop], kind) for start, stop, kind in lex(text) if kind != "space"]


def test_each_kind_of_token_has_its_own() -> None:
    assert kinds('PROB "w" GIVEN [1, 2] FROM `a b` -- why\n') == [
        ("PROB", "keyword"),
        ('"w"', "ngram"),
        ("GIVEN", "keyword"),
        ("[1, 2]", "token_ids"),
        ("FROM", "keyword"),
        ("`a b`", "name"),
        ("-- why", "comment"),
    ]
    assert kinds("copy c from 'x' (limit = -5, x ?, y :z);") == [
        ("copy", "keyword"),
        ("c", "name"),
        ("from", "keyword"),
        ("'x'", "value"),
        ("(", "operator"),
        ("limit", "name"),
        ("=", "operator"),
        ("-5", "number"),
        (",", "operator"),
        ("x", "name"),
        ("?", "parameter"),
        (",", "operator"),
        ("y", "name"),
        (":z", "parameter"),
        (")", "operator"),
        (";", "operator"),
    ]


def test_operators_gaps_and_paths_have_their_kinds() -> None:
    assert kinds('COUNT "a" [1..3] "b" FROM x-y WHERE meta.count <= -1') == [
        ("COUNT", "keyword"),
        ('"a"', "ngram"),
        ("[1..3]", "operator"),
        ('"b"', "ngram"),
        ("FROM", "keyword"),
        ("x", "name"),
        ("-", "operator"),
        ("y", "name"),
        ("WHERE", "keyword"),
        ("meta", "name"),
        (".", "operator"),
        ("count", "name"),
        ("<=", "operator"),
        ("-1", "number"),
    ]
    assert kinds('DOCS WHERE count > 3 AND COUNT("a") > 3')[2] == ("count", "name")
    assert kinds('DOCS WHERE count > 3 AND COUNT("a") > 3')[6] == ("COUNT", "keyword")


def test_words_are_keywords_where_the_grammar_says_so() -> None:
    assert kinds("USE limit") == [("USE", "keyword"), ("limit", "name")]
    assert kinds("DOCS limit 5")[1] == ("limit", "keyword")


def test_mistake_does_not_spoil_what_follows() -> None:
    assert kinds("COUNT COUNT wiki FROM limit; USE limit") == [
        ("COUNT", "keyword"),
        ("COUNT", "keyword"),
        ("wiki", "name"),
        ("FROM", "keyword"),
        ("limit", "keyword"),
        (";", "operator"),
        ("USE", "keyword"),
        ("limit", "name"),
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('"open', "ngram"),
        ("'open", "value"),
        ("`open", "name"),
        ("/* open", "comment"),
        ("[1, 2", "token_ids"),
    ],
)
def test_literal_that_is_being_typed_keeps_its_kind(text: str, kind: str) -> None:
    assert kinds(f"COUNT {text}")[1:] == [(text, kind)]


@pytest.mark.parametrize("text", ["“", "’", "4GB", "@", "\x00", "\ud800", "==", "&&"])
def test_what_has_no_meaning_is_an_error(text: str) -> None:
    assert kinds(text) == [(text, "error")]


fragments = st.lists(
    st.sampled_from(
        ["COUNT", "limit", '"', "'", "`", "[", "]", "/*", "*/", "--", "\n", " ", ";", "1", "“", "\\", "?"]
    )
).map("".join)


@given(st.text() | fragments)
def test_spans_cover_any_text_without_gaps_or_overlaps(text: str) -> None:
    spans = lex(text)
    assert "".join(text[start:stop] for start, stop, _ in spans) == text
    assert all(start < stop for start, stop, _ in spans)
    assert {kind for _, _, kind in spans} <= set(editing.KINDS)
