"""Whole quotients of many numbers at once against those of one after the other."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import numpy as np

from ngramdb.conditions.field_values import Numbers, _quotients, quotient

INTEGERS = [0, 1, -1, 7, 2**53, -(2**53), 2**53 + 2, -(2**63), 2**63 - 1]
FLOATS = [0.0, -0.0, 1.5, -812.25, 1e300, -1e17, math.nan, math.inf, 0.30000000000000004]


def test_equal_to_quotients_one_by_one():
    chance, n_exact = random.Random(1), 0
    for _ in range(1500):
        some, dtype = chance.choice([(INTEGERS, np.int64), (FLOATS, np.float64)])
        given = [chance.choice([*some, chance.randrange(10**6)]) for _ in range(chance.randrange(6))]
        if chance.random() < 0.7:
            given = [value for value in given if abs(value) < 2**50]
        given = np.array(given, dtype=dtype)
        key = SimpleNamespace(
            divisor=chance.choice([1, -1, 10, 0.1, -0.3, 2.0, 1e-300, 1e300, 2**60]),
            factor=chance.choice([None, 10, -3, 0.1, 2.0, 2**40]),
            part=None,
        )
        found = _quotients(Numbers(given, np.zeros(len(given), dtype=np.bool_)), key)
        if found is None:
            continue
        n_exact += 1
        shown = [
            None if gone else one
            for one, gone in zip(found.values.tolist(), found.missing.tolist(), strict=True)
        ]
        expected = [quotient(value, key.divisor, key.factor) for value in given.tolist()]
        assert shown == expected and list(map(type, shown)) == list(map(type, expected))
    assert n_exact > 300
