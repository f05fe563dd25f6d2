"""Orders and distinct values are numpy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngramdb.conditions.interruptible_sort import (
    counted,
    each_once,
    numbered,
    numbered_rows,
    numbered_sequences,
    order_of,
)

INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.integers(2**31 - 2, 2**31 + 2))
EXAMPLES = settings(max_examples=100, deadline=None, derandomize=True)


def check(values):
    first, numbers = numbered(values)
    expected, expected_first, expected_numbers = np.unique(values, return_index=True, return_inverse=True)
    assert values[first].tolist() == expected.tolist()
    assert first.tolist() == expected_first.tolist()
    assert numbers.tolist() == expected_numbers.tolist()
    assert order_of(values).tolist() == np.argsort(values, kind="stable").tolist()


@EXAMPLES
@given(st.lists(INTEGERS, max_size=40))
def test_small_arrays(values):
    check(np.array(values, dtype=np.int64))


@pytest.mark.parametrize("n", [1023, 1024, 1025, 30_000])
def test_large_arrays(n):
    rng = np.random.default_rng(n)
    for low, high in ((0, 1), (-5, 5), (-(2**63), 2**63 - 1), (2**40, 2**40 + 3000)):
        check(rng.integers(low, high, n, dtype=np.int64))


@EXAMPLES
@given(st.lists(st.lists(st.integers(-1, 4), min_size=3, max_size=3), max_size=30))
def test_rows(rows):
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    first, numbers = numbered_rows(table)
    expected, expected_first, expected_numbers = np.unique(
        table, axis=0, return_index=True, return_inverse=True
    )
    assert table[first].tolist() == expected.tolist()
    assert first.tolist() == expected_first.tolist()
    assert numbers.tolist() == expected_numbers.reshape(-1).tolist()


@EXAMPLES
@given(st.lists(st.lists(st.integers(0, 2), max_size=5), max_size=30))
def test_sequences(sequences):
    n_read = 0

    def values_at(some, depth):
        nonlocal n_read
        n_read += len(some)
        return np.array([sequences[i][depth] for i in some.tolist()], dtype=np.int64)

    lengths = np.array([len(one) for one in sequences], dtype=np.int64)
    first, numbers = numbered_sequences(lengths, values_at)
    distinct = sorted(map(list, {tuple(one) for one in sequences}))
    assert [sequences[i] for i in first.tolist()] == distinct
    assert first.tolist() == [sequences.index(one) for one in distinct]
    assert [distinct[i] for i in numbers.tolist()] == sequences
    # A sequence is read until it differs from the others.
    assert n_read <= sum(
        1 + max((_n_common(one, other) for k, other in enumerate(sequences) if k != i), default=0)
        for i, one in enumerate(sequences)
    )


def _n_common(one, other):
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


@EXAMPLES
@given(st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 4), max_size=50))
def test_each_once(values):
    array = np.array(values, dtype=np.uint32)
    expected, n = np.unique(array, return_counts=True)
    found, counts = counted(array)
    assert found.tolist() == each_once(array).tolist() == expected.tolist()
    assert counts.tolist() == n.tolist()
    assert array.tolist() == values
