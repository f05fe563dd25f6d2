"""Sorting large arrays and finding their distinct values, like numpy but interruptible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.joins import distinct, sort_positions, stable_order

IntArray = NDArray[np.int64]

# The peak memory of `numbered_sequences`.
BYTES_PER_SEQUENCE = 120


def numbered(values: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Assign numbers to values by the ascending order of the distinct ones.

    Returns
    -------
    first : (k,) int64 : the first place of each distinct value
    numbers : (n,) int64 : the number of each value's distinct value

    Cost: linear; 40 bytes per value.
    """
    return distinct(np.ascontiguousarray(values, dtype=np.int64))


def numbered_rows(table: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """Do the same for rows of values, ordered by their first column, then by the others in turn."""
    n_rows, n_columns = table.shape
    return numbered_sequences(np.full(n_rows, n_columns), lambda rows, depth: table[rows, depth])


def numbered_sequences(
    lengths: NDArray[np.integer], values_at: Callable[[IntArray, int], NDArray[np.integer]]
) -> tuple[IntArray, IntArray]:
    """Do the same for sequences; of sequences with the same beginning, shorter ones come first.

    `values_at(some, depth)` returns value number `depth` of these sequences. A sequence is read until it
    differs from all others. Memory: `BYTES_PER_SEQUENCE`.
    """
    # Per sequence the number of smaller ones; sequences that are equal so far have the same rank.
    ranks = np.zeros(len(lengths), dtype=np.int64)
    active, depth = np.arange(len(lengths)), 0
    while len(active):
        interrupts.check()
        goes_on = lengths[active] > depth
        values = np.zeros(len(active), dtype=np.int64)
        # Numbers are below the number of sequences, and memory holds fewer than 2**31 of these.
        if goes_on.any():
            values[goes_on] = numbered(values_at(active[goes_on], depth))[1] + 1
        first, numbers = numbered(ranks[active] * (len(active) + 1) + values)
        sizes = np.bincount(numbers)
        before, rank = np.cumsum(sizes) - sizes, ranks[active[first]]
        begins = np.flatnonzero(np.diff(rank, prepend=-1))
        before -= np.repeat(before[begins], np.diff(begins, append=len(rank)))
        ranks[active] = (rank + before)[numbers]
        active = active[goes_on & (sizes[numbers] > 1)]
        depth += 1
    return numbered(ranks)


def order_of(values: NDArray[np.integer]) -> IntArray:
    """Return the stable ascending order of values: (n,) int64. Cost: as for `numbered`."""
    return stable_order(np.ascontiguousarray(values, dtype=np.int64))


def each_once(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the distinct values in ascending order: (k,) uint32."""
    return counted(values)[0]


def counted(values: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], IntArray]:
    """Return the same with the count of each: (k,) int64. Cost: linear; two copies while sorting."""
    ordered = np.array(values, dtype=np.uint32)
    sort_positions(ordered)
    begins = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    places = np.flatnonzero(begins)
    return ordered[places], np.diff(places, append=len(ordered)).astype(np.int64, copy=False)
