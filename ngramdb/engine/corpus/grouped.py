"""The index of a corpus whose segments are queried in groups, usually on other machines.

A group is a set of segments of the same sign; its answer is that of an `Index` over just these.
The sum of the groups' answers is exactly that of an index over all segments. The few queries that sums
leave open (whether a context has a single continuation if several groups have it; what occurs if
removals leave nothing of the longest match) are answered from the segments themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.engine.changes.sizing import memory_bytes
from ngramdb.interrupts import at_once, result_of, step
from ngramdb.segments.base import Segment

if TYPE_CHECKING:
    from ngramdb._cext.corpus.index import Estimates, ManyNextTokens
    from ngramdb._cext.segment.segment_index import Offsets, TokenIds

# A query: a method of `Index`, or a function of one, and its arguments.
Asked = tuple[str | Callable[..., Any], tuple[Any, ...]]
# The answers of all groups, each with the sign of its segments.
Answers = list[tuple[int, Any]]
# Sends each of the queries to all groups, at the same time.
Ask = Callable[[Sequence[Asked]], list[Answers]]

#: A limit for `Index.dist` that wants the next tokens of a context however often it occurs.
NO_LIMIT = 2**63 - 1
# Queries, and tokens in them, that are worth a message of their own.
LEAST_QUESTIONS = 256
LEAST_TOKENS = 4096
# Ids below this have 32 bits, and those up to the other one 16.
NARROW = 2**31
MOST_SHORT = 2**16 - 1


class GroupedIndex(Index):
    """An `Index` whose answers come from groups of its segments.

    Attributes
    ----------
    ask : the function that sends queries to the groups
    n_parts : number of parts of a batch, each sent separately: as many as each segment has holders, which
        then share the work
    """

    ask: Ask
    n_parts: int = 1

    def count(self, ids: TokenIds, /) -> int:
        return sum(sign * int(found) for sign, found in self.ask([("count", (ids,))])[0])

    def count_many(self, flat: TokenIds, offsets: Offsets) -> NDArray[np.int64]:
        parts = narrow_parts_of(flat, offsets, self.n_parts)
        if parts is None:
            return super().count_many(flat, offsets)
        answers = self.ask([("count_many", (ids, bounds)) for ids, bounds, _, _ in parts])
        return np.concatenate([_sum(part) for part in answers])

    def prob(
        self, context: TokenIds, token: int, infgram: bool = False, order: int = 0
    ) -> tuple[int, int, int, bool]:
        (found,) = self.ask([("prob", (context, token, infgram, order))])
        columns, is_open = summed_estimates(
            [(sign, tuple(np.array([value]) for value in one)) for sign, one in found]
        )
        if is_open[0]:
            return super().prob(context, token, infgram, order)
        return int(columns[0][0]), int(columns[1][0]), int(columns[2][0]), bool(columns[3][0])

    def prob_many(
        self, flat: TokenIds, offsets: Offsets, tokens: TokenIds, infgram: bool = False, order: int = 0
    ) -> Estimates:
        parts = narrow_parts_of(flat, offsets, self.n_parts)
        if parts is None or len(tokens) != len(offsets) - 1:
            return super().prob_many(flat, offsets, tokens, infgram, order)
        tokens = np.asarray(tokens)
        found = self.ask(
            [
                ("prob_many", (ids, bounds, tokens[first:last], infgram, order))
                for ids, bounds, first, last in parts
            ]
        )
        columns, is_open = _joined(found)
        left = np.flatnonzero(is_open)
        if len(left):
            answers = super().prob_many(*_chosen(flat, offsets, left), tokens[left], infgram, order)
            _put(answers, columns, left)
        return columns

    def score(
        self, flat: TokenIds, offsets: Offsets, infgram: bool = False, order: int = 0, least: int = 1
    ) -> Estimates:
        # The parts report counts, and only whether those are 0 shows which suffix each of them used.
        parts = narrow_parts_of(flat, offsets, self.n_parts) if least == 1 else None
        if parts is None:
            return super().score(flat, offsets, infgram, order, least)
        found = self.ask([("score", (ids, bounds, infgram, order)) for ids, bounds, _, _ in parts])
        columns, is_open = _joined(found)
        start, stop = int(offsets[0]), int(offsets[-1])
        bounds = np.asarray(offsets, dtype=np.int64) - start
        n_open = np.concatenate([[0], np.cumsum(is_open)])
        left = np.flatnonzero(n_open[bounds[1:]] > n_open[bounds[:-1]])  # documents with an open token
        if len(left):
            answers = super().score(*_chosen(flat, offsets, left), infgram, order)
            places = np.concatenate([np.arange(bounds[i], bounds[i + 1]) for i in left.tolist()])
            _put(answers, columns, places)
        if stop - start == len(flat):
            return columns
        kinds = (np.int64, np.int64, np.int32, np.bool_)
        whole: Any = tuple(np.zeros(len(flat), dtype=kind) for kind in kinds)
        _put(columns, whole, np.arange(start, stop))
        return whole[0], whole[1], whole[2], whole[3]

    def dist(self, context: TokenIds, infgram: bool = False, order: int = 0, most: int = NO_LIMIT) -> Any:
        (found,) = self.ask([("dist", (context, infgram, order, most))])
        if any(one is None for _, one in found):
            if not infgram and all(sign > 0 for sign, _ in found):
                return None
            return super().dist(context, infgram, order, most)
        longest = max(one[4] for sign, one in found if sign > 0)
        used = [(sign, one) for sign, one in found if one[4] == longest]
        context_count = sum(sign * one[3] for sign, one in used)
        is_taken = any(sign < 0 and one[4] >= longest for sign, one in found)
        if infgram and is_taken and context_count <= 0:
            return super().dist(context, infgram, order, most)
        if context_count > most:
            return None
        zeros = [np.zeros(len(one[0]), dtype=np.int64) for _, one in used]
        _, ids, counts = _summed_runs(zeros, [(sign, one[0], one[1]) for sign, one in used])
        return ids, counts, sum(sign * one[2] for sign, one in used), context_count, longest

    def dist_many(
        self, flat: TokenIds, offsets: Offsets, infgram: bool = False, order: int = 0
    ) -> ManyNextTokens:
        parts = narrow_parts_of(flat, offsets, self.n_parts)
        if parts is None:
            return super().dist_many(flat, offsets, infgram, order)
        found = self.ask([("dist_many", (ids, bounds, infgram, order)) for ids, bounds, _, _ in parts])
        made = []
        for (ids, bounds, _, _), answers in zip(parts, found, strict=True):
            one = summed_distributions(answers)
            made.append(super().dist_many(ids, bounds, infgram, order) if one is None else one)
        starts = np.concatenate([[0], np.cumsum([len(one[1]) for one in made])])
        run_offsets = [one[0][:-1] + start for one, start in zip(made, starts, strict=False)]
        columns: Any = (np.concatenate([one[i] for one in made]) for i in range(1, 6))
        ids, counts, *ends = columns
        return np.concatenate([*run_offsets, starts[-1:]]), ids, counts, ends[0], ends[1], ends[2]


def narrow_parts_of(
    flat: TokenIds, offsets: Offsets, n_parts: int
) -> list[tuple[NDArray[Any], NDArray[Any], int, int]] | None:
    """Return the result of `parts_of` in half the bytes, for kernels, which accept ids of any width."""
    parts = parts_of(flat, offsets, n_parts)
    if parts is None:
        return None
    made = []
    for ids, bounds, first, last in parts:
        if len(ids) and int(ids.min()) >= 0 and int(ids.max()) <= MOST_SHORT:
            ids = ids.astype(np.uint16)
        made.append((ids, bounds.astype(np.int32) if bounds[-1] < NARROW else bounds, first, last))
    return made


def parts_of(
    flat: TokenIds, offsets: Offsets, n_parts: int
) -> list[tuple[NDArray[Any], NDArray[np.int64], int, int]] | None:
    """Split a batch into up to `n_parts` parts of similar size: ids, offsets, and their range of queries.

    None for an empty batch, and for an invalid one: the kernel then raises the error.
    """
    ids, bounds = np.asarray(flat), np.asarray(offsets)
    if bounds.ndim != 1 or ids.ndim != 1 or len(bounds) < 2:
        return None
    if bounds.dtype.kind not in "iu" or ids.dtype.kind not in "iu":
        return None
    bounds = bounds.astype(np.int64)
    if bounds[0] < 0 or bounds[-1] > len(ids) or (np.diff(bounds) < 0).any():
        return None
    if len(ids) and int(ids.min()) >= -NARROW and int(ids.max()) < NARROW:
        ids = ids.astype(np.int32, copy=False)  # half a message; kernels take any width
    n = len(bounds) - 1
    n_parts = min(n_parts, max(1, n // LEAST_QUESTIONS, int(bounds[-1] - bounds[0]) // LEAST_TOKENS), n)
    wanted = np.linspace(bounds[0], bounds[-1], n_parts + 1)[1:-1]
    cuts = [0, *np.clip(np.searchsorted(bounds, wanted), 1, n).tolist(), n]
    return [
        (ids[bounds[i] : bounds[j]], bounds[i : j + 1] - bounds[i], i, j) for i, j in pairwise(cuts) if i < j
    ]


def summed_estimates(found: Answers) -> tuple[Estimates, NDArray[np.bool_]]:
    """Return the sum of estimates of groups: the four columns, and which queries it leaves open.

    The longest context is that of the group in which it is longest; groups with a shorter one do not have
    it.
    """
    added = [one for sign, one in found if sign > 0]
    longest = np.maximum.reduce([one[2] for one in added])
    cont_count, context_count, n_having = (np.zeros(len(longest), dtype=np.int64) for _ in range(3))
    is_refuted, is_taken = (np.zeros(len(longest), dtype=np.bool_) for _ in range(2))
    for sign, (count, total, effective_n, sparse) in found:
        used = effective_n == longest
        cont_count += np.where(used, sign * count, 0)
        context_count += np.where(used, sign * total, 0)
        if sign > 0:
            has = used & (total > 0)
            n_having += has
            is_refuted |= has & ~sparse
        else:
            is_taken |= (effective_n > longest) | (used & (total > 0))
    is_unseen = (context_count > 0) & (cont_count == 0)
    sparse = ((context_count > 0) & (cont_count == context_count)) | (is_unseen & ~is_refuted)
    is_open = (is_unseen & ~is_refuted & (n_having > 1)) | (is_taken & (is_unseen | (context_count <= 0)))
    return (cont_count, context_count, longest.astype(np.int32), sparse), is_open


def summed_distributions(found: Answers) -> ManyNextTokens | None:
    """Return the sum of many distributions of groups; None if removals leave one of them open."""
    longest = np.maximum.reduce([one[5] for sign, one in found if sign > 0])
    n_end, context_count = np.zeros((2, len(longest)), dtype=np.int64)
    owners, runs = [], []
    for sign, (starts, ids, counts, ends, total, length) in found:
        used = length == longest
        n_end += np.where(used, sign * ends, 0)
        context_count += np.where(used, sign * total, 0)
        owner = np.repeat(np.arange(len(longest)), np.diff(starts))
        kept = used[owner]
        owners.append(owner[kept])
        runs.append((sign, ids[kept], counts[kept]))
    for sign, one in found:
        if sign < 0 and ((one[5] >= longest) & (longest > 0) & (context_count <= 0)).any():
            return None
    owner, ids, counts = _summed_runs(owners, runs)
    starts = np.searchsorted(owner, np.arange(len(longest) + 1))
    return starts, ids, counts, n_end, context_count, longest


def _summed_runs(
    owners: Sequence[NDArray[np.int64]], runs: Sequence[tuple[int, NDArray[np.uint32], NDArray[np.int64]]]
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return next tokens by query and id with their net counts, zeros left out."""
    owner = np.concatenate(owners)
    ids = np.concatenate([one for _, one, _ in runs])
    counts = np.concatenate([sign * one for sign, _, one in runs])
    if len(runs) > 1:
        order = np.lexsort((ids, owner))
        owner, ids, counts = owner[order], ids[order], counts[order]
        is_first = np.ones(len(ids), dtype=np.bool_)
        is_first[1:] = (owner[1:] != owner[:-1]) | (ids[1:] != ids[:-1])
        first = np.flatnonzero(is_first)
        counts = np.add.reduceat(counts, first) if len(first) else counts
        owner, ids = owner[first], ids[first]
    kept = counts != 0
    return owner[kept], ids[kept], counts[kept]


def _sum(found: Answers) -> NDArray[np.int64]:
    total: NDArray[np.int64] = sum(sign * one for sign, one in found)
    return total


def _joined(found: Sequence[Answers]) -> tuple[Estimates, NDArray[np.bool_]]:
    """Return the sums of all parts of a batch, one after the other."""
    parts = [summed_estimates(part) for part in found]
    columns = [np.concatenate([columns[i] for columns, _ in parts]) for i in range(4)]
    is_open = np.concatenate([is_open for _, is_open in parts])
    return (columns[0], columns[1], columns[2], columns[3]), is_open


def _put(columns: Sequence[NDArray[Any]], whole: Sequence[NDArray[Any]], places: NDArray[np.int64]) -> None:
    """Write columns to places of longer ones."""
    for column, into in zip(columns, whole, strict=True):
        into[places] = column


def _chosen(
    flat: TokenIds, offsets: Offsets, chosen: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return some sequences of a batch, as a batch."""
    ids = np.asarray(flat)
    pieces = [ids[offsets[i] : offsets[i + 1]] for i in chosen.tolist()]
    bounds = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
    return np.concatenate(pieces), bounds


# ---- Loading indexes into memory: page by page on demand, along with use, or ahead of time.


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
