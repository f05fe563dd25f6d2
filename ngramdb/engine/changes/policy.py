"""When segments are merged, and how: pure functions over their sizes, which can be tested without a file.

Suffixes are sorted at a size that suits sorting (`sort_tokens`) and merged to a size that suits questions
(`segment_tokens`): a question costs about as much for each segment, whatever its size. A load merges what it
has sorted before it commits (`joined_loads`). After each commit there are three rules, since small segments
cost answers and large ones cost work. *Tiny* ones (up to FLOOR symbols together) wait until there are FAN_IN
of them, so that most commits of a document merge nothing. *Small* ones (up to SMALL symbols together) are
merged from the newest back whenever what has gathered is at least a RATIO-th of the one before, so that sizes
fall by that factor and only a few are left. *Larger* ones wait until FAN_IN of one tier are side by side;
tiers grow by the same factor. Only neighbours in the order of documents' ids are merged: ids of two segments
never interleave.

The bound: each merge of a tier makes a segment of a higher one, so that after n tokens a token has been
rewritten at most log4(n / SMALL) + 1 times among the larger segments, and RATIO + 1 times for each factor of
two among the small ones; FAN_IN - 1 segments a tier are left, 3 log4(n / SMALL) + 3 in all. `joined_loads`
rewrites a token once for each factor of MOST_AT_ONCE at most, COMPACT once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Symbols that are sorted and written in a millisecond: below, only the number of segments matters.
FLOOR = 1 << 13
# 4 leaves three to six segments of a thousand one-document commits; each token is then rewritten some ten
# times.
RATIO = 4
# Symbols that are rewritten in a tenth of a second: the most that a small commit should wait for.
SMALL = 1 << 20
# 4 leaves up to 15 segments between a million tokens and four billion; a token is then rewritten six times,
# some 50 ns each.
FAN_IN = 4
# Segments whose rows are merged at a time: each has some kilobytes of rows ahead in the cache.
MOST_AT_ONCE = 64
# Of more segments than this, with fewer symbols, sorting anew is faster: 50 ns a token against 70 for 64
# segments of 20,000. Everywhere else it was slower, 60 to 150 against 30 to 120.
FEW = 16
QUICKLY_SORTED = 1 << 22


@dataclass(frozen=True)
class Limits:
    """What merging keeps to.

    most : symbols (tokens and separators) of a segment
    most_sorted : symbols that are sorted, or filtered, at a time; the memory of that is proportional
    threads : how many work at a time
    most_held : bytes of texts that merging may copy into memory, where that makes it faster
    """

    most: int
    most_sorted: int
    threads: int = 1
    most_held: int = 0


def is_merged(sizes: Sequence[int], limits: Limits) -> bool:
    """Whether segments become one by merging their suffix arrays.

    Else suffixes are sorted anew, or the rows of one segment alone are filtered in memory. `sizes` are what
    is left of each segment. Merging takes little memory, whatever the sizes; of one segment alone it filters
    the rows as they pass by.
    """
    total = sum(sizes)
    if total > limits.most_sorted:
        return True
    return len(sizes) > 1 and (len(sizes) <= FEW or (total > QUICKLY_SORTED and len(sizes) <= MOST_AT_ONCE))


def joined_loads(sizes: Sequence[int], most: int) -> list[slice]:
    """Which of the segments that one load has sorted become one, each slice of them.

    To be asked again of what that leaves, until there are none.
    Neighbours that fit one segment do, from the first on; of more than MOST_AT_ONCE, only so many before the
    others that MOST_AT_ONCE are left.
    """
    groups: list[slice] = []
    start = 0
    while start < len(sizes):
        group = _fitting(sizes, start, len(sizes), most) or slice(start, start + 1)
        groups += _runs(group)
        start = group.stop
    return groups


def _runs(group: slice) -> list[slice]:
    """What is merged first of neighbours that become one: at most MOST_AT_ONCE at a time."""
    at, stop = group.start, group.stop
    too_many = stop - at - MOST_AT_ONCE
    if too_many <= 0:
        return [group] if stop - at > 1 else []
    runs: list[slice] = []
    while too_many > 0 and stop - at > 1:
        run = slice(at, min(at + min(MOST_AT_ONCE, too_many + 1), stop))
        runs.append(run)
        too_many -= run.stop - run.start - 1
        at = run.stop
    return runs


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
    waits = total <= FLOOR and len(sizes) - start < FAN_IN
    return None if waits or len(sizes) - start < 2 else slice(start, len(sizes))


def _full_tier(sizes: Sequence[int], most: int) -> slice | None:
    """The newest FAN_IN neighbours of one tier, if there are so many and they fit one segment."""
    # Tiny ones belong to `_small_tail`: with them, a large one would be rewritten for every few of them.
    tiers = [_tier(size) if FLOOR < size <= most // 2 else None for size in sizes]
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

    At least FAN_IN become one. Sizes then fall by half, except for those that wait, so that a thousand files
    leave about ten, and each byte is rewritten O(log n) times.
    """
    total, start = 0, len(sizes)
    while start > 0 and (not total or sizes[start - 1] <= 2 * total):
        total += sizes[start - 1]
        start -= 1
    return start if len(sizes) - start >= FAN_IN else None
