"""DOCS and COUNT DOCS: which documents meet a condition, and their contents, fetched while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.evaluation import Evaluator, PlanMeter
from ngramdb.executor.per_segment import each_segment
from ngramdb.executor.questions.document_columns import (
    REST_COLUMN,
    Fields,
    ReturnedColumns,
    arrow_types_of,
    column_type,
    document_row,
    has_rest,
    metadata_fields,
)
from ngramdb.executor.questions.ordering import in_order
from ngramdb.executor.questions.sampling import sample_documents
from ngramdb.executor.results.result import Result, Row, batched
from ngramdb.planner import choices
from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    Costs,
    CountDocuments,
    DocExpr,
    Documents,
    PlainDocs,
    column_of,
)
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.types import Docs

# Documents per batch: their texts are in memory together.
BATCH_DOCUMENTS = 16

# The column that names the corpus of each document of a sum.
CORPUS = "corpus"

# Documents: segment, and number in it.
Numbered = Iterator[tuple[Segment, int]]

_Shape = tuple[Fields, tuple[str, ...], tuple[type, ...], tuple[Any, ...]]
_SHAPES: WeakKeyDictionary[Corpus, _Shape] = WeakKeyDictionary()


def matching(
    corpus: Corpus, where: DocExpr, costs: Costs | None, meter: PlanMeter | None
) -> list[tuple[Segment, DocSet]]:
    """Per segment, in document order, the documents that meet the condition and have not been removed."""
    return list(
        zip(corpus.segments, each_segment(corpus, documents_of, where, costs, meter=meter), strict=True)
    )


def documents_of(
    corpus: Corpus, i: int, where: DocExpr, costs: Costs | None, meter: PlanMeter | None = None
) -> DocSet:
    """The documents of segment i that meet the condition and have not been removed."""
    segment = corpus.segments[i]
    if isinstance(where, PlainDocs):
        docs = _plain(where, segment, costs)
    else:
        docs = Evaluator(corpus, segment, costs, meter).evaluate(where)
    removed = corpus.removed(i)
    return docs & ~DocSet(removed, segment.n_documents) if len(removed) else docs


def _plain(where: PlainDocs, segment: Segment, costs: Costs | None) -> DocSet:
    """The documents of a segment, found by the kernel."""
    docs, negated = segment.index.docs_where(where.code, where.grams, choices.kernel_costs(costs))
    return DocSet(docs, segment.n_documents, negated)


def count_documents(plan: CountDocuments, meter: PlanMeter | None = None) -> Result:
    """One row, one number."""
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    n = _number_of(found)
    result = Result.of_rows(COUNT_COLUMNS, [(n,)])
    result.found = n > 0
    return result


def documents(plan: Documents, meter: PlanMeter | None = None) -> Result:
    """A row per document; `total` in the summary is how many there are, whatever LIMIT and OFFSET are.

    Which documents match is settled here; their metadata and texts are read with their rows.
    """
    return watched_documents(plan, iter, meter, with_corpora=plan.corpus.n_added > 1)


def watched_documents(
    plan: Documents,
    through: Callable[[Numbered], Numbered],
    meter: PlanMeter | None = None,
    with_corpora: bool = False,
) -> Result:
    """The same; `through` is given the documents, and gives them back while their rows are made.

    with_corpora : in the first column, the corpus of a sum that each document is of, whose `doc_id` it has
    """
    found, summary = chosen(plan, meter)
    n = summary["total"] if plan.sample is None else summary["sampled"]
    stop = n if plan.limit is None else min(n, plan.offset + plan.limit)
    row_of: Callable[[Segment, int], Row] | None = None
    if plan.returning:
        returned = ReturnedColumns(plan.corpus, plan.returning)
        columns, types, row_of = returned.names, returned.types, returned.row
        came = returned.arrow_types()
    else:
        _, columns, types, came = _shape(plan.corpus)
    batches = _row_batches(plan, found, through, row_of, with_corpora)
    if with_corpora:
        columns = (CORPUS, *(f"metadata.{name}" if name == CORPUS else name for name in columns))
        types, came = (str, *types), (None, *came)
    n_rows = max(0, stop - plan.offset)
    result = Result(columns, batches, summary=summary, n_rows=n_rows, types=types)
    result.arrow_types = came
    result.found = summary["total"] > 0
    return result


def _row_batches(
    plan: Documents,
    found: Sequence[tuple[Segment, DocSet]],
    through: Callable[[Numbered], Numbered],
    row_of: Callable[[Segment, int], Row] | None,
    with_corpora: bool,
) -> Iterator[list[Row]]:
    """The rows; what making them takes is prepared when the first one is read: many ask for `total` only."""
    if row_of is None:
        row_of = partial(document_row, fields=_shape(plan.corpus)[0], tokenizer=plan.corpus.tokenizer)
    wanted = through(listed(plan, found))
    if with_corpora:
        names = corpora_by_segment(plan.corpus)
        rows = ((names[id(segment)], *row_of(segment, i)) for segment, i in wanted)
    else:
        rows = (row_of(segment, i) for segment, i in wanted)
    yield from batched(rows, BATCH_DOCUMENTS)


def corpora_by_segment(corpus: Corpus) -> dict[int, str]:
    """The name of the corpus of a sum that each segment is of, by the segment's `id`."""
    return {id(segment): corpus.corpus_of(i) for i, segment in enumerate(corpus.segments)}


def chosen(
    plan: Documents, meter: PlanMeter | None = None
) -> tuple[list[tuple[Segment, DocSet]], dict[str, int]]:
    """The documents of a DOCS question, its LIMIT aside, and its summary.

    `total` is how many meet the condition; with SAMPLE, `sampled` is how many of them were drawn, and `seed`
    draws the same again.
    """
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    summary = {"total": _number_of(found)}
    if plan.sample is not None:
        found = sample_documents(plan.corpus, found, plan.sample)
        summary.update(sampled=_number_of(found), seed=plan.sample.seed)
    return found, summary


def _number_of(found: Sequence[tuple[Segment, DocSet]]) -> int:
    n = 0
    for _, docs in found:  # not `sum` of a generator, which takes a few times as long for one segment
        n += len(docs)
    return n


def selected(plan: Documents) -> list[Docs]:
    """Per segment, the documents of a DOCS question, LIMIT and SAMPLE heeded: local numbers, ascending."""
    found, _ = chosen(plan)
    if plan.limit is None and not plan.offset:
        return [docs.numbers() for _, docs in found]
    numbers: dict[int, list[int]] = {id(segment): [] for segment, _ in found}
    for segment, i in listed(plan, found):
        numbers[id(segment)].append(i)
    return [np.array(sorted(numbers[id(segment)]), dtype=np.uint32) for segment, _ in found]


def _shape(corpus: Corpus) -> _Shape:
    """The metadata fields of a corpus at one version, and the columns of its documents with their types."""
    shape = _SHAPES.get(corpus)
    if shape is None:
        fields = metadata_fields(corpus)
        rest = (REST_COLUMN,) if has_rest(fields) else ()
        columns = ("doc_id", *(column_of(name, fields) for name in fields), *rest, "length", "text")
        types = (int, *map(column_type, fields.values()), *(dict for _ in rest), int, str)
        came = arrow_types_of(corpus, fields)
        arrow_types = (None, *map(came.get, fields), *(None for _ in rest), None, None)
        shape = _SHAPES[corpus] = fields, columns, types, arrow_types
    return shape


def listed(plan: Documents, found: Sequence[tuple[Segment, DocSet]]) -> Iterator[tuple[Segment, int]]:
    """The documents of a DOCS question in its order, out of those chosen: segment and number."""
    n = _number_of(found)
    stop = n if plan.limit is None else min(n, plan.offset + plan.limit)
    return _by_fields(plan, found, stop) if plan.order else _by_id(plan, found, stop)


def _by_id(
    plan: Documents, found: Sequence[tuple[Segment, DocSet]], stop: int
) -> Iterator[tuple[Segment, int]]:
    """The documents at positions `offset … stop` by doc_id; segments outside are never opened."""
    position = 0
    for segment, docs in reversed(found) if plan.descending else found:
        n = len(docs)
        first, last = max(plan.offset - position, 0), min(stop - position, n)
        position += n
        if first >= last:
            continue
        numbers = docs.numbers()
        chosen = numbers[::-1][first:last] if plan.descending else numbers[first:last]
        for i in chosen.tolist():
            yield segment, i


def _by_fields(
    plan: Documents, found: Sequence[tuple[Segment, DocSet]], stop: int
) -> Iterator[tuple[Segment, int]]:
    """The documents at positions `offset … stop` by ORDER BY."""
    owners, numbers = in_order(plan.order, found)
    for owner, i in zip(
        owners[plan.offset : stop].tolist(), numbers[plan.offset : stop].tolist(), strict=True
    ):
        yield found[owner][0], i
