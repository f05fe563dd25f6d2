"""Large arrays in order, and their distinct values: as numpy finds them, but so that it can be stopped."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.joins import distinct, sort_positions, stable_order

IntArray = NDArray[np.int64]


def numbered(values: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Number values by the distinct ones, which ascend.

    Returns
    -------
    first : (k,) int64 : where each distinct value stands first
    numbers : (n,) int64 : which of them each value is

    Cost: linear; 40 bytes a value.
    """
    return distinct(np.ascontiguousarray(values, dtype=np.int64))


def numbered_rows(table: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """The same for rows of values, which ascend by their first column, then by the others in turn."""
    return numbered_columns(table.T)


def numbered_columns(columns: Iterable[NDArray[np.integer]]) -> tuple[IntArray, IntArray]:
    """The same for rows given as one or more columns, which are read one at a time."""
    rest = iter(columns)
    first, numbers = numbered(next(rest))
    for column in rest:
        interrupts.check()
        _, next_numbers = numbered(column)
        # Numbers are below that of rows, and memory holds fewer than 2**31 of these.
        first, numbers = numbered(numbers * (int(next_numbers.max(initial=0)) + 1) + next_numbers)
    return first, numbers


def order_of(values: NDArray[np.integer]) -> IntArray:
    """The places of values in ascending order, of equal ones ascending: (n,) int64. Cost: as `numbered`."""
    return stable_order(np.ascontiguousarray(values, dtype=np.int64))


def each_once(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Values in ascending order, each once: (k,) uint32."""
    return counted(values)[0]


def counted(values: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], IntArray]:
    """The same, and how often each occurs: (k,) int64. Cost: linear; two copies while sorting."""
    ordered = np.array(values, dtype=np.uint32)
    sort_positions(ordered)
    begins = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    places = np.flatnonzero(begins)
    return ordered[places], np.diff(places, append=len(ordered)).astype(np.int64, copy=False)
