"""DOCS and COUNT DOCS: documents that meet a condition.

Documents are found when the query is answered; their metadata and texts are read with their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.field_values import DOC_ID, Codes, FieldReader, codes_of, identity
from ngramdb.executor.per_segment import matching
from ngramdb.executor.result import Result, Row, batched
from ngramdb.lazy import dataclass, lazy_module
from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    Costs,
    DocExpr,
    FieldKey,
    Node,
    Outer,
    Plan,
    PlanMeter,
    changed,
    column_of,
)
from ngramdb.planner.plan.nodes import COSTS
from ngramdb.questions.definition import Help, Tool, WrittenByHand
from ngramdb.questions.document_columns import (
    REST_COLUMN,
    Fields,
    ReturnedColumns,
    arrow_types_of,
    column_type,
    document_row,
    has_rest,
    metadata_fields,
)
from ngramdb.questions.plans import Action, Query
from ngramdb.questions.requests import (
    DESCENDING,
    ORDER_DOCUMENTS,
    PATTERN_PARAMETERS,
    RETURNING,
    SAMPLE,
    SEED,
    WHERE,
    Asked,
    Statement,
    fields_of,
    is_sampled,
    pattern_of,
)
from ngramdb.questions.sampling import Sampling, sample_documents
from ngramdb.questions.verbs import Asking
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.types import Docs, as_flag

if TYPE_CHECKING:
    from ngramdb.language import ast
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import to_ast, token_sampling
    from ngramdb.questions.token_sampling import TokenSampling
else:
    ast = lazy_module("ngramdb.language.ast")
    token_sampling = lazy_module("ngramdb.questions.token_sampling")
    to_ast = lazy_module("ngramdb.questions.to_ast")


class Verbs(Asking):
    """Verbs of a corpus."""

    def docs(
        self,
        where: str | None = None,
        *,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        returning: str | Sequence[str] | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the documents that meet a condition, or all documents: DOCS.

        Parameters
        ----------
        where, params : condition as after WHERE
        order_by : one or several fields; doc_id by default. Documents without the field are last
        descending : reverse the order
        limit, offset : maximum number of rows, and number of rows skipped before them
        returning : one or several columns: fields, `doc_id`, `length`, `text`

        Returns
        -------
        A row per document; `summary['total']` is the exact number, also with a `limit`.

        Raises
        ------
        InvalidArgument
            The limit or the offset is not a whole number of at least 0.
        """
        # Called by the hundred thousand: defaults are not checked.
        if descending is not False:
            descending = as_flag("descending", descending)
        if order_by is not None or returning is not None:
            keys = to_ast.columns("order_by", order_by) or (to_ast.field("doc_id"),)
            tree = ast.Docs(
                order_by=tuple(ast.OrderBy(key, descending) for key in keys),
                limit=to_ast.number(0, "limit", limit),
                offset=to_ast.number(0, "offset", offset),
                returning=to_ast.columns("returning", returning),
            )
            return self._bound.ask(tree, where, params)
        if limit is not None or type(offset) is not int or offset:
            limit, offset = to_ast.at_least(0, "limit", limit), to_ast.whole(0, "offset", offset)
        view = self._bound.current()
        found, phrases = self._bound.documents(where, params, view)
        return self._bound.run(Documents(view, found, descending, limit, offset, phrases=phrases))

    def count_docs(self, where: str | None = None, *, params: ParameterValues = None) -> int:
        """Return the number of documents that meet a condition: COUNT DOCS.

        Parameters
        ----------
        where, params : condition as after WHERE; by default, all documents are counted
        """
        view = self._bound.current()
        found, phrases = self._bound.documents(where, params, view)
        return self._bound.number(CountDocuments(view, found, phrases=phrases))

    def sample(
        self,
        size: int | None = None,
        where: str | None = None,
        *,
        tokens: int | str | None = None,
        by: str | None = None,
        weights: Mapping[Any, float] | None = None,
        seed: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Draw documents at random from those that meet a condition: DOCS … SAMPLE.

        Parameters
        ----------
        size : number of documents; or
        tokens : number of tokens, also as `'1B'` (K, M, B); whole documents are drawn until they have so many
        where, params : condition as after WHERE; by default, documents are drawn from all
        by : with `tokens`, a field; each of its values gets the same number of tokens, or
        weights : a number of tokens in proportion to its weight; documents with other values are not drawn
        seed : equal seeds draw equal documents; by default, a seed is drawn, and is in `summary['seed']`

        Raises
        ------
        InvalidArgument
            Not one of `size` and `tokens`, or a number or a weight out of range.
        ExecutionError
            More than 1,000 values of `by`, without weights.
        """
        sample = token_sampling.of_documents_or_tokens(size, tokens, by, weights, seed)
        return self._bound.ask(ast.Docs(sample=sample), where, params)


def _documents(asked: Asked) -> Statement:
    """Return the statement; its condition is the pattern, `where`, or both."""
    given = asked.given
    statement = Statement("DOCS", "DOCS").source(asked.corpus, asked.version)
    ways = [name for name in ("q", "ids", "pattern") if given[name] is not None]
    if ways:
        both = Statement().pattern(pattern_of(given))
        if given.text("where"):
            both = Statement().add("(").join(both).add(") AND (").condition("", given["where"]).add(")")
        statement.add("WHERE").join(both)
    else:
        statement.where(given.text("where"))
    statement.order(fields_of(given["order"]), given["descending"])
    return statement.sample(given["sample"], given["seed"]).returning(fields_of(given["returning"]))


# By hand: the verb `docs` has no pattern beside its condition, and `sample` is a verb of its own.
DEFINITION = WrittenByHand(
    "Documents, those with an n-gram or those that meet a condition: DOCS.",
    (*PATTERN_PARAMETERS, WHERE, ORDER_DOCUMENTS, DESCENDING, SAMPLE, SEED, RETURNING),
    _documents,
    page="LIMIT",
    is_drawn=is_sampled,
    tool=Tool(
        "find_documents",
        "Find documents that contain something (`q`, or `pattern`), or meet a condition on fields "
        "(`where`), or both.",
    ),
    help=Help(
        "DOCS [WHERE condition] [ORDER BY keys] [LIMIT k] [OFFSET n] [SAMPLE k [SEED s]]\n"
        "  [SAMPLE n TOKENS [BY key [WEIGHTS (value: weight {, …})]] [SEED s]]\n"
        "  [RETURNING fields] [FROM source]",
        ('DOCS WHERE "a b" AND year >= 2020 LIMIT 5', "documents with their metadata and text"),
    ),
)


def bind(scope: Scope, node: ast.Docs) -> Plan:
    """Return the plan of DOCS."""
    from ngramdb.planner import bind_conditions, bind_fields
    from ngramdb.questions.sampling import bind_sample

    corpus = scope.corpus(node.source)
    sample = node.sample
    keys = bind_fields.document_keys(scope, node.order_by, corpus)
    by_id = len(keys) == 1 and keys[0] == FieldKey("doc_id", True, keys[0].descending)
    return Documents(
        corpus,
        bind_conditions.condition(scope, node.where, corpus),
        descending=by_id and keys[0].descending,
        limit=scope.number(node.limit, "LIMIT", 0),
        offset=scope.number(node.offset, "OFFSET", 0) or 0,
        order=() if by_id else keys,
        sample=(
            token_sampling.bind_token_sample(scope, sample, corpus)
            if isinstance(sample, ast.TokenSample)
            else bind_sample(scope, sample)
        ),
        returning=bind_fields.returned_fields(scope, node.returning, corpus),
    )


def bind_count(scope: Scope, node: ast.CountDocs) -> Plan:
    """Return the plan of COUNT DOCS: one number, or a row for each group."""
    from ngramdb.planner import bind_conditions

    corpus = scope.corpus(node.source)
    where = bind_conditions.condition(scope, node.where, corpus)
    if node.group_by:
        from ngramdb.questions import count_groups

        return count_groups.bind_documents(scope, node, corpus, where)
    if node.order_by or node.top is not None:
        from ngramdb.questions.count_groups import refuse_order

        refuse_order(scope, node)
    return CountDocuments(corpus, where)


# Documents per batch: their texts are in memory together.
BATCH_DOCUMENTS = 16

# The column with the corpus of each document of a sum of corpora.
CORPUS = "corpus"

# Documents: the segment, and the number in it.
Numbered = Iterator[tuple[Segment, int]]

_Shape = tuple[Fields, tuple[str, ...], tuple[type, ...], tuple[Any, ...]]
_SHAPES: WeakKeyDictionary[Corpus, _Shape] = WeakKeyDictionary()


@dataclass(frozen=True)
class CountDocuments(Query):
    """COUNT DOCS."""

    takes_plain_docs = True

    where: DocExpr
    costs: Costs | None = field(default=COSTS, compare=False)

    def label(self) -> str:
        return "count documents"

    def documents_corpus(self) -> Corpus | None:
        return self.corpus

    def where_clause(self) -> DocExpr | None:
        return self.where

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return one number."""
        n = _number_of(matching(self.corpus, self.where, self.costs, meter))
        result = Result.of_rows(COUNT_COLUMNS, [(n,)])
        result.found = n > 0
        return result


@dataclass(frozen=True)
class Documents(Query):
    """DOCS."""

    takes_plain_docs = True

    where: DocExpr
    descending: bool = False
    limit: int | None = None
    offset: int = 0
    costs: Costs | None = field(default=COSTS, compare=False)
    order: tuple[FieldKey, ...] = ()
    sample: Sampling | TokenSampling | None = None
    returning: tuple[FieldKey, ...] = ()

    def label(self) -> str:
        if self.order:
            parts = ["by " + ", ".join(key.label() for key in self.order)]
        else:
            parts = ["doc_id " + ("descending" if self.descending else "ascending")]
        if self.sample is not None:
            parts.append(self.sample.label())
        if self.limit is not None:
            parts.append(f"limit {self.limit:,}")
        if self.offset:
            parts.append(f"offset {self.offset:,}")
        if self.returning:
            parts.append("returning " + ", ".join(key.path for key in self.returning))
        return f"documents ({', '.join(parts)})"

    def documents_corpus(self) -> Corpus | None:
        return self.corpus

    def where_clause(self) -> DocExpr | None:
        return self.where

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row per document; `summary['total']` is their number regardless of LIMIT and OFFSET."""
        return watched_documents(self, iter, meter, with_corpora=self.corpus.n_added > 1)


class OfDocuments(Outer, Action):
    """An action that copies the documents of DOCS elsewhere."""

    documents: Documents
    carries_documents = True

    @property
    def inner(self) -> Plan:
        return self.documents

    def with_inner(self, inner: Plan, fired: tuple[str, ...]) -> Plan:
        return changed(self, documents=inner)

    def details(self) -> tuple[str, ...]:
        return self.documents.details()

    def where_clause(self) -> DocExpr | None:
        return self.documents.where

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, documents=changed(self.documents, where=tree))


def watched_documents(
    plan: Documents,
    through: Callable[[Numbered], Numbered],
    meter: PlanMeter | None = None,
    with_corpora: bool = False,
) -> Result:
    """Answer DOCS; `through` is given the documents, and yields them while their rows are made.

    `with_corpora` : in a sum, the first column is each document's corpus, in which it has its `doc_id`
    """
    found, summary = chosen(plan, meter)
    n = summary["total"] if plan.sample is None else summary["sampled"]
    stop = n if plan.limit is None else min(n, plan.offset + plan.limit)
    row_of: Callable[[Segment, int], Row] | None = None
    ahead: Callable[[Numbered], Numbered] = iter
    arrow_types: tuple[Any, ...] = ()
    if plan.returning:
        returned = ReturnedColumns(plan.corpus, plan.returning)
        columns, types, row_of = returned.names, returned.types, returned.row
        ahead = returned.ahead
    else:
        _, columns, types, arrow_types = _shape(plan.corpus)
    batches = _row_batches(plan, found, lambda documents: ahead(through(documents)), row_of, with_corpora)
    if with_corpora:
        columns = (CORPUS, *(f"metadata.{name}" if name == CORPUS else name for name in columns))
        types, arrow_types = (str, *types), (None, *arrow_types)
    n_rows = max(0, stop - plan.offset)
    result = Result(columns, batches, summary=summary, n_rows=n_rows, types=types)
    result.arrow_types = arrow_types
    if plan.returning:
        returned.describe(result, int(with_corpora))
    result.found = summary["total"] > 0
    return result


def _row_batches(
    plan: Documents,
    found: Sequence[tuple[Segment, DocSet]],
    through: Callable[[Numbered], Numbered],
    row_of: Callable[[Segment, int], Row] | None,
    with_corpora: bool,
) -> Iterator[list[Row]]:
    """Yield the rows. Preparation waits for the first one, since many callers read only `total`."""
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
    """Return the corpus of each segment of a sum, by the segment's `id`."""
    return {id(segment): corpus.corpus_of(i) for i, segment in enumerate(corpus.segments)}


def chosen(
    plan: Documents, meter: PlanMeter | None = None
) -> tuple[list[tuple[Segment, DocSet]], dict[str, Any]]:
    """Return the documents of DOCS without LIMIT and OFFSET, and the summary.

    `total` is the number of documents that meet the condition; with SAMPLE, `sampled` is the number of those
    drawn, `sampled_tokens` with a number of tokens that of their tokens, and `seed` draws the same again.
    """
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    summary: dict[str, Any] = {"total": _number_of(found)}
    if isinstance(plan.sample, Sampling):
        found = sample_documents(plan.corpus, found, plan.sample)
        summary.update(sampled=_number_of(found), seed=plan.sample.seed)
    elif plan.sample is not None:
        drawn = token_sampling.sample_tokens(plan.corpus, found, plan.sample)
        found = drawn.found
        summary.update(sampled=_number_of(found), sampled_tokens=drawn.tokens, seed=plan.sample.seed)
        if drawn.note:
            summary["note"] = drawn.note
    return found, summary


def _number_of(found: Sequence[tuple[Segment, DocSet]]) -> int:
    n = 0
    for _, docs in found:  # for one segment, `sum` of a generator would take several times as long
        n += len(docs)
    return n


def selected(plan: Documents) -> tuple[list[Docs], dict[str, Any]]:
    """Return the documents of DOCS, with LIMIT and SAMPLE, per segment, and the summary of `chosen`.

    Documents are local numbers, ascending.
    """
    found, summary = chosen(plan)
    if plan.limit is None and not plan.offset:
        return [docs.numbers() for _, docs in found], summary
    numbers: dict[int, list[int]] = {id(segment): [] for segment, _ in found}
    for segment, i in listed(plan, found):
        numbers[id(segment)].append(i)
    return [np.array(sorted(numbers[id(segment)]), dtype=np.uint32) for segment, _ in found], summary


def _shape(corpus: Corpus) -> _Shape:
    """Return the metadata fields of a corpus at one version, and the columns of its documents with types."""
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
    """Yield the chosen documents of DOCS in its order: segment and number."""
    n = _number_of(found)
    stop = n if plan.limit is None else min(n, plan.offset + plan.limit)
    return _by_fields(plan, found, stop) if plan.order else _by_id(plan, found, stop)


def _by_id(
    plan: Documents, found: Sequence[tuple[Segment, DocSet]], stop: int
) -> Iterator[tuple[Segment, int]]:
    """Yield the documents at positions `offset … stop` by doc_id, without opening other segments."""
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
    """Yield the documents at positions `offset … stop` by ORDER BY."""
    owners, numbers = documents_in_order(plan.order, found)
    for owner, i in zip(
        owners[plan.offset : stop].tolist(), numbers[plan.offset : stop].tolist(), strict=True
    ):
        yield found[owner][0], i


def documents_in_order(
    keys: Sequence[FieldKey], found: Sequence[tuple[Segment, DocSet]]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return documents in the order of the keys: the place of each one's segment in `found`, and its number.

    Documents that are equal in all keys stay in the order of their segments; those without a value are last,
    ascending or descending.

    Cost: 30 ns per document and key; Python objects only for distinct values.
    """
    numbers = [docs.numbers() for _, docs in found]
    owners = np.repeat(np.arange(len(found)), [len(part) for part in numbers])
    columns = [_ranks(key, found, numbers) for key in keys]
    every = np.concatenate([np.empty(0, dtype=np.uint32), *numbers])
    # `lexsort` sorts by its last key first, and is stable.
    order = np.lexsort(columns[::-1]) if len(every) else np.empty(0, dtype=np.int64)
    return owners[order], every[order]


def _ranks(
    key: FieldKey, found: Sequence[tuple[Segment, DocSet]], numbers: Sequence[NDArray[np.uint32]]
) -> NDArray[np.int64]:
    """Return, for each document, a number that orders it by one key."""
    if key.own and key.path == DOC_ID:
        places = np.arange(sum(map(len, numbers)))
        return places[::-1] if key.descending else places
    parts: list[Codes] = []
    for i, ((segment, _), docs) in enumerate(zip(found, numbers, strict=True)):
        interrupts.step(i, len(found))
        chosen = None if len(docs) == segment.n_documents else docs
        parts.append(codes_of(key, FieldReader(segment), chosen))
    distinct: dict[Any, int] = dict.fromkeys(
        sorted({identity(value) for part in parts for value in part.values}), 0
    )
    for rank, value in enumerate(distinct):
        distinct[value] = rank
    n = len(distinct)
    ranks = []
    for part in parts:
        # Entry -1, for missing values, is the last one.
        table = np.array([*(distinct[identity(value)] for value in part.values), n], dtype=np.int64)
        ranks.append(table[part.codes])
    joined = np.concatenate([np.empty(0, dtype=np.int64), *ranks])
    return np.where(joined < n, n - 1 - joined, n) if key.descending else joined
