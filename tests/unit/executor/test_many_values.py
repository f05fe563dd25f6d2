"""IN with many values: interrupted while they are read, linear in their number, and within memory_limit."""

from __future__ import annotations

import pytest

import ngramdb
from ngramdb import interrupts
from ngramdb.planner.plan import OneOf, pieces


@pytest.fixture
def db():
    with ngramdb.connect() as db:
        corpus = db.create_corpus("c")
        fields = [
            {"k": 1, "f": 1.5, "s": "1"},
            {"k": 2**53 + 1, "f": 2.0**53, "s": "two"},
            {"m": [True, "x"]},
        ]
        corpus.append([{"text": "a", **one} for one in fields])
        yield db


@pytest.mark.parametrize("n_others", [0, 40])
@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("k", 1, [0]),
        ("k", 1.0, [0]),
        ("k", 2.0**53, []),  # not the same as 2**53 + 1
        ("k", 2**53 + 1, [1]),
        ("k", float("inf"), []),
        ("k", 10**400, []),
        ("f", 1.5, [0]),
        ("f", 2**53, [1]),
        ("f", 2**53 + 1, []),
        ("s", "1", [0]),
        ("m", True, [2]),
        ("m", 1, []),
        ("m", "x", [2]),
    ],
)
def test_values_are_equal_alone_and_among_many(db, field, value, expected, n_others):
    others = [f"no {i}" for i in range(n_others)] if isinstance(value, str) else list(range(-n_others, 0))
    found = db.execute(f"DOCS WHERE {field} IN ?", ([*others, value],)).fetchall()
    assert [row[0] for row in found] == expected


def test_each_piece_of_the_values_can_be_interrupted(db, monkeypatch):
    n_checks = [0]
    monkeypatch.setattr(interrupts, "check", lambda: n_checks.__setitem__(0, n_checks[0] + 1))
    list(pieces(range(100_000)))
    per_pass, n_checks[0] = n_checks[0], 0
    db.execute("COUNT DOCS WHERE k IN ?", (list(range(100_000)),)).fetchall()
    assert per_pass > 5 and n_checks[0] >= 4 * per_pass


def test_a_value_is_looked_up_not_compared_with_all():
    values = OneOf(tuple(range(10_000)) + tuple(map(str, range(10_000))) + (True,))
    assert values.of_element(9_999) and values.of_element("9999") and values.of_element(True)
    assert not values.of_element(False) and not values.of_element({"x": 1})
    assert len(values.others) == 20_000 and len(values.booleans) == 1


def test_values_that_do_not_fit_the_memory_limit_are_refused(db):
    db.execute("SET memory_limit = '1MB'")
    with pytest.raises(ngramdb.ResourceError, match="20,000 values of IN"):
        db.execute("COUNT DOCS WHERE k IN ?", (list(range(20_000)),))
