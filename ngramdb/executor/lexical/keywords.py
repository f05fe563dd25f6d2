"""KEYWORDS: the n-grams that are more frequent in some documents than in others.

Tokens are counted in the documents themselves; where two parts make up the corpus, only in the smaller one.
Longer n-grams come from one pass over the rows of the index, which tells documents apart only where an n-gram
occurs so often that it can be among the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.corpus.top_ngrams import NgramScan
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.evaluation import Evaluator
from ngramdb.conditions.expressions import from_files
from ngramdb.executor.lexical.measures import KEYNESS, Floats, Table, simple
from ngramdb.executor.lexical.parts import Part
from ngramdb.executor.per_segment import each_segment
from ngramdb.executor.questions.ngrams import batches_of, bitmap_of, none_is_so_long, require_table
from ngramdb.executor.results.result import Result, Row
from ngramdb.interrupts import require_memory
from ngramdb.planner.plan import KEYWORD_COLUMNS, Contrast, Costs, DocExpr, Keyness, PlanMeter
from ngramdb.source import Corpus, IntArray

KEYWORD_TYPES = (str, list, int, int, int, int, float)

# N-grams whose measures are computed together: some megabytes.
CHUNK_NGRAMS = 1 << 17
# Memory per n-gram: its place, counts, measure and order.
BYTES_PER_NGRAM = 96

# The tokens, (k, n) uint32, of n-grams that are kept as keys.
Ids = NDArray[np.uint32]
ReadIds = Callable[[IntArray], Ids]
# How often a segment's rows count, and a bitmap of the documents in which they do.
Side = tuple[int, NDArray[np.uint8] | None]


@dataclass(frozen=True)
class Pair:
    """Two parts of a corpus; `is_whole`: every document is in one of them; `n_common` are in both."""

    first: Part
    second: Part
    is_whole: bool
    n_common: int


@dataclass
class Scored:
    """N-grams with both counts and their measure: (m, k) int64 keys to read ids from, (m,) the others."""

    keys: IntArray
    f1: IntArray
    f2: IntArray
    scores: Floats

    def best(self, top: int | None) -> Scored:
        """The best, in order; of equal ones those that stand first."""
        order = np.argsort(-self.scores, kind="stable")[:top]
        return Scored(self.keys[order], self.f1[order], self.f2[order], self.scores[order])


def keywords(plan: Keyness, meter: PlanMeter | None = None) -> Result:
    """A row per n-gram, by the measure, then by token ids. None where a part has no token.

    `total` in the summary is how many n-grams there are, where all of them were read.
    """
    plan.corpus.check_difference()
    pair = _parts(plan, meter)
    n1, n2 = pair.first.n_tokens, pair.second.n_tokens
    total: int | None = 0
    found = _none()
    read: ReadIds = _of_one_token
    if n1 and n2:
        found, total, read = _of_tokens(plan, pair) if plan.n == 1 else _of_ngrams(plan, pair)
    n_tokens = np.full(len(found.scores), plan.n)
    require_table(n_tokens)

    def batches() -> Iterator[list[Row]]:
        with from_files(plan.corpus.tokenizer, plan.corpus.segments):
            for part in batches_of(n_tokens):
                every = read(found.keys[part])
                texts = plan.corpus.tokenizer.decode_rows(every)
                yield [
                    (text, ids, f1, n1, f2, n2, score)
                    for text, ids, f1, f2, score in zip(
                        texts,
                        every.tolist(),
                        found.f1[part].tolist(),
                        found.f2[part].tolist(),
                        found.scores[part].tolist(),
                        strict=True,
                    )
                ]

    summary: dict[str, Any] = {} if total is None else {"total": total}
    if pair.n_common:
        summary["note"] = _overlap_note(pair.n_common)
    columns = (*KEYWORD_COLUMNS, plan.measure)
    return Result(columns, batches(), summary=summary, n_rows=len(found.scores), types=KEYWORD_TYPES)


# ---- the documents ----------------------------------------------------------------------------------------


def _overlap_note(n: int) -> str:
    found = (
        "1 document is in both parts and counts" if n == 1 else f"{n:,} documents are in both parts and count"
    )
    return f"{found} on both sides; AND NOT in a condition, or AGAINST REST, keeps the parts apart"


def _parts(plan: Keyness, meter: PlanMeter | None) -> Pair:
    """The documents of both parts."""
    first: list[DocSet] = []
    second: list[DocSet] = []
    is_whole, n_common = plan.where.n_first is None, 0
    for chosen, n_kept in each_segment(plan.corpus, sides_in, plan.where, plan.costs, meter=meter):
        common = len(chosen[0] & chosen[1])
        n_common += common
        is_whole = is_whole and not common and len(chosen[0]) + len(chosen[1]) == n_kept
        first.append(chosen[0])
        second.append(chosen[1])
    return Pair(Part(plan.corpus, first), Part(plan.corpus, second), is_whole, n_common)


def sides_in(
    corpus: Corpus, i: int, where: Contrast, costs: Costs | None, meter: PlanMeter | None = None
) -> tuple[tuple[DocSet, DocSet], int]:
    """The documents of segment i in the first part and in the second, and how many of it count at all."""
    evaluator = Evaluator(corpus, corpus.segments[i], costs, meter)
    kept = DocSet(corpus.removed(i), evaluator.n_documents, negated=True)
    return _chosen(where, i, evaluator, kept), len(kept)


def _chosen(where: Contrast, i: int, evaluator: Evaluator, kept: DocSet) -> tuple[DocSet, DocSet]:
    none = DocSet.none(evaluator.n_documents)

    def meeting(condition: DocExpr) -> DocSet:
        return evaluator.evaluate(condition) & kept

    if where.n_first is not None and where.second is not None:
        return (meeting(where.first), none) if i < where.n_first else (none, meeting(where.second))
    first = meeting(where.first)
    return first, kept & ~first if where.second is None else meeting(where.second)


# ---- tokens -----------------------------------------------------------------------------------------------


def _of_tokens(plan: Keyness, pair: Pair) -> tuple[Scored, int, ReadIds]:
    if pair.is_whole:
        ids, every, *_ = plan.corpus.index.dist([], False, 0)
        swapped = pair.first.n_tokens > pair.second.n_tokens
        f1 = (pair.second if swapped else pair.first).counts_of(ids)
        f1, f2 = (every - f1, f1) if swapped else (f1, every - f1)
    else:
        (own, counts), (others, other_counts) = pair.first.token_counts(), pair.second.token_counts()
        ids = np.union1d(own, others)
        f1, f2 = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=np.int64)
        f1[np.searchsorted(ids, own)] = counts
        f2[np.searchsorted(ids, others)] = other_counts
    kept = f1 + f2 >= plan.min_count
    ids, f1, f2 = ids[kept], f1[kept], f2[kept]
    scores = _measure(plan, pair)(f1, f2)
    return Scored(ids.astype(np.int64)[:, None], f1, f2, scores).best(plan.top), len(ids), _of_one_token


def _of_one_token(ids: IntArray) -> Ids:
    return ids.astype(np.uint32)


def _measure(plan: Keyness, pair: Pair) -> Callable[[IntArray, IntArray], Floats]:
    n1, n2 = pair.first.n_tokens, pair.second.n_tokens

    def measured(f1: IntArray, f2: IntArray) -> Floats:
        table = Table.of(f1, n1, f1 + f2, n1 + n2)
        return simple(table, plan.smoothing) if plan.measure == "simple" else KEYNESS[plan.measure](table)

    return measured


# ---- longer n-grams ---------------------------------------------------------------------------------------


def _of_ngrams(plan: Keyness, pair: Pair) -> tuple[Scored, int | None, ReadIds]:
    """From a pass over the rows. Their number is known where no n-gram was left out unseen."""
    if none_is_so_long(plan.corpus.segments, plan.n):
        return _none(), 0, _of_one_token
    measure = _measure(plan, pair)
    scan = NgramScan(_sources(plan, pair), plan.n)
    # A row in both parts counts twice.
    least = all_rows = (plan.min_count + 1) // 2 if pair.n_common else plan.min_count
    found, total = [_none()], 0
    while True:
        places, counts = scan.next(CHUNK_NGRAMS, least)
        if not len(places):
            return _joined(found).best(plan.top), total if least == all_rows else None, scan.ids
        f1, f2 = counts[:, 0], counts[:, 1]
        if pair.is_whole:  # the second count is that of all documents
            f2 = f2 - f1
        kept = f1 + f2 >= plan.min_count
        places, f1, f2 = places[kept], f1[kept], f2[kept]
        total += len(places)
        found.append(Scored(places, f1, f2, measure(f1, f2)))
        n_kept = sum(len(one.scores) for one in found)
        require_memory(n_kept * BYTES_PER_NGRAM, f"{n_kept:,} n-grams of {plan.n:,} tokens")
        if plan.top is not None:
            found = [_joined(found).best(plan.top)]
            if len(found[0].scores) == plan.top:
                bar = float(found[0].scores[-1]) if plan.top else float("inf")
                least = max(least, _least_rows(measure, bar, pair.first.n_tokens))


def _least_rows(measure: Callable[[IntArray, IntArray], Floats], bar: float, most: int) -> int:
    """How often an n-gram occurs at least whose measure is above a bar: all in the first part is the best."""
    low, high = 1, most + 1
    while low < high:
        middle = (low + high) // 2
        if measure(np.array([middle]), np.array([0]))[0] > bar:
            high = middle
        else:
            low = middle + 1
    return low


def _sources(plan: Keyness, pair: Pair) -> list[tuple[object, None, Side | None, Side | None]]:
    """The segments with the documents of both parts, or of the first one and all."""
    sources: list[tuple[object, None, Side | None, Side | None]] = []
    assert pair.first.documents is not None and pair.second.documents is not None
    for i, segment in enumerate(plan.corpus.segments):
        first, second = pair.first.documents[i], pair.second.documents[i]
        sides = _side(first), _side(first | second if pair.is_whole else second)
        if any(sides):
            sources.append((segment.index, None, *sides))
    return sources


def _side(docs: DocSet) -> Side | None:
    if not len(docs):
        return None
    return (1, None) if len(docs) == docs.n_documents else (1, bitmap_of(docs))


def _none() -> Scored:
    counts = np.empty(0, dtype=np.int64)
    return Scored(np.empty((0, 2), dtype=np.int64), counts, counts, np.empty(0))


def _joined(parts: Sequence[Scored]) -> Scored:
    columns: Sequence[tuple[NDArray[np.generic], ...]] = [(p.keys, p.f1, p.f2, p.scores) for p in parts]
    return Scored(*(np.concatenate(column) for column in zip(*columns, strict=True)))
