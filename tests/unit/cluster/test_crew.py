"""Crews without Ray (`tests/support/crews.py`): who holds what, grouped questions, members that are lost."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from support import crews
from support.builds import answers

import ngramdb
from ngramdb import registries
from ngramdb.cluster import crew as crewing
from ngramdb.cluster.crew import Crew, Job
from ngramdb.engine.corpus import grouped
from ngramdb.questions import ngrams

NAMES = [(f"segment-{i}", 1000 + i) for i in range(200)]


@pytest.fixture
def database(tmp_path):
    """Five segments, and one of removed documents."""
    with ngramdb.connect(tmp_path / "db") as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("c")
        for k in range(5):
            corpus.append(
                [{"text": f"the cat sat on mat {i}", "kind": str(i % 2), "n": i} for i in range(k, 20)]
            )
        db.execute("DELETE DOCS WHERE doc_id < 25 FROM c")
    return tmp_path / "db"


def members_of(database, n, replicas=2):
    return Crew(crews.Members(str(database), n), replicas)


def test_segments_are_spread_and_move_no_more_than_they_must(database):
    crew = members_of(database, 8)
    held = [crew.holders(name, range(8)) for name, _ in NAMES]
    assert all(len(set(holders)) == 2 for holders in held)
    firsts = np.bincount([holders[0] for holders in held], minlength=8)
    assert firsts.min() > 10 and firsts.max() < 45
    without = [crew.holders(name, [i for i in range(8) if i != 3]) for name, _ in NAMES]
    for before, after in zip(held, without, strict=True):
        assert [i for i in before if i != 3] == after[: 2 - (3 in before)]
    assert len({after[1] for before, after in zip(held, without, strict=True) if 3 in before}) > 3


def test_turns_give_each_holder_its_part_and_work_is_balanced(database):
    crew = members_of(database, 2)
    first, second = crew.shares(NAMES, 0), crew.shares(NAMES, 1)
    assert first[0] == second[1] and first[1] == second[0] and len(first[0]) + len(first[1]) == 200
    crew = members_of(database, 4)
    shares = crew.balanced(NAMES)
    assert sorted(i for numbers in shares.values() for i in numbers) == list(range(200))
    assert all(45 <= len(numbers) <= 55 for numbers in shares.values())
    # A batch is divided where segments alone do not give everybody the same.
    assert crew.n_parts(NAMES) == 1 and crew.n_parts([("one", 5)]) == crew.n_parts([("a", 9), ("b", 1)]) == 2


def test_answers_are_those_of_one_machine_whoever_is_lost(database):
    with ngramdb.connect(database) as other:
        expected = answers(other, "c")
    for n, replicas, lost in ((1, 1, []), (3, 1, []), (3, 2, [1]), (3, 1, [0, 2])):
        with crews.connect(database, n, replicas) as db:
            members = db._crew.transport
            assert answers(db, "c") == expected
            assert any(members.asked)  # names of segments are random: one may hold none
            members.lost.update(lost)
            assert answers(db, "c") == expected
            assert db._crew.ask([Job(i, of_two, (i,)) for i in range(n)]) == [2 * i for i in range(n)]
            assert db._crew.living() == [i for i in range(n) if i not in lost]
            members.lost.clear()
            assert db._crew.living() and len(db._crew.living()) == n  # replaced when next looked at
            assert answers(db, "c") == expected


def test_warming_reads_each_segment_where_it_is_held(database, monkeypatch):
    with crews.connect(database, 3, replicas=2) as db:
        warmed = []
        warm = grouped.warm
        monkeypatch.setattr(grouped, "warm", lambda segments: warmed.extend(segments) or warm(segments))
        found = db.corpus("c").warm()
        view = db.corpus("c")._bound.current()
        segments = [*view.segments, *view.subtracted]
        assert sorted(one.path for one in warmed) == sorted(2 * [one.path for one in segments])
        assert found.bytes == sum(one.size_bytes for one in segments) >= found.bytes_in_memory > 0


def same(found, expected):
    return all(
        np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=name == "prob")
        for name in ("prob", "count", "context_count", "effective_n", "sparse")
    )


def test_batches_of_models_are_divided(database):
    rng = np.random.default_rng(1)
    words = ["the", "cat", "sat", "on", "mat", "nowhere"]
    texts = [" ".join(rng.choice(words, size=5)) for _ in range(1200)]
    tokens = [str(rng.choice(words)) for _ in texts]
    with ngramdb.connect(database) as other, crews.connect(database) as db:
        asked = db._crew.transport.asked
        for model in registries.MODELS:
            before = list(asked)
            here, there = other.corpus("c"), db.corpus("c")
            assert same(there.prob_many(texts, tokens, model), here.prob_many(texts, tokens, model))
            assert same(there.score_many(texts, model).all, here.score_many(texts, model).all)
            assert all(n > m for n, m in zip(asked, before, strict=True))


def test_the_most_frequent_ngrams_are_those_of_all_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(ngrams, "LEAST_TOKENS", 0)
    rng = np.random.default_rng(2)
    with ngramdb.connect(tmp_path / "db") as db:
        db.settings["auto_compact"] = False
        corpus = db.create_corpus("c", tokenizer="tokens")
        for k in range(5):  # each segment has frequent tokens of its own
            corpus.append([rng.zipf(1.5, size=60).clip(0, 40) + 3 * k for _ in range(30)])
        db.execute("DELETE DOCS WHERE doc_id < 40 FROM c")
    with ngramdb.connect(tmp_path / "db") as other, crews.connect(tmp_path / "db", 3, 1) as db:
        for n in (1, 2, 3):
            for k in (1, 5, 50, 5000):
                rows = other.execute(f"NGRAMS {n} TOP {k}").fetchall()
                found = db.execute(f"NGRAMS {n} TOP {k}")
                assert found.fetchall() == rows and "total" not in found.summary
        monkeypatch.setattr(ngrams, "MOST_GIVEN", 20)  # too many: the files are read
        assert db.execute("NGRAMS 2 TOP 5").fetchall() == other.execute("NGRAMS 2 TOP 5").fetchall()


def of_two(library, i):
    return 2 * i


def fail(library):
    raise ValueError("no")


def test_errors_of_members_and_the_end_of_all(database, monkeypatch):
    with crews.connect(database) as db:
        with pytest.raises(ValueError, match="no"):
            db._crew.ask([Job(0, fail, ())])
        corpus = db.corpus("c")
        with pytest.raises(ngramdb.InvalidArgument, match="token id -5 is outside"):
            corpus.count([-5])
        monkeypatch.setattr(crewing, "AWAY_S", 0.0)
        db._crew.transport.lost.update([0, 1])
        with pytest.raises(ngramdb.ExecutionError, match="all 2 actors were lost"):
            corpus.count("the")
    with pytest.raises(ngramdb.ExecutionError, match="connection is closed"):
        corpus.count("the")


def test_a_folder_that_goes_away_is_an_error_and_comes_back(database):
    with crews.connect(database) as db:
        corpus = db.corpus("c")
        os.rename(database / "segments", database / "away")
        with pytest.raises(ngramdb.StorageError, match=r"segments.*\.segment"):
            corpus.count("the")
        os.rename(database / "away", database / "segments")
        with ngramdb.connect(database) as other:
            assert corpus.count("the") == other.corpus("c").count("the") > 0


def test_a_question_that_no_member_survives_ends(database):
    with crews.connect(database) as db:
        members = db._crew.transport
        answer, members.answer = members.answer, lambda reference: answer(crews.Reference(None))
        members.replace = lambda member: members.ready([crews.Reference(b"")], 0)[0]
        db._crew.living = lambda: [0, 1]
        with pytest.raises(ngramdb.ExecutionError, match="5 actors were lost over the same question"):
            db.corpus("c").count("the")


def test_a_small_corpus_and_an_empty_one(tmp_path):
    with ngramdb.connect(tmp_path / "db") as db:
        db.create_corpus("c")
    with crews.connect(tmp_path / "db") as db:
        assert db.execute("COUNT DOCS").fetchall() == [(0,)]
        assert db.corpus("c").count_many(["a", "b"]).tolist() == [0, 0]
        db.corpus("c").append(["a b"])
        assert db.corpus("c").count_many(["a", "b", "c"]).tolist() == [1, 1, 0]


LEXICAL = {
    'COLLOCATES OF "cat" WINDOW 2': "around_in",
    'COLLOCATES OF "cat" WHERE n > 4 WINDOW 2': "token_counts_in",
    'DISPERSION OF "mat" BY DOCUMENTS': "spread_in",
    'DISPERSION OF "mat" BY kind': "spread_in",
    "KEYWORDS OF WHERE n > 9 AGAINST REST": "sides_in",
    "KEYWORDS OF WHERE n > 9 AGAINST WHERE n < 5": "token_counts_in",
    "KEYWORDS OF WHERE n > 9 AGAINST REST NGRAMS 2 TOP 5": "length_in",
}


@pytest.mark.parametrize("statement", LEXICAL)
def test_members_answer_questions_about_words_from_their_segments(database, statement):
    with ngramdb.connect(database) as other, crews.connect(database, 3) as db:
        other.use("c")
        db.use("c")
        asked = set()
        ask = db._crew.ask

        def record(jobs):
            asked.update(getattr(job.arguments[2], "__name__", "") for job in jobs)
            return ask(jobs)

        db._crew.ask = record
        assert db.execute(statement).fetchall() == other.execute(statement).fetchall()
        assert LEXICAL[statement] in asked


FUNCTIONS = (
    *("LONGEST_SEEN()", "SHARE_SEEN(2, 3)", "SHARE_SEEN(100, 2)", "LOOP_SHARE(2)", "DUP_NGRAM_SHARE(1)"),
    *("TOP_NGRAM_SHARE(1 AS datatrove)", "DUP_LINE_SHARE()", "PERPLEXITY(KNESER_NEY ORDER 3)"),
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_members_compute_functions_of_documents(database, function):
    with ngramdb.connect(database) as other, crews.connect(database, 3) as db:
        for statement in (
            f"DOCS FROM c WHERE {function} > 0.1 ORDER BY {function}, doc_id RETURNING doc_id, {function}",
            f"COUNT DOCS FROM c WHERE {function} > 0 GROUP BY {function}",
        ):
            assert db.execute(statement).fetchall() == other.execute(statement).fetchall()


def test_buckets_of_quality_over_a_crew(database, tmp_path):
    shutil.copytree(database, tmp_path / "copy")
    with ngramdb.connect(database) as other, crews.connect(tmp_path / "copy", 3) as db:
        for one in (other, db):
            report = one.corpus("c").quality("c", by="kind", model="kneser_ney order 3")
            assert report.documents == sum(row.documents for row in report.table) > 0
        fields = "DOCS FROM c ORDER BY doc_id RETURNING doc_id, bucket, perplexity"
        assert db.execute(fields).fetchall() == other.execute(fields).fetchall()
