"""IGNORE DIACRITICS, alone and with IGNORE CASE, against words compared letter by letter."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngramdb
from ngramdb.diacritics import changed_letters, unmarked

EXAMPLES = settings(max_examples=150, deadline=None, derandomize=True)
LETTERS = "aAeEéÉèiIíİıkKķ\u212asSśſςσΣιΙίΐΪǰjJŁłøß"
MARKS = "\u0301\u0300\u0302\u0323\u0327"
CHARACTERS = st.sampled_from(LETTERS) | st.sampled_from(MARKS)
FORMS = st.sampled_from(["NFC", "NFD", None])
WORDS = st.builds(
    lambda letters, form: unicodedata.normalize(form, letters) if form else letters,
    st.builds(lambda first, more: first + more, st.sampled_from(LETTERS), st.text(CHARACTERS, max_size=4)),
    FORMS,
)


def without_marks(word):
    return "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")


def same(a, b, any_case):
    a, b = without_marks(a), without_marks(b)
    if not any_case:
        return a == b
    return len(a) == len(b) and all(x.casefold() == y.casefold() for x, y in zip(a, b, strict=True))


@EXAMPLES
@given(st.lists(WORDS, min_size=1, max_size=8), WORDS, st.booleans())
def test_words_are_met_without_their_marks(words, sought, any_case):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="words")
        corpus.append(words)
        texts = [" ".join(row) for row in (corpus.tokenizer.split(word) for word in words)]
        if any(" " in text for text in [*texts, " ".join(corpus.tokenizer.split(sought))]):
            return  # a mark that does not belong to a word
        expected = sum(same(word, sought, any_case) for word in words)
        case = " IGNORE CASE" if any_case else ""
        found = db.execute(f"COUNT ?{case} IGNORE DIACRITICS FROM c", [sought]).fetchone()[-1]
        assert found == expected
        assert found >= corpus.count(sought, ignore_case=any_case)
        escaped = re.escape(sought).replace("/", r"\\/")
        by_expression = db.execute(f"COUNT /{escaped}/{case} IGNORE DIACRITICS FROM c").fetchone()[-1]
        if not any_case:
            assert by_expression == expected


# The Kelvin sign is a different character than K, although it has no mark.
MARKED = WORDS.filter(lambda word: "\u212a" not in word)


@EXAMPLES
@given(st.lists(MARKED, min_size=1, max_size=4), MARKED, st.booleans())
def test_letters_are_met_without_the_marks_that_are_tokens_after_them(texts, sought, any_case):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer="chars")
        corpus.append(texts)
        letters = without_marks(sought)
        if not letters:
            return
        expected = sum(
            same(plain[i : i + len(letters)], letters, any_case)
            for plain in map(without_marks, texts)
            for i in range(len(plain))
        )
        modifiers = (" IGNORE CASE" if any_case else "") + " IGNORE DIACRITICS"
        assert db.execute(f"COUNT ?{modifiers} FROM c", [sought]).fetchone() == (expected,)
        assert expected >= corpus.count(sought, ignore_case=any_case) or without_marks(sought[0]) == ""
        if not any_case:
            parts = " ".join(f"/{re.escape(letter)}/" for letter in letters)
            assert db.execute(f"COUNT ({parts}) IGNORE DIACRITICS FROM c").fetchone() == (expected,)
        lines = db.execute(f"KWIC ?{modifiers} FROM c WINDOW 0", [sought]).to_dicts()
        assert all(same(line["match"], letters, any_case) for line in lines) and len(lines) == expected


@pytest.mark.parametrize(
    "word", ["cafe\u0301", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "Vie\u0323\u0302t", "İstanbul"]
)
@pytest.mark.parametrize("tokenizer", ["words", "words(lower)", "words(nfc)"])
def test_marks_in_what_is_looked_for_go(word, tokenizer):
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c", tokenizer=tokenizer)
        corpus.append([word, without_marks(word), without_marks(word).upper()])
        one, both = (
            db.execute(f"COUNT ? {flags} FROM c", [word]).fetchone()[-1]
            for flags in ("IGNORE DIACRITICS", "IGNORE CASE IGNORE DIACRITICS")
        )
        assert one >= 2 and both == 3
        assert (
            db.execute("DELETE DOCS WHERE NOT ? IGNORE CASE IGNORE DIACRITICS FROM c", [word]).fetchone()[0]
            == 0
        )


def test_a_set_of_marks_alone_is_refused():
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["cafe\u0301 a]b"])
        for expression in ("cafe[\u0301]", "[^\u0301]a", "[\u0301]a]"):
            with pytest.raises(ngramdb.QueryError, match="a set of characters is empty"):
                db.execute(f"COUNT /{expression}/ IGNORE DIACRITICS FROM c")


def test_the_letters_that_lose_marks_are_the_same_one_by_one_and_all_at_once():
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    changed = changed_letters(every)
    assert changed == {one: unmarked(one) for one in every if unmarked(one) != one}
    assert changed["é"] == "e" and changed["\u0301"] == "" and changed_letters("\0a") == {}
