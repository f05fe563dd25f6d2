"""COLLOCATES: the tokens that stand near occurrences, and how closely they are associated with them.

Windows are positions of the text: those at most so many tokens before or after an occurrence, in its
document or in its sentence. A position counts once, however many windows it lies in, so that the counts
make a contingency table: f1 is the number of positions in windows, f2 that of positions with the token, N
that of all. Dice and logDice are defined on the number of occurrences in place of f1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.token_counts import WindowCounts
from ngramdb.conditions.disjunction import united
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.expressions import from_files
from ngramdb.executor.lexical.measures import ASSOCIATION, OF_OCCURRENCES, Table
from ngramdb.executor.lexical.parts import Part
from ngramdb.executor.per_segment import each_segment
from ngramdb.executor.questions.counting import evaluator_of
from ngramdb.executor.results.result import BATCH_ROWS, Result, Row
from ngramdb.interruptible_sort import numbered
from ngramdb.planner.plan import (
    COLLOCATE_COLUMNS,
    Actual,
    AllDocs,
    Collocation,
    Costs,
    DocExpr,
    Occurring,
    PlanMeter,
)
from ngramdb.source import Corpus, IntArray

COLLOCATE_TYPES = (str, int, int, int, int, int, int, int, float)


def collocates(plan: Collocation, meter: PlanMeter | None = None) -> Result:
    """A row per token, the most closely associated first, then the more frequent, then by token id.

    `total` in the summary is how many there are, whatever TOP is, and `occurrences` those of the pattern.

    Cost: locating the occurrences, some 10 ns for each token around them, a search for each collocate.
    """
    plan.corpus.check_difference()
    n_occurrences, documents, (ids, counts) = _around(plan, meter)
    f1 = int(counts[:, 0].sum())
    part = Part(plan.corpus, None if isinstance(plan.what.docs, AllDocs) else documents)
    kept = counts[:, 0] >= plan.min_count
    ids, counts = ids[kept], counts[kept]
    f2 = part.counts_of(ids)
    node = n_occurrences if plan.measure in OF_OCCURRENCES else f1
    scores = ASSOCIATION[plan.measure](Table.of(counts[:, 0], node, f2, part.n_tokens))
    order = np.lexsort((ids, -counts[:, 0], -scores))[: plan.top]
    columns = (ids, *counts.T, np.full(len(ids), f1), f2, np.full(len(ids), part.n_tokens), scores)
    result = Result(
        (*COLLOCATE_COLUMNS, plan.measure),
        _batches(plan, [column[order] for column in columns]),
        summary={"total": len(ids), "occurrences": n_occurrences},
        n_rows=len(order),
        types=COLLOCATE_TYPES,
    )
    result.found = n_occurrences > 0
    return result


def _batches(plan: Collocation, columns: Sequence[NDArray[Any]]) -> Iterator[list[Row]]:
    for start in range(0, len(columns[0]), BATCH_ROWS):
        part = [column[start : start + BATCH_ROWS] for column in columns]
        with from_files(plan.corpus.tokenizer, plan.corpus.segments):
            texts = plan.corpus.tokenizer.token_texts(part[0])
        yield list(zip(texts, *(column.tolist() for column in part), strict=True))


def _around(
    plan: Collocation, meter: PlanMeter | None
) -> tuple[int, list[DocSet], tuple[NDArray[np.uint32], IntArray]]:
    """How many occurrences there are, the documents that are asked about, and the tokens in windows.

    The documents are those that meet a condition; of all documents they are not listed.
    """
    what = plan.what.what if meter is not None else united(plan.what.what, plan.corpus.tokenizer)
    documents: list[DocSet] = []
    counts = []
    with nullcontext(Actual()) if meter is None else meter.timed(plan.what) as actual:
        asked = what, plan.what.docs, plan.costs, (plan.left, plan.right, plan.in_sentence)
        for n, docs, found in each_segment(plan.corpus, around_in, *asked, meter=meter):
            actual.rows += n
            counts.append(found)
            if docs is not None:
                documents.append(docs)
    return actual.rows, documents, _summed(counts)


def around_in(
    corpus: Corpus,
    i: int,
    what: Occurring,
    docs: DocExpr,
    costs: Costs | None,
    window: tuple[int, int, bool],
    meter: PlanMeter | None = None,
) -> tuple[int, DocSet | None, tuple[NDArray[np.uint32], IntArray]]:
    """The same of segment i; None for the documents where these are all.

    window : tokens to the left and to the right, and whether only those of the same sentence
    """
    evaluator, kept = evaluator_of(corpus, i, costs, meter)
    chosen = evaluator.evaluate(docs)
    chosen = chosen if kept is None else chosen & kept
    found = evaluator.expressions.occurrences(what, chosen)
    counts = WindowCounts()
    left, right, in_sentence = window
    segment = corpus.segments[i]
    sentences = segment.sentences if in_sentence else None
    # A word of a text without tokens stands at its document's end, and nothing after it.
    _, ends = segment.index.document_bounds(segment.index.documents_at(found.starts))
    stops = np.sort(np.minimum(found.stops, ends))
    counts.add(segment.index, found.starts, stops, left, right, sentences)
    return len(found), None if isinstance(docs, AllDocs) else chosen, counts.found()


def _summed(
    found: Sequence[tuple[NDArray[np.uint32], IntArray]],
) -> tuple[NDArray[np.uint32], IntArray]:
    """The tokens of all segments, ids ascending, and the sums of their counts: (n,) and (n, columns)."""
    if not found:
        return WindowCounts().found()
    if len(found) == 1:
        return found[0]
    ids = np.concatenate([ids for ids, _ in found])
    first, places = numbered(ids)
    counts = np.concatenate([counts for _, counts in found])
    sums = np.zeros((len(first), counts.shape[1]), dtype=np.int64)
    np.add.at(sums, places, counts)
    return ids[first], sums
