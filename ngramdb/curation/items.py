"""Contamination from the items' side: which documents of a corpus contain how much of each evaluation item.

The n-grams of the items are searched in the corpus, so that the cost depends on the items and on what is
found, and not on the corpus. Neighbouring n-grams that occur equally often are searched as one sequence; a
copy of an item is found with a few searches. Texts that are folded before they are compared are searched
the other way round: the n-grams of the documents, among the items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.conditions.edge_spellings import spellings_of
from ngramdb.conditions.overlap_field import LEAST_TOKENS, ids_onto, marks_of_ngrams, token_chunks
from ngramdb.curation.measures import Evidence
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus

Ints = NDArray[np.int64]

# An n-gram that occurs more often in a segment counts as found, but its documents are not listed.
FREQUENT = 10_000
# Occurrences that are compared at a time.
CHUNK = 1 << 22


@dataclass(frozen=True)
class Matches:
    """Tokens that items and documents share: tokens [starts, stops) of an item, from `places` of a document.

    Arrays of one length; documents are numbers in one segment, items are ids.
    """

    items: Ints
    starts: Ints
    stops: Ints
    docs: Ints
    places: Ints

    def chosen(self, choice: NDArray[np.bool_] | Ints) -> Matches:
        """Return only some of them."""
        return Matches(*(array[choice] for array in vars(self).values()))

    @classmethod
    def joined(cls, parts: list[Matches]) -> Matches:
        """Return the matches of all parts, in their order."""
        names = ("items", "starts", "stops", "docs", "places")
        empty = np.empty(0, dtype=np.int64)
        return cls(*(np.concatenate([empty, *(getattr(one, name) for one in parts)]) for name in names))


@dataclass(frozen=True)
class Pairs:
    """Items and documents that share n-grams, one entry per pair, by item and document.

    covered : tokens of the item in n-grams that the document has
    ngrams : how many n-grams of the item the document has
    longest : tokens of the longest piece of the item in the document, which begins at `starts`, `places`
    """

    items: Ints
    docs: Ints
    covered: Ints
    ngrams: Ints
    longest: Ints
    starts: Ints
    places: Ints

    def chosen(self, choice: NDArray[np.bool_] | Ints) -> Pairs:
        """Return only some of them."""
        return Pairs(*(array[choice] for array in vars(self).values()))

    @classmethod
    def joined(cls, parts: list[Pairs]) -> Pairs:
        """Return the pairs of all parts, in their order."""
        names = ("items", "docs", "covered", "ngrams", "longest", "starts", "places")
        empty = np.empty(0, dtype=np.int64)
        return cls(*(np.concatenate([empty, *(getattr(one, name) for one in parts)]) for name in names))

    def evidence(self, lengths: Ints, n: int) -> Evidence:
        """Return what measures go by; `lengths` are those of all items."""
        return evidence_of(lengths[self.items], self.covered, self.ngrams, self.longest, n)


def evidence_of(lengths: Ints, covered: Ints, ngrams: Ints, longest: Ints, n: int) -> Evidence:
    """Return what measures go by, for items of these lengths."""
    return Evidence(lengths, covered, np.maximum(lengths - n + 1, 1), ngrams, longest)


# ---- what items and documents share


def item_lengths(items: Corpus) -> Ints:
    """Return the number of tokens of each item, by id: (k,) int64."""
    parts = [one.lengths(np.arange(one.n_documents, dtype=np.uint32)) for one in items.segments]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def n_least(n: int) -> int:
    """Return the number of tokens below which an item is not compared."""
    return min(LEAST_TOKENS, n)


class ItemNgrams:
    """The n-grams of items that a corpus has.

    `found` marks them, among the tokens of all items, one item after the other. `unlisted` marks those that
    occur more than FREQUENT times in a segment, and `frequent` are the items with such n-grams; both are
    complete after all `matches`.
    """

    def __init__(self, corpus: Corpus, items: Corpus, n: int) -> None:
        self._corpus, self._n = corpus, n
        self.lengths = item_lengths(items)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        ids_here = ids_onto(items.tokenizer, corpus.tokenizer)
        parts = [np.empty(0, dtype=np.int64)]
        for segment in items.segments:
            numbers = np.arange(segment.n_documents, dtype=np.uint32)
            for chunk, _ in token_chunks(segment, numbers):
                parts.extend(segment.document(i).astype(np.int64) for i in chunk.tolist())
        flat = np.concatenate(parts)
        self._spelled = flat
        self._flat = flat if ids_here is None else ids_here[flat]
        # Short items are one n-gram each.
        self._width = np.minimum(self.lengths, n)
        self._width[self.lengths < n_least(n)] = 0
        self.frequent: set[int] = set()
        self.found = self._marks()
        self.unlisted = np.zeros(len(flat), dtype=np.bool_)

    def tokens(self, first_free: int) -> Ints:
        """Return the tokens of all items as ids of the corpus; those of others begin with `first_free`."""
        return np.where(self._flat < 0, self._spelled + first_free, self._flat)

    def _marks(self) -> NDArray[np.bool_]:
        marks = np.zeros(len(self._flat), dtype=np.bool_)
        for first, last in batches(self.lengths, CHUNK >> 4):
            start, stop = self.offsets[first], self.offsets[last]
            offsets = self.offsets[first : last + 1] - start
            marks[start:stop] = marks_of_ngrams(self._flat[start:stop], offsets, self._corpus, self._n)
        short = np.flatnonzero((self._width > 0) & (self.lengths < self._n))
        flat, offsets = _gathered(self._flat, self.offsets[short], self.lengths[short])
        if len(short):
            marks[self.offsets[short]] = self._corpus.index.count_many(flat, offsets) > 0
        return marks

    def matches(self, segment: Segment) -> Iterator[Matches]:
        """Yield what documents of a segment, also removed ones, have of the items; all of an item at once."""
        starts = np.flatnonzero(self.found)
        owners = np.searchsorted(self.offsets, starts, side="right") - 1
        stops = starts + self._width[owners]
        edges = self._edges(segment)
        for first, last in batches(np.bincount(owners, minlength=len(self.lengths)), CHUNK >> 4):
            here = slice(*np.searchsorted(owners, [first, last]).tolist())
            spans = _Spans(segment.index, self._flat, starts[here], stops[here], owners[here])
            self.frequent.update(owners[here][spans.frequent].tolist())
            self.unlisted[starts[here][spans.frequent]] = True
            for part in spans.matches(self.offsets):
                yield _with_edges(part, edges)
        if edges:
            yield Matches.joined([one for parts in edges.values() for one in parts])

    def _edges(self, segment: Segment) -> dict[int, list[Matches]]:
        """Return the beginnings and ends of short items that a segment has with other tokens, by item."""
        spellings = spellings_of(self._corpus.tokenizer)
        found: dict[int, list[Matches]] = {}
        if spellings is None:
            return found
        short = np.flatnonzero((self._width > 0) & (self.lengths < 2 * self._n))
        bounds = self.offsets
        texts = [spellings.text(self._spelled[bounds[k] : bounds[k + 1]]) for k in short.tolist()]

        def occur(flat: Ints, offsets: Ints) -> NDArray[np.bool_]:
            lo, hi = segment.index.ranges(flat, offsets)
            holds: NDArray[np.bool_] = lo < hi
            return holds

        for spelling in (spellings.forward, spellings.backward):
            for number, ngram in spelling.ngrams(texts, self._n, occur):
                item = int(short[number])
                length = int(self.lengths[item])
                size = min(self._n if len(ngram) == self._n else length, length)
                start = 0 if spelling is spellings.forward else length - size
                lo, hi = segment.index.find(np.array(ngram))
                if hi - lo > FREQUENT:
                    self.frequent.add(item)
                    continue
                found.setdefault(item, []).append(_placed(segment.index, item, start, start + size, lo, hi))
        return found


def _with_edges(part: Matches, edges: dict[int, list[Matches]]) -> Matches:
    more = [one for item in np.unique(part.items).tolist() for one in edges.pop(item, ())] if edges else []
    return Matches.joined([part, *more]) if more else part


def _placed(index: SegmentIndex, item: int, start: int, stop: int, lo: int, hi: int) -> Matches:
    docs, places = index.places_at(np.sort(index.positions(lo, hi)))
    full = np.ones(len(docs), dtype=np.int64)
    return Matches(full * item, full * start, full * stop, docs.astype(np.int64), places.astype(np.int64))


class _Spans:
    """Sequences of tokens that occur in a segment: n-grams, joined as far as each occurs as often as all.

    starts, stops : n-grams in `flat`, ascending; `owners` are their texts; `frequent` are the numbers of
        those that occur too often
    """

    def __init__(self, index: SegmentIndex, flat: Ints, starts: Ints, stops: Ints, owners: Ints) -> None:
        self._index = index
        interrupts.check()
        lo, hi = index.ranges(*_gathered(flat, starts, stops - starts)).astype(np.int64)
        self.frequent = np.flatnonzero(hi - lo > FREQUENT)
        holds = (hi > lo) & (hi - lo <= FREQUENT)
        starts, stops, owners, lo, hi = (array[holds] for array in (starts, stops, owners, lo, hi))
        follows = np.zeros(len(starts), dtype=np.bool_)
        if len(starts):
            follows[1:] = (np.diff(starts) == 1) & (owners[1:] == owners[:-1]) & (np.diff(hi - lo) == 0)
        heads = np.flatnonzero(~follows)
        tails = np.append(heads[1:], len(starts)) - 1 if len(heads) else heads
        long_lo, long_hi = index.ranges(*_gathered(flat, starts[heads], stops[tails] - starts[heads])).astype(
            np.int64
        )
        whole = long_hi - long_lo == (hi - lo)[heads]
        single = ~np.repeat(whole, tails - heads + 1)
        self._starts = np.concatenate([starts[heads[whole]], starts[single]])
        self._stops = np.concatenate([stops[tails[whole]], stops[single]])
        self._owners = np.concatenate([owners[heads[whole]], owners[single]])
        self._lo = np.concatenate([long_lo[whole], lo[single]])
        self._hi = np.concatenate([long_hi[whole], hi[single]])
        order = np.argsort(self._owners, kind="stable")
        for name in ("_starts", "_stops", "_owners", "_lo", "_hi"):
            setattr(self, name, getattr(self, name)[order])

    def matches(self, offsets: Ints) -> Iterator[Matches]:
        """Yield all occurrences, those of a text at once; `offsets` are those of the texts."""
        sizes = self._hi - self._lo
        texts, firsts = np.unique(self._owners, return_index=True)
        bounds = np.append(firsts, len(sizes))
        per_text = np.add.reduceat(sizes, firsts) if len(texts) else sizes[:0]
        for a, b in batches(per_text, CHUNK):
            here = slice(int(bounds[a]), int(bounds[b]))
            ranges = zip(self._lo[here].tolist(), self._hi[here].tolist(), strict=True)
            rows = [self._positions(lo, hi) for lo, hi in ranges]
            flat = np.concatenate(rows)
            order = np.argsort(flat, kind="stable")
            docs, places = np.empty((2, len(flat)), dtype=np.int64)
            docs[order], places[order] = self._index.places_at(flat[order])
            owners = np.repeat(self._owners[here], sizes[here])
            starts = np.repeat(self._starts[here], sizes[here]) - offsets[owners]
            stops = np.repeat(self._stops[here], sizes[here]) - offsets[owners]
            yield Matches(owners, starts, stops, docs, places)

    def _positions(self, lo: int, hi: int) -> NDArray[np.uint32]:
        interrupts.check()
        return self._index.positions(lo, hi)


def inverted(
    items: Corpus, flat: Ints, offsets: Ints, marks: NDArray[np.bool_], docs: Ints, n: int
) -> Iterator[Matches]:
    """Yield what documents, given as ids of the items' tokenizer, have of the items; all of one at once.

    marks : where n-grams begin that the items have; docs : the numbers of the documents
    """
    starts = np.flatnonzero(marks)
    owners = np.searchsorted(offsets, starts, side="right") - 1
    stops = np.minimum(starts + n, offsets[owners + 1])
    for segment in items.segments:
        spans = _Spans(segment.index, flat, starts, stops, owners)
        ids = segment.doc_ids()
        for one in spans.matches(offsets):
            sizes = one.stops - one.starts
            yield Matches(ids[one.docs], one.places, one.places + sizes, docs[one.items], one.starts)


# ---- pairs


def pairs_of(matches: Matches, n: int) -> Pairs:
    """Return what each item and document share. An item that is shorter than n is one n-gram."""
    order: Ints = np.lexsort((matches.starts, matches.docs, matches.items))
    found = matches.chosen(order)
    size = len(order)
    new = np.ones(size, dtype=np.bool_)
    new[1:] = (np.diff(found.items) != 0) | (np.diff(found.docs) != 0)
    owners, heads = np.cumsum(new) - 1, np.flatnonzero(new)
    n_pairs = len(heads)
    covered = _summed(owners, found.starts, found.stops, n_pairs)
    ngrams = _summed(owners, found.starts, np.maximum(found.stops - n + 1, found.starts + 1), n_pairs)
    longest, starts, places = _longest(found, owners, n_pairs)
    return Pairs(found.items[heads], found.docs[heads], covered, ngrams, longest, starts, places)


def _united(owners: Ints, starts: Ints, stops: Ints) -> tuple[Ints, Ints, Ints]:
    """Return ranges, sorted by owner and start, with those of an owner that overlap joined."""
    width = int(stops.max(initial=0)) + 1
    lo, hi = starts + owners * width, stops + owners * width
    reach = np.maximum.accumulate(hi)
    new = np.ones(len(lo), dtype=np.bool_)
    new[1:] = (lo[1:] > reach[:-1]) | (owners[1:] != owners[:-1])
    heads = np.flatnonzero(new)
    tails = np.append(heads[1:], len(lo)) - 1 if len(heads) else heads
    return owners[heads], starts[heads], reach[tails] - owners[heads] * width


def _summed(owners: Ints, starts: Ints, stops: Ints, size: int) -> Ints:
    joined, lo, hi = _united(owners, starts, stops)
    sums: Ints = np.bincount(joined, weights=hi - lo, minlength=size).astype(np.int64)
    return sums


def _longest(found: Matches, owners: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Return the longest piece of each pair: its tokens, and its places in the item and in the document."""
    shift = found.places - found.starts
    order = np.lexsort((found.starts, shift, owners))
    by_pair, by_shift, begins = owners[order], shift[order], found.starts[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(by_pair) != 0) | (np.diff(by_shift) != 0)
    lines = np.cumsum(new) - 1
    joined, lo, hi = _united(lines, begins, found.stops[order])
    heads = np.flatnonzero(new)
    pair, offset = by_pair[heads][joined], by_shift[heads][joined]
    # The longest piece of a pair is written last, the first one of several.
    last = np.lexsort((-lo, hi - lo, pair))
    longest, starts, places = np.zeros((3, size), dtype=np.int64)
    longest[pair[last]], starts[pair[last]] = (hi - lo)[last], lo[last]
    places[pair[last]] = (lo + offset)[last]
    return longest, starts, places


def _gathered(flat: Ints, starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return flat[np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], sizes)], bounds


def batches(sizes: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of entries of about `most` in sum, or of one entry."""
    ends = np.cumsum(sizes)
    cuts = np.searchsorted(ends, np.arange(0, int(sizes.sum()) + 1, most), side="right")
    edges = np.unique(np.concatenate([[0], cuts, [len(sizes)]])).tolist()
    for first, last in pairwise(edges):
        interrupts.check()
        yield first, last
