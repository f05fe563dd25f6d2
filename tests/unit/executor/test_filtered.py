"""DIST in some documents: from the places first, from an index of these documents once that has paid."""

from __future__ import annotations

import ngramdb
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
        assert len(made) == 1  # other documents, which were asked for once


def test_work_is_told_apart_by_documents(monkeypatch):
    slices = Slices()
    some, others = ([[number]] for number in (1, 2))
    assert not slices.prefers(some, 6, 10)
    assert not slices.prefers(others, 6, 10)
    assert slices.prefers(some, 6, 10) and slices.prefers(others, 11, 10)
