"""KWIC MATCH TEXT in the order of shown texts: as sorting the lines by what they show."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.broken import append_broken, connected
from support.subwords import word_level, write_tokenizer

from ngramdb.questions import kwic_edges, kwic_plan, kwic_text

FAMILY = "\U0001f469\u200d\U0001f467"
# Letters that grow in lower case, marks that a window cuts from their letter, white space of several kinds.
ALPHABET = (
    "a",
    "b",
    "A",
    "aa",
    " ",
    " ",
    "\n",
    "\u3000",
    "\u0301",
    "\u00df",
    "\U0001f469\u200d\U0001f467",
    ".",
)
TOKENIZERS = ("words", "words(lower)", "subwords", "word level")
SOUGHT = ('"a" MATCH TEXT', '"Ab" MATCH TEXT IGNORE CASE', '"a" MATCH TEXT OR "b." MATCH TEXT')
ORDERS = ("LEFT", "RIGHT", "FORM", "LEFT 1", "RIGHT 2")
WINDOWS = ("0", "1", "2", "9", "SENTENCE")
EDGES = {"EDGE_TOKENS": 2, "EDGE_CHARACTERS": 3, "SHORT_EDGE": 2, "FIRST_PIECE": 3, "MOST_IN_EDGES": 3}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizers")
    if request.param == "subwords":
        return str(write_tokenizer(folder / "subwords.json", ("\u0120 a", "a b", "a a", "\u0120a b")))
    if request.param == "word level":
        return str(word_level(folder / "words.json", ("a", "b", "ab", "aa", "A")))
    return request.param


def key(line, order):
    """The key by which a line is sorted, of all that it shows."""
    side, *depth = order.split()
    left, match, right = (text.casefold().split() for text in line[2:5])
    most = int(depth[0]) if depth else None
    if side == "LEFT":
        return left[::-1][:most]
    return " ".join(match if side == "FORM" else right[:most])


texts = (
    st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=14).map("".join).filter(set("abA.").intersection)
)
documents = st.lists(st.lists(texts, min_size=1, max_size=2), min_size=1, max_size=6)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    st.lists(documents, min_size=1, max_size=2),
    *map(st.sampled_from, (SOUGHT, ORDERS, WINDOWS)),
    st.booleans(),
    st.sampled_from([4, 1000]),
)
def test_lines_are_sorted_by_what_they_show(tokenizer, parts, what, order, window, is_reversed, most):
    with connected(tokenizer) as db, pytest.MonkeyPatch.context() as patch:
        for name, value in EDGES.items():
            for module in (kwic_edges, kwic_text):
                patch.setattr(module, name, value, raising=False)
        patch.setattr(kwic_plan, "FORM_PIECE", 8)
        for part in parts:
            append_broken(db, [(pieces, {}) for pieces in part])
        statement = f"KWIC {what} WINDOW {window}"
        lines = db.execute(statement).fetchall()
        expected = sorted(lines, key=lambda line: key(line, order), reverse=is_reversed)
        direction = "DESC" if is_reversed else ""
        found = db.execute(f"{statement} ORDER BY {order} {direction} LIMIT {most}").fetchall()
        assert found == expected[:most]
