"""A note that an expression matches nothing in any corpus is never given if a token of some text matches."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

import ngramdb
from ngramdb.patterns.advice import Compared, of_expression

LETTERS = st.sampled_from(
    ["a", "B", "b", "-", "'", " ", "é", "É", "語", "7", r"\w", r"\W", r"\s", ".", "[^a]", "[A-Z]"]
)
EXPRESSIONS = st.recursive(
    LETTERS,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}"])),
    ),
    max_leaves=6,
)
TEXTS = st.text(alphabet="aAbB-' éÉ語7\u0301\u200c", min_size=1, max_size=30)


@given(EXPRESSIONS, TEXTS, st.sampled_from(["words", "words(lower)", "words(nfc)", "chars"]), st.booleans())
def test_notes_are_true(expression: str, text: str, tokenizer: str, ignore_case: bool) -> None:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c", tokenizer=tokenizer)
        corpus.append([text])
        made = corpus._bound.view.tokenizer
        tokens = set(made.token_texts(range(made.n_vocabulary)) if tokenizer != "chars" else text)
        said = of_expression(expression, Compared(made, own_tokens=True, ignore_case=ignore_case))
        matching = [one for one in tokens if re.fullmatch(expression, one, re.IGNORECASE * ignore_case)]
        assert said is None or said.startswith("the alternative") or not matching
