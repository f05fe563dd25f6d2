"""Which tokens are one when letters' case is ignored."""

from __future__ import annotations

import ngramdb
from ngramdb.executor.lexical.ngrams import classes_of
from ngramdb.tokenizers.registry import create_tokenizer


def test_characters_are_one_with_their_other_case() -> None:
    tokenizer = create_tokenizer("chars")
    classes = classes_of(tokenizer)
    assert classes[ord("a")] == classes[ord("A")] == ord("A")
    assert classes[ord("é")] == classes[ord("É")]
    for alone in (0, ord("1"), 0xD800, 0xD801, 0x10FFFF):  # what stands between texts, and what is escaped
        assert classes[alone] == alone
    assert classes_of(tokenizer) is classes


def test_ids_that_the_vocabulary_does_not_have_are_met_by_nothing() -> None:
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["Foo bar"])
        for option in ("CONTAINING", "STARTING WITH", "ENDING WITH"):
            assert db.execute(f"NGRAMS 2 IGNORE CASE {option} [99999] FROM c").fetchall() == []
            assert db.execute(f"NGRAMS 2 IGNORE CASE {option} [0, 1] FROM c").fetchall() == [
                ("Foo bar", [0, 1], 1)
            ]
