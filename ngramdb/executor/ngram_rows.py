"""Rows of n-grams, for statements that return many: their documents, batches and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.top_ngrams import NegativeCount
from ngramdb.conditions.docset import DocSet
from ngramdb.errors import ExecutionError
from ngramdb.executor.results.result import BATCH_ROWS
from ngramdb.segments.base import Segment
from ngramdb.source import IntArray
from ngramdb.tokenizers.base import Tokenizer

# Tokens of the n-grams in one batch of rows: a few megabytes.
BATCH_TOKENS = 1 << 17

# Memory per token of a row, as text and as a number.
BYTES_PER_TOKEN = 12

# N-grams longer than this are compared with the longest document first; shorter ones take little memory.
LONG = 1000

Ids = NDArray[np.uint32]
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
    starts, stops = segment.index.document_bounds(np.arange(segment.n_documents, dtype=np.uint32))
    return bool((stops - starts >= n).any())


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
