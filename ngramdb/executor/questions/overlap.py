"""OVERLAP(corpus, n): which share of a document's n-grams another corpus has, exactly, and where they are.

An n-gram is a run of n tokens at one place of the document; each place counts. A document of fewer than n
tokens is one n-gram as a whole; one of fewer than LEAST_TOKENS (and than n) has none, and its share is 0.
Tokens are those of the document's corpus. (These are the rules of the Big Friendly Filter, whose default is n
= 13.)

Two ways lead to the same answer: the document's n-grams are looked up in the other corpus, some microsecond
each; or the other's n-grams are looked up among the documents', which is faster where the other corpus is
small, as evaluation sets are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.executor.distinct import each_once
from ngramdb.executor.questions.places import PlaceSet
from ngramdb.kinds import GROWING_TOKENIZERS
from ngramdb.planner.source import Corpus, Segment, Tokenizer
from ngramdb.types import Docs

Shares = NDArray[np.float64]
Marks = NDArray[np.bool_]
Ids = NDArray[np.int64]
Offsets = NDArray[np.int64]
# N-grams, of one length or of several: ids one after the other, and where each begins.
SharedNgrams = tuple[Ids, Offsets]

# Documents below this length, and below n, have no n-gram.
LEAST_TOKENS = 5
# No document is as long; n-grams of more tokens are those of so many.
MOST_TOKENS = 2**31 - 1
# Tokens whose n-grams are looked up at a time.
CHUNK_TOKENS = 1 << 18
# An n-gram of the other corpus costs two counts (in the segment, and in the other corpus itself: is it still
# there?), one of the documents a search for its context besides its own.
INVERTED_COST = 1.0
# Longer n-grams are not looked up among the documents': each is copied for that.
LONGEST_INVERTED = 64


@dataclass(frozen=True)
class Span:
    """Tokens [start, stop) of a document, all n-grams of which another corpus has.

    `other_doc_id` is the first of its documents that have the span's first n-gram.
    """

    start: int
    stop: int
    other_doc_id: int


def overlap_shares(corpus: Corpus, segment: Segment, docs: Docs, other: Corpus, n: int) -> Shares:
    """The share of n-grams that the other corpus has, for each of these documents (ascending): (k,) float64.

    Cost: about a microsecond for each token of the documents, or for each of the other corpus, whichever is
    less.
    """
    found, windows = np.zeros(len(docs), dtype=np.int64), np.zeros(len(docs), dtype=np.int64)
    base, n = 0, min(n, MOST_TOKENS)
    matcher = _Matcher(corpus, segment, other, n)
    for chunk, lengths in _chunks(segment, docs):
        marks, offsets = matcher.marks(chunk, lengths, docs)
        sums = np.concatenate([[0], np.cumsum(marks)])
        found[base : base + len(chunk)] = sums[offsets[1:]] - sums[offsets[:-1]]
        windows[base : base + len(chunk)] = n_windows(lengths, n)
        base += len(chunk)
    shares: Shares = np.divide(found, windows, out=np.zeros(len(docs)), where=windows > 0)
    return shares


def overlap_spans(
    corpus: Corpus, segment: Segment, docs: Docs, other: Corpus, n: int
) -> Iterator[list[Span]]:
    """For each of these documents its maximal runs of n-grams that the other corpus has, in order."""
    n = min(n, MOST_TOKENS)
    matcher = _Matcher(corpus, segment, other, n)
    for doc in docs.tolist():
        interrupts.check()
        lengths = np.array([segment.document_length(doc)], dtype=np.int64)
        marks, _ = matcher.marks(np.array([doc], dtype=np.uint32), lengths, None)
        yield spans_of(marks, matcher.translated(segment.document(doc).astype(np.int64)), other, n)


def shared_ngrams(
    corpus: Corpus, segment: Segment, docs: Docs, other: Corpus, n: int
) -> Iterator[SharedNgrams]:
    """The n-grams of these documents that the other corpus has, in ids of its tokenizer.

    They come document by document, some more than once.
    """
    n = min(n, MOST_TOKENS)
    matcher = _Matcher(corpus, segment, other, n)
    for chunk, lengths in _chunks(segment, docs):
        marks, offsets = matcher.marks(chunk, lengths, docs)
        flat = np.concatenate([segment.document(i).astype(np.int64) for i in chunk.tolist()])
        yield marked_ngrams(matcher.translated(flat), offsets, marks, n)


def marked_ngrams(flat: Ids, offsets: Offsets, marks: Marks, n: int) -> SharedNgrams:
    """The n-grams of documents that begin at the marked tokens; of a document below n tokens, all of it."""
    starts = np.flatnonzero(marks)
    stops = offsets[np.searchsorted(offsets, starts, side="right")]
    lengths = np.minimum(stops - starts, n)
    bounds = np.zeros(len(starts) + 1, dtype=np.int64)
    np.cumsum(lengths, out=bounds[1:])
    places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], lengths)
    return flat[places], bounds


def n_documents_with(corpus: Corpus, ngrams: Iterable[SharedNgrams]) -> int:
    """How many documents of a corpus from which nothing was removed have any of the n-grams.

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
    """How many n-grams documents of these lengths have: (k,) int64."""
    short = (lengths >= min(LEAST_TOKENS, n)) & (lengths < n)
    return np.where(short, 1, np.maximum(lengths - n + 1, 0))


def marked_places(flat: Ids, offsets: Offsets, other: Corpus, n: int) -> Marks:
    """For documents given as ids of the other corpus's tokenizer: where n-grams begin that it has, (m,) bool.

    Cost: about a microsecond a token.
    """
    n = min(n, MOST_TOKENS)
    marks = _long_marks(flat, offsets, other, n)
    short = _short(np.diff(offsets), n)
    if len(short):
        parts = [flat[offsets[k] : offsets[k + 1]] for k in short.tolist()]
        bounds = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        marks[offsets[short]] = other.index.count_many(np.concatenate(parts), bounds) > 0
    return marks


def spans_of(marks: Marks, ids: Ids, other: Corpus, n: int) -> list[Span]:
    """The maximal runs of marked places of one document, whose ids are of the other corpus's tokenizer."""
    length = min(n, len(ids))
    edges = np.flatnonzero(np.diff(np.concatenate([[0], marks.astype(np.int8), [0]])))
    return [
        Span(first, last - 1 + length, _first_document(other, ids[first : first + length]))
        for first, last in edges.reshape(-1, 2).tolist()
    ]


def _long_marks(flat: Ids, offsets: Offsets, other: Corpus, n: int) -> Marks:
    """The same for documents of at least n tokens only."""
    counts = other.index.score(flat, offsets, False, n)[0]
    places = np.arange(len(flat)) - np.repeat(offsets[:-1], np.diff(offsets))
    marks = np.zeros(len(flat), dtype=np.bool_)
    marks[np.flatnonzero((places >= n - 1) & (counts > 0)) - (n - 1)] = True
    return marks


def _short(lengths: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Which documents are one n-gram as a whole."""
    return np.flatnonzero((lengths >= min(LEAST_TOKENS, n)) & (lengths < n))


class _Matcher:
    """Marks the places of documents at which n-grams begin that the other corpus has."""

    def __init__(self, corpus: Corpus, segment: Segment, other: Corpus, n: int) -> None:
        self._segment = segment
        self._other = other
        self._n = n
        self._ids = _ids_of(corpus.tokenizer, other.tokenizer)
        self._back = (corpus.tokenizer, other.tokenizer)
        self._starts: NDArray[np.uint32] | None = None

    def translated(self, ids: Ids) -> Ids:
        """Token ids of the document's corpus as those of the other; -1 for words that it does not have."""
        return ids if self._ids is None else self._ids[ids]

    def marks(self, docs: Docs, lengths: NDArray[np.int64], every: Docs | None) -> tuple[Marks, Offsets]:
        """For each token of the documents whether such an n-gram begins there, and where documents begin.

        `every` are all documents that will be asked for, None when that is not worth a look.
        """
        offsets = np.zeros(len(docs) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        if self._starts is None and every is not None and self._inverting_is_cheaper(every):
            self._starts = self._find_starts()
        inverted = self._starts is not None
        marks = self._marked(docs, offsets) if inverted else self._looked_up(docs, offsets)
        self._mark_short(docs, lengths, offsets, marks)
        return marks, offsets

    def _inverting_is_cheaper(self, every: Docs) -> bool:
        share = len(every) / max(self._segment.n_documents, 1)
        n_other = sum(segment.n_tokens for segment in self._other.segments)
        return self._n <= LONGEST_INVERTED and INVERTED_COST * n_other < share * self._segment.n_tokens

    def _looked_up(self, docs: Docs, offsets: Offsets) -> Marks:
        """By looking up the documents' n-grams in the other corpus."""
        parts = [self._segment.document(i) for i in docs.tolist()]
        flat = self.translated(np.concatenate([np.empty(0, dtype=np.int64), *parts]))
        return _long_marks(flat, offsets, self._other, self._n)

    def _marked(self, docs: Docs, offsets: Offsets) -> Marks:
        """By the places in the segment that the other corpus's n-grams have."""
        assert self._starts is not None
        marks = np.zeros(int(offsets[-1]), dtype=np.bool_)
        starts, stops = self._segment.index.document_bounds(docs)
        lo = np.searchsorted(self._starts, starts)
        hi = np.searchsorted(self._starts, stops)
        for k in np.flatnonzero(hi > lo).tolist():
            marks[self._starts[lo[k] : hi[k]].astype(np.int64) - int(starts[k]) + offsets[k]] = True
        return marks

    def _find_starts(self) -> NDArray[np.uint32]:
        """Where in the segment an n-gram of the other corpus begins: ascending places."""
        own, theirs = self._back
        ids_here = _ids_of(theirs, own)
        index = self._segment.index
        found = PlaceSet(index.n_positions)
        for windows in _windows(self._other, self._n):
            found.add(index.places(*_packed(windows if ids_here is None else ids_here[windows])))
        return found.ascending()

    def _mark_short(self, docs: Docs, lengths: NDArray[np.int64], offsets: Offsets, marks: Marks) -> None:
        """Documents of fewer than n tokens are one n-gram each."""
        short = _short(lengths, self._n)
        if len(short):
            parts = [self._segment.document(i).astype(np.int64) for i in docs[short].tolist()]
            bounds = np.concatenate([[0], np.cumsum(lengths[short])])
            counts = self._other.index.count_many(self.translated(np.concatenate(parts)), bounds)
            marks[offsets[short]] = counts > 0


def _chunks(segment: Segment, docs: Docs) -> Iterator[tuple[Docs, NDArray[np.int64]]]:
    """The documents in pieces of about CHUNK_TOKENS, with their lengths."""
    starts, stops = segment.index.document_bounds(docs)
    lengths = stops.astype(np.int64) - starts.astype(np.int64)
    cuts = np.searchsorted(
        np.cumsum(lengths), np.arange(0, int(lengths.sum()) + 1, CHUNK_TOKENS), side="right"
    )
    bounds = np.unique(np.concatenate([[0], cuts, [len(docs)]]))
    for first, last in pairwise(bounds.tolist()):
        interrupts.check()
        yield docs[first:last], lengths[first:last]


def _windows(other: Corpus, n: int) -> Iterator[Ids]:
    """All n-grams of the other corpus that count there, (k, n) at a time; some come more than once."""
    for i, segment in enumerate(other.segments):
        docs = np.setdiff1d(
            np.arange(segment.n_documents, dtype=np.uint32), other.removed(i), assume_unique=True
        )
        for chunk, _ in _chunks(segment, docs):
            documents = [segment.document(number).astype(np.int64) for number in chunk.tolist()]
            parts = [np.lib.stride_tricks.sliding_window_view(ids, n) for ids in documents if len(ids) >= n]
            if parts:
                windows = np.concatenate(parts)
                # What a subtracted corpus has taken away does not count, even if its document stays.
                yield windows[other.index.count_many(*_packed(windows)) > 0]


def _packed(windows: Ids) -> tuple[Ids, Offsets]:
    k, n = windows.shape
    return np.ascontiguousarray(windows).reshape(-1), np.arange(k + 1, dtype=np.int64) * n


def _first_document(other: Corpus, ids: Ids) -> int:
    """The first document of a corpus, in its order, that has the n-gram and was not removed; -1 for none."""
    for i, segment in enumerate(other.segments):
        docs = np.setdiff1d(segment.index.docs_containing(ids), other.removed(i), assume_unique=True)
        if len(docs):
            return segment.doc_id(int(docs[0]))
    return -1


def _ids_of(own: Tokenizer, other: Tokenizer) -> Ids | None:
    """For each token id of one tokenizer that of the other, -1 for none; None where ids are the same."""
    if own.kind not in GROWING_TOKENIZERS or own is other:
        return None
    words: Any = own
    known: Any = other
    return np.concatenate([known.ids_of(words.entries()), np.full(1, -1, dtype=np.int64)])
