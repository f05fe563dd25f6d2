"""Which segments are merged: decisions over sizes alone, and what a long life of commits makes of them."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import pytest

from ngramdb.engine.changes import change
from ngramdb.engine.changes.change import WriteOptions
from ngramdb.engine.changes.sizing import (
    BASE_BYTES,
    FAN_IN,
    FEW,
    FLOOR,
    MOST_AT_ONCE,
    QUICKLY_SORTED,
    RATIO,
    SMALL,
    Limits,
    is_merged,
    joined_loads,
    next_append_merge,
    next_merge,
    packed,
)

HUGE = 1 << 26


def settle(sizes, most=HUGE):
    """Merge until no merge is due; return the sizes and the number of rewritten symbols."""
    sizes, work = list(sizes), 0
    while (group := next_merge(sizes, most)) is not None:
        merged = sum(sizes[group])
        assert len(sizes[group]) > 1
        assert merged <= most
        sizes[group] = [merged]
        work += merged
    return sizes, work


def test_nothing_is_merged_where_there_is_nothing():
    assert next_merge([], HUGE) is None
    assert next_merge([5], HUGE) is None


def test_tiny_segments_wait_until_there_are_enough():
    assert settle([FLOOR - 3, 1, 1]) == ([FLOOR - 3, 1, 1], 0)
    assert settle([1] * FAN_IN) == ([FAN_IN], FAN_IN)
    assert settle([FLOOR - 3, 1, 1, 1]) == ([FLOOR], FLOOR)
    # More than tiny together: one is worth it.
    assert settle([FLOOR, 1, FLOOR // RATIO])[0] == [FLOOR + 1 + FLOOR // RATIO]


def test_a_small_segment_waits_behind_one_many_times_its_size():
    assert next_merge([FLOOR * 100, FLOOR], HUGE) is None
    assert next_merge([FLOOR * RATIO, FLOOR], HUGE) == slice(0, 2)


def test_large_segments_wait_for_their_tier():
    assert next_merge([SMALL] * (FAN_IN - 1), HUGE) is None
    assert settle([2 * SMALL] * FAN_IN)[0] == [2 * SMALL * FAN_IN]


def test_segments_that_are_half_full_are_left_alone():
    assert next_merge([HUGE // 2 + 1] * 20, HUGE) is None
    assert next_merge([1000] * 5, 1500) is None


@pytest.mark.parametrize("size", [1, 100, 5000, SMALL // 3])
def test_many_equal_commits_leave_few_segments_and_cost_n_log_n(size):
    sizes, work, n = [], 0, 1000
    for _ in range(n):
        sizes, more = settle([*sizes, size])
        work += more
    total = n * size
    tiers = math.log(max(total / SMALL, 1), FAN_IN) + 1
    assert len(sizes) <= 3 + FAN_IN * tiers
    if total <= SMALL:
        assert len(sizes) < 3 + FAN_IN
    # Segments below the floor cost at most that much per commit.
    assert work <= n * FLOOR + total * (2 + RATIO) * math.log2(max(total / FLOOR, 2))


def test_random_commits_keep_their_order_and_bounds():
    rng = random.Random(1)
    sizes = []
    for _ in range(500):
        sizes, _ = settle([*sizes, int(10 ** rng.uniform(0, 6.5))], most=1 << 22)
        assert max(sizes) <= max(1 << 22, 10**7)


def test_a_complete_compaction_packs_neighbours_and_filters_what_has_shrunk():
    assert packed([], [], 10) == []
    assert packed([3, 3, 3], [False] * 3, 10) == [slice(0, 3)]
    assert packed([4, 4, 4], [False] * 3, 10) == [slice(0, 2)]
    assert packed([9, 9], [False, True], 10) == [slice(1, 2)]
    assert packed([9, 1, 1], [False] * 3, 10) == [slice(1, 3)]
    assert packed([10], [False], 10) == []


@pytest.mark.parametrize(
    ("sizes", "most", "left"),
    [
        ([], 10, []),
        ([5], 10, [5]),
        ([60] * 17, 1 << 20, [1020]),
        ([60] * 17, 300, [300, 300, 300, 120]),
        ([9, 1, 9, 1, 9], 10, [10, 10, 9]),
        ([100, 100, 3], 100, [100, 100, 3]),
        ([7] * 5000, 1 << 20, [35_000]),
    ],
)
def test_what_one_load_has_sorted_becomes_as_few_as_fit(sizes, most, left):
    work = 0
    total = sum(sizes)
    while groups := joined_loads(sizes, most):
        for group in reversed(groups):
            assert 1 < len(sizes[group]) <= MOST_AT_ONCE
            work += sum(sizes[group])
            sizes[group] = [sum(sizes[group])]
    assert sizes == left
    assert work <= 3 * total


@pytest.mark.parametrize(
    ("n", "rewritten"),
    [
        (1, 0),
        (2, 2),
        (MOST_AT_ONCE, MOST_AT_ONCE),
        (MOST_AT_ONCE + 1, MOST_AT_ONCE + 3),
        (72, 72 + 9),
        (200, 200 + 64 + 64 + 11),
        (MOST_AT_ONCE**2, 2 * MOST_AT_ONCE**2),
    ],
)
def test_of_very_many_only_so_many_are_merged_twice_that_the_others_fit(n, rewritten):
    sizes, found = [1] * n, 0
    while groups := joined_loads(sizes, 1 << 20):
        for group in reversed(groups):
            found += sum(sizes[group])
            sizes[group] = [sum(sizes[group])]
    assert sizes == [n] and found == rewritten


def test_what_memory_has_no_room_to_sort_is_merged():
    limits = Limits(most=1 << 32, most_sorted=1 << 26)
    assert is_merged([1 << 26, 1], limits)
    assert is_merged([(1 << 26) + 1], limits)
    assert is_merged([1 << 20] * 1000, limits)
    # One alone is filtered; many small ones are sorted sooner than merged.
    assert not is_merged([1 << 26], limits)
    assert is_merged([1000] * FEW, limits)
    assert not is_merged([1000] * (FEW + 1), limits)
    assert is_merged([QUICKLY_SORTED // 16] * 17, limits)
    assert not is_merged([1 << 18] * (MOST_AT_ONCE + 1), limits)


@pytest.mark.parametrize("memory_limit", [1 << 27, 1 << 28, 4 << 30])
def test_texts_that_merging_holds_leave_room_for_what_it_needs(monkeypatch, memory_limit):
    entry = SimpleNamespace(options={})
    options = WriteOptions(segment_tokens=1 << 10, memory_limit=memory_limit + BASE_BYTES)
    monkeypatch.setattr(change, "has_large_pages", lambda: True)
    held = options.limits_of(entry).most_held
    # Symbols of one byte, and half a byte per token for the merge itself.
    assert 0 < held + held // 2 <= memory_limit
    monkeypatch.setattr(change, "has_large_pages", lambda: False)
    assert options.limits_of(entry).most_held == 0


def test_files_that_are_appended_to_each_other_leave_logarithmically_many():
    sizes, work = [], 0
    for _ in range(1000):
        sizes.append(10)
        start = next_append_merge(sizes)
        assert start is None or len(sizes) - start >= FAN_IN
        if start is not None:
            work += sum(sizes[start:])
            sizes[start:] = [sum(sizes[start:])]
    assert len(sizes) <= 12
    assert work <= 10 * 1000 * 2 * math.log2(1000)
