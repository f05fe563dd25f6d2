"""The plan of KWIC: the lines of a concordance in their order, with the texts of those that are read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from ngramdb import interrupts
from ngramdb.conditions.expressions import united
from ngramdb.executor.per_segment import each_segment
from ngramdb.executor.result import ColumnType, Result, Row, TextPlace, batched
from ngramdb.lazy import dataclass
from ngramdb.patterns import Gram, Pattern
from ngramdb.planner.plan import Actual, Costs, DocExpr, FieldKey, InPart, Plan, PlanMeter, changed
from ngramdb.planner.plan.nodes import Node
from ngramdb.questions.document_columns import ReturnedColumns
from ngramdb.questions.kwic_edges import Side, ordered_by_edges
from ngramdb.questions.kwic_lines import BATCH_LINES, AllLines, Search, SegmentLines, lines_in
from ngramdb.questions.kwic_order import ContextKeys, ContextOrder, first_in_order
from ngramdb.questions.kwic_text import Shown, sought_text
from ngramdb.questions.plans import Query
from ngramdb.questions.sampling import Drawing, Sampling, corpus_salt, ranks
from ngramdb.source import IntArray

CONCORDANCE_COLUMNS = ("doc_id", "position", "left", "match", "right")
CONCORDANCE_TYPES: tuple[ColumnType, ...] = (int, int, str, str, str)

# The orders of lines.
BY_PLACE = "doc_id"
BY_LEFT = "left"
BY_RIGHT = "right"
BY_FORM = "form"
BY_FIELDS = "fields"
CONCORDANCE_ORDERS = (BY_PLACE, BY_LEFT, BY_RIGHT, BY_FORM)

# Lines sorted at a time if few of many are requested: by their tokens, some 40 bytes each, and by the forms
# of matches, with a text for each distinct one.
PIECE = 1 << 21
FORM_PIECE = 1 << 17


@dataclass(frozen=True)
class Concordance(Query):
    """KWIC: occurrences with up to `window` tokens on either side, or, if that is None, their sentences.

    Occurrences of an expression are `what`, with their documents; `pattern` is then their common pattern, if
    there is one. `keys` are the fields of the order BY_FIELDS. The orders BY_LEFT and BY_RIGHT compare
    `depth` tokens, or the whole window if it is None.
    """

    pattern: Pattern | None
    where: DocExpr
    window: int | None
    order: str = BY_PLACE
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    sample: Sampling | None = None
    returning: tuple[FieldKey, ...] = ()
    costs: Costs | None = field(default=None, compare=False)
    keys: tuple[FieldKey, ...] = ()
    depth: int | None = None
    what: InPart | None = None

    def label(self) -> str:
        depth = "" if self.depth is None else f" {self.depth:,}"
        order = self.order + depth + (" descending" if self.descending else "")
        if self.keys:
            order = "by " + ", ".join(key.label() for key in self.keys)
        parts = ["window sentence" if self.window is None else f"window {self.window:,}", order]
        if self.sample is not None:
            parts.append(self.sample.label())
        if self.limit is not None:
            parts.append(f"limit {self.limit:,}")
        if self.offset:
            parts.append(f"offset {self.offset:,}")
        if self.returning:
            parts.append("returning " + ", ".join(key.path for key in self.returning))
        of = "" if self.what is not None or self.pattern is None else f" of {self.pattern.shown}"
        return f"concordance{of} ({', '.join(parts)})"

    def details(self) -> tuple[str, ...]:
        pattern = self.pattern
        if self.what is not None or pattern is None:
            return super().details()
        if isinstance(pattern, Gram):
            return (*super().details(), f"{pattern.shown}: count {self.corpus.index.count(pattern.ids):,}")
        return (*super().details(), *pattern.details())

    def where_clause(self) -> DocExpr | None:
        return self.where

    def tree(self) -> Node | None:
        return self.where if self.what is None else self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, where=tree) if self.what is None else changed(self, what=tree)

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row per line; `summary['total']` is the number of all occurrences."""
        parts = lines_of(self, meter)
        total = n_lines = sum(map(len, parts))
        summary: dict[str, Any] = {"total": total}
        if self.sample is not None:
            n_lines = min(total, self.sample.size)
            summary.update(sampled=n_lines, seed=self.sample.seed)
            if n_lines < total:
                _draw(self, self.sample, parts)
        stop = n_lines if self.limit is None else min(n_lines, self.offset + self.limit)
        returned = ReturnedColumns(self.corpus, self.returning) if self.returning else None
        columns, types = self._columns(returned)
        rows = batched(_rows(self, parts, self.offset, stop), BATCH_LINES)
        n_rows = max(0, stop - self.offset)
        result = Result(columns, rows, summary=summary, n_rows=n_rows, types=types)
        if returned is not None:
            returned.describe(result, len(columns) - len(self.returning))
        result.found = total > 0
        if self.order == BY_PLACE and not self.descending:
            result.places = _text_places(parts, self.offset, stop)
        return result

    def _columns(self, returned: ReturnedColumns | None) -> tuple[tuple[str, ...], tuple[ColumnType, ...]]:
        """Return the columns, with their types in Python."""
        columns: tuple[str, ...] = CONCORDANCE_COLUMNS
        types = CONCORDANCE_TYPES
        if returned is not None:
            names = (f"metadata.{name}" if name in CONCORDANCE_COLUMNS else name for name in returned.names)
            columns, types = (*columns, *names), (*types, *returned.types)
        if self.corpus.n_added > 1:
            return ("corpus", *columns), (str, *types)
        return columns, types


def places_of(plan: Concordance) -> tuple[IntArray, IntArray, IntArray]:
    """Return the document id, the position and the length of each line, by document and position."""
    found: list[tuple[Any, ...]] = []
    for part in lines_of(plan):
        _, starts, _ = part.places()
        at = part.occurrences
        doc_ids = part.segment.doc_ids(part.segment.index.documents_at(at.starts))
        found.append((doc_ids, starts, at.stops.astype(np.int64) - at.starts))
    none = np.empty(0, dtype=np.int64)
    columns = zip(*found, strict=True) if found else ((), (), ())
    doc_ids, starts, lengths = (np.concatenate((none, *column)) for column in columns)
    return doc_ids, starts, lengths


def lines_of(plan: Concordance, meter: PlanMeter | None = None) -> list[SegmentLines]:
    """Return the lines of each segment, in the order of documents, whatever the plan's order."""
    plan.corpus.check_difference()
    what = plan.what
    if what is not None and meter is None:  # all patterns of the expression are searched in one pass
        what = changed(what, what=united(what.what, plan.corpus.tokenizer))
    search = Search(plan.pattern, plan.where, what, plan.costs)
    returned = ReturnedColumns(plan.corpus, plan.returning) if plan.returning else None
    with nullcontext(Actual()) if meter is None or plan.what is None else meter.timed(plan.what) as actual:
        parts = [
            SegmentLines(plan.corpus, i, search, found, plan.window, returned)
            for i, found in enumerate(each_segment(plan.corpus, lines_in, search, meter=meter))
        ]
        actual.rows += sum(map(len, parts))
    return parts


def _text_places(parts: Sequence[SegmentLines], start: int, stop: int) -> Iterator[TextPlace]:
    """Yield the places of the lines `start … stop` in their documents' texts."""
    position = 0
    for part in parts:
        first, last = max(start - position, 0), min(stop - position, len(part))
        position += len(part)
        if first < last:
            yield from part.text_places(np.arange(first, last))


def _draw(plan: Concordance, sample: Sampling, parts: Sequence[SegmentLines]) -> None:
    """Drop all lines outside the sample."""
    drawing = Drawing(sample)
    for part in parts:
        interrupts.step(part.number, len(parts))
        documents, starts, nths = part.places()
        doc_ids = part.segment.doc_ids(documents)
        drawing.add(part.number, ranks(sample, corpus_salt(plan.corpus, part.number), doc_ids, starts, nths))
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
    """Yield lines `start … stop` by document and position. Segments are in the order of document ids."""
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
        side = Side(plan.order == BY_LEFT, plan.order == BY_RIGHT, plan.depth)

        def texts(some: IntArray) -> list[str]:
            return [Shown(*row[2:5]).at(side) for _, row in lines.rows([some])]

        def by_text(some: IntArray) -> Iterator[IntArray]:
            return ordered_by_edges(some, partial(lines.edges, side=side), texts, side, plan.descending)

        numbers = first_in_order(len(lines), stop, by_text, FORM_PIECE)
    else:
        to_left = plan.order == BY_LEFT
        keys = ContextKeys(plan.corpus.tokenizer, to_left)
        longest = min(sys.maxsize if n is None else n for n in (plan.window, plan.depth))
        order = ContextOrder(lines.tokens_at(to_left), keys, longest, plan.descending)
        numbers = first_in_order(len(lines), stop, order.ordered, PIECE)
    yield from lines.rows(_between(numbers, start, stop))


def _between(pieces: Iterable[IntArray], start: int, stop: int) -> Iterator[IntArray]:
    """Yield the items `start … stop` of consecutive arrays."""
    position = 0
    for some in pieces:
        first, last = max(start - position, 0), min(stop - position, len(some))
        position += len(some)
        if first < last:
            yield some[first:last]
        if position >= stop:
            break
