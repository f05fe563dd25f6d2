"""When segments are merged: pure functions over their sizes, which can be tested without a file.

Two rules, since small segments cost answers and large ones cost work. *Small* ones (up to SMALL symbols
together) are merged eagerly from the newest back: always up to FLOOR, and then whenever what has gathered is
at least a RATIO-th of the one before, so that sizes fall by that factor and only a few are left. *Larger*
ones wait until FAN_IN of one tier stand side by side; tiers grow by the same factor. Every token is rewritten
O(log n) times either way. Only neighbours in the order of documents' ids are merged: ids of two segments
never interleave.
"""

from __future__ import annotations

from collections.abc import Sequence

# Symbols that are sorted and written in a millisecond: below, one segment is always better than two.
FLOOR = 1 << 13
# 4 leaves about three segments of a thousand one-document commits; each token is then rewritten some ten
# times.
RATIO = 4
# Symbols that are rewritten in a tenth of a second: the most that a small commit should wait for.
SMALL = 1 << 20
FAN_IN = 8


def next_merge(sizes: Sequence[int], most: int) -> slice | None:
    """The neighbours to merge next, or None when all is well.

    Parameters
    ----------
    sizes : symbols (tokens and separators) of each segment, in order
    most : symbols that a merged segment may have; segments above half of that are left alone
    """
    return _small_tail(sizes, most) or _full_tier(sizes, most)


def packed(sizes: Sequence[int], shrunk: Sequence[bool], most: int) -> list[slice]:
    """What a complete compaction rewrites: neighbours packed together, and segments that lost documents.

    `sizes` are what is left of each segment, `shrunk` which of them have lost documents.
    """
    groups: list[slice] = []
    start = 0
    while start < len(sizes):
        stop = start + 1
        total = sizes[start]
        while (
            stop < len(sizes) and 2 * max(sizes[start], sizes[stop]) <= most and total + sizes[stop] <= most
        ):
            total += sizes[stop]
            stop += 1
        if stop - start > 1 or shrunk[start]:
            groups.append(slice(start, stop))
        start = stop
    return groups


def _small_tail(sizes: Sequence[int], most: int) -> slice | None:
    """Small segments at the end that are to become one."""
    limit = min(SMALL, most)
    total, start = 0, len(sizes)
    while start > 0:
        size = sizes[start - 1]
        gathered = total + size
        if total and (gathered > limit or (gathered > FLOOR and size > RATIO * total)):
            break
        total = gathered
        start -= 1
    return slice(start, len(sizes)) if len(sizes) - start > 1 else None


def _full_tier(sizes: Sequence[int], most: int) -> slice | None:
    """The newest FAN_IN neighbours of one tier, if there are so many and they fit one segment."""
    tiers = [_tier(size) if 2 * size <= most else None for size in sizes]
    stop = len(sizes)
    while stop > 0:
        start = stop - 1
        while start > 0 and tiers[start - 1] == tiers[stop - 1]:
            start -= 1
        if tiers[stop - 1] is not None and stop - start >= FAN_IN:
            group = _fitting(sizes, start, stop, most)
            if group is not None:
                return group
        stop = start
    return None


def _fitting(sizes: Sequence[int], start: int, stop: int, most: int) -> slice | None:
    """As many of the first neighbours as fit one segment; None for fewer than two."""
    total, end = 0, start
    while end < stop and total + sizes[end] <= most:
        total += sizes[end]
        end += 1
    return slice(start, end) if end - start > 1 else None


def _tier(size: int) -> int:
    """0 for small segments, one more for each factor of FAN_IN."""
    tier, bound = 0, SMALL
    while size > bound:
        bound *= FAN_IN
        tier += 1
    return tier


def next_append_merge(sizes: Sequence[int]) -> int | None:
    """For files that are only ever appended to each other: from which one on they become one; None for none.

    Sizes then fall by half, so that a thousand files leave ten, and each byte is rewritten O(log n) times.
    """
    total, start = 0, len(sizes)
    while start > 0 and (not total or sizes[start - 1] <= 2 * total):
        total += sizes[start - 1]
        start -= 1
    return start if len(sizes) - start > 1 else None
