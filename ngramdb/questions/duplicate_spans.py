"""DUPLICATES: texts that occur several times, each as long as possible, or the documents that have them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.byte_places import sizes_of
from ngramdb.conditions.expressions import from_files
from ngramdb.conditions.interruptible_sort import order_of
from ngramdb.curation.spans import Counting, Duplicates, Spans, duplicate_spans
from ngramdb.curation.windows import Window, token_bytes
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.per_segment import matching
from ngramdb.executor.result import BATCH_ROWS, Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.limits import MAX_INTEGER
from ngramdb.lm.spec import MAX_MIN_COUNT
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.plan import AllDocs, Costs, DocExpr, Plan, PlanMeter
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.duplicates import compared
from ngramdb.questions.plans import Query
from ngramdb.questions.requests import (
    DESCENDING,
    Condition,
    Given,
    Number,
    OneOf,
    Parameter,
    Spelling,
    Statement,
    fields_of,
    quoted_name,
)
from ngramdb.questions.verbs import Asking
from ngramdb.source import Corpus as CorpusView
from ngramdb.source import IntArray
from ngramdb.types import Docs, checked_flags

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.verbs import Asking as Corpus

# Tokens of a window, without LENGTH.
LENGTH = 50
UNITS = ("tokens", "bytes")

SPAN_COLUMNS = ("text", "length", "bytes", "count", "documents", "doc_id", "position", "waste")
SPAN_TYPES = (str, int, int, int, int, int, int, int)
# With AGAINST, how often the other corpus has the text.
COUNT_THERE = "against_count"
DOCUMENT_COLUMNS = ("doc_id", "length", "duplicate_tokens", "share", "longest")
DOCUMENT_TYPES = (int, int, int, float, int)
SPAN_KEYS = ("count", "length", "waste")
# A row counts the texts whose length, or count, is from `least` to `most`.
HISTOGRAM_COLUMNS = ("least", "most", "texts", "count", "waste")
HISTOGRAM_TYPES = (int, int, int, int, int)
BY = ("documents", "length", "count")

Floats = NDArray[np.float64]


class Length(Spelling):
    """The least length of a text, and `unit`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (
            Parameter(name, "integer", "the least length of a text", default, 1),
            Parameter("unit", "text", "the unit of that length", "tokens", choices=UNITS),
        )

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        statement.add(f"LENGTH >= {arguments[name]} {arguments['unit'].upper()}")


class Against(Spelling):
    """The corpus of AGAINST."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (Parameter(name, "text", "another corpus, whose texts count as copies"),)

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add(f"AGAINST {quoted_name(arguments[name])}")


class Rows(OneOf):
    """What rows are about, in place of texts."""

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.add(f"BY {arguments[name].upper()}")


class Order(Spelling):
    """The columns of ORDER BY, and `descending`."""

    def requested(self, name: str, default: Any) -> tuple[Parameter, ...]:
        return (
            Parameter("order", "text", "columns to sort by; without it, the greatest waste comes first"),
            DESCENDING,
        )

    def argument(self, name: str, given: Given) -> dict[str, Any]:
        return {name: fields_of(given["order"]), "descending": given["descending"]}

    def write(self, statement: Statement, name: str, arguments: dict[str, Any]) -> None:
        if arguments[name]:
            statement.order(arguments[name], arguments["descending"])


class Verbs(Asking):
    """Verbs of a corpus."""

    @checked_flags
    def duplicates(
        self,
        where: str | None = None,
        *,
        length: int = 50,
        unit: str = "tokens",
        min_count: int = 2,
        against: str | Corpus | None = None,
        by: str | None = None,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        params: ParameterValues = None,
    ) -> Result:
        """Return texts that occur several times, each as long as possible: DUPLICATES.

        Parameters
        ----------
        where, params : condition on documents, as after WHERE; only these are searched
        length, unit : the least length of a text, in "tokens" or "bytes"
        min_count : how often a text must occur
        against : another corpus of the database, or its name; each text that it has is a duplicate
        by : rows other than texts: "documents", with the number of their tokens in duplicates; or a histogram
            of texts by "length" or "count", in steps of powers of two
        order_by : 'count', 'length' or 'waste', or several; with `by`, any columns. By default, the texts
            with the greatest waste come first, or the documents with most tokens in duplicates
        descending : reverse the order of `order_by`
        limit, offset : maximum number of rows, and number of rows skipped before them

        Returns
        -------
        Columns `text`; its length in tokens (`length`) and `bytes`; `count`; `documents`, the number of those
        with it; the first place, `doc_id` and `position`; `waste`, the tokens of all copies but one; with
        `against` also `against_count`. By documents: `doc_id`, `length`, `duplicate_tokens`, `share`,
        `longest`. By length or count: `least` and `most`, and the sums `texts`, `count` and `waste` of texts
        between them. `summary` has the total, and the amount of duplicate text in the corpus.

        Raises
        ------
        InvalidArgument
            A number is out of range, or tokens have no text whose bytes could be counted.
        """
        if unit not in UNITS:
            raise InvalidArgument(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
        if by is not None and by not in BY:
            raise InvalidArgument(f"by must be one of {', '.join(BY)}, not {by!r}")
        keys = to_ast.fields("order_by", order_by)
        if descending and not keys:
            raise InvalidArgument("descending is the order of order_by, which is missing")
        tree = ast.Duplicates(
            length=ast.Length(to_ast.required(1, "length", length), unit),
            min_count=to_ast.required(2, "min_count", min_count),
            against=to_ast.other_corpus(self._bound, "against", against),
            by=by,
            order_by=tuple(ast.OrderBy(key, descending) for key in keys),
            limit=to_ast.number(0, "limit", limit),
            offset=to_ast.number(0, "offset", offset),
        )
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "duplicates",
    "DUPLICATES",
    "Texts that occur several times, each as long as possible: DUPLICATES.",
    {
        "where": Condition(),
        "length": Length(),
        "min_count": Number("how often a text must occur", least=2, implied=True),
        "against": Against(),
        "by": Rows("documents, or a histogram by length or count, in place of texts", BY),
        "order_by": Order(),
    },
    before_from=0,
    page="LIMIT",
    tool=Tool(
        "find_duplicates",
        "Texts that occur several times in a corpus, such as boilerplate and copied documents, each as long "
        "as possible, with the number of copies; or the documents that consist of them.",
    ),
    help=Help(
        "DUPLICATES [LENGTH >= n [TOKENS | BYTES]] [MIN COUNT k] [AGAINST source] [WHERE condition]\n"
        "  [BY DOCUMENTS | LENGTH | COUNT] [ORDER BY columns] [LIMIT k] [OFFSET n] [FROM source]",
        ("DUPLICATES LENGTH >= 20 LIMIT 10", "texts of 20 tokens or more that occur several times"),
    ),
)


def bind(scope: Scope, node: ast.Duplicates) -> Plan:
    """Bind DUPLICATES."""
    corpus = scope.corpus(node.source)
    length = LENGTH if node.length is None else scope.number(node.length.amount, "LENGTH", 1, MAX_INTEGER)
    assert length is not None
    unit = "tokens" if node.length is None else node.length.unit
    if unit == "bytes" and corpus.tokenizer.kind == "tokens":
        what = f"{corpus.entry.name} has token ids without texts, so it has no length in BYTES"
        scope.fail(PlanError, f"{what}; give it in TOKENS", node.length or node)
    return FindDuplicates(
        corpus,
        condition(scope, node.where, corpus),
        Window(length, unit),
        scope.number(node.min_count, "MIN COUNT", 2, MAX_MIN_COUNT) or 2,
        None if node.against is None else compared(scope, node.against, corpus),
        node.by,
        tuple(_key(scope, key, node.by) for key in node.order_by),
        scope.number(node.limit, "LIMIT", 0),
        scope.number(node.offset, "OFFSET", 0) or 0,
    )


def _key(scope: Scope, node: ast.OrderBy, by: str | None) -> tuple[str, bool]:
    """Return the name of a column, and whether it descends."""
    known = {None: SPAN_KEYS, "documents": DOCUMENT_COLUMNS}.get(by, HISTOGRAM_COLUMNS)
    key = node.field
    if not isinstance(key, ast.Field):
        scope.fail(PlanError, f"duplicates are ordered by {', '.join(known)}", node)
    name = ".".join(key.keys)
    if name not in known:
        scope.unknown("column", ast.Name(name, span=key.span), known, "")
    return name, node.descending


@dataclass(frozen=True)
class FindDuplicates(Query):
    """DUPLICATES: texts that occur several times, or rows by one of BY; columns of `order` may descend."""

    where: DocExpr
    window: Window
    min_count: int = 2
    against: CorpusView | None = None
    by: str | None = None
    order: tuple[tuple[str, bool], ...] = ()
    limit: int | None = None
    offset: int = 0
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        parts = [f"at least {self.window.length:,} {self.window.unit}", f"min count {self.min_count:,}"]
        if self.against is not None:
            parts.append(f"against {self.against.entry.name}")
        if self.by is not None:
            parts.append(f"rows by {self.by}")
        if self.order:
            keys = (name + (" descending" if descending else "") for name, descending in self.order)
            parts.append("by " + ", ".join(keys))
        if self.limit is not None:
            parts.append(f"limit {self.limit:,}")
        if self.offset:
            parts.append(f"offset {self.offset:,}")
        return f"duplicates ({', '.join(parts)})"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row per text or document.

        In the summary, `total` is the number of rows without LIMIT and OFFSET, `windows` that of positions at
        which duplicate text of the least length begins, `duplicate_tokens` that of tokens in duplicates, and
        `share` their share of all.
        """
        self.corpus.check_difference()
        if self.against is not None:
            self.against.check_difference()
        among = [docs.numbers() for _, docs in matching(self.corpus, self.where, self.costs, meter)]
        documents = None if isinstance(self.where, AllDocs) else among
        found = duplicate_spans(
            self.corpus, self.window, min_count=self.min_count, against=self.against, documents=documents
        )
        segments = zip(self.corpus.segments, among, strict=True)
        n_tokens = sum(int(segment.lengths(docs).sum()) for segment, docs in segments)
        n_duplicate = sum(texts.n_tokens for texts in found.texts)
        summary = {
            "windows": found.n_windows,
            "duplicate_tokens": n_duplicate,
            "share": n_duplicate / n_tokens if n_tokens else 0.0,
        }
        if self.by is None:
            return _texts(self, found, documents, summary)
        return (_by_documents if self.by == "documents" else _histogram)(self, found, summary)


def _ordered(
    plan: FindDuplicates, columns: dict[str, IntArray], first: str, descends: bool = True
) -> IntArray:
    """Return the numbers of the rows in the order of the plan, by default of `first`."""
    order = np.arange(len(columns[first]))
    for name, descending in reversed(plan.order or ((first, descends),)):
        values = columns[name][order]
        order = order[order_of(-values if descending else values)]
    stop = None if plan.limit is None else plan.offset + plan.limit
    return order[plan.offset : stop]


# ---- Texts.


def _texts(
    plan: FindDuplicates, found: Duplicates, documents: Sequence[Docs] | None, summary: dict[str, Any]
) -> Result:
    spans = found.spans
    waste = _waste(spans)
    order = _ordered(plan, {"count": spans.counts, "length": spans.places.lengths, "waste": waste}, "waste")
    counting = Counting(plan.corpus, plan.min_count, plan.against, documents)
    columns: tuple[str, ...] = SPAN_COLUMNS
    types: tuple[type, ...] = SPAN_TYPES
    if plan.corpus.n_added > 1:
        types = tuple(str if name == "doc_id" else kind for name, kind in zip(columns, types, strict=True))
    if plan.against is not None:
        columns, types = (*columns, COUNT_THERE), (*types, int)
    return Result(
        columns,
        _batches(plan, counting, found, waste, order),
        summary={"total": len(waste), **summary},
        n_rows=len(order),
        types=types,
    )


def _waste(spans: Spans) -> IntArray:
    """Return the tokens of all copies but one, or of all if the other corpus has the text."""
    waste: IntArray = (spans.counts - (spans.there == 0)) * spans.places.lengths
    return waste


def _batches(
    plan: FindDuplicates, counting: Counting, found: Duplicates, waste: IntArray, order: IntArray
) -> Iterator[list[Row]]:
    view, spans = plan.corpus, found.spans
    sizes = None if view.tokenizer.kind == "tokens" else token_bytes(view.tokenizer).astype(np.int64)
    at = 0
    for flat, offsets in counting.texts(spans.places.some(order)):
        rows: list[Row] = []
        for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
            k, ids = int(order[at]), flat[start:stop]
            at += 1
            with from_files(view.tokenizer, view.segments):
                text = view.tokenizer.decode(ids)
            n_documents, (i, position) = counting.occurrences(ids)
            segment = view.segments[i]
            docs, before = segment.index.places_at(np.array([position], dtype=segment.index.position_type))
            n_bytes = None if sizes is None else int(sizes_of(ids, sizes).sum())
            place = (_shown(view, i, int(docs[0])), int(before[0]))
            row = (text, len(ids), n_bytes, int(spans.counts[k]), n_documents, *place, int(waste[k]))
            rows.append(row if plan.against is None else (*row, int(spans.there[k])))
        yield rows


def _shown(view: CorpusView, i: int, number: int) -> int | str:
    """Return the id of a document of segment i; in a sum of corpora, `corpus:doc_id`."""
    doc_id = view.segments[i].doc_id(number)
    return doc_id if view.n_added < 2 else f"{view.corpus_of(i)}:{doc_id}"


# ---- Documents.


def _by_documents(plan: FindDuplicates, found: Duplicates, summary: dict[str, Any]) -> Result:
    view = plan.corpus
    parts: list[tuple[IntArray, ...]] = []
    for i, segment in enumerate(view.segments):
        starts, stops = found.texts[i]
        if not len(starts):
            continue
        docs, places = np.unique(segment.index.documents_at(starts), return_inverse=True)
        tokens = np.bincount(places, weights=stops.astype(np.int64) - starts).astype(np.int64)
        here = np.flatnonzero(found.stretches.places.segments == i)
        positions = found.stretches.places.positions[here].astype(segment.index.position_type)
        longest = np.zeros(len(docs), dtype=np.int64)
        owners = np.searchsorted(docs, segment.index.documents_at(positions))
        np.maximum.at(longest, owners, found.stretches.longest[here])
        lengths = segment.lengths(docs.astype(np.uint32))
        parts.append((np.full(len(docs), i), docs.astype(np.int64), lengths, tokens, longest))
    segments, numbers, lengths, tokens, longest = (
        np.concatenate([np.empty(0, dtype=np.int64), *(part[k] for part in parts)]) for k in range(5)
    )
    shares: Floats = tokens / np.maximum(lengths, 1)
    values = (np.arange(len(tokens)), lengths, tokens, shares, longest)
    columns: dict[str, Any] = dict(zip(DOCUMENT_COLUMNS, values, strict=True))
    # The bits of numbers that are not negative are in their order.
    order = _ordered(plan, {**columns, "share": shares.view(np.int64)}, "duplicate_tokens")

    def rows(some: IntArray) -> list[Row]:
        ids = [_shown(view, int(segments[k]), int(numbers[k])) for k in some.tolist()]
        return list(zip(ids, *(columns[name][some].tolist() for name in DOCUMENT_COLUMNS[1:]), strict=True))

    return Result(
        DOCUMENT_COLUMNS,
        (rows(order[start : start + BATCH_ROWS]) for start in range(0, len(order), BATCH_ROWS)),
        summary={"total": len(tokens), **summary},
        n_rows=len(order),
        types=DOCUMENT_TYPES if view.n_added < 2 else (str, *DOCUMENT_TYPES[1:]),
    )


# ---- Histograms.


def _histogram(plan: FindDuplicates, found: Duplicates, summary: dict[str, Any]) -> Result:
    spans = found.spans
    values = spans.places.lengths if plan.by == "length" else spans.counts
    # The number of bits; exact, as lengths and counts are below 2**53.
    steps = np.frexp(values)[1].astype(np.int64)
    bounds = np.unique(steps)
    places = np.searchsorted(bounds, steps)
    texts, count, waste = (
        np.bincount(places, weights=weights, minlength=len(bounds)).astype(np.int64)
        for weights in (None, spans.counts, _waste(spans))
    )
    columns = (1 << (bounds - 1), (1 << bounds) - 1, texts, count, waste)
    order = _ordered(plan, dict(zip(HISTOGRAM_COLUMNS, columns, strict=True)), "least", False)
    rows = list(zip(*(column[order].tolist() for column in columns), strict=True))
    summary = {"total": len(bounds), "texts": len(values), **summary}
    return Result(HISTOGRAM_COLUMNS, iter([rows]), summary=summary, n_rows=len(rows), types=HISTOGRAM_TYPES)
