"""EXPLAIN of questions whose pattern is not a condition: its count, and no endless lists."""

from __future__ import annotations

import pytest

import ngramdb
from ngramdb.questions.show import SHOWN_DETAILS


@pytest.fixture(scope="module")
def db():
    with ngramdb.connect() as db:
        letters = db.create_corpus("letters", tokenizer="words")
        letters.append(["a b a", "b A", " ".join(f"{word}x" for word in "abcdefghijklmnopqrstuvwxyz")])
        yield db


def lines(db, statement):
    return [row[0] for row in db.execute(statement)]


def test_a_concordance_says_how_often_its_n_gram_occurs(db):
    assert lines(db, 'EXPLAIN KWIC "a" FROM letters')[2] == '│  "a": count 2'
    assert lines(db, 'EXPLAIN KWIC "a b" WHERE "b" FROM letters')[2] == '│  "a b": count 1'


def test_tokens_are_counted_in_the_singular_and_the_plural(db):
    assert lines(db, 'EXPLAIN COUNT "a" FROM letters')[0] == 'count "a" (1 token)'
    assert lines(db, 'EXPLAIN COUNT "a b" FROM letters')[0] == 'count "a b" (2 tokens)'
    assert lines(db, 'EXPLAIN TRACE "a" FROM letters')[0].startswith("trace 1 token")


def test_long_lists_of_variants_are_cut_wherever_they_stand(db):
    with ngramdb.connect() as many:
        c = many.create_corpus("many")
        words = [
            "".join(letter.upper() if mask >> i & 1 else letter for i, letter in enumerate("abcde"))
            for mask in range(32)
        ]
        c.append([" ".join(words)])
        for statement in ('KWIC "abcde" IGNORE CASE', 'COUNT "abcde" IGNORE CASE'):
            shown = lines(many, f"EXPLAIN {statement}")
            assert sum('"' in line and "[" in line for line in shown) <= SHOWN_DETAILS
            (more,) = [line for line in shown if "more" in line]
            assert "… 12 more" in more or "… 13 more" in more  # of a KWIC the corpus is a line of the list
