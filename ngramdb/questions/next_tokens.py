"""Distributions of the token after a context or before an n-gram: counts from the index, rows of results.

Occurrences at the very end (or beginning) of a document are a row of their own, with token and id NULL, so
that the probabilities sum to 1. Rows are sorted by count, descending, then by token id; the row without a
token follows those of equal count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.token_counts import TokenCounts, tokens_after
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.expressions import from_files
from ngramdb.conditions.interruptible_sort import numbered
from ngramdb.executor.result import BATCH_ROWS, Result, Row
from ngramdb.lm.models import LanguageModel
from ngramdb.lm.values import UNKNOWN
from ngramdb.patterns import Gram
from ngramdb.questions.results import NextTokens
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray

COLUMNS = ("token", "token_id", "count", "prob")
TYPES = (str, int, int, float)
# Replaces a missing token id while rows are sorted: above every id.
NO_TOKEN = 2**32
# The token of the row for unknown words, whose id is NULL.
SHOWN_UNKNOWN = "<unk>"
# Occurrences that are read between two interrupt checks.
CHUNK = 1 << 20

Documents = Sequence[tuple[Segment, DocSet]]


# ---- counts ---------------------------------------------------------------------------------------------


def is_sparse(found: NextTokens) -> bool:
    """Return True if a single token follows the context, with probability 1."""
    return len(found.token_ids) == 1 and not found.n_end


def followers(ids: IntArray, found: Documents) -> NextTokens:
    """Return the tokens after an n-gram in some documents, from its occurrences in all documents.

    Cost: about 3 ns per occurrence in all documents.
    """
    parts = []
    for number, (segment, docs) in enumerate(found):
        interrupts.step(number, len(found))
        if len(docs):
            bits = np.packbits(docs.mask(), bitorder="little")
            parts.append(tokens_after(segment.index, *segment.index.find(ids), len(ids), bits))
    if len(parts) == 1:
        return _next_tokens(*parts[0], len(ids))
    tokens = np.concatenate([np.empty(0, dtype=np.uint32), *(tokens for tokens, _, _ in parts)])
    first, where = numbered(tokens)
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, where, np.concatenate([np.empty(0, dtype=np.int64), *(n for _, n, _ in parts)]))
    return _next_tokens(tokens[first], counts, sum(n_none for _, _, n_none in parts), len(ids))


def predecessors(corpus: Corpus, gram: Gram) -> NextTokens:
    """Return the tokens before an n-gram. Cost: a random read or two per occurrence."""
    index, counts = corpus.index, TokenCounts()
    n_occurrences = 0
    for i, (segment, sign) in enumerate(zip(index.segments, index.signs, strict=True)):
        interrupts.step(i, len(index.segments))
        lo, hi = segment.find(gram.ids) if gram.known else (0, 0)
        counts.add_before(segment, lo, hi, sign)
        n_occurrences += sign * (hi - lo)
    return NextTokens(*counts.found(), counts.n_starts, n_occurrences, len(gram) + 1)


def predecessors_among(gram: Gram, found: Documents) -> NextTokens:
    """Return the tokens before an n-gram in some documents. Cost: about 30 ns per occurrence in all."""
    parts: list[IntArray] = []
    for number, (segment, docs) in enumerate(found if gram.known else ()):
        interrupts.step(number, len(found))
        if not len(docs):
            continue
        chosen = docs.mask()
        index = segment.index
        lo, hi = index.find(gram.ids)
        for start in range(lo, hi, CHUNK):
            interrupts.check()
            places = index.positions(start, min(start + CHUNK, hi))
            places = places[chosen[index.documents_at(places)]]
            parts.append(index.tokens_at(places, -1))
    every = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    where, numbers = numbered(every)
    tokens, counts = every[where], np.bincount(numbers, minlength=len(where))
    n_none = int(counts[0]) if len(tokens) and tokens[0] < 0 else 0
    first = 1 if n_none else 0
    ids = tokens[first:].astype(np.uint32)
    return _next_tokens(ids, counts[first:].astype(np.int64), n_none, len(gram))


def _next_tokens(ids: NDArray[np.uint32], counts: IntArray, n_none: int, length: int) -> NextTokens:
    """Return a distribution whose context has exactly these occurrences."""
    return NextTokens(ids, counts, n_none, int(counts.sum()) + n_none, length + 1)


# ---- rows -----------------------------------------------------------------------------------------------


def counted_rows(found: NextTokens, top: int | None, corpus: Corpus, **facts: Any) -> Result:
    """Return the rows of a distribution of counts, sorted when the first is read.

    The summary has the totals, regardless of TOP, and further facts.
    """
    total = len(found.token_ids) + (found.n_end != 0)
    return Result(
        COLUMNS,
        _counted_batches(found, top, corpus),
        summary={"total": total, "context_count": found.context_count, **facts},
        n_rows=total if top is None else min(total, top),
        types=TYPES,
    )


def _counted_batches(found: NextTokens, top: int | None, corpus: Corpus) -> Iterator[list[Row]]:
    every_id, every_count = _in_order(found, top)
    for start in range(0, len(every_id), BATCH_ROWS):
        part = every_id[start : start + BATCH_ROWS]
        counts = every_count[start : start + BATCH_ROWS]
        ids: list[int | None] = part.tolist()
        ends = np.flatnonzero(part == NO_TOKEN).tolist() if found.n_end else ()
        # As uint32 they need no check: they come from the index.
        tokens = (np.delete(part, ends) if ends else part).astype(np.uint32)
        texts: list[str | None] = list(_texts(tokens, corpus))
        for i in ends:
            ids[i] = None
            texts.insert(i, None)
        probs = counts / found.context_count
        yield list(zip(texts, ids, counts.tolist(), probs.tolist(), strict=True))


def _in_order(found: NextTokens, top: int | None) -> tuple[IntArray, IntArray]:
    """Return ids and counts in order of rows: the first `top`, or all. Cost: linear, and sorting these."""
    ids, counts = found.token_ids.astype(np.int64), found.counts
    if found.n_end:
        ids, counts = np.append(ids, NO_TOKEN), np.append(counts, np.int64(found.n_end))
    if top is not None and 0 < top < len(ids):
        # Keep all that reach the k-th count, so that ties are broken by id.
        bar = -np.partition(-counts, top - 1)[top - 1]
        kept = counts >= bar
        ids, counts = ids[kept], counts[kept]
    order = np.lexsort((ids, -counts))[:top]
    return ids[order], counts[order]


def modelled_rows(
    model: LanguageModel, context: IntArray, top: int | None, corpus: Corpus, note: dict[str, str]
) -> Result:
    """Return the rows of a model that smooths, the most probable first.

    Counts are those after the longest suffix of the context that the model has found. All unknown words are
    one row, if the model reserves probability for them.
    """
    found = model.dist(context)
    summary = {
        "total": len(found),
        "context_count": found.context_count,
        "effective_n": found.effective_n,
        "sparse": found.sparse,
        **note,
    }
    n_rows = len(found) if top is None else min(len(found), top)

    def batches() -> Iterator[list[Row]]:
        keys = np.where(found.ids < 0, NO_TOKEN - found.ids, found.ids)
        order = np.lexsort((keys, -found.probs))[:top]
        ids, counts, *_ = model.successors(context, found.effective_n - 1)
        for start in range(0, len(order), BATCH_ROWS):
            part = order[start : start + BATCH_ROWS]
            yield _modelled_batch(found.ids[part], found.probs[part], ids, counts, corpus)

    return Result(COLUMNS, batches(), summary=summary, n_rows=n_rows, types=TYPES)


def _modelled_batch(
    ids: IntArray, probs: NDArray[np.float64], seen: IntArray, counts: IntArray, corpus: Corpus
) -> list[Row]:
    """Return a batch of rows; `seen` (ascending) are the tokens after the context, with their counts."""
    places = np.minimum(np.searchsorted(seen, ids), max(0, len(seen) - 1))
    found = seen[places] == ids if len(seen) else np.zeros(len(ids), dtype=np.bool_)
    shown_counts = np.where(found, counts[places] if len(seen) else 0, 0)
    known = ids >= 0
    shown_ids: list[int | None] = [token if token >= 0 else None for token in ids.tolist()]
    texts: list[str | None] = [SHOWN_UNKNOWN if token == UNKNOWN else None for token in ids.tolist()]
    for i, text in zip(np.flatnonzero(known).tolist(), _texts(ids[known], corpus), strict=True):
        texts[i] = text
    return list(zip(texts, shown_ids, shown_counts.tolist(), probs.tolist(), strict=True))


def _texts(ids: IntArray | NDArray[np.uint32], corpus: Corpus) -> list[str]:
    with from_files(corpus.tokenizer, corpus.segments):
        return corpus.tokenizer.token_texts(ids)
