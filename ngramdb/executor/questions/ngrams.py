"""NGRAMS: all n-grams of one length, the most frequent first, ties by token ids.

Of all documents, the k most frequent come from a sample of the index (`frequent`) where that is the cheaper
way, else from a pass over it (`NgramBlocks`). Of some documents, from a pass that reads each row's
document, or, where they are few, from their own tokens. Every way gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.top_ngrams import NegativeCount, NgramBlocks, count_documents, frequent
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.evaluation import PlanMeter
from ngramdb.conditions.expressions import from_files
from ngramdb.errors import ExecutionError
from ngramdb.executor.questions.documents import matching
from ngramdb.executor.questions.shared_ngrams import shared_best
from ngramdb.executor.results.result import BATCH_ROWS, Result, Row
from ngramdb.planner.plan import NGRAM_COLUMNS, AllDocs, NgramList
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer

# N-grams of a block: some 24 bytes of memory each while the index is read, and a pass over it per block.
BLOCK_NGRAMS = 1 << 20

# The tokens of a document cost about this many times as much, counted by themselves, as rows of the index
# read in order do (measured: 60 to 100 ns against 20).
COUNTED_TOKEN_COST = 4
# … and at most so many, since a distinct n-gram takes 32 bytes.
MAX_COUNTED_TOKENS = 1 << 24

# Tokens of n-grams that become one batch of rows: some megabytes.
BATCH_TOKENS = 1 << 17

# Tokens of a row, as text and as numbers.
BYTES_PER_TOKEN = 12

# N-grams for which it is looked whether a document is as long: shorter ones take little memory anyway.
LONG = 1000

Counted = tuple[NDArray[np.uint32], IntArray]


def ngrams(plan: NgramList, meter: PlanMeter | None = None) -> Result:
    """A row per n-gram. Where all of the index was read, the summary has the number of n-grams."""
    found: Answer
    if isinstance(plan.where, AllDocs):
        found = _of_all(plan)
    else:
        plan.corpus.check_difference()
        found = _of_some(plan, matching(plan.corpus, plan.where, plan.costs, meter))
    n_rows = found.distinct if plan.top is None or found.distinct is None else min(plan.top, found.distinct)
    summary: dict[str, Any] = {} if found.distinct is None else {"total": found.distinct}
    batches = _batches(found.blocks, plan.corpus)
    return Result(NGRAM_COLUMNS, batches, summary=summary, n_rows=n_rows, types=(str, list, int))


def none_is_so_long(segments: Iterable[Segment], n: int) -> bool:
    """Whether no document of these segments has n tokens. To list n-grams takes memory by n.

    Cost: of an n above LONG, a pass over the documents' lengths.
    """
    able = [segment for segment in segments if segment.n_tokens >= n]
    return not able or (n > LONG and not any(_has_document_of(segment, n) for segment in able))


def _has_document_of(segment: Segment, n: int) -> bool:
    starts, stops = segment.index.document_bounds(np.arange(segment.n_documents, dtype=np.uint32))
    return bool((stops - starts >= n).any())


@dataclass
class Answer:
    """N-grams in blocks, in order; `distinct` is their number without regard to TOP, where it is known."""

    blocks: Iterator[Counted]
    distinct: int | None = None


def _of_all(plan: NgramList) -> Answer:
    """From the net index: deleted and subtracted documents are taken off by their counts."""
    index = plan.corpus.index
    if plan.top == 0:
        return Answer(iter(()))
    if none_is_so_long(plan.corpus.segments, plan.n):
        return Answer(iter(()), 0)
    if plan.top is not None:
        shared = shared_best(index, plan.n, plan.top)
        if shared is not None:
            return Answer(iter([shared]))
    for segment in plan.corpus.segments:
        segment.read_for_pass()
    with negative_named(plan.corpus.tokenizer):
        if plan.top is not None:
            best = frequent(index, plan.n, plan.top)
            if best is not None:
                return Answer(iter([best]))
    return _in_blocks(plan, NgramBlocks(index.segments, index.signs, plan.n))


def _of_some(plan: NgramList, found: Sequence[tuple[Segment, DocSet]]) -> Answer:
    """Of the documents that meet the condition, all of them in added segments."""
    found = [(segment, docs) for segment, docs in found if len(docs)]
    if plan.top == 0 or not found:
        return Answer(iter(()), 0 if not found else None)
    if none_is_so_long((segment for segment, _ in found), plan.n):
        return Answer(iter(()), 0)
    n_rows = sum(segment.n_tokens for segment, _ in found)
    tokens = _few_tokens(found, min(MAX_COUNTED_TOKENS, n_rows // COUNTED_TOKEN_COST))
    if tokens is not None:
        k = 2**62 if plan.top is None else plan.top
        ids, counts, distinct = count_documents(*tokens, plan.n, k)
        return Answer(iter([(ids, counts)]), distinct)
    bitmaps = [bitmap_of(docs) for _, docs in found]
    segments = [segment.index for segment, _ in found]
    return _in_blocks(plan, NgramBlocks(segments, [1] * len(found), plan.n, bitmaps))


def _in_blocks(plan: NgramList, blocks: NgramBlocks) -> Answer:
    """The first block at once, since it has their number; the others as they are read."""
    size = BLOCK_NGRAMS if plan.top is None else min(plan.top, BLOCK_NGRAMS)
    with negative_named(plan.corpus.tokenizer):
        first = blocks.next(size)

    def all_blocks() -> Iterator[Counted]:
        block, left = first, blocks.distinct if plan.top is None else plan.top
        while len(block[1]):
            yield block
            left -= len(block[1])
            if left <= 0:
                break
            block = blocks.next(min(left, BLOCK_NGRAMS))

    return Answer(all_blocks(), blocks.distinct)


def _few_tokens(
    found: Sequence[tuple[Segment, DocSet]], most: int
) -> tuple[NDArray[np.uint32], IntArray] | None:
    """The documents' tokens one after the other and their offsets, unless there are more than `most`."""
    if sum(len(docs) for _, docs in found) > most:
        return None
    documents: list[NDArray[np.uint32]] = []
    n_tokens = 0
    for segment, docs in found:
        for i in docs.numbers().tolist():
            interrupts.check()
            n_tokens += segment.document_length(i)
            if n_tokens > most:
                return None
            documents.append(segment.document(i))
    offsets = np.zeros(len(documents) + 1, dtype=np.int64)
    np.cumsum([len(document) for document in documents], out=offsets[1:])
    return np.concatenate(documents), offsets


def bitmap_of(docs: DocSet) -> NDArray[np.uint8]:
    """A bit per document of the segment, least significant bit of a byte first."""
    flags = np.full(docs.n_documents, docs.negated)
    flags[docs.docs] = not docs.negated
    return np.packbits(flags, bitorder="little")


def require_table(n_tokens: IntArray) -> None:
    """Check that rows with these numbers of tokens fit `memory_limit`. Raises ResourceError."""
    rows, tokens = len(n_tokens), int(n_tokens.sum())
    interrupts.require_memory(tokens * BYTES_PER_TOKEN, f"{rows:,} rows with {tokens:,} tokens")


def batches_of(n_tokens: IntArray) -> Iterator[slice]:
    """Cut rows with these numbers of tokens into batches of some megabytes."""
    ends = np.cumsum(n_tokens)
    start = 0
    while start < len(ends):
        interrupts.check()
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + BATCH_TOKENS, side="right"))
        stop = min(max(stop, start + 1), start + BATCH_ROWS)
        yield slice(start, stop)
        start = stop


def _batches(blocks: Iterator[Counted], corpus: Corpus) -> Iterator[list[Row]]:
    tokenizer = corpus.tokenizer
    with from_files(tokenizer, corpus.segments), negative_named(tokenizer):
        for ids, counts in blocks:
            for some in batches_of(np.full(len(counts), ids.shape[1])):
                part = ids[some]
                yield list(
                    zip(tokenizer.decode_rows(part), part.tolist(), counts[some].tolist(), strict=True)
                )


class negative_named:  # noqa: N801 - reads as the function it is used as
    """Turns a negative net count into an error that names the n-gram."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NegativeCount):
            text = self._tokenizer.decode(error.ids)
            raise ExecutionError(
                f"the count of {text!r} {list(error.ids)} is below zero: the subtracted corpus is not part "
                "of the rest"
            ) from error
