"""COLLOCATES: the tokens that stand near occurrences, and how closely they are associated with them.

Windows are positions of the text: those at most so many tokens before or after an occurrence, in its
document or in its sentence. A position counts once, however many windows it lies in, so that the counts
make a contingency table: f1 is the number of positions in windows, f2 that of positions with the token, N
that of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.token_counts import WindowCounts
from ngramdb.executor.conditions.alternatives import united
from ngramdb.executor.conditions.docset import DocSet
from ngramdb.executor.conditions.known_tokens import from_files
from ngramdb.executor.lexical.measures import ASSOCIATION, Table
from ngramdb.executor.lexical.parts import Part
from ngramdb.executor.measuring import PlanMeter
from ngramdb.executor.questions.counting import evaluators
from ngramdb.executor.results.result import BATCH_ROWS, Result, Row
from ngramdb.planner.plan import COLLOCATE_COLUMNS, Actual, AllDocs, Collocation
from ngramdb.planner.source import IntArray

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
    scores = ASSOCIATION[plan.measure](Table.of(counts[:, 0], f1, f2, part.n_tokens))
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
    """How many occurrences there are, the documents that are asked about, and the tokens in windows."""
    what = plan.what.what if meter is not None else united(plan.what.what, plan.corpus.tokenizer)
    counts = WindowCounts()
    documents: list[DocSet] = []
    with nullcontext(Actual()) if meter is None else meter.timed(plan.what) as actual:
        for evaluator, kept in evaluators(plan.corpus, plan.costs, meter):
            docs = evaluator.evaluate(plan.what.docs)
            documents.append(docs if kept is None else docs & kept)
            found = evaluator.expressions.occurrences(what, documents[-1])
            actual.rows += len(found)
            segment = plan.corpus.segments[len(documents) - 1]
            sentences = segment.sentences if plan.in_sentence else None
            stops = np.sort(found.stops)
            counts.add(segment.index, found.starts, stops, plan.left, plan.right, sentences)
    return actual.rows, documents, counts.found()
