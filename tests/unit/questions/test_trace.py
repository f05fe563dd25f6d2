"""TRACE names the same documents, whichever way they are found."""

from __future__ import annotations

import random

import ngramdb
from ngramdb.questions import trace


def test_frequent_spans_have_the_documents_that_all_their_occurrences_are_in(monkeypatch):
    chance = random.Random(3)
    # Rare at the beginning, frequent at the end: the first documents alone are not enough for every span.
    texts = [" ".join(chance.choices("abc", [n, 9, 1], k=chance.randrange(30))) for n in range(300)]
    with ngramdb.connect() as db:
        db.execute("SET auto_compact = off")
        c = db.create_corpus("c")
        for start in range(0, 300, 120):
            c.append(texts[start : start + 120])
        c.delete("doc_id BETWEEN 3 AND 40 AND length > 9")
        left = [row[0] for row in c.docs()]
        for text in ("a", "b", "c", "a a", "b c", "a b a"):
            located = c.trace(text).fetchall()
            assert len(located) == 1
            assert located[0][4] == [i for i in left if f" {text} " in f" {texts[i]} "][:10]
            for first in (1, 7):
                monkeypatch.setattr(trace, "MANY_OCCURRENCES", 0)
                monkeypatch.setattr(trace, "FIRST_DOCUMENTS", first)
                assert c.trace(text).fetchall() == located
                monkeypatch.undo()
