"""The lines of KWIC: occurrences as places, and the text of those that are read.

Occurrences are places until their lines are read; then the texts of those lines are made. By default, lines
are in the order of documents, one segment at a time. For other orders and for samples, the places of all
occurrences are in memory (8 bytes each).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.joins import sentences_at
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.expressions import Expressions
from ngramdb.conditions.interruptible_sort import each_once
from ngramdb.conditions.occurrences import Finder, Occurrences
from ngramdb.executor.per_segment import documents_of, evaluator_of
from ngramdb.executor.result import Row, TextPlace
from ngramdb.patterns import Pattern
from ngramdb.planner.plan import Costs, DocExpr, FieldKey, InPart, PlanMeter
from ngramdb.questions.docs import documents_in_order
from ngramdb.questions.document_columns import ReturnedColumns
from ngramdb.questions.groups import forms
from ngramdb.questions.kwic_edges import Edges, LinePlaces, Side
from ngramdb.questions.kwic_order import TokensAt
from ngramdb.questions.kwic_text import Contexts, Display, Line, Shown, contexts_of
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
from ngramdb.types import Docs

# Lines per batch: few at first, for a quick first line; then more, since texts of many are read together.
BATCH_LINES = 64
GROWTH = 4
# The most lines whose texts, some kB each, are in memory together.
SHOWN_PIECE = 1 << 14


class Search(NamedTuple):
    """The occurrences that lines show: those of a pattern, or of an expression `what`, in documents.

    `pattern` is None if occurrences of an expression are of several patterns.
    """

    pattern: Pattern | None
    where: DocExpr
    what: InPart | None
    costs: Costs | None


@dataclass(frozen=True)
class FoundLines:
    """The documents of a segment with lines, the number of lines, and the lines if counting found them."""

    docs: DocSet
    n: int
    occurrences: Occurrences | None = None


def lines_in(corpus: Corpus, i: int, search: Search, meter: PlanMeter | None = None) -> FoundLines:
    """Find the lines of segment i."""
    if search.what is not None:
        evaluator, kept = evaluator_of(corpus, i, search.costs, meter)
        docs = evaluator.evaluate(search.what.docs)
        docs = docs if kept is None else docs & kept
        expressions: Expressions | None = evaluator.expressions
    else:
        docs, expressions = documents_of(corpus, i, search.where, search.costs, meter), None
        if docs.negated and not len(docs.docs) and search.pattern is not None:
            finder = Finder(corpus.segments[i], corpus.tokenizer, search.costs)
            return FoundLines(docs, finder.count(search.pattern))
    found = _occurrences(corpus, i, search, docs, expressions) if len(docs) else Occurrences.none()
    return FoundLines(docs, len(found), found)


def _occurrences(
    corpus: Corpus, i: int, search: Search, docs: DocSet, expressions: Expressions | None = None
) -> Occurrences:
    """Find all occurrences in these documents, in the order of their first tokens."""
    if search.what is None:
        assert search.pattern is not None
        return Finder(corpus.segments[i], corpus.tokenizer, search.costs).within(search.pattern, docs)
    if expressions is None:
        expressions = evaluator_of(corpus, i, search.costs, None)[0].expressions
    if search.pattern is None:
        expressions.keep_cuts()
    return expressions.occurrences(search.what.what, docs)


class SegmentLines:
    """The lines of one segment; occurrences are found when they are first needed.

    Parameters
    ----------
    number : the number of the segment in the corpus
    window : tokens on either side; None for the sentence
    returned : the columns beside each line, if any
    """

    def __init__(
        self,
        corpus: Corpus,
        number: int,
        search: Search,
        found: FoundLines,
        window: int | None,
        returned: ReturnedColumns | None,
    ) -> None:
        self._corpus = corpus
        self._search = search
        self._window = window
        self._returned = returned
        self.number = number
        self.segment: Segment = corpus.segments[number]
        self._docs = found.docs
        self._n = found.n
        self._found = found.occurrences
        # If lines were dropped: the number of each one among those that start in the same token.
        self._nths: IntArray | None = None
        self._contexts: Contexts | None = None

    @property
    def occurrences(self) -> Occurrences:
        """All occurrences, in the order of the text."""
        if self._found is None:
            self._found = _occurrences(self._corpus, self.number, self._search, self._docs)
        return self._found

    def __len__(self) -> int:
        return self._n

    def keep(self, chosen: IntArray) -> None:
        """Drop all lines except these (ascending)."""
        every = self.occurrences
        self._nths = _ordinals(every.starts)[chosen]
        self._found = every[chosen]
        self._n = len(chosen)

    def forget(self) -> None:
        """Free the occurrences, which can be found again unless lines were dropped."""
        if self._nths is None:
            self._found = None

    def places(self) -> tuple[NDArray[np.uint32], IntArray, IntArray]:
        """Return each line's document, its first token, and its number among those that start there."""
        found = self.occurrences
        documents, starts = self.segment.index.places_at(found.starts)
        return documents, starts.astype(np.int64), _ordinals(found.starts)

    def rows(self, chosen: IntArray) -> Iterator[Row]:
        """Yield the lines with these numbers, in this order."""
        for some in in_batches([chosen]):
            yield from self.batch(some)

    def text_places(self, chosen: IntArray) -> Iterator[TextPlace]:
        """Yield the places of these lines' matches (ascending) in their documents' texts."""
        for some in in_batches([chosen]):
            for i, line in enumerate(self._lines(some)[1]):
                if i % BATCH_LINES == 0:
                    interrupts.check()
                yield line.start, self._shown_by.place(line)

    @property
    def _shown_by(self) -> Contexts:
        if self._contexts is None:
            display = Display(self._corpus.tokenizer, self._window == 0, self._search.pattern)
            self._contexts = contexts_of(self.segment, display)
        return self._contexts

    def _lines(self, chosen: IntArray) -> tuple[Docs, list[Line]]:
        """Return the documents of these lines, and the lines."""
        part = self.occurrences[chosen]
        documents, starts = self.segment.index.places_at(part.starts)
        stops = starts + (part.stops - part.starts)
        before, after = self.sides(chosen)
        columns = (documents, starts, stops, self._ordinals(chosen), before, after)
        places = zip(*(column.tolist() for column in columns), strict=True)
        cuts = repeat(None) if part.cuts is None else map(tuple, part.cuts.tolist())
        return documents, [Line._make((*place, cut)) for place, cut in zip(places, cuts, strict=False)]

    def edges(self, chosen: IntArray, side: Side) -> Edges:
        """Return the texts next to the matches of these lines (ascending)."""
        part = self.occurrences[chosen]
        documents, first = self.segment.index.places_at(part.starts)
        columns = (documents, first.astype(np.int64), self._ordinals(chosen), *self.sides(chosen))
        places = LinePlaces(part.starts, part.stops, *columns, part.cuts)
        return self._shown_by.edges(places, lambda some: self._lines(chosen[some])[1], side)

    def batch(self, chosen: IntArray) -> list[Row]:
        """Return the lines with these numbers, in this order. Each document is read once."""
        documents, lines = self._lines(chosen)
        shown: dict[int, Shown] = {}
        # Adjacent texts are in the same compressed frame.
        for i, k in enumerate(np.argsort(documents, kind="stable").tolist()):
            if i % BATCH_LINES == 0:
                interrupts.check()
            shown[k] = self._shown_by.show(lines[k])
        doc_ids, beside = self.segment.doc_ids(documents).tolist(), self._beside(documents)
        return [
            (doc_id, line.start, *shown[k], *beside.get(line.document, ()))
            for k, (doc_id, line) in enumerate(zip(doc_ids, lines, strict=True))
        ]

    @property
    def in_sentences(self) -> bool:
        """True if lines show their sentences."""
        return self._window is None

    def sides(self, chosen: IntArray) -> tuple[IntArray, IntArray]:
        """Return the numbers of tokens shown before and after these lines."""
        if self._window is not None:
            same = np.full(len(chosen), self._window, dtype=np.int64)
            return (same, same) if not self.segment.n_breaks else self._within_pieces(chosen, same)
        bits, part = self.segment.sentences, self.occurrences[chosen]
        assert bits is not None, "binding requires a corpus with sentences"
        last = np.maximum(part.stops, part.starts + np.uint32(1)) - np.uint32(1)
        begins, ends = sentences_at(bits, part.starts)[0], sentences_at(bits, last)[1]
        before, after = part.starts.astype(np.int64) - begins, ends.astype(np.int64) - part.stops
        return before, np.maximum(after, 0)

    def _within_pieces(self, chosen: IntArray, most: IntArray) -> tuple[IntArray, IntArray]:
        """Return the numbers of tokens before and after these lines in their pieces, at most `most`."""
        part = self.occurrences[chosen]
        first, last = (bound.astype(np.int64) for bound in self.segment.index.piece_bounds(part.starts))
        before, after = part.starts - first, last - part.stops
        return np.minimum(before, most), np.clip(after, 0, most)

    def _ordinals(self, chosen: IntArray) -> IntArray:
        """Return the number of each of these lines among all that start in the same token."""
        if self._nths is not None:
            return self._nths[chosen]
        starts = self.occurrences.starts
        return chosen - np.searchsorted(starts, starts[chosen])

    def _beside(self, documents: Docs) -> dict[int, Row]:
        """Return the columns of RETURNING by document."""
        if self._returned is None:
            return {}
        return {i: self._returned.row(self.segment, i) for i in np.unique(documents).tolist()}


def in_batches(pieces: Iterable[IntArray]) -> Iterator[IntArray]:
    """Yield the numbers of arrays in batches: BATCH_LINES at first, then more, up to SHOWN_PIECE."""
    size = BATCH_LINES
    waiting: list[IntArray] = []
    n_waiting = 0
    for piece in pieces:
        while n_waiting + len(piece) >= size:
            yield np.concatenate([*waiting, piece[: size - n_waiting]])
            piece = piece[size - n_waiting :]
            waiting, n_waiting, size = [], 0, min(size * GROWTH, SHOWN_PIECE)
        waiting.append(piece)
        n_waiting += len(piece)
    if n_waiting:
        yield np.concatenate(waiting)


def _ordinals(starts: NDArray[np.uint32]) -> IntArray:
    """Return, for each of ascending numbers, the number of equal ones before it."""
    return np.arange(len(starts)) - np.searchsorted(starts, starts)


class AllLines:
    """The lines of all segments, numbered consecutively."""

    def __init__(self, parts: Sequence[SegmentLines]) -> None:
        self._parts = parts
        self._first = np.cumsum([0, *map(len, parts)])

    def __len__(self) -> int:
        return int(self._first[-1])

    @property
    def are_cut(self) -> bool:
        """True if some may begin or end within a token."""
        every = (part.occurrences.cuts for part in self._parts if len(part))
        return any(cuts is not None and cuts.any() for cuts in every)

    def by_form(self, lines: IntArray, corpus: Corpus, descending: bool) -> IntArray:
        """Return lines (ascending) in the order of their matches, which are whole tokens.

        Cost: that of GROUP BY FORM.
        """
        bounds = np.searchsorted(lines, self._first)
        found = [
            forms(corpus, part.segment, part.occurrences[lines[start:stop] - first])
            for part, first, (start, stop) in zip(
                self._parts, self._first[:-1], pairwise(bounds), strict=True
            )
            if start < stop
        ]
        keys = [[" ".join(text.casefold().split()) for text in codes.values] for codes in found]
        rank = {key: i for i, key in enumerate(sorted(set(chain.from_iterable(keys))))}
        ranks = [
            np.array([rank[key] for key in some], dtype=np.int64)[codes.codes]
            for some, codes in zip(keys, found, strict=True)
        ]
        every = np.concatenate([np.empty(0, dtype=np.int64), *ranks])
        return lines[np.argsort(-every if descending else every, kind="stable")]

    def by_fields(self, keys: Sequence[FieldKey]) -> IntArray:
        """Return all lines in the order of fields of their documents, then of documents and positions."""
        owners: list[tuple[Segment, DocSet]] = []
        documents = []
        for part in self._parts:
            interrupts.check()
            at = part.segment.index.documents_at(part.occurrences.starts)
            documents.append(at)
            owners.append((part.segment, DocSet(each_once(at), part.segment.n_documents)))
        parts, numbers = documents_in_order(keys, owners)
        ranks = []
        for i, (segment, _) in enumerate(owners):
            own = np.flatnonzero(parts == i)
            table = np.zeros(segment.n_documents, dtype=np.int64)
            table[numbers[own]] = own
            ranks.append(table[documents[i]])
        return np.argsort(np.concatenate([np.empty(0, dtype=np.int64), *ranks]), kind="stable")

    def tokens_at(self, to_left: bool) -> TokensAt:
        """Return the function that returns the tokens at a distance from lines (numbers, ascending)."""
        # For lines in sentences, the numbers of tokens shown on that side: 4 bytes each.
        shown = [
            part.sides(np.arange(len(part)))[0 if to_left else 1].astype(np.uint32)
            if part.in_sentences
            else None
            for part in self._parts
        ]

        def tokens_of(lines: IntArray, depth: int) -> IntArray:
            bounds = np.searchsorted(lines, self._first)
            found = np.empty(len(lines), dtype=np.int64)
            for i, part in enumerate(self._parts):
                start, stop, first = bounds[i], bounds[i + 1], self._first[i]
                if start == stop:
                    continue
                interrupts.check()
                every = part.occurrences
                own = lines[start:stop] - first
                places = every.starts[own] if to_left else every.stops[own]
                tokens = part.segment.index.tokens_at(places, -1 - depth if to_left else depth)
                n_shown = shown[i]
                if n_shown is not None:
                    tokens[depth >= n_shown[own]] = -1
                found[start:stop] = tokens
            return found

        return tokens_of

    def edges(self, lines: IntArray, side: Side) -> Edges:
        """Return the texts next to the matches of lines (ascending)."""
        bounds = np.searchsorted(lines, self._first)
        found = Edges([], [])
        for part, first, (start, stop) in zip(self._parts, self._first[:-1], pairwise(bounds), strict=True):
            texts, whole = part.edges(lines[start:stop] - first, side) if start < stop else ((), ())
            found.texts.extend(texts)
            found.whole.extend(whole)
        return found

    def rows(self, pieces: Iterable[IntArray]) -> Iterator[tuple[SegmentLines, Row]]:
        """Yield the lines with the numbers in these arrays, in their order."""
        for some in in_batches(pieces):
            which = np.searchsorted(self._first, some, side="right") - 1
            made = {
                number: iter(self._parts[number].batch(some[which == number] - self._first[number]))
                for number in np.unique(which).tolist()
            }
            for number in which.tolist():
                yield self._parts[number], next(made[number])
