"""OVERLAP(corpus, n): the exact share of a document's n-grams that occur in another corpus, and their places.

An n-gram is a run of n tokens at one place of the document; each place counts. A document of fewer than n
tokens is a single n-gram; one of fewer than LEAST_TOKENS (and than n) has none, and its share is 0.
So are the pieces of a broken document (`segments.base.Breaks`): its n-grams are those of all pieces. Tokens
are those of the document's corpus. (These are the rules of the Big Friendly Filter, whose default is n = 13.)

Tokens at the edges of short texts depend on what surrounds the text. If tokens spell their text, two rules
compare it there (`ngramdb.conditions.edge_spellings`): an n-gram at the beginning or the end of a document of
the other corpus matches by its text if that document has fewer than 2n tokens, and so does a document of
fewer than n tokens as a whole. White space at the outer ends is ignored.

Two ways lead to the same answer: the document's n-grams are looked up in the other corpus; or the other's
n-grams are looked up among the documents', which is faster if the other corpus is small, as evaluation sets
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb.conditions.docset import PlaceSet
from ngramdb.conditions.edge_spellings import spellings_of
from ngramdb.conditions.interruptible_sort import each_once
from ngramdb.conditions.stored_text import longest_matches
from ngramdb.registries import GROWING_TOKENIZERS
from ngramdb.segments.base import Segment
from ngramdb.segments.container.layout import piece_offsets
from ngramdb.source import Corpus
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

Shares = NDArray[np.float64]
Marks = NDArray[np.bool_]
Ids = NDArray[np.int64]
Offsets = NDArray[np.int64]
# N-grams, of one length or of several: ids one after the other, and the offset of each.
SharedNgrams = tuple[Ids, Offsets]

# Documents below this length, and below n, have no n-grams.
LEAST_TOKENS = 5
# Longer than any document; n-grams of more tokens are treated as of this many.
MOST_TOKENS = 2**31 - 1
# Tokens whose n-grams are looked up at a time.
CHUNK_TOKENS = 1 << 18
# Looking up an n-gram of the other corpus takes two counts (in the segment, and in the other corpus: is it
# still there?), one of the documents less than half a count (see `marks_of_ngrams`).
INVERTED_COST = 4.0
# Longer n-grams are not looked up among the documents': each is copied for that.
LONGEST_INVERTED = 64
# Longer n-grams are not looked up by halves of blocks: their tokens overlap, and each would be read n times.
LONGEST_HALVED = 64
# Tokens of the first probes (see `marks_of_ngrams`): in text, one in fifty occurs in 25 million other tokens.
SHORT_PROBE = 5
# Neighbouring n-grams that are looked up as one sequence of tokens: at first (at least n), and if one of them
# is likely to occur; the latter is a power of two.
LARGE_BLOCK = 128
BLOCK = 16


@dataclass(frozen=True)
class Span:
    """Tokens [start, stop) of a document, all n-grams of which another corpus has.

    `other_doc_id` is the first of its documents that have the span's first n-gram.
    """

    start: int
    stop: int
    other_doc_id: int


def marked_ngrams(flat: Ids, offsets: Offsets, marks: Marks, n: int) -> Iterator[SharedNgrams]:
    """Yield, in pieces, the n-grams that begin at the marked tokens; of a document below n tokens, all of it.

    Each piece has about CHUNK_TOKENS tokens, or one n-gram.
    """
    starts = np.flatnonzero(marks)
    stops = offsets[np.searchsorted(offsets, starts, side="right")]
    lengths = np.minimum(stops - starts, n)
    for first, last in _pieces(lengths):
        yield _gathered(flat, starts[first:last], lengths[first:last])


def n_documents_with(corpus: Corpus, ngrams: Iterable[SharedNgrams]) -> int:
    """Count the documents of a corpus without removed documents that have any of the n-grams.

    Cost: a search for each n-gram and segment, and a bit for each token of the corpus.
    """
    indexes = [segment.index for segment in corpus.segments]
    found = [PlaceSet(index.n_positions) for index in indexes]
    for flat, offsets in ngrams:
        for index, places in zip(indexes, found, strict=True):
            places.add(index.places(flat, offsets))
    return sum(
        len(each_once(index.documents_at(places.ascending())))
        for index, places in zip(indexes, found, strict=True)
    )


def n_windows(lengths: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return the number of n-grams of documents of these lengths: (k,) int64."""
    short = (lengths >= min(LEAST_TOKENS, n)) & (lengths < n)
    return np.where(short, 1, np.maximum(lengths - n + 1, 0))


def marked_places(flat: Ids, offsets: Offsets, other: Corpus, n: int) -> Marks:
    """For documents given as ids of the other corpus's tokenizer: where n-grams begin that it has, (m,) bool.

    Cost: about a microsecond per token.
    """
    n = min(n, MOST_TOKENS)
    marks = marks_of_ngrams(flat, offsets, other, n)
    short = _short(np.diff(offsets), n)
    if len(short):
        parts = [flat[offsets[k] : offsets[k + 1]] for k in short.tolist()]
        bounds = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        marks[offsets[short]] = other.index.count_many(np.concatenate(parts), bounds) > 0
    return marks


def spans_of(marks: Marks, ids: Ids, n: int, document_with: Callable[[Ids], int]) -> list[Span]:
    """Return the maximal runs of marked places of one document.

    `document_with` returns the id of the other corpus's first document with an n-gram.
    """
    length = min(n, len(ids))
    return [
        Span(first, first + size - 1 + length, document_with(ids[first : first + length]))
        for first, size in zip(*map(np.ndarray.tolist, _runs(marks)), strict=True)
    ]


def marks_of_ngrams(flat: Ids, offsets: Offsets, other: Corpus, n: int) -> Marks:
    """Mark the same n-grams, of documents of at least n tokens only.

    Sequences of many n-grams are looked up first: if one occurs, so do all of its n-grams. In the others,
    each n-gram contains one of the k-grams, the probes, that begin at the multiples of n - k + 1: with k at
    most SHORT_PROBE, which are few, and then, where these occur, with k = (n + 1) // 2. Only n-grams whose
    probes occur are looked up, and only in segments in which they do; long n-grams by the longest matches of
    the text around them. Cost: linear in the tokens, whatever n is.
    """
    marks = np.zeros(len(flat), dtype=np.bool_)
    index = other.index
    blocks = _cut(*_windows_in(flat, offsets, n), max(LARGE_BLOCK, n))
    starts, sizes = _look_up(flat, *blocks, index, n, marks)
    if n > LONGEST_HALVED:
        likely = next(_likely(flat, starts, sizes, [index], n))
        marks[_matched(flat, *likely, other, n)] = True
        return marks
    added = [Index([one], [1]) for one, sign in zip(index.segments, index.signs, strict=True) if sign > 0]
    found = np.zeros_like(marks)
    for one, ranges in zip(added, _likely(flat, starts, sizes, added, n), strict=True):
        _halved(flat, *ranges, one, n, found)
    if len(added) == len(index.signs):
        marks |= found
    else:  # documents that contain them may have been removed
        _halved(flat, *_runs(found), index, n, marks)
    return marks


def _look_up(flat: Ids, starts: Ids, sizes: Ids, index: Index, n: int, marks: Marks) -> tuple[Ids, Ids]:
    """Mark the n-grams of sequences that occur; return the other sequences."""
    holds = _occur(*_gathered(flat, starts, sizes + (n - 1)), index)
    marks[_numbers_in(starts[holds], sizes[holds])] = True
    return starts[~holds], sizes[~holds]


def _halved(flat: Ids, starts: Ids, sizes: Ids, index: Index, n: int, marks: Marks) -> None:
    """Mark the n-grams of these ranges that occur: look up blocks, then halves of those that do not occur."""
    starts, sizes = _cut(starts, sizes, BLOCK)
    while len(starts):
        starts, sizes = _look_up(flat, starts, sizes, index, n, marks)
        starts, sizes = starts[sizes > 1], sizes[sizes > 1]
        half = sizes // 2
        starts, sizes = np.concatenate([starts, starts + half]), np.concatenate([half, sizes - half])


def _runs(marks: Marks) -> tuple[Ids, Ids]:
    """Return the maximal runs of marked places: starts and sizes."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marks.astype(np.int8), [0]])))
    return edges[::2], edges[1::2] - edges[::2]


def _windows_in(flat: Ids, offsets: Offsets, n: int) -> tuple[Ids, Ids]:
    """Ranges of the places at which n-grams without an unknown token begin: starts and sizes."""
    unknown = np.flatnonzero(flat < 0)
    starts = np.sort(np.concatenate([offsets[:-1], unknown + 1]))
    sizes = np.sort(np.concatenate([unknown, offsets[1:]])) - (n - 1) - starts
    return starts[sizes > 0], sizes[sizes > 0]


def _likely(
    flat: Ids, starts: Ids, sizes: Ids, indexes: Sequence[Index], n: int
) -> Iterator[tuple[Ids, Ids]]:
    """Yield, per index, the parts of these ranges in which the probes of `marks_of_ngrams` occur."""
    k = (n + 1) // 2
    for index, ranges in zip(
        indexes, _with_probes(flat, starts, sizes, indexes, n, min(k, SHORT_PROBE)), strict=True
    ):
        yield next(_with_probes(flat, *ranges, [index], n, k)) if k > SHORT_PROBE else ranges


def _with_probes(
    flat: Ids, starts: Ids, sizes: Ids, indexes: Sequence[Index], n: int, k: int
) -> Iterator[tuple[Ids, Ids]]:
    """Yield, per index, the parts of these ranges whose n-grams contain a probe of k tokens that occurs."""
    every = n - k + 1
    first = -(-starts // every)
    n_probes = -(-(starts + sizes - 1) // every) - first + 1
    owners = np.repeat(np.arange(len(starts)), n_probes)
    probes = _numbers_in(first, n_probes) * every
    begins = np.maximum(starts[owners], probes - every + 1)
    ends = np.minimum((starts + sizes)[owners], probes + 1)
    # In the order of the index, neighbours share what is read, of the n-grams and of the index.
    order = np.argsort(flat[probes] << 32 | flat[np.minimum(probes + 1, len(flat) - 1)])
    ngrams = _gathered(flat, probes[order], np.full(len(probes), k))
    holds = np.empty(len(probes), dtype=np.bool_)
    for index in indexes:
        holds[order] = _occur(*ngrams, index)
        first, last = begins[holds], ends[holds]
        is_first, is_last = np.ones((2, len(first)), dtype=np.bool_)
        is_first[1:] = is_last[:-1] = first[1:] != last[:-1]
        yield first[is_first], (last[is_last] - first[is_first])


def _matched(flat: Ids, starts: Ids, sizes: Ids, other: Corpus, n: int) -> Ids:
    """Return the places of these ranges at which n-grams begin that the other corpus has."""
    ids, bounds = _gathered(flat, starts, sizes + (n - 1))
    matched, _ = longest_matches(other.index, ids, bounds)
    ends = _numbers_in(bounds[:-1] + np.arange(len(starts)) + n, sizes)
    return _numbers_in(starts, sizes)[matched[ends] >= n]


def _cut(starts: Ids, sizes: Ids, most: int) -> tuple[Ids, Ids]:
    """Ranges, cut into ranges of at most `most` numbers, one if `most` is 0."""
    most = max(most, 1)
    pieces = -(-sizes // most)
    begins = np.repeat(starts, pieces) + _numbers_in(np.zeros_like(pieces), pieces) * most
    return begins, np.minimum(np.repeat(starts + sizes, pieces) - begins, most)


def _numbers_in(starts: Ids, sizes: Ids) -> Ids:
    """Return the numbers of ranges, one range after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - ends + sizes, sizes)


def _occur(flat: Ids, offsets: Offsets, index: Index) -> Marks:
    """Return which of these n-grams the index has."""
    interrupts.check()
    return index.count_many(flat, offsets) > 0


def _gathered(flat: Ids, starts: Ids, lengths: Ids) -> SharedNgrams:
    bounds = np.zeros(len(starts) + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return flat[_numbers_in(starts, lengths)], bounds


def _short(lengths: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Which documents are one n-gram as a whole."""
    return np.flatnonzero((lengths >= min(LEAST_TOKENS, n)) & (lengths < n))


class Overlap:
    """N-grams that documents of a segment share with another corpus.

    Raises ExecutionError if documents are subtracted from the other corpus that it does not have.
    """

    def __init__(self, corpus: Corpus, segment: Segment, other: Corpus, n: int) -> None:
        other.check_difference()
        self._segment = segment
        self._other = other
        self._n = min(n, MOST_TOKENS)
        self._ids = ids_onto(corpus.tokenizer, other.tokenizer)
        self._back = (corpus.tokenizer, other.tokenizer)
        self._spellings = spellings_of(corpus.tokenizer)
        self._starts: NDArray[np.uint32] | None = None

    def shares(self, docs: Docs) -> Shares:
        """Return the share of n-grams that the other corpus has, per document (ascending): (k,) float64.

        Cost: at most two counts per token of the documents, as a rule a fifth of one; or a few counts per
        token of the other corpus if that is less.
        """
        found, windows = np.zeros(len(docs), dtype=np.int64), np.zeros(len(docs), dtype=np.int64)
        base = 0
        for chunk, lengths in token_chunks(self._segment, docs):
            marks, pieces = self._marks(chunk, lengths, docs)
            offsets = _offsets_of(lengths)
            sums = np.concatenate([[0], np.cumsum(marks)])
            found[base : base + len(chunk)] = sums[offsets[1:]] - sums[offsets[:-1]]
            owners = np.searchsorted(offsets[1:], pieces[1:])
            np.add.at(windows, base + owners, n_windows(np.diff(pieces), self._n))
            base += len(chunk)
        shares: Shares = np.divide(found, windows, out=np.zeros(len(docs)), where=windows > 0)
        return shares

    def spans(self, docs: Docs) -> Iterator[list[Span]]:
        """For each of these documents its maximal runs of n-grams that the other corpus has, in order."""
        for doc in docs.tolist():
            interrupts.check()
            lengths = np.array([self._segment.document_length(doc)], dtype=np.int64)
            marks, pieces = self._marks(np.array([doc], dtype=np.uint32), lengths, None)
            ids = self._translated(self._segment.document(doc).astype(np.int64))
            yield [
                Span(span.start + first, span.stop + first, span.other_doc_id)
                for first, stop in pairwise(pieces.tolist())
                for span in spans_of(marks[first:stop], ids[first:stop], self._n, self._document_with)
            ]

    def shared(self, docs: Docs) -> Iterator[SharedNgrams]:
        """Yield the other corpus's n-grams that these documents have, in ids of its tokenizer.

        Some come more than once. A document of the other corpus whose edge matches by text is given whole.
        """
        for chunk, lengths in token_chunks(self._segment, docs):
            marks, pieces = self._marks(chunk, lengths, docs)
            flat = np.concatenate([self._segment.document(i).astype(np.int64) for i in chunk.tolist()])
            yield from marked_ngrams(self._translated(flat), pieces, marks, self._n)
            short = [flat[start:stop] for start, stop in pairwise(pieces.tolist()) if stop - start < self._n]
            yield _joined(map(self._spelled, short))
        index = self._segment.index
        yield _joined(
            item.ids
            for ngram, items in self.edges.items()
            if len(np.intersect1d(index.docs_containing(np.array(ngram)), docs))
            for item in items
        )

    @cached_property
    def edges(self) -> dict[tuple[int, ...], list[Item]]:
        """N-grams of the segment that begin or end a document of the other corpus, compared by text.

        Only documents of fewer than 2n tokens are compared. Cost: about 50 µs per document.
        """
        return {ids: items for ids, items in self._spelled_here.items() if len(ids) == self._n}

    @property
    def shortened(self) -> set[int]:
        """Ids of the other corpus's documents that the segment spells with fewer than n tokens.

        No n-gram lies within such a text, even if its document has n tokens or more.
        """
        shorter = (items for ids, items in self._spelled_here.items() if len(ids) < self._n)
        return {item.doc_id for items in shorter for item in items}

    @cached_property
    def _spelled_here(self) -> dict[tuple[int, ...], list[Item]]:
        """Edges of n tokens and whole texts of fewer, with the documents of the other corpus."""
        found: dict[tuple[int, ...], list[Item]] = {}
        if self._spellings is None or self._n > LONGEST_INVERTED:
            return found
        for items in _short_items(self._other, 2 * self._n):
            texts = [self._spellings.text(item.ids) for item in items]
            for spelling in (self._spellings.forward, self._spellings.backward):
                for number, ngram in spelling.ngrams(texts, self._n, self._occur_here):
                    found.setdefault(ngram, []).append(items[number])
        return found

    def _occur_here(self, flat: Ids, offsets: Offsets) -> Marks:
        lo, hi = self._segment.index.ranges(flat, offsets)
        occur: Marks = lo < hi
        return occur

    def _document_with(self, ids: Ids) -> int:
        items = self.edges.get(tuple(ids.tolist()))
        found = first_document(self._other, ids)
        if found >= 0 or items is None:
            return found if found >= 0 else first_document(self._other, self._spelled(ids))
        return min(item.doc_id for item in items)

    def _documents(self, docs: Docs) -> Iterator[Ids]:
        return (self._segment.document(i).astype(np.int64) for i in docs.tolist())

    def _translated(self, ids: Ids) -> Ids:
        """Token ids of the document's corpus as those of the other; -1 for words that it does not have."""
        return ids if self._ids is None else self._ids[ids]

    def _marks(self, docs: Docs, lengths: NDArray[np.int64], every: Docs | None) -> tuple[Marks, Offsets]:
        """For each token of the documents whether such an n-gram begins there, and where their pieces begin.

        `every` are all documents that will be queried, None if that is not worth a look.
        """
        offsets = _offsets_of(lengths)
        pieces = piece_offsets(offsets, self._segment.breaks_of(docs).tokens)
        if self._starts is None and every is not None and self._inverting_is_cheaper(every):
            self._starts = self._find_starts()
        if self._starts is not None:
            marks = np.zeros(int(offsets[-1]), dtype=np.bool_)
            self._mark(self._starts, docs, offsets, marks)
        else:
            marks = self._looked_up(docs, pieces)
        self._mark(self._edge_starts, docs, offsets, marks)
        self._mark_short(docs, pieces, marks)
        return marks, pieces

    def _inverting_is_cheaper(self, every: Docs) -> bool:
        share = len(every) / max(self._segment.n_documents, 1)
        n_other = sum(segment.n_tokens for segment in self._other.segments)
        return self._n <= LONGEST_INVERTED and INVERTED_COST * n_other < share * self._segment.n_tokens

    def _looked_up(self, docs: Docs, pieces: Offsets) -> Marks:
        """By looking up the documents' n-grams in the other corpus."""
        flat = self._translated(np.concatenate([np.empty(0, dtype=np.int64), *self._documents(docs)]))
        return marks_of_ngrams(flat, pieces, self._other, self._n)

    def _mark(self, places: NDArray[np.uint32], docs: Docs, offsets: Offsets, marks: Marks) -> None:
        """Set `marks` for those of the segment's places (ascending) that are within the documents."""
        starts, stops = self._segment.index.document_bounds(docs)
        lo = np.searchsorted(places, starts)
        hi = np.searchsorted(places, stops)
        for k in np.flatnonzero(hi > lo).tolist():
            _, before = self._segment.index.places_at(places[lo[k] : hi[k]])
            marks[before + offsets[k]] = True

    def _find_starts(self) -> NDArray[np.uint32]:
        """Return the positions in the segment at which an n-gram of the other corpus begins, ascending."""
        own, theirs = self._back
        ids_here = ids_onto(theirs, own)
        index = self._segment.index
        found = PlaceSet(index.n_positions)
        for windows in _windows(self._other, self._n):
            found.add(index.places(*_packed(windows if ids_here is None else ids_here[windows])))
        return found.ascending()

    @cached_property
    def _edge_starts(self) -> NDArray[np.uint32]:
        """Places of the segment at which n-grams of `edges` begin: (k,) uint32, ascending."""
        if not self.edges:
            return np.empty(0, dtype=np.uint32)
        return np.unique(self._segment.index.places(*_packed(np.array(list(self.edges), dtype=np.int64))))

    def _mark_short(self, docs: Docs, pieces: Offsets, marks: Marks) -> None:
        """Pieces of documents of fewer than n tokens are one n-gram each."""
        short = _short(np.diff(pieces), self._n)
        if len(short):
            every = [piece for i in docs.tolist() for piece in self._segment.pieces(i)]
            parts = [every[k].astype(np.int64) for k in short.tolist()]
            counts = self._other.index.count_many(*_joined(map(self._translated, parts)))
            marks[pieces[short]] = counts > 0
            for k in np.flatnonzero(counts == 0).tolist():
                marks[pieces[short[k]]] = len(self._spelled(parts[k])) > 0

    def _spelled(self, ids: Ids) -> Ids:
        """Return tokens of the other corpus that spell the same text, or an empty array."""
        if self._spellings is None or not len(ids):
            return ids[:0]
        text = self._spellings.text(ids)
        wholes = self._spellings.forward.wholes([text], 2 * self._n, self._occur_there)
        _, found = next(wholes, (0, ()))
        return np.array(found, dtype=np.int64)

    def _occur_there(self, flat: Ids, offsets: Offsets) -> Marks:
        occur: Marks = self._other.index.count_many(flat, offsets) > 0
        return occur


def token_chunks(segment: Segment, docs: Docs) -> Iterator[tuple[Docs, NDArray[np.int64]]]:
    """Yield the documents in pieces of about CHUNK_TOKENS, with their lengths."""
    lengths = segment.lengths(docs)
    for first, last in _pieces(lengths):
        yield docs[first:last], lengths[first:last]


def _offsets_of(lengths: NDArray[np.int64]) -> Offsets:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _pieces(lengths: Ids) -> Iterator[tuple[int, int]]:
    """Yield ranges of sequences of these lengths, about CHUNK_TOKENS tokens each, with interrupt checks."""
    ends = np.cumsum(lengths)
    cuts = np.searchsorted(ends, np.arange(0, int(lengths.sum()) + 1, CHUNK_TOKENS), side="right")
    for first, last in pairwise(np.unique(np.concatenate([[0], cuts, [len(lengths)]])).tolist()):
        interrupts.check()
        yield first, last


@dataclass(frozen=True)
class Item:
    """A document of the other corpus."""

    doc_id: int
    ids: Ids


def _short_items(other: Corpus, below: int) -> Iterator[list[Item]]:
    """Yield the documents of a corpus with fewer than `below` tokens, in batches."""
    for i, segment in enumerate(other.segments):
        for chunk, lengths in token_chunks(segment, _kept(other, i)):
            docs = chunk[(lengths > 0) & (lengths < below)].tolist()
            yield [Item(segment.doc_id(k), segment.document(k).astype(np.int64)) for k in docs]


def _kept(other: Corpus, i: int) -> Docs:
    every = np.arange(other.segments[i].n_documents, dtype=np.uint32)
    return np.setdiff1d(every, other.removed(i), assume_unique=True)


def _windows(other: Corpus, n: int) -> Iterator[Ids]:
    """All n-grams of the other corpus that count there, (k, n) at a time; some come more than once."""
    for i, segment in enumerate(other.segments):
        for chunk, _ in token_chunks(segment, _kept(other, i)):
            documents = [segment.document(number).astype(np.int64) for number in chunk.tolist()]
            parts = [np.lib.stride_tricks.sliding_window_view(ids, n) for ids in documents if len(ids) >= n]
            if parts:
                windows = np.concatenate(parts)
                # What a subtracted corpus has removed is ignored, even if its document stays.
                yield windows[other.index.count_many(*_packed(windows)) > 0]


def _joined(ngrams: Iterable[Ids]) -> SharedNgrams:
    """N-grams of any lengths, those that are not empty."""
    parts = [ids for ids in ngrams if len(ids)]
    bounds = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]), bounds


def _packed(windows: Ids) -> tuple[Ids, Offsets]:
    k, n = windows.shape
    return np.ascontiguousarray(windows).reshape(-1), np.arange(k + 1, dtype=np.int64) * n


def first_document(other: Corpus, ids: Ids) -> int:
    """Return the first document of a corpus, in its order, that has the n-gram and remains; -1 if none."""
    interrupts.check()
    for i, segment in enumerate(other.segments):
        docs = np.setdiff1d(segment.index.docs_containing(ids), other.removed(i), assume_unique=True)
        if len(docs):
            return segment.doc_id(int(docs[0]))
    return -1


def ids_onto(own: Tokenizer, other: Tokenizer) -> Ids | None:
    """For each token id of one tokenizer that of the other, -1 for none; None where ids are the same."""
    if own.kind not in GROWING_TOKENIZERS or own is other:
        return None
    words: Any = own
    known: Any = other
    return np.concatenate([known.ids_of(words.entries()), np.full(1, -1, dtype=np.int64)])
