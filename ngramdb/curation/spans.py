"""Duplicate spans: texts that occur several times, each as long as possible, and listed once.

A text of at least L units is a duplicate if it occurs at least `min_count` times in the documents that count,
or at all in the corpus that this one is compared with (AGAINST). So is each part of it. A duplicate is a span
if it cannot be extended in one of its places: no longer text there is a duplicate.

Windows that are duplicates (`ngramdb.curation.windows`) follow each other in stretches. Equal stretches have
equal spans and are examined once. As a rule a stretch is a span as a whole, which one search shows. Others
are divided: the end of each span, and the beginning of the next one, are found by galloping, in a number of
searches that is the logarithm of the distance. Equal texts are recognized by their rows in the first segment
that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.conditions.interruptible_sort import BYTES_PER_SEQUENCE, numbered_rows, order_of
from ngramdb.conditions.overlap_field import ids_onto
from ngramdb.curation.windows import (
    Ranges,
    Window,
    duplicate_starts,
    token_bytes,
    united,
    window_ends,
    window_stops,
)
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.types import Docs

Ints = NDArray[np.int64]
# Texts one after the other, and the offset of each: (m,) and (n + 1,) int64.
Texts = tuple[Ints, Ints]
# Some tokens of a text: from start to stop.
Part = tuple[int, int]
# A search for spans: it asks for parts whether they are duplicates, and returns the spans.
Search = Generator[Part, bool, list[Part]]

# Tokens of the texts that are searched for at a time.
BATCH_TOKENS = 1 << 18
# Occurrences that are read first to see if there are enough, and four times as many after each look.
FIRST_ROWS = 1 << 8
# Texts in such a batch: reading each takes microseconds.
BATCH_TEXTS = 1 << 9


class Places(NamedTuple):
    """Texts by one of their places: (n,) int64 each.

    segments, positions : the beginning of each
    lengths : tokens
    """

    segments: Ints
    positions: Ints
    lengths: Ints

    def some(self, chosen: Ints | slice) -> Places:
        return Places(*(column[chosen] for column in self))


class Spans(NamedTuple):
    """Spans, each listed once: a place of each, and its counts in the corpus and in the other one."""

    places: Places
    counts: Ints
    there: Ints


class Stretches(NamedTuple):
    """Runs of duplicate windows; `longest` is the number of tokens of the longest span in each."""

    places: Places
    longest: Ints


class Duplicates(NamedTuple):
    """What `duplicate_spans` returns.

    n_windows : the number of positions at which a duplicate window begins
    texts : per segment, the tokens in duplicates
    """

    spans: Spans
    stretches: Stretches
    n_windows: int
    texts: list[Ranges]


def duplicate_spans(
    corpus: Corpus,
    window: Window,
    *,
    min_count: int = 2,
    against: Corpus | None = None,
    documents: Sequence[Docs] | None = None,
    threads: int = 1,
) -> Duplicates:
    """Return the texts of at least this length that occur several times; parameters as for windows.

    Cost: that of `duplicate_starts`; some 5 µs for each stretch of duplicate windows, and a search; some ten
    searches for each span that is only a part of a stretch. With `documents`, each search also reads
    occurrences, until there are enough. Memory: about 200 bytes per stretch.
    """
    starts = duplicate_starts(
        corpus, window, min_count=min_count, against=against, documents=documents, threads=threads
    )
    counting = Counting(corpus, min_count, against, documents)
    found = [
        _stretches(counting, i, of_segment, window)
        for i, of_segment in enumerate(starts)
        if len(of_segment.starts)
    ]
    every = Places(*(_joined([one[k] for one in found]) for k in range(3)))
    interrupts.require_memory(len(every.lengths) * BYTES_PER_SEQUENCE, f"{len(every.lengths):,} duplicates")
    first, numbers = _distinct(counting, every)
    owners, pieces = _divided(counting, every.some(first), window)
    longest = np.zeros(len(first), dtype=np.int64)
    np.maximum.at(longest, owners, pieces.lengths)
    interrupts.require_memory(len(owners) * BYTES_PER_SEQUENCE, f"{len(owners):,} duplicates")
    spans = pieces.some(_distinct(counting, pieces)[0])
    counts = [counting.counts(texts) for texts in counting.texts(spans)]
    return Duplicates(
        Spans(spans, _joined([here for here, _ in counts]), _joined([there for _, there in counts])),
        Stretches(every, longest[numbers]),
        sum(of_segment.n_tokens for of_segment in starts),
        [_united(every, i) for i in range(len(starts))],
    )


class Counting:
    """Reads texts, and counts their occurrences in the documents that count, and in the other corpus."""

    def __init__(
        self, corpus: Corpus, min_count: int, against: Corpus | None, documents: Sequence[Docs] | None
    ) -> None:
        self.corpus = corpus
        self._min_count = min_count
        self._against = against
        self._ids = None if against is None else ids_onto(corpus.tokenizer, against.tokenizer)
        self._counted = None if documents is None else [*map(_flags, corpus.segments, documents)]

    def texts(self, places: Places) -> Iterator[Texts]:
        """Yield the tokens of texts, in order, some at a time."""
        for some in _batches(places.lengths):
            segments, positions, lengths = places.some(some)
            offsets = _offsets(lengths)
            every = np.arange(offsets[-1]) + np.repeat(positions - offsets[:-1], lengths)
            owners = np.repeat(segments, lengths)
            flat = np.empty(len(every), dtype=np.int64)
            for i in np.unique(segments).tolist():
                index = self.corpus.segments[i].index
                here = owners == i
                flat[here] = index.tokens_at(every[here].astype(index.position_type), 0)
            yield flat, offsets

    def are_duplicates(self, texts: Texts) -> NDArray[np.bool_]:
        """Return which of these texts, of sufficient length, are duplicates."""
        interrupts.check()
        here, there = self.counts(texts, self._min_count)
        return (here >= self._min_count) | (there > 0)

    def counts(self, texts: Texts, enough: int | None = None) -> tuple[Ints, Ints]:
        """Return how often texts occur here, and in the other corpus: (n,) int64 each.

        Occurrences here need not be counted beyond `enough`.
        """
        flat, offsets = texts
        here = self._counts_here(flat, offsets, enough)
        if self._against is None:
            return here, np.zeros_like(here)
        ids = flat if self._ids is None else self._ids[flat]
        return here, self._against.index.count_many(ids, offsets)

    def _counts_here(self, flat: Ints, offsets: Ints, enough: int | None) -> Ints:
        every = self.corpus.index.count_many(flat, offsets)
        if self._counted is None:
            return every
        found = np.zeros_like(every)
        for segment, counted in zip(self.corpus.segments, self._counted, strict=True):
            los, his = segment.index.ranges(flat, offsets).astype(np.int64)
            for k in np.flatnonzero((his > los) & (every >= (enough or 1))).tolist():
                start, stop, n_rows = int(los[k]), int(his[k]), FIRST_ROWS
                while start < stop and (enough is None or found[k] < enough):
                    interrupts.check()
                    docs, counts = segment.index.count_by_document(start, min(start + n_rows, stop))
                    found[k] += int(counts[counted[docs]].sum())
                    start, n_rows = start + n_rows, 4 * n_rows
        return found

    def occurrences(self, ids: Ints) -> tuple[int, tuple[int, int]]:
        """Return the number of documents with a text, and its first place: segment and position.

        Cost: some 20 ns per occurrence.
        """
        n_docs, first = 0, (-1, -1)
        for i, segment in enumerate(self.corpus.segments):
            interrupts.check()
            index = segment.index
            lo, hi = index.find(ids)
            docs = index.docs_of(lo, hi)
            docs = np.setdiff1d(docs, self.corpus.removed(i), assume_unique=True)
            docs = docs if self._counted is None else docs[self._counted[i][docs]]
            n_docs += len(docs)
            if len(docs) and first[0] < 0:
                (start,), _ = index.document_bounds(docs[:1].astype(np.uint32))
                # The earliest occurrence after the beginning of the first document is in that document.
                first = (i, _least(index, lo, hi, int(start)))
        return n_docs, first


def _least(index: SegmentIndex, lo: int, hi: int, least: int) -> int:
    """Return the smallest position of rows [lo, hi) that is at least `least`."""
    found = index.n_positions
    for start in range(lo, hi, BATCH_TOKENS):
        interrupts.check()
        places = index.positions(start, min(start + BATCH_TOKENS, hi))
        found = min(found, int(np.min(places, where=places >= least, initial=found)))
    return found


def _flags(segment: Segment, docs: Docs) -> NDArray[np.bool_]:
    flags = np.zeros(segment.n_documents, dtype=np.bool_)
    flags[docs] = True
    return flags


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _offsets(lengths: Ints) -> Ints:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _batches(lengths: Ints) -> Iterator[slice]:
    """Yield slices of texts of these lengths, of about BATCH_TOKENS, or of one text."""
    ends, start = np.cumsum(lengths), 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + BATCH_TOKENS, side="right"))
        stop = min(max(stop, start + 1), start + BATCH_TEXTS)
        interrupts.check()
        yield slice(start, stop)
        start = stop


def _united(places: Places, i: int) -> Ranges:
    """Return the tokens of texts in segment i."""
    here = places.some(np.flatnonzero(places.segments == i))
    starts = here.positions.astype(np.uint32)
    return united(Ranges(starts, (here.positions + here.lengths).astype(np.uint32)))


# ---- Stretches of windows.


def _stretches(counting: Counting, i: int, starts: Ranges, window: Window) -> Places:
    """Return the texts of runs of windows in segment i."""
    segment = counting.corpus.segments[i]
    tokenizer = counting.corpus.tokenizer
    begins = starts.starts.astype(np.int64)
    stops = window_stops(segment, starts, window, tokenizer).astype(np.int64)
    if window.unit != "tokens":
        stops = _extended(counting, i, starts.stops.astype(np.int64) - 1, stops, window)
    return Places(np.full(len(begins), i), begins, stops - begins)


def _extended(counting: Counting, i: int, lasts: Ints, stops: Ints, window: Window) -> Ints:
    """Return the ends of the texts of runs, which may be beyond the last window of each.

    A text of some bytes is longer than its windows if that of its next token would reach further.
    """
    index = counting.corpus.segments[i].index
    _, ends = index.piece_bounds(lasts.astype(index.position_type))
    # The window of the next token has at least a byte per token.
    most = np.minimum(ends.astype(np.int64), lasts + 1 + window.length)
    low: Ints = stops.copy()
    high = np.maximum(most, stops)
    while (open_ones := np.flatnonzero(low < high)).size:
        middle = (low[open_ones] + high[open_ones] + 1) // 2
        places = Places(np.full(len(open_ones), i), lasts[open_ones], middle - lasts[open_ones])
        found = np.concatenate([counting.are_duplicates(texts) for texts in counting.texts(places)])
        low[open_ones[found]] = middle[found]
        high[open_ones[~found]] = middle[~found] - 1
    return low


def _distinct(counting: Counting, places: Places) -> tuple[Ints, Ints]:
    """Return the first of each class of equal texts, and for each text the number of its class."""
    rows, start = np.zeros((len(places.lengths), 3), dtype=np.int64), 0
    for flat, offsets in counting.texts(places):
        n = len(offsets) - 1
        rows[start : start + n, :2] = _first_rows(counting.corpus.segments, flat, offsets)
        start += n
    rows[:, 2] = places.lengths
    first, numbers = numbered_rows(rows)
    # In the order of texts, which does not depend on segments.
    order = order_of(first)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return first[order], ranks[numbers]


def _first_rows(segments: Sequence[Segment], flat: Ints, offsets: Ints) -> Ints:
    """Return the first segment in which texts occur, and the first of their rows there: (n, 2) int64."""
    found = np.full((len(offsets) - 1, 2), -1, dtype=np.int64)
    left = np.arange(len(found))
    for i, segment in enumerate(segments):
        interrupts.check()
        lo, hi = segment.index.ranges(flat, offsets).astype(np.int64)
        has = lo < hi
        found[left[has]] = np.stack([np.full(int(has.sum()), i), lo[has]], axis=1)
        if has.all():
            break
        left, parts = left[~has], np.split(flat, offsets[1:-1])
        kept = [parts[k] for k in np.flatnonzero(~has).tolist()]
        flat, offsets = np.concatenate(kept), _offsets(np.array([len(part) for part in kept]))
    return found


# ---- Division of stretches into spans.


def _divided(counting: Counting, stretches: Places, window: Window) -> tuple[Ints, Places]:
    """Return the spans of different stretches: the number of the stretch that has each, and its place."""
    sizes = None if window.unit == "tokens" else token_bytes(counting.corpus.tokenizer).astype(np.int64)
    owners, starts, lengths = [], [], []
    before = 0
    for flat, offsets in counting.texts(stretches):
        whole = counting.are_duplicates((flat, offsets))
        ends = window_ends(flat, offsets, window, sizes)
        searches = {}
        for k in np.flatnonzero(~whole).tolist():
            here = ends[offsets[k] : offsets[k + 1]]
            searches[k] = _galloped(int(offsets[k + 1] - offsets[k]), here[here >= 0] - offsets[k])
        found = _together(counting, (flat, offsets), searches)
        found.update((k, [(0, int(offsets[k + 1] - offsets[k]))]) for k in np.flatnonzero(whole).tolist())
        for k in range(len(whole)):
            for start, stop in found[k]:
                owners.append(before + k)
                starts.append(start)
                lengths.append(stop - start)
        before += len(whole)
    numbers = np.array(owners, dtype=np.int64)
    places = stretches.positions[numbers] + np.array(starts, dtype=np.int64)
    return numbers, Places(stretches.segments[numbers], places, np.array(lengths, dtype=np.int64))


def _together(counting: Counting, texts: Texts, searches: dict[int, Search]) -> dict[int, list[Part]]:
    """Run the searches in some texts, and return what each finds; each asks one question at a time.

    One call answers the questions of all: it takes microseconds even for a single one.
    """
    flat, offsets = texts
    found: dict[int, list[Part]] = {}
    answers: dict[int, bool | None] = dict.fromkeys(searches)
    while answers:
        asked: dict[int, Part] = {}
        for k, answer in answers.items():
            try:
                asked[k] = next(searches[k]) if answer is None else searches[k].send(answer)
            except StopIteration as stop:
                found[k] = stop.value
        parts = np.array(list(asked.values()), dtype=np.int64).reshape(-1, 2)
        lengths = parts[:, 1] - parts[:, 0]
        of_parts = _offsets(lengths)
        begins = offsets[list(asked)] + parts[:, 0] - of_parts[:-1]
        places = np.arange(of_parts[-1]) + np.repeat(begins, lengths)
        answers = dict(zip(asked, counting.are_duplicates((flat[places], of_parts)).tolist(), strict=True))
    return found


def _galloped(length: int, ends: Ints) -> Search:
    """Find the spans of a stretch, whose windows, each a duplicate, end there: ascending starts and stops.

    Yields the tokens of the stretch, from start to stop, that may be a duplicate, and is sent the answer.
    """
    found = []
    start, least = 0, 0
    while True:
        stop = yield from _last(partial(_from, start), max(int(ends[start]), least), length)
        found.append((start, stop))
        if stop == length:
            return found
        least = stop + 1
        known = min(int(np.searchsorted(ends, least)), len(ends) - 1)
        # The first start whose span reaches further. Most spans overlap by little more than a window.
        back = yield from _last(partial(_reaching, known, least, ends), 0, known - start - 1)
        start = known - back


def _from(start: int, stop: int) -> Part:
    return start, stop


def _reaching(known: int, least: int, ends: Ints, back: int) -> Part:
    return known - back, max(least, int(ends[known - back]))


def _last(part: Callable[[int], Part], known: int, most: int) -> Generator[Part, bool, int]:
    """Find the last number up to `most` whose part is a duplicate, as those of all numbers before it are.

    The part of `known` is a duplicate.
    """
    step, low, high = 1, known, most
    while low < high:
        middle = min(low + step, high)
        if not (yield part(middle)):
            high = middle - 1
            break
        low, step = middle, 2 * step
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if (yield part(middle)) else (low, middle - 1)
    return low
