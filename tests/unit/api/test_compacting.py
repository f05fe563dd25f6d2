"""COMPACT: its EXPLAIN, and that different ways of running it write the same."""

from __future__ import annotations

import random

import ngramdb


def _explained(db):
    return [line.strip() for (line,) in db.execute("EXPLAIN COMPACT")]


def test_explain_says_what_becomes_of_which_segments(tmp_path):
    with ngramdb.connect(tmp_path / "x.ngdb") as db:
        db.execute("SET auto_compact = off")
        db.execute("SET threads = 1")
        corpus = db.create_corpus("c", tokenizer="words")
        assert _explained(db) == ["compact c", "c: nothing to rewrite"]
        for text in ("to be or not to be", "that is the question", "to sleep"):
            corpus.append([text])
        assert _explained(db)[1:] == [
            "c: segments 1 to 3 as one of 15 symbols: suffix arrays are merged on 1 thread"
        ]
        corpus.compact()
        assert _explained(db)[1:] == ["c: nothing to rewrite"]
        corpus.delete('"question"')
        assert _explained(db)[1:] == [
            "c: segment 1 as one of 10 symbols without 1 removed document: its rows are filtered"
        ]
        corpus.compact()
        assert corpus.count("to") == 3 and not list(db.execute("CHECK"))


def test_rows_are_filtered_alike_in_memory_and_in_passing(tmp_path):
    rng = random.Random(5)
    words = [f"w{i}" for i in range(30)]
    texts = [" ".join(rng.choices(words, k=rng.randrange(1, 60))) for _ in range(200)] * 2
    found = []
    for name, sort_tokens in (("memory", 100_000), ("passing", 1024)):
        with ngramdb.connect(tmp_path / name) as db:
            corpus = db.create_corpus("c", tokenizer="words")
            corpus.append(texts)
            corpus.compact()
            assert len(list(db.execute("SHOW SEGMENTS"))) == 1
            corpus.delete('"w7" AND NOT "w3"')
            db.execute(f"SET sort_tokens = {sort_tokens}")
            assert "its rows are filtered" in _explained(db)[1]
            corpus.compact()
            assert not list(db.execute("CHECK"))
            found.append((corpus.n_tokens, corpus.ngrams(3, top=50).to_dicts(), corpus.count("w1 w2")))
    assert found[0] == found[1]
