"""TRACE: the maximal spans of a text that occur verbatim in the corpus.

A span is maximal if it occurs in some document and no longer span that contains it does (infini-gram's
`attribute`, and OLMoTrace: Liu et al. 2025, "OLMoTrace: Tracing Language Model Outputs Back to Trillions of
Training Tokens").

The index returns, for every position, the longest n-gram that ends there and occurs. Their starts never
decrease, so the last position of each start is the end of a maximal span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb.conditions import stored_text as matching
from ngramdb.conditions.docset import DocSet
from ngramdb.executor.result import ColumnType, Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.limits import MAX_INTEGER
from ngramdb.patterns import Gram
from ngramdb.planner.plan import FieldKey
from ngramdb.questions import to_ast
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.document_columns import ReturnedColumns
from ngramdb.questions.plans import SliceQuery
from ngramdb.questions.requests import Condition, Number, Passage
from ngramdb.questions.verbs import Asking
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
from ngramdb.types import Docs

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import Plan
    from ngramdb.planner.scope import Scope
    from ngramdb.questions.signatures import Ngram


class Verbs(Asking):
    """Verbs of a corpus."""

    def trace(
        self,
        text: Ngram,
        min_length: int = 1,
        *,
        docs: int | None = 10,
        returning: str | Sequence[str] | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the maximal spans of a text that occur verbatim in the corpus: TRACE.

        Parameters
        ----------
        text : text or token ids
        min_length : minimum number of tokens of a span
        docs : number of documents listed for each span; None for all
        returning : one or several fields of each document, which is then a row of its own
        where, params : condition on documents, as after WHERE

        Returns
        -------
        Columns `start` and `length` (in tokens), `span`, `count`, `doc_ids`; or `doc_id` and fields.

        Raises
        ------
        InvalidArgument
            A number out of range.
        """
        docs = to_ast.at_least(0, "docs", docs)
        tree = ast.Trace(
            to_ast.ngram(text),
            min_length=to_ast.number(1, "min_length", min_length),
            returning=to_ast.columns("returning", returning),
        )
        plan = self._bound.bind(tree, where, params)
        return self._bound.run(replace(plan, n_documents=None if docs is None else min(docs, MAX_INTEGER)))


DEFINITION = Definition(
    Verbs,
    "trace",
    "TRACE",
    "The parts of a text that occur in the corpus word for word: TRACE.",
    {
        "text": Passage("the text"),
        "where": Condition(),
        "min_length": Number("the least number of tokens of a part", least=1),
    },
    tool=Tool(
        "trace_text",
        "The parts of a text that occur in the corpus word for word (where it may have been taken from, or "
        "what a model may have seen): the longest spans, how often each occurs, and documents that have "
        "it. `min_length` leaves out short spans, which occur by chance: 5 or more tokens are a good "
        "beginning.",
    ),
    help=Help(
        "TRACE ngram [WHERE condition] [MIN LENGTH n] [RETURNING fields] [FROM source]\n"
        "TRACE OF texts [FROM source [WHERE condition]] [MIN LENGTH n]",
        ('TRACE "a long text"', "the parts of it that occur in the corpus"),
    ),
)


def bind(scope: Scope, node: ast.Trace) -> Plan:
    """Return the plan of TRACE."""
    from ngramdb.planner import bind_conditions, bind_fields

    corpus = scope.corpus(node.source)
    least = scope.number(node.min_length, "MIN LENGTH", 1)
    passage = scope.passage(node.ngram, corpus)
    where = bind_conditions.among(scope, node.where, corpus)
    returning = bind_fields.returned_fields(scope, node.returning, corpus, beside=True)
    return Tracing(corpus, passage, 1 if least is None else least, returning=returning, where=where)


TRACE_COLUMNS = ("start", "length", "span", "count", "doc_ids")

# Documents listed for each span by default.
TRACE_DOCUMENTS = 10

# Spans per batch: finding the documents of a frequent span may take milliseconds.
BATCH_SPANS = 16

# For an n-gram with more occurrences, the first documents are searched before all occurrences are read.
MANY_OCCURRENCES = 1 << 16
FIRST_DOCUMENTS = 64
# Tokens read in the time that it takes to skip an occurrence.
TOKENS_PER_OCCURRENCE = 1


@dataclass(frozen=True)
class Tracing(SliceQuery):
    """TRACE: the maximal spans of a text, of at least `min_length` tokens, that occur in the corpus.

    `n_documents` is the number of documents listed for each, None for all. With `returning`, each document is
    a row with these fields.
    """

    gram: Gram
    min_length: int = 1
    n_documents: int | None = TRACE_DOCUMENTS
    returning: tuple[FieldKey, ...] = ()

    def label(self) -> str:
        least = f", at least {self.min_length:,}" if self.min_length > 1 else ""
        n = len(self.gram)
        returning = ", returning " + ", ".join(key.path for key in self.returning) if self.returning else ""
        return f"trace {n:,} token{'' if n == 1 else 's'}{least}{returning}"

    def answer_whole(self) -> Result:
        """Return a row per span; `summary['covered']` is the number of the text's tokens in any span."""
        self.corpus.check_difference()
        spans = maximal_spans(longest_matches(self.corpus.index, self.gram.ids), self.min_length)
        n = len(spans.starts)
        summary = {"total": n, "tokens": len(self.gram), "covered": _covered(spans, len(self.gram))}
        if self.returning:
            return _with_fields(self, spans, summary)
        types = (int, int, str, int, list)
        return Result(TRACE_COLUMNS, _batches(self, spans), summary=summary, n_rows=n, types=types)


class Matches(NamedTuple):
    """The longest n-grams of a text that occur, one for each of its n + 1 ends.

    starts : (n + 1,) int64, ascending; equal to the position where no token matches
    counts : (n + 1,) int64, net counts
    """

    starts: IntArray
    counts: IntArray


class Spans(NamedTuple):
    """Maximal spans [starts, stops) of a text, by start, with their net counts: (k,) int64 each."""

    starts: IntArray
    stops: IntArray
    counts: IntArray


def longest_matches(index: Index, ids: IntArray) -> Matches:
    """Return the longest match that ends at each position. Cost: about 1 µs per token and segment."""
    lengths, counts = matching.longest_matches(index, ids, np.array([0, len(ids)], dtype=np.int64))
    return Matches(np.arange(len(ids) + 1, dtype=np.int64) - lengths, counts)


def match_ends(found: Matches) -> IntArray:
    """Return, for each of the n positions, the end of the longest match that starts there: (n,) int64.

    The end is equal to the position if no token matches; infini-gram's `creativity` calls this `rs`.
    """
    n = len(found.starts) - 1
    return np.searchsorted(found.starts, np.arange(n), side="right").astype(np.int64) - 1


def maximal_spans(found: Matches, min_length: int) -> Spans:
    """Return the matches of at least `min_length` tokens that no other match contains."""
    stops = np.arange(len(found.starts), dtype=np.int64)
    last = np.append(found.starts[1:] > found.starts[:-1], True)
    kept = last & (stops - found.starts >= min_length)
    return Spans(found.starts[kept], stops[kept], found.counts[kept])


def _with_fields(plan: Tracing, spans: Spans, summary: dict[str, int]) -> Result:
    """Return a row per span and document, with fields of the document."""
    returned = ReturnedColumns(plan.corpus, plan.returning)
    columns: list[str] = [*TRACE_COLUMNS[:-1], "doc_id"]
    # A span has a length, too.
    named = zip(returned.names, plan.returning, strict=True)
    columns += [
        f"{'doc' if key.own else 'metadata'}.{name}" if name in columns else name for name, key in named
    ]
    types: list[ColumnType] = [int, int, str, int, int if plan.corpus.n_added < 2 else str, *returned.types]

    def batches() -> Iterator[list[Row]]:
        for *row, ids in (row for batch in _spans(plan, spans) for row in batch):
            for i, docs in _located(plan.corpus, ids, plan.n_documents):
                segment = plan.corpus.segments[i]
                for start in range(0, len(docs), BATCH_SPANS):
                    interrupts.check()
                    some = docs[start : start + BATCH_SPANS]
                    pairs = zip(_ids_shown(plan.corpus, i, some), some.tolist(), strict=True)
                    yield [(*row, doc_id, *returned.row(segment, doc)) for doc_id, doc in pairs]

    # Rows are documents, and `total` would be read as their number.
    summary = {"spans": summary["total"], **{name: n for name, n in summary.items() if name != "total"}}
    result = Result(columns, batches(), summary=summary, types=types)
    returned.describe(result, len(TRACE_COLUMNS))
    return result


def _covered(spans: Spans, n_tokens: int) -> int:
    """Return the number of tokens in at least one span."""
    change = np.zeros(n_tokens + 1, dtype=np.int64)
    np.add.at(change, spans.starts, 1)
    np.add.at(change, spans.stops, -1)
    return int((np.cumsum(change[:-1]) > 0).sum())


def _batches(plan: Tracing, spans: Spans) -> Iterator[list[Row]]:
    for batch in _spans(plan, spans):
        yield [(*row, first_documents(plan.corpus, ids, plan.n_documents)) for *row, ids in batch]


def _spans(plan: Tracing, spans: Spans) -> Iterator[list[Row]]:
    """Yield the rows of spans, with their token ids in place of documents."""
    n = len(spans.starts)
    for first in range(0, n, BATCH_SPANS):
        rows: list[Row] = []
        for k in range(first, min(first + BATCH_SPANS, n)):
            interrupts.check()
            start, stop, count = int(spans.starts[k]), int(spans.stops[k]), int(spans.counts[k])
            ids = plan.gram.ids[start:stop]
            rows.append((start, stop - start, plan.corpus.tokenizer.decode(ids), count, ids))
        yield rows


def first_documents(corpus: Corpus, ids: IntArray, most: int | None) -> list[Any]:
    """Return the ids of documents that contain an n-gram, ascending, at most the first `most`.

    Cost: if `most` is None, some 10 ns per occurrence; otherwise about 1 ns per occurrence in the segments
    that are read, and for a frequent n-gram at most as much again to read the first documents.
    """
    located = _located(corpus, ids, most)
    return [doc_id for i, docs in located for doc_id in _ids_shown(corpus, i, docs)]


def _located(corpus: Corpus, ids: IntArray, most: int | None) -> Iterator[tuple[int, Docs]]:
    """Yield the same documents: the number of a segment, and its documents' local numbers, ascending."""
    for i, segment in enumerate(corpus.segments):
        docs = _documents(segment, ids, corpus.removed(i), most)[:most]
        yield i, docs
        if most is not None:
            most -= len(docs)
            if not most:
                break


def _ids_shown(corpus: Corpus, i: int, docs: Docs) -> list[Any]:
    """Return the ids of documents of segment i; in a sum of corpora, `corpus:doc_id`."""
    doc_ids: list[int] = corpus.segments[i].doc_ids(docs).tolist()
    return doc_ids if corpus.n_added < 2 else [f"{corpus.corpus_of(i)}:{n}" for n in doc_ids]


def _documents(segment: Segment, ids: IntArray, removed: Docs, most: int | None) -> Docs:
    """Return documents that contain the n-gram, without removed ones: at least the first `most`."""

    def kept(docs: Docs) -> Docs:
        if not len(removed):
            return docs
        return (DocSet(docs, segment.n_documents) & ~DocSet(removed, segment.n_documents)).docs

    if most is None:
        return kept(segment.index.docs_containing(ids))
    lo, hi = segment.index.find(ids)
    if hi - lo > MANY_OCCURRENCES:
        # Reading this many documents of average length costs as much as skipping the occurrences.
        tokens = max(1, segment.index.n_tokens // max(1, segment.n_documents))
        affordable = min(segment.n_documents, (hi - lo) * TOKENS_PER_OCCURRENCE // tokens)
        n = FIRST_DOCUMENTS
        while n <= affordable:
            docs = kept(segment.index.filter_docs(np.arange(n, dtype=np.uint32), ids))
            if len(docs) >= most:
                return docs
            n *= 4
    n = most
    while True:
        found = segment.index.first_docs_containing(ids, n)
        docs = kept(found)
        if len(docs) >= most or len(found) < n:
            return docs
        n *= 4
