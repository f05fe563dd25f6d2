"""Operands of WITHIN: ANDs in parentheses, NOT, and unknown facts about a document."""

from __future__ import annotations

import pytest

import ngramdb

PLACES = [
    # b is far from a and c
    ('COUNT ("a" AND "b") AND "c" WITHIN 2 TOKENS', [0]),
    ('COUNT "c" AND ("a" AND "b") WITHIN 2 TOKENS', [0]),
    ('COUNT ("a" AND "b" AND length > 3) AND "c" WITHIN 2 TOKENS', [0]),
    ('COUNT (length > 3 AND "a") AND "c" WITHIN 2 TOKENS', [0]),
    ('COUNT ("a" AND NOT "b") AND "c" WITHIN 2 TOKENS', []),
    ('COUNT ("a" AND "b") WITHIN 6 TOKENS', []),
    ('COUNT (("a" AND "b")) WITHIN 7 TOKENS', [0, 1]),
    ('COUNT (("a" AND "b") AND "c") WITHIN 2 TOKENS', [0]),
    ('COUNT (("a" AND "c" WITHIN 2 TOKENS) AND "b") WITHIN 7 TOKENS', [0]),
]


@pytest.mark.parametrize(("statement", "expected"), PLACES)
def test_an_and_in_parentheses_is_one_of_those_that_are_near(statement: str, expected: list[int]) -> None:
    db = ngramdb.connect()
    db.create_corpus("c").append(["a x c x x x x b", "b x x c x x x a"])
    assert [row[0] for row in db.execute(f"{statement} GROUP BY doc_id")] == expected
    found = db.execute(f"DOCS WHERE{statement.removeprefix('COUNT')} RETURNING doc_id")
    assert [row[0] for row in found] == expected


def test_and_not_takes_documents_away_and_adds_none() -> None:
    db = ngramdb.connect()
    corpus = db.create_corpus("c")
    corpus.append(["c x a x b", "a b c", "b x a c"])
    assert corpus.count_docs('"a" AND "b" AND "c" WITHIN 2 TOKENS') == 1
    assert corpus.count_docs('"a" AND "b" AND "c" WITHIN 3 TOKENS') == 2
    for without, left in (('"z"', 1), ('"b x"', 1), ('"b c"', 0)):
        for order in (f'"a" AND "b" AND "c" AND NOT {without}', f'NOT {without} AND "a" AND "c" AND "b"'):
            assert corpus.count_docs(f"{order} WITHIN 2 TOKENS") == left


UNKNOWN = [
    ('"a" AND NOT "b" AND year > 3', [0], [1, 3]),
    ('("a" AND year > 3) AND "c"', [0], [1, 3]),
    ('(year > 3 AND "a") AND "c"', [0], [1, 3]),
    ('("z" OR ("a" AND year > 3)) AND "c"', [0], [1, 3]),
    ('"a" AND NOT ("c" AND year > 3)', [1], [0, 3]),
    ('"a" AND "x" AND NOT ("c" AND year > 3)', [1], [0, 3]),
]


@pytest.mark.parametrize(("joined", "holds", "does_not"), UNKNOWN)
def test_what_is_unknown_of_a_document_is_neither_true_nor_false(
    joined: str, holds: list[int], does_not: list[int]
) -> None:
    db = ngramdb.connect()
    rows = [{"text": "a x c", "year": 5}, {"text": "a x c", "year": 1}, {"text": "a x c"}, {"text": "q"}]
    db.create_corpus("c").append(rows)
    within = f"{joined} WITHIN 2 TOKENS"
    for condition, expected in (
        (within, holds),
        (f"NOT ({within})", does_not),
    ):
        assert [row[0] for row in db.execute(f"DOCS WHERE {condition} RETURNING doc_id")] == expected
