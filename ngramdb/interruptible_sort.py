"""Large arrays in order, and their distinct values: as numpy finds them, but so that it can be stopped."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.joins import distinct, sort_positions, stable_order

IntArray = NDArray[np.int64]

# The peak of `numbered_sequences`.
BYTES_PER_SEQUENCE = 120


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
    n_rows, n_columns = table.shape
    return numbered_sequences(np.full(n_rows, n_columns), lambda rows, depth: table[rows, depth])


def numbered_sequences(
    lengths: NDArray[np.integer], values_at: Callable[[IntArray, int], NDArray[np.integer]]
) -> tuple[IntArray, IntArray]:
    """The same for sequences, of which shorter ones come first if they begin alike.

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
        # Numbers are below that of sequences, and memory holds fewer than 2**31 of these.
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
