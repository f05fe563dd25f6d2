"""Joins of positions with windows equal the results of a loop over both."""

from __future__ import annotations

import numpy as np
import pytest

from ngramdb._cext.corpus.joins import (
    documents_covered,
    least_ends,
    sort_positions,
    values_within,
    windows_with,
)


def u32(values):
    return np.array(values, dtype=np.uint32)


@pytest.fixture
def generator():
    return np.random.default_rng(5)


@pytest.mark.parametrize("n", [0, 1, 2, 4095, 4096, 100_000])
def test_sorted_positions_are_numpys(generator, n):
    values = generator.integers(0, 2**32, n, dtype=np.uint32)
    expected = np.sort(values)
    sort_positions(values)
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("top", [5, 60, 10_000])
def test_windows_and_values_find_each_other(generator, top):
    for _ in range(60):
        values = np.sort(generator.integers(0, top, generator.integers(0, 40), dtype=np.uint32))
        lo = np.sort(generator.integers(0, top, generator.integers(0, 40), dtype=np.uint32))
        hi = lo + generator.integers(0, 9, len(lo)).astype(np.uint32)
        expected = [bool(((values >= a) & (values < b)).any()) for a, b in zip(lo, hi, strict=True)]
        assert windows_with(values, lo, hi).tolist() == expected
        order = generator.permutation(len(lo))
        assert windows_with(values, lo[order], hi[order]).tolist() == [expected[i] for i in order]
        apart = u32(np.unique(lo // 10) * 10)
        ends = apart + u32(generator.integers(1, 11, len(apart)))
        inside = [any(a <= v < b for a, b in zip(apart, ends, strict=True)) for v in values]
        assert values_within(values, apart, ends).tolist() == inside


def test_the_match_that_ends_first_is_found(generator):
    for _ in range(200):
        starts = np.sort(generator.integers(0, 50, generator.integers(0, 30), dtype=np.uint32))
        ends = starts + generator.integers(1, 12, len(starts)).astype(np.uint32)
        lo = generator.integers(0, 50, 20, dtype=np.uint32)
        hi = lo + generator.integers(0, 20, 20).astype(np.uint32)
        expected = [
            min((e for s, e in zip(starts, ends, strict=True) if a <= s < b), default=0)
            for a, b in zip(lo, hi, strict=True)
        ]
        assert least_ends(starts, ends, lo, hi).tolist() == expected


def test_documents_are_covered_within_one_document_only():
    values, lists, documents = u32([1, 4, 9, 10, 12, 20]), u32([0, 1, 0, 1, 2, 2]), u32([0, 0, 0, 1, 1, 1])
    assert documents_covered(values, lists, documents, 2 + 1, 5).tolist() == []
    first_two = lists < 2
    chosen = (values[first_two], lists[first_two], documents[first_two])
    assert documents_covered(*chosen, 2, 3).tolist() == [0]
    assert documents_covered(*chosen, 2, 2).tolist() == []


def test_arrays_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="must have equal lengths"):
        windows_with(u32([1]), u32([1, 2]), u32([3]))
    with pytest.raises(ValueError, match="must have equal lengths"):
        least_ends(u32([1]), u32([]), u32([]), u32([]))
    with pytest.raises(ValueError, match="list 3 of 2"):
        documents_covered(u32([1]), u32([3]), u32([0]), 2, 1)
