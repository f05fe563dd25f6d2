"""Which indexes are in memory: read page by page as they are asked, along with use, or beforehand.

Files are mapped for reading at random places (`directory.mapping`): a question reads the pages that it needs
and no others, which is all that can be done for an index that is larger than memory. One that memory has room
for is read as a whole once it is in use, or at once where that is wished.
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

# An index of up to a half of the memory leaves as much for everything else.
_SHARE = 2
# Bytes that are read at a time: whole large pages, between two of which Ctrl-C is heard.
_PIECE = 1 << 25
# Enough to keep a disk busy.
_THREADS = 4


class WarmedIndex(NamedTuple):
    """An index after it was read ahead: its bytes, and how many of them are in memory."""

    bytes: int
    bytes_in_memory: int


def room() -> int:
    """How many bytes of indexes memory has room for."""
    total = memory_bytes()
    return 0 if total is None else total // _SHARE


def prepare(segments: Sequence[Segment], prewarm: str) -> None:
    """Do what `prewarm` says (one of `store.PREWARM`), before the first question to the segments."""
    if prewarm == "on":
        warm(segments)
    elif prewarm == "auto":
        fits = sum(segment.size_bytes for segment in segments) <= room()
        for segment in segments:
            segment.read_along(fits)


def warm(segments: Sequence[Segment]) -> WarmedIndex:
    """Read the segments into memory, as far as there is room: what every search reads comes first.

    What is read is verified. Cost: the time that the disk takes; in memory already, some 0.1 s a GB. Can be
    interrupted, and tells how far it is.
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


# ---- Segments that lie elsewhere, asked at the same time: what each of them has to fetch is waited for once.


# A question that takes longer has waited for the store, in seconds; the next ones may have to, too.
WAITED_S = 0.005
QUESTIONS = 32


class WaitingIndex(GroupedIndex):
    """An `Index` that asks its segments at a time, each by itself, as long as they have to be waited for."""

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
