"""Queries of single segments, whose answers an operator merges, and rows of n-grams.

A query is a function of a corpus, the number of a segment, and further arguments; its result may be sent to
another process. If other processes hold the segments, they answer (`ask_segments`); segments in an object
store (`waits_for_segments`) are queried concurrently; others one after the other. Operators need not
distinguish these cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.token_counts import TokenCounts
from ngramdb._cext.corpus.top_ngrams import NegativeCount
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.interruptible_sort import numbered
from ngramdb.errors import ExecutionError
from ngramdb.executor.result import BATCH_ROWS
from ngramdb.fork_safety import cached_property
from ngramdb.lazy import dataclass, lazy_module
from ngramdb.planner import plan as plans
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer

if TYPE_CHECKING:
    from ngramdb.conditions import docset, evaluation
    from ngramdb.planner import choices
    from ngramdb.planner.plan import PlanMeter
else:
    docset = lazy_module("ngramdb.conditions.docset")
    evaluation = lazy_module("ngramdb.conditions.evaluation")
    choices = lazy_module("ngramdb.planner.choices")


Answer = TypeVar("Answer")


def each_segment(
    corpus: Corpus, answer: Callable[..., Answer], *arguments: Any, meter: PlanMeter | None = None
) -> Iterator[Answer]:
    """Yield `answer(corpus, i, *arguments)` of each segment i, in order.

    A meter, which `answer` takes as `meter`, measures this process, so that all segments are queried in it.
    """
    if meter is not None:
        return _one_by_one(corpus, partial(answer, meter=meter), arguments)
    ask = getattr(corpus, "ask_segments", None)
    if ask is not None:
        asked: Iterator[Answer] = ask(answer, arguments)
        return asked
    n = len(corpus.segments)
    if n == 1:  # most corpora: a generator would take a tenth of a fast query's time
        interrupts.step(0, 1)
        return iter((answer(corpus, 0, *arguments),))
    if getattr(corpus, "waits_for_segments", False):
        return interrupts.at_once(lambda i: answer(corpus, i, *arguments), range(n))
    return _one_by_one(corpus, answer, arguments)


def _one_by_one(
    corpus: Corpus, answer: Callable[..., Answer], arguments: tuple[Any, ...]
) -> Iterator[Answer]:
    n = len(corpus.segments)
    for i in range(n):
        interrupts.step(i, n)
        yield answer(corpus, i, *arguments)


def evaluator_of(
    corpus: Corpus, i: int, costs: plans.Costs | None, meter: PlanMeter | None
) -> tuple[evaluation.Evaluator, docset.DocSet | None]:
    """Return the evaluator of segment i, and its documents without removed ones, None for all."""
    segment, removed = corpus.segments[i], corpus.removed(i)
    kept = docset.DocSet(removed, segment.n_documents, negated=True) if len(removed) else None
    return evaluation.Evaluator(corpus, segment, costs, meter), kept


def evaluators(
    corpus: Corpus, costs: plans.Costs | None, meter: PlanMeter | None
) -> Iterator[tuple[evaluation.Evaluator, docset.DocSet | None]]:
    """Yield the same for each segment."""
    n = len(corpus.segments)
    for i in range(n):
        interrupts.step(i, n)
        yield evaluator_of(corpus, i, costs, meter)


def matching(
    corpus: Corpus, where: plans.DocExpr, costs: plans.Costs | None, meter: PlanMeter | None
) -> list[tuple[Segment, docset.DocSet]]:
    """Return, per segment, the documents that meet the condition, without removed ones."""
    found = each_segment(corpus, documents_of, where, costs, meter=meter)
    return list(zip(corpus.segments, found, strict=True))


def documents_of(
    corpus: Corpus,
    i: int,
    where: plans.DocExpr,
    costs: plans.Costs | None,
    meter: PlanMeter | None = None,
) -> docset.DocSet:
    """Return the documents of segment i that meet the condition, without removed ones."""
    segment = corpus.segments[i]
    if isinstance(where, plans.PlainDocs):
        docs, negated = segment.index.docs_where(where.code, where.grams, choices.kernel_costs(costs))
        found = docset.DocSet(docs, segment.n_documents, negated)
    else:
        found = evaluation.Evaluator(corpus, segment, costs, meter).evaluate(where)
    removed = corpus.removed(i)
    return found & ~docset.DocSet(removed, segment.n_documents) if len(removed) else found


Ids = NDArray[np.uint32]


@dataclass(frozen=True)
class Subcorpus:
    """Documents of a corpus: a set per segment without removed documents, or None for all documents."""

    corpus: Corpus
    documents: Sequence[DocSet] | None

    @cached_property
    def n_tokens(self) -> int:
        """The number of tokens in these documents."""
        if self.documents is None:
            return self.corpus.n_tokens
        return sum(each_segment(self.corpus, length_in, self.documents))

    def counts_of(self, ids: Ids) -> IntArray:
        """Return how often tokens occur in these documents: (n,) int64.

        Cost: a search per token; for some of the documents also a few ns for each token in them, or in the
        others, whichever are fewer.
        """
        if self.documents is None:
            return self._counts_of_all(ids)
        reads_others = 2 * self.n_tokens > self.corpus.n_tokens
        found = _looked_up(ids, *self._token_counts(reads_others))
        return self._counts_of_all(ids) - found if reads_others else found

    def token_counts(self) -> tuple[Ids, IntArray]:
        """Return all tokens of these documents, ids ascending, and their counts. Cost: a few ns per token."""
        return self._token_counts(False)

    def _token_counts(self, of_others: bool) -> tuple[Ids, IntArray]:
        """Return the same for these documents, or for all others."""
        found = list(each_segment(self.corpus, token_counts_in, self.documents or (), of_others))
        ids = np.concatenate([np.empty(0, dtype=np.uint32), *(ids for ids, _ in found)])
        counts = np.concatenate([np.empty(0, dtype=np.int64), *(counts for _, counts in found)])
        first, places = numbered(ids)
        sums = np.zeros(len(first), dtype=np.int64)
        np.add.at(sums, places, counts)
        return ids[first], sums

    def _counts_of_all(self, ids: Ids) -> IntArray:
        return self.corpus.index.count_many(ids.astype(np.int64), np.arange(len(ids) + 1))


def length_in(corpus: Corpus, i: int, documents: Sequence[DocSet]) -> int:
    """Return the number of tokens in the documents in segment i."""
    return int(corpus.segments[i].lengths(documents[i].numbers()).sum())


def token_counts_in(
    corpus: Corpus, i: int, documents: Sequence[DocSet], of_others: bool
) -> tuple[Ids, IntArray]:
    """Return the tokens of the documents in segment i, or of its other documents, and their counts."""
    docs = documents[i]
    if of_others:
        docs = ~docs & DocSet(corpus.removed(i), corpus.segments[i].n_documents, negated=True)
    counts = TokenCounts()
    counts.add_documents(corpus.segments[i].index, docs.numbers())
    return counts.found()


def _looked_up(ids: Ids, known: Ids, counts: IntArray) -> IntArray:
    """Return the counts of ids; 0 for ids that are not among the known ones, which are ascending."""
    if not len(known):
        return np.zeros(len(ids), dtype=np.int64)
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[places] == ids, counts[places], 0)


# ---- Rows of n-grams, for statements that return many: their documents, batches and memory.


# Tokens of the n-grams in one batch of rows: a few megabytes.
BATCH_TOKENS = 1 << 17

# Memory per token of a row, as text and as a number.
BYTES_PER_TOKEN = 12

# N-grams longer than this are compared with the longest document first; shorter ones take little memory.
LONG = 1000


# The sign of a segment's counts, and a bitmap of the documents that are counted; None for all.
Side = tuple[int, NDArray[np.uint8] | None]


def side_of(docs: DocSet) -> Side | None:
    """Return the documents in the form that kernels take, or None if the set is empty."""
    if not len(docs):
        return None
    return (1, None) if len(docs) == docs.n_documents else (1, docs.bitmap())


def all_are_shorter(segments: Iterable[Segment], n: int) -> bool:
    """Return True if no document has n tokens: listing n-grams takes memory proportional to n.

    Cost: for n above LONG, one pass over the lengths of documents.
    """
    able = [segment for segment in segments if segment.n_tokens >= n]
    return not able or (n > LONG and not any(_has_document_with(segment, n) for segment in able))


def _has_document_with(segment: Segment, n: int) -> bool:
    return bool((segment.lengths(np.arange(segment.n_documents, dtype=np.uint32)) >= n).any())


def require_table(n_tokens: IntArray) -> None:
    """Check that rows with these numbers of tokens fit `memory_limit`. Raises ResourceError."""
    rows, tokens = len(n_tokens), int(n_tokens.sum())
    interrupts.require_memory(tokens * BYTES_PER_TOKEN, f"{rows:,} rows with {tokens:,} tokens")


def batches_of(n_tokens: IntArray) -> Iterator[slice]:
    """Yield slices of rows with these numbers of tokens, each a few megabytes in size."""
    ends = np.cumsum(n_tokens)
    start = 0
    while start < len(ends):
        interrupts.check()
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + BATCH_TOKENS, side="right"))
        stop = min(max(stop, start + 1), start + BATCH_ROWS)
        yield slice(start, stop)
        start = stop


@contextmanager
def negative_counts_named(tokenizer: Tokenizer) -> Iterator[None]:
    """Turn a negative net count into an error that names the n-gram."""
    try:
        yield
    except NegativeCount as error:
        text = tokenizer.decode(error.ids)
        raise ExecutionError(
            f"the count of {text!r} {list(error.ids)} is below zero: the subtracted corpus is not part "
            "of the rest"
        ) from error
