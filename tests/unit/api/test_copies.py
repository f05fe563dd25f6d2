"""CREATE CORPUS … AS: documents as a corpus of their own."""

from __future__ import annotations

import numpy as np
import pytest

import ngramdb


@pytest.fixture
def db():
    with ngramdb.connect() as opened:
        opened.settings["auto_compact"] = False
        c = opened.create_corpus("c")
        for start in range(0, 60, 20):
            documents = [
                (f"w{i} w{i % 7} the end", {"n": i, "tags": [i % 3]}) for i in range(start, start + 20)
            ]
            c.append(documents)
        c.delete("n = 5 OR n = 21")
        yield opened


def test_a_copy_has_the_documents_as_they_are(db):
    c = db.corpus("c")
    made = c.where("n >= 2").where("n < 50").copy("part")
    assert made.docs().fetchall() == c.docs("n >= 2 AND n < 50").fetchall()
    part = c.where("n >= 2 AND n < 50")
    for ngram in ("the end", "w3", "w59", ""):
        assert made.count(ngram) == part.count(ngram)
    assert np.array_equal(made.tokenizer.encode("w1 w59 end"), c.tokenizer.encode("w1 w59 end"))
    assert db.execute("CHECK part").fetchall() == []


def test_a_copy_goes_its_own_way(db):
    db.execute("CREATE CORPUS part AS (DOCS FROM c WHERE n < 10)")
    part = db.corpus("part")
    part.append(["new w3"])
    part.delete("n = 1")
    assert (part.n_documents, db.corpus("c").n_documents) == (9, 58)
    assert part.docs("NOT n >= 0 OR n IS NULL").fetchall()[0][0] == 60  # no id is given twice
    db.drop_corpus("c")
    assert part.count("w3") == 3 and db.execute("CHECK part").fetchall() == []


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("LIMIT 3", [0, 1, 2]),
        ("LIMIT 2 OFFSET 4", [4, 6]),
        ("ORDER BY n DESC LIMIT 2", [58, 59]),
        ("WHERE n < 4 ORDER BY n / 2 DESC, doc_id DESC LIMIT 3", [1, 2, 3]),
    ],
)
def test_order_and_limit_choose(db, clauses, expected):
    db.execute(f"CREATE CORPUS part AS (DOCS FROM c {clauses})")
    assert [row[0] for row in db.execute("DOCS FROM part RETURNING n")] == expected


def test_a_sample_is_the_one_that_docs_draws(db):
    db.execute("CREATE CORPUS part AS (DOCS FROM c SAMPLE 9 SEED 4)")
    drawn = db.execute("DOCS FROM c SAMPLE 9 SEED 4").fetchall()
    assert db.execute("DOCS FROM part").fetchall() == drawn


def test_what_cannot_be_copied_says_so_and_nothing_is_left(db):
    version = db.version
    for text in ("CREATE CORPUS c AS (DOCS FROM c)", "CREATE CORPUS x AS (DOCS FROM c + c)"):
        with pytest.raises(ngramdb.QueryError):
            db.execute(text)
    with pytest.raises(ngramdb.InvalidArgument, match="non-empty"):
        db.corpus("c").copy("")
    with pytest.raises(ngramdb.BindError):
        db.corpus("c").copy("c")
    assert db.version == version and db.corpora() == ["c"]
    assert db.corpus("c").where("n = 1").copy("c", if_not_exists=True).n_documents == 58


def test_an_interrupted_copy_leaves_nothing(db, monkeypatch):
    from ngramdb.engine.changes import change

    files = set(db._database.store.directory.list())
    written = change.merged_segment

    def stopped(*arguments):
        db.interrupt()
        return written(*arguments)

    monkeypatch.setattr(change, "merged_segment", stopped)
    with pytest.raises(ngramdb.QueryCancelled):
        db.execute("CREATE CORPUS part AS (DOCS FROM c)")
    assert db.corpora() == ["c"] and set(db._database.store.directory.list()) == files


@pytest.mark.parametrize("tokenizer", ["words", "chars"])
def test_a_difference_is_copied(tokenizer):
    """Also if the vocabulary of the subtracted corpus is larger, so that ids are translated for questions."""
    with ngramdb.connect() as db:
        db.settings["auto_compact"] = False
        a = db.create_corpus("a", tokenizer=tokenizer)
        for start in range(0, 9, 3):
            a.append([{"text": f"w{i} the End", "n": i} for i in range(start, start + 3)])
        b = db.create_corpus("b", tokenizer=tokenizer)
        b.append([" ".join(f"more{i}" for i in range(90)), "w4 the End", "w7 the End"])
        b.delete("doc_id = 0")
        before = db.version
        a.delete("n = 1")
        for source in ("a - b", f"a AT VERSION {before} - a", "a - b + b"):
            expected = db.execute(f"DOCS FROM {source} RETURNING doc_id, n, text").fetchall()
            if source.count("+ b"):
                with pytest.raises(ngramdb.PlanError, match="of a difference"):
                    db.execute(f"CREATE CORPUS made AS (DOCS FROM {source})")
                continue
            db.execute(f"CREATE CORPUS made AS (DOCS FROM {source})")
            assert db.execute("DOCS FROM made RETURNING doc_id, n, text").fetchall() == expected
            assert db.execute("CHECK made").fetchall() == []
            db.drop_corpus("made")
