"""Which tokens are one when letters' case is ignored."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import ngramdb
from ngramdb.questions import ngram_selection
from ngramdb.questions.ngram_selection import classes_of
from ngramdb.tokenizers.registry import create_tokenizer


def test_characters_are_one_with_their_other_case() -> None:
    tokenizer = create_tokenizer("chars")
    classes = classes_of(tokenizer)
    assert classes[ord("a")] == classes[ord("A")] == ord("A")
    assert classes[ord("é")] == classes[ord("É")]
    for alone in (0, ord("1"), 0xD800, 0xD801, 0x10FFFF):  # separators of texts, and escaped characters
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


@pytest.mark.parametrize("n", [1, 17, 18, 40])
def test_short_ngrams_are_compared_as_one_number(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = random.Random(1).choices("aAbBcCdDeEfF", k=200)
    sequences: list[object] = []
    number = ngram_selection.numbered_sequences
    monkeypatch.setattr(
        ngram_selection, "numbered_sequences", lambda *given: sequences.append(given) or number(*given)
    )
    with ngramdb.connect() as db:
        c = db.create_corpus("c")
        c.append([" ".join(words * 2)])
        assert c.tokenizer.n_vocabulary == 12
        found = {tuple(row[0].lower().split()): row[2] for row in c.ngrams(n, ignore_case=True)}
    folded = [word.lower() for word in words * 2]
    assert found == Counter(tuple(folded[i : i + n]) for i in range(len(folded) - n + 1))
    assert bool(sequences) == (12**n >= 2**62)
