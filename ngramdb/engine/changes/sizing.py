"""Sizes: when and how segments are merged, and what fits into the memory of this machine.

The rules of merging are pure functions of the sizes of segments. Suffixes are sorted at a size that suits
sorting (`sort_tokens`) and merged to a size that suits queries (`segment_tokens`): a query costs about the
same for each segment, whatever its size. A load merges what it has sorted before it commits (`joined_loads`).
After each commit three rules apply, because small segments slow down queries and large ones are expensive to
rewrite. *Tiny* ones (up to FLOOR symbols together) wait until there are FAN_IN of them, so that most commits
of a document merge nothing. *Small* ones (up to SMALL symbols together) are merged from the newest back
whenever their total is at least a RATIO-th of the one before, so that sizes fall by that factor and only a
few are left. *Larger* ones wait until FAN_IN of one tier are side by side; tiers grow by the same factor.
Only neighbours in the order of documents' ids are merged: ids of two segments never interleave.

The bound: each merge of a tier makes a segment of a higher one, so that after n tokens a token has been
rewritten at most log4(n / SMALL) + 1 times among the larger segments, and RATIO + 1 times for each factor of
two among the small ones; FAN_IN - 1 segments per tier are left, 3 log4(n / SMALL) + 3 in all. `joined_loads`
rewrites a token once for each factor of MOST_AT_ONCE at most, COMPACT once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from ngramdb.errors import ResourceError
from ngramdb.lazy import dataclass

# Symbols that are sorted and written in a millisecond: below, only the number of segments matters.
FLOOR = 1 << 13
# 4 leaves three to six segments after a thousand one-document commits; each token is then rewritten about ten
# times.
RATIO = 4
# Symbols that are rewritten in a tenth of a second: the most that a small commit should wait for.
SMALL = 1 << 20
# 4 leaves up to 15 segments between a million tokens and four billion; a token is then rewritten six times,
# about 50 ns each.
FAN_IN = 4
# Segments whose rows are merged at a time: each has a few kilobytes of rows ahead in the cache.
MOST_AT_ONCE = 64
# With more segments and fewer symbols than this, sorting again is faster: 50 ns per token against 70 for 64
# segments of 20,000. In all other cases it was slower, 60 to 150 against 30 to 120.
FEW = 16
QUICKLY_SORTED = 1 << 22


@dataclass(frozen=True)
class Limits:
    """Limits of merging.

    most : symbols (tokens and separators) of a segment
    most_sorted : symbols that are sorted, or filtered, at a time; memory is proportional to it
    threads : number of worker threads
    most_held : bytes of text that merging may copy into memory, if that is faster
    """

    most: int
    most_sorted: int
    threads: int = 1
    most_held: int = 0


def is_merged(sizes: Sequence[int], limits: Limits) -> bool:
    """Return True if segments become one by merging their suffix arrays.

    Otherwise suffixes are sorted again, or the rows of a single segment are filtered in memory. `sizes` are
    the remaining symbols of each segment. Merging takes little memory, whatever the sizes; for a single
    segment it filters the rows as they pass.
    """
    total = sum(sizes)
    if total > limits.most_sorted:
        return True
    return len(sizes) > 1 and (len(sizes) <= FEW or (total > QUICKLY_SORTED and len(sizes) <= MOST_AT_ONCE))


def joined_loads(sizes: Sequence[int], most: int) -> list[slice]:
    """Return slices of those segments, sorted by one load, that become one in this round.

    Call it again with the resulting sizes until it returns no slices.
    Neighbours that fit one segment are merged, starting with the first; if there are more than MOST_AT_ONCE,
    only as many are merged first as leaves MOST_AT_ONCE.
    """
    groups: list[slice] = []
    start = 0
    while start < len(sizes):
        group = _fitting(sizes, start, len(sizes), most) or slice(start, start + 1)
        groups += _runs(group)
        start = group.stop
    return groups


def _runs(group: slice) -> list[slice]:
    """Return the first merges of neighbours that become one: at most MOST_AT_ONCE at a time."""
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
    """Return the neighbours to merge next, or None if nothing is to be merged.

    Parameters
    ----------
    sizes : symbols (tokens and separators) of each segment, in order
    most : symbols that a merged segment may have; segments above half of that are not merged
    """
    return _small_tail(sizes, most) or _full_tier(sizes, most)


def packed(sizes: Sequence[int], shrunk: Sequence[bool], most: int) -> list[slice]:
    """Return the groups that a complete compaction rewrites: packed neighbours, and shrunk segments.

    `sizes` are the remaining symbols of each segment, `shrunk` which of them have lost documents.
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
    """Return the small segments at the end that are to become one."""
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
    """Return the newest FAN_IN neighbours of one tier, if there are that many and they fit one segment."""
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
    """Return as many of the first neighbours as fit one segment; None for fewer than two."""
    total, end = 0, start
    while end < stop and total + sizes[end] <= most:
        total += sizes[end]
        end += 1
    return slice(start, end) if end - start > 1 else None


def _tier(size: int) -> int:
    """Return 0 for small segments, plus one for each factor of FAN_IN."""
    tier, bound = 0, SMALL
    while size > bound:
        bound *= FAN_IN
        tier += 1
    return tier


def next_append_merge(sizes: Sequence[int]) -> int | None:
    """For append-only files: return the first of those to join, up to the last; None if none are joined.

    At least FAN_IN are joined. Sizes then fall by half, except for those that wait, so that a thousand files
    leave about ten, and each byte is rewritten O(log n) times.
    """
    total, start = 0, len(sizes)
    while start > 0 and (not total or sizes[start - 1] <= 2 * total):
        total += sizes[start - 1]
        start -= 1
    return start if len(sizes) - start >= FAN_IN else None


# ---- Memory and page sizes of this machine.


# Memory limit of a container, in control groups of version 2 and 1; "max" or a huge number if
# unlimited.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_LARGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"


@lru_cache(maxsize=1)
def memory_bytes() -> int | None:
    """Return the memory limit of this process: the machine's or its container's; None if unknown."""
    found = []
    with contextlib.suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            found.append(int(file.read()))
    return min((n for n in found if n > 0), default=None)


@lru_cache(maxsize=1)
def has_large_pages() -> bool:
    """Return True if large arrays get huge pages, which numpy requests: on Linux, unless turned off."""
    with contextlib.suppress(OSError, ValueError), open(_LARGE_PAGES) as file:
        return "[never]" not in file.read()
    return False


# ---- Memory that building segments may use, and the error if memory runs out.


# Building a segment peaks at 7 bytes per token (16-bit ids; 11 for 32-bit ones); texts and metadata on their
# way are added to that, and allocators keep some of what is freed.
BYTES_PER_TOKEN = 16
# Libraries, and batches that are read and tokenized ahead.
BASE_BYTES = 1 << 27
# A document while it is read and tokenized: its line, the text that is parsed from it, their bytes, and the
# same for the documents that are read ahead. Its tokens are added to that.
BYTES_PER_TEXT_BYTE = 8
# Below this a load would make thousands of files.
MIN_SEGMENT_TOKENS = 1024


def bounded(segment_tokens: int, threads: int, memory_limit: int, others: int = 0) -> tuple[int, int]:
    """Return tokens per segment, and segments built at a time, within a limit in bytes (0: none).

    `others` are the bytes that a load needs for its tokenizer. Threads are reduced before segments, because
    small segments make every query slower.

    Raises
    ------
    ResourceError
        the limit is too small for the smallest segment
    """
    if not memory_limit:
        return segment_tokens, threads
    base = BASE_BYTES + others
    room = (memory_limit - base) // BYTES_PER_TOKEN
    if room < 2 * MIN_SEGMENT_TOKENS:
        least = base + 2 * MIN_SEGMENT_TOKENS * BYTES_PER_TOKEN
        raise ResourceError(
            f"memory_limit is {memory_limit:,} bytes, and building a segment takes {least:,}; raise it",
            limit=memory_limit,
            asked=least,
        )
    # One segment fills up while the others are built.
    threads = max(1, min(threads, room // segment_tokens - 1))
    return max(min(segment_tokens, room // (threads + 1)), MIN_SEGMENT_TOKENS), threads


@dataclass(frozen=True)
class DocumentLimits:
    """The largest document that fits a memory limit, in bytes of text and in tokens; None: any."""

    memory_limit: int
    n_bytes: int | None = None
    n_tokens: int | None = None

    @classmethod
    def of(cls, memory_limit: int, threads: int = 1, others: int = 0) -> DocumentLimits:
        """Return the limits of a document for a memory limit in bytes (0: none) and this many threads.

        `others` are the bytes that a load needs for its tokenizer.
        """
        if not memory_limit:
            return cls(0)
        room = max(memory_limit - BASE_BYTES - others, 0)
        return cls(
            memory_limit,
            max(room // BYTES_PER_TEXT_BYTE, 1),
            max(room // BYTES_PER_TOKEN // (threads + 1), 1),
        )

    def refusal(self, n_bytes: int, n_tokens: int) -> str | None:
        """Return the reason for rejecting a document of this size; None if it fits."""
        for found, most, unit in ((n_bytes, self.n_bytes, "bytes"), (n_tokens, self.n_tokens, "tokens")):
            if most is not None and found > most:
                return f"a document of {found:,} {unit}, and {self.said(most, unit)}"
        return None

    def said(self, most: int, unit: str) -> str:
        """Describe the limit in these units, and what to do."""
        return f"memory_limit = {self.memory_limit:,} has room for {most:,} {unit}; raise it"


@contextmanager
def memory_errors(doing: str, segment_tokens: int) -> Iterator[None]:
    """Convert a MemoryError in the block to a ResourceError with advice."""
    try:
        yield
    except MemoryError as error:
        raise ResourceError(
            f"memory ran out in {doing}; nothing has been changed. Segments of at most {segment_tokens:,} "
            "tokens were to be built: SET memory_limit or segment_tokens lower, or threads = 1"
        ) from error
