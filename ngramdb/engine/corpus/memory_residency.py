"""Loading indexes into memory: page by page on demand, along with use, or ahead of time.

Files are mapped for random access (`directory.mapping`): a query reads only the pages that it needs, the
best that can be done for an index that is larger than memory. An index that fits in memory
is read as a whole once it is in use, or at once on request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.engine.changes.hardware import memory_bytes
from ngramdb.engine.corpus.grouped import Answers, Asked, GroupedIndex
from ngramdb.interrupts import at_once, result_of, step
from ngramdb.segments.base import Segment

# An index of up to half of the memory leaves as much for everything else.
_SHARE = 2
# Bytes that are read at a time: whole large pages; Ctrl-C takes effect between two of them.
_PIECE = 1 << 25
# Enough to keep a disk busy.
_THREADS = 4


class WarmedIndex(NamedTuple):
    """An index after it was read ahead: its bytes, and how many of them are in memory."""

    bytes: int
    bytes_in_memory: int


def room() -> int:
    """Return how many bytes of indexes fit in memory."""
    total = memory_bytes()
    return 0 if total is None else total // _SHARE


def prepare(segments: Sequence[Segment], prewarm: str) -> None:
    """Apply the setting `prewarm` (one of `store.PREWARM`), before the first query to the segments."""
    if prewarm == "on":
        warm(segments)
    elif prewarm == "auto":
        fits = sum(segment.size_bytes for segment in segments) <= room()
        for segment in segments:
            segment.read_along(fits)


def warm(segments: Sequence[Segment]) -> WarmedIndex:
    """Read the segments into memory, as far as they fit, beginning with what every search reads.

    Bytes that are read are verified. Cost: the time of reading from disk; if in memory already, about 0.1 s
    per GB. Interruptible; reports its progress.
    """
    from concurrent import futures

    left, work = room(), []
    for segment in segments:
        for start, stop in segment.parts_to_read(left):
            left -= stop - start
            work += [(segment, at, min(at + _PIECE, stop)) for at in range(start, stop, _PIECE)]
    total, done = sum(stop - start for _, start, stop in work), 0
    pool = futures.ThreadPoolExecutor(_THREADS, thread_name_prefix="ngramdb-warm")
    try:
        pending = [pool.submit(segment.read_part, start, stop) for segment, start, stop in work]
        for future, (_, start, stop) in zip(pending, work, strict=True):
            result_of(future)
            done += stop - start
            step(done, total)
    finally:
        pool.shutdown(cancel_futures=True)
    return WarmedIndex(
        sum(segment.size_bytes for segment in segments), sum(segment.resident_bytes() for segment in segments)
    )


# ---- Segments in a remote store, queried at the same time so that their waits for fetches overlap.


# A query that takes longer has waited for the store, in seconds; the next ones may have to, too.
WAITED_S = 0.005
QUESTIONS = 32


class WaitingIndex(GroupedIndex):
    """An `Index` that queries its segments in parallel while their answers have to be waited for."""

    def __init__(self, segments: Sequence[SegmentIndex], signs: Sequence[int]) -> None:
        self.ask = self._ask
        self._groups = [(sign, Index([one], [1])) for one, sign in zip(segments, signs, strict=True)]
        self._n_left = QUESTIONS

    def _ask(self, questions: Sequence[Asked]) -> list[Answers]:
        def one(group: tuple[int, Index]) -> list[Any]:
            index = group[1]
            return [
                method(index, *arguments) if callable(method) else getattr(index, method)(*arguments)
                for method, arguments in questions
            ]

        found = list(at_once(one, self._groups))
        return [
            [(sign, one[k]) for (sign, _), one in zip(self._groups, found, strict=True)]
            for k in range(len(questions))
        ]


def _waiting(name: str) -> Callable[..., Any]:
    grouped, plain = getattr(GroupedIndex, name), getattr(Index, name)

    def method(self: WaitingIndex, *arguments: Any, **named: Any) -> Any:
        started = time.perf_counter()
        answer = (grouped if self._n_left > 0 else plain)(self, *arguments, **named)
        self._n_left = QUESTIONS if time.perf_counter() - started > WAITED_S else max(self._n_left - 1, 0)
        return answer

    method.__name__, method.__doc__ = name, grouped.__doc__
    return method


for _name in ("count", "count_many", "prob", "prob_many", "score", "dist", "dist_many"):
    setattr(WaitingIndex, _name, _waiting(_name))
