"""The documents that the index leaves for `TEXT ~` have all matches of `re`, under each kind of words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.subwords import write_tokenizer

import ngramdb
from ngramdb.planner import choices

# Letters with several cases, forms of marks and letters that combine, and words that run into each other.
CHARACTERS = [*"abBiIsSkKhH1_-. \n", "e", "é", "É", "\u0301", "\u0331", "\u0307", "\u0130", "\u0131", "ſ"]
CHARACTERS += ["\u212a", "ß", "ẞ", "σ", "Σ", "ς", "ι", "\u0345", "ΐ", "\u1fd3", "ẖ", "日", "本", "\u0915"]
CHARACTERS += ["\u093c", "\u0958", "\u1100", "\u1161", "가", "\u200d", "<", "\u0338", "🎉"]
texts = st.lists(st.sampled_from(CHARACTERS), min_size=1, max_size=14).map("".join)
literals = st.lists(st.sampled_from(CHARACTERS), min_size=1, max_size=6).map("".join)


@st.composite
def searches(draw):
    """Texts and an expression, whose strings are mostly taken from the texts, in some case."""
    documents = draw(st.lists(texts, min_size=1, max_size=6))

    def string():
        if draw(st.booleans()):
            return draw(literals)
        text = draw(st.sampled_from(documents))
        start = draw(st.integers(0, len(text) - 1))
        taken = text[start : start + draw(st.integers(1, 8))]
        return draw(st.sampled_from([taken, taken.upper(), taken.lower()]))

    parts = [re.escape(string()) for _ in range(draw(st.integers(1, 3)))]
    joint = draw(st.sampled_from([".*", "|", r"\W", "(?s:.*)", "x?"]))
    return documents, draw(st.sampled_from(["", "(?i)"])) + joint.join(parts)


@pytest.mark.parametrize(
    "tokenizer", ["words", "words(lower)", "words(nfc)", "words(lower, nfc)", "chars", "bytes", "subwords"]
)
@settings(max_examples=120, deadline=None, derandomize=True)
@given(search=searches())
def test_no_match_is_left_out(tokenizer, search, tmp_path_factory):
    documents, expression = search
    kind = tokenizer
    if tokenizer == "subwords":
        kind = write_tokenizer(tmp_path_factory.mktemp("t") / "tokenizer.json", ("a b", "ab b"))
    kept, choices.READ_AT_ONCE = choices.READ_AT_ONCE, 0
    try:
        with ngramdb.connect() as db:
            db.create_corpus("c", tokenizer=kind).append(documents)
            found = db.execute("DOCS WHERE TEXT ~ ? RETURNING doc_id", [expression]).fetchall()
    finally:
        choices.READ_AT_ONCE = kept
    assert [i for (i,) in found] == [i for i, text in enumerate(documents) if re.search(expression, text)]


@pytest.mark.parametrize("tokenizer", ["words", "words(lower)", "words(nfc)", "words(lower, nfc)"])
@pytest.mark.parametrize(
    "expression", ["kingfish", "(?i)KINGfisher dives", "Café au", "(?i)İstanbul|ßtrasse"]
)
def test_strings_are_looked_up(tokenizer, expression):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=tokenizer)
        corpus.append([f"w{i} and w{i + 1} and more of it" for i in range(200)])
        corpus.append(["A Kingfisher dives", "kingfisher", "Café au lait", "ISTANBUL", "Die Straße, ßtrasse"])
        plan = db.execute("EXPLAIN DOCS WHERE TEXT ~ ?", [expression]).fetchall()
        assert "in the texts of documents with" in plan[-1][0]
        found = db.execute("DOCS WHERE TEXT ~ ?", [expression]).fetchall()
        assert len(found) == sum(
            bool(re.search(expression, text)) for (text,) in db.execute("DOCS RETURNING text").fetchall()
        )
