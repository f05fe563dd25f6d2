"""TRACE: the maximal spans of a text that stand verbatim in the corpus.

A span occurs in some document, and neither a longer one that contains it does. (infini-gram's `attribute`,
and OLMoTrace: Liu et al. 2025, "OLMoTrace: Tracing Language Model Outputs Back to Trillions of Training
Tokens".)

The index gives, for every position, the longest n-gram ending there that occurs. Their starts never go back,
so each start's last position is the end of a maximal span.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb.conditions import longest_matches as matching
from ngramdb.conditions.docset import DocSet
from ngramdb.executor.questions.document_columns import ReturnedColumns
from ngramdb.executor.results.result import ColumnType, Result, Row
from ngramdb.planner.plan import TRACE_COLUMNS, Tracing
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer
from ngramdb.types import Docs

# Spans per batch: finding a span's documents may take milliseconds where it occurs often.
BATCH_SPANS = 16

# An n-gram that occurs more often is looked for in the first documents before all its occurrences are.
MANY_OCCURRENCES = 1 << 16
FIRST_DOCUMENTS = 64
# So many tokens are read in the time that passing over an occurrence takes.
TOKENS_PER_OCCURRENCE = 1


class Matches(NamedTuple):
    """For each of the n + 1 positions of a text, the longest n-gram that ends there and occurs.

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
    """The longest match that ends at each position. Cost: about a microsecond a token and segment."""
    lengths, counts = matching.longest_matches(index, ids, np.array([0, len(ids)], dtype=np.int64))
    return Matches(np.arange(len(ids) + 1, dtype=np.int64) - lengths, counts)


def match_ends(found: Matches) -> IntArray:
    """For each of the n positions, the end of the longest match that starts there: (n,) int64.

    Equal to the position where no token matches; infini-gram's `creativity` calls this `rs`.
    """
    n = len(found.starts) - 1
    return np.searchsorted(found.starts, np.arange(n), side="right").astype(np.int64) - 1


def maximal_spans(found: Matches, min_length: int) -> Spans:
    """The matches that are contained in no other one, of at least `min_length` tokens."""
    stops = np.arange(len(found.starts), dtype=np.int64)
    last = np.append(found.starts[1:] > found.starts[:-1], True)
    kept = last & (stops - found.starts >= min_length)
    return Spans(found.starts[kept], stops[kept], found.counts[kept])


def trace(plan: Tracing) -> Result:
    """A row per span; `covered` in the summary is how many of the text's tokens are in one of them."""
    plan.corpus.check_difference()
    spans = maximal_spans(longest_matches(plan.corpus.index, plan.gram.ids), plan.min_length)
    n = len(spans.starts)
    summary = {"total": n, "tokens": len(plan.gram), "covered": covered(spans, len(plan.gram))}
    types = (int, int, str, int, list)
    if plan.returning:
        return _with_fields(plan, spans, summary)
    return Result(TRACE_COLUMNS, _batches(plan, spans), summary=summary, n_rows=n, types=types)


def _with_fields(plan: Tracing, spans: Spans, summary: dict[str, int]) -> Result:
    """A row per span and document, with fields of the document."""
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
                    pairs = zip(_named(plan.corpus, i, some), some.tolist(), strict=True)
                    yield [(*row, doc_id, *returned.row(segment, doc)) for doc_id, doc in pairs]

    # As many rows as there are documents; `total` would be taken for their number.
    summary = {"spans": summary["total"], **{name: n for name, n in summary.items() if name != "total"}}
    result = Result(columns, batches(), summary=summary, types=types)
    result.arrow_types = (*(None for _ in TRACE_COLUMNS), *returned.arrow_types())
    return result


def covered(spans: Spans, n_tokens: int) -> int:
    """How many tokens lie in at least one span."""
    change = np.zeros(n_tokens + 1, dtype=np.int64)
    np.add.at(change, spans.starts, 1)
    np.add.at(change, spans.stops, -1)
    return int((np.cumsum(change[:-1]) > 0).sum())


def _batches(plan: Tracing, spans: Spans) -> Iterator[list[Row]]:
    for batch in _spans(plan, spans):
        yield [(*row, document_ids(plan.corpus, ids, plan.n_documents)) for *row, ids in batch]


def _spans(plan: Tracing, spans: Spans) -> Iterator[list[Row]]:
    """The rows of spans, with their token ids in the place of documents."""
    n = len(spans.starts)
    for first in range(0, n, BATCH_SPANS):
        rows: list[Row] = []
        for k in range(first, min(first + BATCH_SPANS, n)):
            interrupts.check()
            start, stop, count = int(spans.starts[k]), int(spans.stops[k]), int(spans.counts[k])
            ids = plan.gram.ids[start:stop]
            rows.append((start, stop - start, span_text(plan.corpus.tokenizer, ids), count, ids))
        yield rows


def span_text(tokenizer: Tokenizer, ids: IntArray) -> str:
    """The span as the tokenizer shows it."""
    return tokenizer.decode(ids)


def document_ids(corpus: Corpus, ids: IntArray, most: int | None) -> list[int] | list[str]:
    """The ids of documents that contain the n-gram, ascending, at most the first `most`.

    In a sum of corpora, `corpus:doc_id`.

    Cost: some 10 ns for each of its occurrences in the segments that are needed, where all documents are
    wanted; for the first ones about 1 ns, and where the occurrences are many at most as much again for
    reading the first documents, as a rule far less.
    """
    located = _located(corpus, ids, most)
    return [doc_id for i, docs in located for doc_id in _named(corpus, i, docs)]


def _located(corpus: Corpus, ids: IntArray, most: int | None) -> Iterator[tuple[int, Docs]]:
    """The same documents: the place of a segment, and local numbers of its documents, ascending."""
    for i, segment in enumerate(corpus.segments):
        docs = _documents(segment, ids, corpus.removed(i), most)[:most]
        yield i, docs
        if most is not None:
            most -= len(docs)
            if not most:
                break


def _named(corpus: Corpus, i: int, docs: Docs) -> list[Any]:
    """The ids of a segment's documents; in a sum, with its corpus."""
    doc_ids: list[int] = corpus.segments[i].doc_ids(docs).tolist()
    return doc_ids if corpus.n_added < 2 else [f"{corpus.corpus_of(i)}:{n}" for n in doc_ids]


def _documents(segment: Segment, ids: IntArray, removed: Docs, most: int | None) -> Docs:
    """The documents that contain the n-gram, without the removed ones; at least the first `most` of them."""

    def kept(docs: Docs) -> Docs:
        if not len(removed):
            return docs
        return (DocSet(docs, segment.n_documents) & ~DocSet(removed, segment.n_documents)).docs

    if most is None:
        return kept(segment.index.docs_containing(ids))
    lo, hi = segment.index.find(ids)
    if hi - lo > MANY_OCCURRENCES:
        # In documents of average length, reading these costs as much as passing over the occurrences.
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
