"""DIST in some documents: from the places first, from an index of these documents once that has paid."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import ngramdb
from ngramdb._cext.corpus.token_counts import tokens_after
from ngramdb.engine.corpus.slice import Slices, SliceView


def test_questions_that_go_on_make_an_index(monkeypatch):
    made = []
    index = SliceView.__dict__["index"].func
    monkeypatch.setattr(SliceView.__dict__["index"], "func", lambda self: made.append(self) or index(self))
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append([{"text": "a b a c " * 5 + f"a d{i % 3}", "n": i % 2} for i in range(40)])
        expected = db.execute('DIST GIVEN "a" WHERE n = 1').fetchall()
        assert not made and expected[0][:1] == ("b",)
        for _ in range(30):
            assert db.execute('DIST GIVEN "a" WHERE n = 1').fetchall() == expected
        assert len(made) == 1
        db.execute('DIST GIVEN "d1" WHERE n = 0').fetchall()
        assert len(made) == 1  # other documents, computed once


def test_work_is_told_apart_by_documents(monkeypatch):
    slices = Slices()
    some, others = ([[number]] for number in (1, 2))
    assert not slices.prefers(some, 6, 10)
    assert not slices.prefers(others, 6, 10)
    assert slices.prefers(some, 6, 10) and slices.prefers(others, 11, 10)


def test_followers_are_those_of_the_documents_alone():
    # More rows than are read at once, tokens whose rows cross that border, ends of documents among them.
    chosen = np.random.default_rng(5)
    texts = [" ".join(f"a w{i}" for i in chosen.zipf(1.3, 40) % 90) + " a" * (n % 3) for n in range(300)]
    kept = [n for n in range(len(texts)) if n % 7 in (0, 3, 4)]
    expected = Counter()
    for n in kept:
        words = texts[n].split()
        expected.update(after for word, after in zip(words, [*words[1:], None], strict=True) if word == "a")
    for size in (300, 70):
        with ngramdb.connect() as db:
            corpus = db.create_corpus("c")
            for start in range(0, len(texts), size):
                some = range(start, min(start + size, len(texts)))
                corpus.append([{"text": texts[n], "n": n} for n in some])
            rows = db.execute(f'DIST GIVEN "a" WHERE n IN ({", ".join(map(str, kept))})').fetchall()
            assert {token: count for token, _, count, _ in rows} == expected
            assert sum(prob for *_, prob in rows) == pytest.approx(1)


def test_every_document_has_a_bit():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        corpus.append(["a b"] * 9)
        index = corpus._bound.current().segments[0].index
        with pytest.raises(ValueError, match="9 documents have 8 bits"):
            tokens_after(index, *index.find([0]), 1, np.zeros(1, dtype=np.uint8))
