"""The hash table of strings against a dictionary."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from ngramdb._cext.corpus.key_table import KeyTable
from ngramdb.engine.changes import joining

SOME = ["", "a", "b", "ab", "a" * 8, "a" * 9, "ä", "key-000000001", "key-000000002"]


@pytest.mark.parametrize("seed", range(20))
def test_equal_to_a_dictionary(seed, monkeypatch):
    chance = random.Random(seed)
    monkeypatch.setattr(joining, "_FOUND_ROWS", 3)
    if seed % 2:
        values, kind = [*range(-3, 5), 2**63 - 1, -(2**63)], pa.int64()
    else:
        values, kind = SOME, pa.string()
    sides = [[chance.choice([None, *values]) for _ in range(chance.randrange(300))] for _ in range(2)]
    arrays = [pa.array([None, *side, None], kind).slice(1, len(side)) for side in sides]
    first = {}
    for i, value in enumerate(sides[1]):
        first.setdefault(value, i)
    first.pop(None, None)
    expected = [first.get(value, -1) for value in sides[0]]
    assert joining._places(arrays[0], arrays[1]).tolist() == expected
    cut = chance.randrange(len(sides[0]) + 1)
    chunks = pa.chunked_array([arrays[0].slice(0, cut), arrays[0].slice(cut)], kind)
    assert joining._places(chunks, arrays[1]).tolist() == expected


def test_many_strings_share_beginnings():
    keys = pa.array([f"key-{i:07d}" for i in range(30_000)])
    order = np.random.default_rng(1).permutation(len(keys))
    assert np.array_equal(joining._places(keys, keys.take(pa.array(order))), np.argsort(order))


@pytest.mark.parametrize("offsets", [[0, 2, 1], [-1, 1, 1], [0, 1, 9], []])
def test_invalid_offsets_are_refused(offsets):
    wrong, data = np.array(offsets, dtype=np.int32), np.zeros(3, dtype=np.uint8)
    with pytest.raises(ValueError, match="offsets"):
        KeyTable(wrong, data)
    with pytest.raises(ValueError, match="offsets"):
        KeyTable(np.array([0, 1], dtype=np.int32), data).find(wrong, data)
