"""KWIC: the occurrences of a pattern as lines, each with what stands to its left and right.

Occurrences are places only until their lines are read: texts are made for the lines that are asked for. By
default lines come in the order of documents, a segment at a time; in the order of their contexts, or sampled,
the places of all occurrences are in memory together (8 bytes each). What puts them in order is bounded where
LIMIT asks for a part of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.sentence_bits import sentences_at
from ngramdb.conditions.disjunction import united
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.evaluation import PlanMeter
from ngramdb.conditions.expressions import Expressions
from ngramdb.conditions.occurrences import Finder, Occurrences
from ngramdb.executor.kwic.sort_keys import ContextKeys, ContextOrder, TokensAt, first_in_order
from ngramdb.executor.kwic.text import Contexts, Display, Line, Shown, contexts_of, sought_text
from ngramdb.executor.per_segment import each_segment
from ngramdb.executor.questions.counting import evaluator_of
from ngramdb.executor.questions.document_columns import ReturnedColumns
from ngramdb.executor.questions.documents import documents_of
from ngramdb.executor.questions.group_codes import forms
from ngramdb.executor.questions.ordering import in_order as documents_in_order
from ngramdb.executor.questions.sampling import Drawing, corpus_salt, ranks
from ngramdb.executor.results.result import ColumnType, Result, Row, TextPlace, batched
from ngramdb.interruptible_sort import each_once
from ngramdb.planner.plan import (
    BY_FIELDS,
    BY_FORM,
    BY_LEFT,
    BY_PLACE,
    CONCORDANCE_COLUMNS,
    Actual,
    Concordance,
    FieldKey,
    changed,
)
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
from ngramdb.types import Docs

# Lines per batch: the first ones shall be there at once, and the texts of many are read once for all of them.
BATCH_LINES = 64
GROWTH = 4
# Lines that are put in order at a time where few of many are asked for: by their tokens, some 40 bytes each,
# and by their texts, some kB.
PIECE = 1 << 21
SHOWN_PIECE = 1 << 14
# The same by the forms of matches, of which each distinct one is a text.
FORM_PIECE = 1 << 17

CONCORDANCE_TYPES: tuple[ColumnType, ...] = (int, int, str, str, str)


@dataclass(frozen=True)
class FoundLines:
    """Of one segment the documents, how many lines these have, and which, where that had to be found."""

    docs: DocSet
    n: int
    occurrences: Occurrences | None = None


def lines_in(corpus: Corpus, i: int, plan: Concordance, meter: PlanMeter | None = None) -> FoundLines:
    """The lines of segment i."""
    if plan.what is not None:
        evaluator, kept = evaluator_of(corpus, i, plan.costs, meter)
        docs = evaluator.evaluate(plan.what.docs)
        docs = docs if kept is None else docs & kept
        expressions: Expressions | None = evaluator.expressions
    else:
        docs, expressions = documents_of(corpus, i, plan.where, plan.costs, meter), None
        if docs.negated and not len(docs.docs) and plan.pattern is not None:
            finder = Finder(corpus.segments[i], corpus.tokenizer, plan.costs)
            return FoundLines(docs, finder.count(plan.pattern))
    found = _occurrences(corpus, i, plan, docs, expressions) if len(docs) else Occurrences.none()
    return FoundLines(docs, len(found), found)


def _occurrences(
    corpus: Corpus, i: int, plan: Concordance, docs: DocSet, expressions: Expressions | None = None
) -> Occurrences:
    """All of them in these documents, by where they begin: n-grams of a pattern after their beginnings."""
    if plan.what is None:
        assert plan.pattern is not None
        return Finder(corpus.segments[i], corpus.tokenizer, plan.costs).within(plan.pattern, docs)
    if expressions is None:
        expressions = evaluator_of(corpus, i, plan.costs, None)[0].expressions
    if plan.pattern is None:
        expressions.keep_cuts()
    return expressions.occurrences(plan.what.what, docs)


class SegmentLines:
    """The lines of one segment; occurrences are found when they are first needed."""

    def __init__(self, plan: Concordance, number: int, found: FoundLines, display: Display) -> None:
        self._plan = plan
        self._display = display
        self.number = number
        self.segment: Segment = plan.corpus.segments[number]
        self._docs = found.docs
        self._n = found.n
        self._found = found.occurrences
        # Where lines were dropped: which of those that start there each one is.
        self._nths: IntArray | None = None
        self._contexts: Contexts | None = None
        self._returned = ReturnedColumns(plan.corpus, plan.returning) if plan.returning else None

    @property
    def occurrences(self) -> Occurrences:
        """All of them, in the order of the text."""
        if self._found is None:
            self._found = _occurrences(self._plan.corpus, self.number, self._plan, self._docs)
        return self._found

    def __len__(self) -> int:
        return self._n

    def keep(self, chosen: IntArray) -> None:
        """Drop all lines but these (ascending)."""
        every = self.occurrences
        self._nths = _ordinals(every.starts)[chosen]
        self._found = every[chosen]
        self._n = len(chosen)

    def forget(self) -> None:
        """Frees what can be found again."""
        if self._plan.sample is None:
            self._found = None

    def places(self) -> tuple[NDArray[np.uint32], IntArray, IntArray]:
        """Of every line: the document, the token it starts at, and which it is of those that start there."""
        found = self.occurrences
        documents = self.segment.index.documents_at(found.starts)
        first, _ = self.segment.index.document_bounds(documents)
        return documents, found.starts.astype(np.int64) - first, _ordinals(found.starts)

    def rows(self, chosen: IntArray) -> Iterator[Row]:
        """The lines with these numbers, in this order."""
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
            self._contexts = contexts_of(self.segment, self._display)
        return self._contexts

    def _lines(self, chosen: IntArray) -> tuple[Docs, list[Line]]:
        """The documents of these lines, and the lines as they are shown."""
        part = self.occurrences[chosen]
        documents = self.segment.index.documents_at(part.starts)
        first, _ = self.segment.index.document_bounds(documents)
        starts = part.starts.astype(np.int64) - first
        stops = part.stops.astype(np.int64) - first
        before, after = self.sides(chosen)
        columns = (documents, starts, stops, self._ordinals(chosen), before, after)
        places = zip(*(column.tolist() for column in columns), strict=True)
        cuts = repeat(None) if part.cuts is None else map(tuple, part.cuts.tolist())
        return documents, [Line._make((*place, cut)) for place, cut in zip(places, cuts, strict=False)]

    def batch(self, chosen: IntArray) -> list[Row]:
        """Like `rows`, all at once: each document is read once, whatever the order."""
        documents, lines = self._lines(chosen)
        shown: dict[int, Shown] = {}
        # Neighbouring texts lie in the same compressed frame.
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
        """Whether lines show their sentences."""
        return self._plan.window is None

    def sides(self, chosen: IntArray) -> tuple[IntArray, IntArray]:
        """How many tokens are shown before and after these lines: a window, or what their sentences have."""
        if self._plan.window is not None:
            same = np.full(len(chosen), self._plan.window, dtype=np.int64)
            return same, same
        bits, part = self.segment.sentences, self.occurrences[chosen]
        assert bits is not None, "plans ask corpora that know their sentences"
        last = np.maximum(part.stops, part.starts + np.uint32(1)) - np.uint32(1)
        begins, ends = sentences_at(bits, part.starts)[0], sentences_at(bits, last)[1]
        before, after = part.starts.astype(np.int64) - begins, ends.astype(np.int64) - part.stops
        return before, np.maximum(after, 0)

    def _ordinals(self, chosen: IntArray) -> IntArray:
        """Of these lines, which each one is of all that start in its token."""
        if self._nths is not None:
            return self._nths[chosen]
        starts = self.occurrences.starts
        return chosen - np.searchsorted(starts, starts[chosen])

    def _beside(self, documents: Docs) -> dict[int, Row]:
        """What RETURNING asks for, by document."""
        if self._returned is None:
            return {}
        return {i: self._returned.row(self.segment, i) for i in np.unique(documents).tolist()}


def in_batches(pieces: Iterable[IntArray]) -> Iterator[IntArray]:
    """Arrays one after the other, cut anew: BATCH_LINES first, then more, up to SHOWN_PIECE at a time."""
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
    """For each of ascending numbers, how many equal ones stand before it."""
    return np.arange(len(starts)) - np.searchsorted(starts, starts)


def concordance(plan: Concordance, meter: PlanMeter | None = None) -> Result:
    """A row per line; `total` in the summary is how many occurrences there are, whatever is shown of them."""
    plan.corpus.check_difference()
    plan, parts = _found(plan, meter)
    total = n_lines = sum(map(len, parts))
    summary: dict[str, Any] = {"total": total}
    if plan.sample is not None:
        n_lines = min(total, plan.sample.size)
        summary.update(sampled=n_lines, seed=plan.sample.seed)
        if n_lines < total:
            _draw(plan, parts)
    stop = n_lines if plan.limit is None else min(n_lines, plan.offset + plan.limit)
    rows = _rows(plan, parts, plan.offset, stop)
    columns: tuple[str, ...] = CONCORDANCE_COLUMNS
    types = CONCORDANCE_TYPES
    came: tuple[Any, ...] = (None,) * len(columns)
    if plan.returning:
        returned = ReturnedColumns(plan.corpus, plan.returning)
        names = (f"metadata.{name}" if name in CONCORDANCE_COLUMNS else name for name in returned.names)
        columns, types = (*columns, *names), (*types, *returned.types)
        came = (*came, *returned.arrow_types())
    if plan.corpus.n_added > 1:
        columns, types, came = ("corpus", *columns), (str, *types), (None, *came)
    result = Result(
        columns,
        batched(rows, BATCH_LINES),
        summary=summary,
        n_rows=max(0, stop - plan.offset),
        types=types,
    )
    result.arrow_types = came
    result.found = total > 0
    if plan.order == BY_PLACE and not plan.descending:
        result.places = _text_places(parts, plan.offset, stop)
    return result


def _text_places(parts: Sequence[SegmentLines], start: int, stop: int) -> Iterator[TextPlace]:
    """Yield the places of the lines `start … stop` in their documents' texts."""
    position = 0
    for part in parts:
        first, last = max(start - position, 0), min(stop - position, len(part))
        position += len(part)
        if first < last:
            yield from part.text_places(np.arange(first, last))


def lines_of(plan: Concordance) -> list[SegmentLines]:
    """The lines of each segment, in the order of documents, whatever order the plan asks for."""
    plan.corpus.check_difference()
    return _found(plan, None)[1]


def _found(plan: Concordance, meter: PlanMeter | None) -> tuple[Concordance, list[SegmentLines]]:
    """The lines of each segment; of an expression, all of them are found at once."""
    if plan.what is not None and meter is None:
        plan = changed(plan, what=changed(plan.what, what=united(plan.what.what, plan.corpus.tokenizer)))
    display = Display(plan.corpus.tokenizer, plan.window == 0, plan.pattern)
    with nullcontext(Actual()) if meter is None or plan.what is None else meter.timed(plan.what) as actual:
        parts = [
            SegmentLines(plan, i, found, display)
            for i, found in enumerate(each_segment(plan.corpus, lines_in, plan, meter=meter))
        ]
        actual.rows += sum(map(len, parts))
    return plan, parts


def _draw(plan: Concordance, parts: Sequence[SegmentLines]) -> None:
    assert plan.sample is not None
    drawing = Drawing(plan.sample)
    for part in parts:
        interrupts.step(part.number, len(parts))
        documents, starts, nths = part.places()
        doc_ids = part.segment.doc_ids(documents)
        drawing.add(
            part.number, ranks(plan.sample, corpus_salt(plan.corpus, part.number), doc_ids, starts, nths)
        )
    for part in parts:
        part.keep(drawing.drawn(part.number))


def _rows(plan: Concordance, parts: Sequence[SegmentLines], start: int, stop: int) -> Iterator[Row]:
    if plan.order == BY_PLACE:
        rows = _by_place(plan, parts, start, stop)
    elif plan.order == BY_FIELDS:
        lines = AllLines(parts)
        rows = lines.rows([lines.by_fields(plan.keys)[start:stop]])
    else:
        rows = _by_context(plan, parts, start, stop)
    if plan.corpus.n_added < 2:
        return (row for _, row in rows)
    return ((plan.corpus.corpus_of(part.number), *row) for part, row in rows)


def _by_place(
    plan: Concordance, parts: Sequence[SegmentLines], start: int, stop: int
) -> Iterator[tuple[SegmentLines, Row]]:
    """Lines `start … stop` by document, and by position within it. Segments hold documents by their ids."""
    position = 0
    for part in reversed(parts) if plan.descending else parts:
        n = len(part)
        first, last = max(start - position, 0), min(stop - position, n)
        position += n
        if first >= last:
            continue
        if plan.descending:
            documents = part.segment.index.documents_at(part.occurrences.starts)
            numbers = np.argsort(~documents, kind="stable")[first:last]
        else:
            numbers = np.arange(first, last)
        for row in part.rows(numbers):
            yield part, row
        part.forget()


def _by_context(
    plan: Concordance, parts: Sequence[SegmentLines], start: int, stop: int
) -> Iterator[tuple[SegmentLines, Row]]:
    """Yield lines `start … stop` in the order of their left or right contexts, or of their matches."""
    lines = AllLines(parts)
    within_tokens = sought_text(plan.pattern) is not None or lines.are_cut
    if plan.order == BY_FORM and not within_tokens:
        numbers = first_in_order(
            len(lines),
            stop,
            lambda some: iter([lines.by_form(some, plan.corpus, plan.descending)]),
            FORM_PIECE,
        )
    elif within_tokens:
        numbers = first_in_order(
            len(lines), stop, lambda some: iter([_by_shown_text(plan, lines, some)]), SHOWN_PIECE
        )
    else:
        to_left = plan.order == BY_LEFT
        keys = ContextKeys(plan.corpus.tokenizer, to_left)
        longest = min(sys.maxsize if n is None else n for n in (plan.window, plan.depth))
        order = ContextOrder(lines.tokens_at(to_left), keys, longest, plan.descending)
        numbers = first_in_order(len(lines), stop, order.ordered, PIECE)
    yield from lines.rows(_between(numbers, start, stop))


def _between(pieces: Iterable[IntArray], start: int, stop: int) -> Iterator[IntArray]:
    """Of arrays one after the other, what stands at the places from `start` to `stop`."""
    position = 0
    for some in pieces:
        first, last = max(start - position, 0), min(stop - position, len(some))
        position += len(some)
        if first < last:
            yield some[first:last]
        if position >= stop:
            break


def _by_shown_text(plan: Concordance, lines: AllLines, numbers: IntArray) -> IntArray:
    """Return the order of lines by their matches, or by shown contexts if matches may end within a token."""
    keys: list[Any] = []
    for _, row in lines.rows([numbers]):
        left, match, right = (text.casefold().split() for text in row[2:5])
        if plan.order == BY_LEFT:
            keys.append(tuple(reversed(left))[: plan.depth])
        else:
            keys.append(" ".join(match if plan.order == BY_FORM else right[: plan.depth]))
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=plan.descending)
    return numbers[np.array(order, dtype=np.int64)]


class AllLines:
    """The lines of all segments, numbered through."""

    def __init__(self, parts: Sequence[SegmentLines]) -> None:
        self._parts = parts
        self._first = np.cumsum([0, *map(len, parts)])

    def __len__(self) -> int:
        return int(self._first[-1])

    @property
    def are_cut(self) -> bool:
        """Whether some may begin or end within a token."""
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
        """All lines by fields of their documents; those that agree in them by document and position."""
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
        """What gives the tokens next to lines (numbers, ascending), at some distance."""
        # Of lines in sentences, how many tokens are shown on that side: 4 bytes each.
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

    def rows(self, pieces: Iterable[IntArray]) -> Iterator[tuple[SegmentLines, Row]]:
        """The lines with the numbers in these arrays, in their order."""
        for some in in_batches(pieces):
            which = np.searchsorted(self._first, some, side="right") - 1
            made = {
                number: iter(self._parts[number].batch(some[which == number] - self._first[number]))
                for number in np.unique(which).tolist()
            }
            for number in which.tolist():
                yield self._parts[number], next(made[number])
