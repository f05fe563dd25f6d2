"""Quotients of large integers, which GROUP BY and ORDER BY compare."""

from __future__ import annotations

import pytest

import ngramdb
from ngramdb.conditions.field_values import quotient

LARGE = 2**53


@pytest.mark.parametrize("divisor", ["n", "n / 1", "n / 1.0", "n / 1.0 * 1.0"])
def test_integers_that_floats_do_not_tell_apart_are_groups_of_their_own(divisor):
    with ngramdb.connect() as db:
        db.create_corpus("c").append([("a", {"n": LARGE}), ("a", {"n": LARGE + 1}), ("a", {"n": LARGE + 1})])
        rows = db.execute(f'COUNT "a" GROUP BY {divisor}').fetchall()
    assert rows == [(LARGE, 1), (LARGE + 1, 2)]


def test_small_numbers_are_divided_as_floats():
    assert quotient(1, 0.1, None) == 10
    assert quotient(LARGE * 5, 2.5, None) == LARGE * 2
