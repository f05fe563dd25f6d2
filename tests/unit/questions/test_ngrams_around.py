"""NGRAMS with a rare part reads the n-grams around it, and answers as a pass over all rows does."""

from __future__ import annotations

import random
from typing import Any

import pytest

import ngramdb
from ngramdb.questions import ngram_selection

WORDS = ["Time", "time", "TIME", "flies", "like", "an", "ſ", "S", "s", "arrow"]
CONDITIONS = [
    'CONTAINING "time"',
    'CONTAINING "zebra"',
    'CONTAINING "tImE"',
    'CONTAINING "time flies"',
    'CONTAINING "time flies like an arrow"',
    'CONTAINING /t.*/ *{0,1} "an"',
    'CONTAINING ("an" "time" | "flies")',
    'STARTING WITH "time"',
    'STARTING WITH "time" ENDING WITH "s"',
    'ENDING WITH "an arrow"',
    'CONTAINING "s" STARTING WITH "an" ENDING WITH "TIME"',
]
QUALIFIERS = ["", " WITH DOCS", " MIN COUNT 2", ' WHERE n > 2 AND NOT "arrow time"']


@pytest.fixture(scope="module")
def connection() -> Any:
    with ngramdb.connect() as connection:
        corpus = connection.create_corpus("c")
        draw = random.Random(5)
        for _ in range(3):
            documents = [
                {"text": " ".join(draw.choices(WORDS, k=draw.randrange(12))), "n": n} for n in range(12)
            ]
            corpus.append(documents)
            corpus.delete("n = 7")
        yield connection


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("case", ["", " IGNORE CASE"])
def test_both_ways_answer_alike(
    connection: Any, condition: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (1, 2, 4):
        for qualifier in QUALIFIERS:
            statement = f"NGRAMS {n}{case} {condition}{qualifier}"
            answers = []
            for is_faster in (True, False):
                monkeypatch.setattr(ngram_selection, "is_faster", lambda *_, way=is_faster: way)
                found = connection.execute(statement)
                answers.append((found.fetchall(), found.summary["total"]))
            assert answers[0] == answers[1], statement


@pytest.mark.parametrize("case", ["", " IGNORE CASE"])
def test_a_rare_word_takes_no_pass_over_all_rows(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Scan(ngram_selection.NgramScan):
        def next(self, *_: Any) -> Any:
            raise AssertionError("all rows are read")

    monkeypatch.setattr(ngram_selection, "NgramScan", Scan)
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(["a b c d " * 500 + "Rare word a b"])
        for condition in (
            'CONTAINING "Rare"',
            "CONTAINING /R.*/",
            'ENDING WITH "Rare word"',
            'CONTAINING "zebra"',
        ):
            rows = connection.execute(f"NGRAMS 3{case} {condition}").fetchall()
            assert all("Rare" in row[0] for row in rows) and bool(rows) == ("zebra" not in condition)


def test_a_common_word_is_found_in_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ngram_selection, "ngrams_around")
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(["a b c d " * 500])
        assert len(connection.execute('NGRAMS 3 IGNORE CASE CONTAINING "A"').fetchall()) == 3
