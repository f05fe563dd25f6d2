"""Patterns over tokens: their simplified forms, and the places at which they are searched for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.subwords import write_tokenizer

import ngramdb
from ngramdb._cext.corpus.token_patterns import PATTERN_CODES, Matcher
from ngramdb.errors import QueryError, TimeoutExceeded
from ngramdb.patterns import token_regex


@pytest.fixture(scope="module")
def db() -> Iterator[ngramdb.Connection]:
    with ngramdb.connect() as connection:
        connection.create_corpus("c").append(
            ["time flies like an arrow", "fruit flies like a banana", "time flies when you read a book"]
        )
        yield connection


def plan(db: ngramdb.Connection, pattern: str) -> list[str]:
    """Return the lines of EXPLAIN below the pattern."""
    lines = [str(row[0]) for row in db.execute(f"EXPLAIN COUNT {pattern}").fetchall()]
    return [" ".join(line.split()) for line in lines[2:]]


def test_few_ngrams_are_counted_one_by_one(db: ngramdb.Connection) -> None:
    assert plan(db, '("time" | "fruit" | "book") "flies"') == [
        '└─ occurrences of ("time" | "fruit" | "book") "flies" count 3',
        '"time" "flies" [0, 1]: 2',
        '"fruit" "flies" [5, 1]: 1',
    ]
    assert plan(db, '"time" "flies"')[0].startswith('└─ occurrences of "time" "flies" count 2')


def test_sets_are_named_and_the_rarest_part_is_looked_up(db: ngramdb.Connection) -> None:
    assert plan(db, "/fl.*|time/ *{0,2} /b.*/") == [
        "└─ occurrences of /fl.*|time/ *{0,2} /b.*/ ~5 occurrences",
        '/fl.*|time/: 2 tokens ("time", "flies")',
        '/b.*/: 2 tokens ("banana", "book")',
        "looks up 2 n-grams at 5 places, tries the pattern there",
    ]
    assert plan(db, '/.*/ *{0,1} "arrow"')[-1] == (
        "looks up 1 n-gram at 1 place, tries the pattern 1 to 2 tokens before"
    )


def test_where_nothing_can_be_looked_up_every_token_is_tried(db: ngramdb.Connection) -> None:
    assert plan(db, "* *")[-1] == "no part can be looked up: tries every token"
    assert db.execute("COUNT * *").fetchall() == [(14,)]


def test_what_lacks_a_needed_word_is_not_looked_for(db: ngramdb.Connection) -> None:
    assert "rules: fold_unknown_words" in plan(db, '"time" * "xyzzy"')[0]
    assert db.execute('COUNT "time" * "xyzzy"').fetchall() == [(0,)]


def test_a_pattern_that_is_too_long_is_refused(db: ngramdb.Connection) -> None:
    with pytest.raises(QueryError, match="too long"):
        db.execute('COUNT (("a"{1,1000}){1,1000}){1,1000}')


def test_codes_are_those_of_the_kernel() -> None:
    assert token_regex.CODES == PATTERN_CODES


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [[0, 0, 0]],
        [[3, 9, 0], [5, 0, 0]],
        [[4, -1, 0], [5, 0, 0]],
        [[2, 0, 0], [5, 0, 0]],
        [[9, 0, 0], [5, 0, 0]],
    ],
)
def test_the_kernel_refuses_what_is_no_program(steps: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="step"):
        Matcher(np.array(steps, dtype=np.int64).reshape(-1, 3), np.zeros((0, 0), dtype=np.uint8))


def test_a_pattern_that_reads_far_can_be_stopped() -> None:
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["a " * 60_000 + "b"])
        with pytest.raises(TimeoutExceeded):
            db.execute('COUNT "a" *{1,} "b"', timeout=1e-9)


def test_an_unlimited_repetition_reads_each_token_once() -> None:
    # Reading from each start to the end would be 5e9 tokens.
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["a " * 100_000 + "b"])
        assert db.execute('COUNT "a" *{1,} "b"').fetchall() == [(99_999,)]
        assert db.execute('COUNT "a"{3,}').fetchall() == [(99_998,)]
        assert db.execute('COUNT ("a"{2} | "a"{3}){1,} "b"').fetchall() == [(99_999,)]


@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"])
@pytest.mark.parametrize("kind", ["words", "words(lower)", "words(nfc)", "sub-words"])
def test_a_beginning_may_end_in_a_joiner(kind: str, joiner: str, tmp_path: Path) -> None:
    made = write_tokenizer(tmp_path / "tokenizer.json") if kind == "sub-words" else kind
    with ngramdb.connect() as db:
        db.create_corpus("c", tokenizer=made).append([f"می{joiner}خواهم می{joiner}روم می", "می رود"])
        for statement, n in {
            "COUNT {}": 2,
            "COUNT * {}": 1,
            "COUNT DOCS WHERE {}": 1,
            'COUNT DOCS WHERE {} AND NOT "x"': 1,
        }.items():
            pattern = f'"می{joiner}" PREFIX'
            assert db.execute(statement.replace("{}", pattern)).fetchall() == [(n,)], statement
        n = 20 if kind == "sub-words" else 3
        for statement in ("KWIC {}", f"NGRAMS {n} CONTAINING {{}}", "COLLOCATES {}", "DISPERSION {}"):
            by_prefix, by_expression = (
                db.execute(statement.replace("{}", pattern)).fetchall()
                for pattern in (f'"می{joiner}" PREFIX', f"/می{joiner}.*/")
            )
            assert by_prefix == by_expression != []


@pytest.mark.parametrize("kind", ["words", "sub-words"])
def test_words_may_be_as_long_as_they_are(kind: str, tmp_path: Path) -> None:
    made = write_tokenizer(tmp_path / "tokenizer.json") if kind == "sub-words" else kind
    with ngramdb.connect() as db:
        long = "aBé" * 3000
        db.create_corpus("c", tokenizer=made).append([f"{long}x {long}y {long} {long[:-1]}è"])
        for pattern, n in {
            f'"{long}" PREFIX': 3,
            f'"{long[:5000]}" PREFIX': 4,
            f'"{long.lower()}" IGNORE CASE PREFIX': 3,
            f'"{long}" IGNORE DIACRITICS': 2,
            f'"{long.upper()}" IGNORE CASE IGNORE DIACRITICS PREFIX': 4,
        }.items():
            assert db.execute(f"COUNT {pattern}").fetchall() == [(n,)], pattern[-40:]


def test_lines_of_one_place_come_by_length_whatever_the_order_of_operands() -> None:
    with ngramdb.connect() as db:
        db.create_corpus("c").append(["a b c"])
        lines = [db.execute(f"KWIC {what} WINDOW 0").fetchall() for what in ('"a b" OR "a"', '"a" OR "a b"')]
        assert lines[0] == lines[1] == [(0, 0, "", "a", ""), (0, 0, "", "a b", "")]
