"""Normalization form C: equal to `unicodedata.normalize`, in linear time, interruptible, limited."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngramdb
from ngramdb.errors import QueryCancelled, ResourceError
from ngramdb.interrupts import Interrupt
from ngramdb.tokenizers import words
from ngramdb.tokenizers.words import BLOCK, LAST_MARK, MAX_MARKS, SHORT_RUN, nfc

MARKS = "\u0301\u0327\u0308\u0344\u0f71\u0f73\u0f75\u0f81\u093c\u0345\u05b0"
OTHERS = "aeo\u01d6\u00e9\u1e9b\u1100\u1161\u11a8\uac00\u09c7\u09be\u03b1\u4e00 ."

TEXTS = st.lists(
    st.one_of(
        st.text(MARKS + OTHERS, max_size=8),
        st.tuples(st.text(MARKS, min_size=1, max_size=5), st.integers(1, 3 * SHORT_RUN)).map(
            lambda t: t[0] * t[1]
        ),
    )
).map("".join)


@given(TEXTS)
def test_nfc_equals_the_reference(text: str) -> None:
    expected = unicodedata.normalize("NFC", text)
    assert nfc(text) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "BLOCK", 5)
        assert nfc(text) == expected


def test_blocks_begin_only_at_characters_that_join_nothing() -> None:
    beginning, mark, _ = words._expressions()
    for character in map(chr, range(sys.maxunicode + 1)):
        parts = unicodedata.normalize("NFD", character)
        composes = [part for part in parts[1:] if character == unicodedata.normalize("NFC", character)]
        assert not any(map(beginning.fullmatch, composes))
        if unicodedata.combining(parts[0]):
            assert mark.fullmatch(character) and character <= chr(LAST_MARK)


@pytest.mark.parametrize("marks", ["\u0301\u0327", "\u0f73\u0f75", "\u0344\u0327"])
def test_runs_of_marks_are_in_order_before_the_library_sees_them(
    marks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library moves marks one by one: it never has to move one past more than a short run."""
    seen: list[str] = []
    original: Callable[[Any, str], str] = unicodedata.normalize
    monkeypatch.setattr(words, "normalize", lambda form, text: seen.append(text) or original(form, text))
    assert nfc("a" + marks * 200) == original("NFC", "a" + marks * 200)
    classes = [unicodedata.combining(one) for one in max(seen, key=len)[1:]]
    assert classes == sorted(classes) and len(set(classes)) > 1


def test_normalizing_stops_between_blocks() -> None:
    work = Interrupt(timeout=0.0)
    with work, pytest.raises(QueryCancelled):
        nfc("\u00e4" * 2 * BLOCK)


@pytest.mark.parametrize("kind", ["words(nfc)", "words(lower, nfc)"])
def test_questions_and_documents_with_long_runs_of_marks(kind: str) -> None:
    text = "a" + "\u0301\u0327" * 50_000
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", kind)
        corpus.append([text, "b"])
        assert corpus.count(text) == 1
        assert len(corpus.kwic(text).fetchall()) == 1
        with pytest.raises(ResourceError, match="combining characters in a row, more than 1,048,576"):
            corpus.append(["a" + "\u0301" * (MAX_MARKS + BLOCK + 1)])
        assert corpus.count_docs() == 2
