"""DIST: the complete next-token distribution of a context.

Occurrences of the context at a document's very end are a row of their own, token and id NULL, so that the
probabilities sum to 1. Rows come by count descending, then by token id, the document's end after its equals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.executor.result import BATCH_ROWS, Result, Row
from ngramdb.planner.plan import DISTRIBUTION_COLUMNS, Distribution, Model
from ngramdb.planner.source import Index, IntArray, Tokenizer

# Stands for the end of a document among token ids while rows are sorted: above every id.
END_OF_DOCUMENT = 2**32


@dataclass(frozen=True)
class NextTokens:
    """A distribution as the index gives it: token ids ascending, `n_end` beside them."""

    ids: NDArray[np.uint32]
    counts: IntArray
    n_end: int
    context_count: int
    effective_n: int

    @property
    def n_rows(self) -> int:
        """The tokens, and the end of a document where the context stands there."""
        return len(self.ids) + (self.n_end != 0)

    @property
    def sparse(self) -> bool:
        """Whether one next token has probability 1."""
        return len(self.ids) == 1 and not self.n_end


def next_tokens(index: Index, context: Any, model: Model) -> NextTokens:
    """The whole distribution. Cost: one search per segment, then galloping over what follows."""
    ids, counts, n_end, context_count, suffix_len = index.dist(context, model.infgram, model.order)
    return NextTokens(ids, counts, int(n_end), int(context_count), int(suffix_len) + 1)


def best(found: NextTokens, top: int | None) -> tuple[IntArray, IntArray]:
    """Ids and counts in order of rows: the first `top`, or all. Cost: linear, and a sort of the answer."""
    ids, counts = found.ids.astype(np.int64), found.counts
    if found.n_end:
        ids, counts = np.append(ids, END_OF_DOCUMENT), np.append(counts, np.int64(found.n_end))
    if top is not None and 0 < top < len(ids):
        # All that reach the k-th count stay, so that ties are broken by id and not by chance.
        bar = -np.partition(-counts, top - 1)[top - 1]
        kept = counts >= bar
        ids, counts = ids[kept], counts[kept]
    order = np.lexsort((ids, -counts))[:top]
    return ids[order], counts[order]


def distribution(plan: Distribution) -> Result:
    """Rows in batches, sorted when the first is read; `total` in the summary is without regard to TOP."""
    found = next_tokens(plan.corpus.index, plan.context.ids, plan.model)
    total = found.n_rows
    summary = {
        "total": total,
        "context_count": found.context_count,
        "effective_n": found.effective_n,
        "sparse": found.sparse,
    }
    n_rows = total if plan.top is None else min(total, plan.top)
    batches = _batches(found, plan.top, plan.corpus.tokenizer)
    return Result(DISTRIBUTION_COLUMNS, batches, summary=summary, n_rows=n_rows)


def _batches(found: NextTokens, top: int | None, tokenizer: Tokenizer) -> Iterator[list[Row]]:
    every_id, every_count = best(found, top)
    for start in range(0, len(every_id), BATCH_ROWS):
        ids = every_id[start : start + BATCH_ROWS].tolist()
        counts = every_count[start : start + BATCH_ROWS].tolist()
        yield [
            (None, None, count, count / found.context_count)
            if token == END_OF_DOCUMENT
            else (tokenizer.token_text(token), token, count, count / found.context_count)
            for token, count in zip(ids, counts, strict=True)
        ]
