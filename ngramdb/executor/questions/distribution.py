"""DIST: the complete next-token distribution of a context.

Occurrences of the context at a document's very end are a row of their own, token and id NULL, so that the
probabilities sum to 1. Rows come by count descending, then by token id, the document's end after its equals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb._cext.corpus.token_counts import TokenCounts, tokens_after
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.expressions import from_files
from ngramdb.executor.per_segment import matching
from ngramdb.executor.questions.models import is_counted, language_model, note_of
from ngramdb.executor.results.result import BATCH_ROWS, Result, Row
from ngramdb.interruptible_sort import numbered
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.values import UNKNOWN
from ngramdb.planner.plan import (
    DISTRIBUTION_COLUMNS,
    AllDocs,
    Distribution,
    DistributionBefore,
    DocExpr,
)
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray, TokenIds

if TYPE_CHECKING:
    from ngramdb.planner.plan import PlanMeter


# Stands for the end of a document among token ids while rows are sorted: above every id.
END_OF_DOCUMENT = 2**32
# How the row of unknown words is shown; it has no token id.
SHOWN_UNKNOWN = "<unk>"


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


def next_tokens(index: Index, context: TokenIds, model: ModelSpec) -> NextTokens:
    """The whole distribution. Cost: one search per segment, then galloping over what follows."""
    ids, counts, n_end, context_count, suffix_len = index.dist(context, model.infgram, model.limit)
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
    """The next-token distribution by the plan's model."""
    return _counted(plan) if is_counted(plan.corpus, plan.model) else _modelled(plan)


def _modelled(plan: Distribution) -> Result:
    """Rows of a model that smooths, the most probable first.

    Counts are those after the longest suffix of the context that the model has found. Unknown words, where
    the model foresees them, are one row.
    """
    model = language_model(plan.corpus, plan.model)
    found = model.dist(plan.context.ids)
    note = note_of(model)
    summary = {
        "total": len(found),
        "context_count": found.context_count,
        "effective_n": found.effective_n,
        "sparse": found.sparse,
        **({} if note is None else {"note": note}),
    }
    n_rows = len(found) if plan.top is None else min(len(found), plan.top)

    def batches() -> Iterator[list[Row]]:
        keys = np.where(found.ids < 0, END_OF_DOCUMENT - found.ids, found.ids)
        order = np.lexsort((keys, -found.probs))[: plan.top]
        ids, counts, *_ = model.successors(plan.context.ids, found.effective_n - 1)
        for start in range(0, len(order), BATCH_ROWS):
            part = order[start : start + BATCH_ROWS]
            yield _modelled_rows(found.ids[part], found.probs[part], ids, counts, plan.corpus)

    return Result(
        DISTRIBUTION_COLUMNS, batches(), summary=summary, n_rows=n_rows, types=(str, int, int, float)
    )


def _modelled_rows(
    ids: IntArray, probs: NDArray[np.float64], seen: IntArray, counts: IntArray, corpus: Corpus
) -> list[Row]:
    """A batch of rows.

    `seen` (ascending) and `counts` are the tokens that follow the context, and how often.
    """
    places = np.minimum(np.searchsorted(seen, ids), max(0, len(seen) - 1))
    found = seen[places] == ids if len(seen) else np.zeros(len(ids), dtype=np.bool_)
    shown_counts = np.where(found, counts[places] if len(seen) else 0, 0)
    known = ids >= 0
    shown_ids: list[int | None] = [token if token >= 0 else None for token in ids.tolist()]
    texts: list[str | None] = [SHOWN_UNKNOWN if token == UNKNOWN else None for token in ids.tolist()]
    for i, text in zip(np.flatnonzero(known).tolist(), _texts(ids[known], corpus), strict=True):
        texts[i] = text
    return list(zip(texts, shown_ids, shown_counts.tolist(), probs.tolist(), strict=True))


def _counted(plan: Distribution) -> Result:
    """Rows in batches, sorted when the first is read; `total` in the summary is without regard to TOP."""
    found = next_tokens(plan.corpus.index, plan.context.ids, plan.model)
    return result_of(found, plan.top, plan.corpus, effective_n=found.effective_n, sparse=found.sparse)


def result_of(found: NextTokens, top: int | None, corpus: Corpus, **facts: Any) -> Result:
    """The rows of a distribution; its totals and further facts are the summary."""
    n_rows = found.n_rows if top is None else min(found.n_rows, top)
    return Result(
        DISTRIBUTION_COLUMNS,
        _batches(found, top, corpus),
        summary={"total": found.n_rows, "context_count": found.context_count, **facts},
        n_rows=n_rows,
        types=(str, int, int, float),
    )


def before(plan: DistributionBefore, meter: PlanMeter | None = None) -> Result:
    """The distribution of the token before an n-gram; the beginning of a document is the row without a token.

    Cost: a random read or two for each occurrence.
    """
    plan.corpus.check_difference()
    if plan.where is not None and not isinstance(plan.where, AllDocs):
        return _before_among(plan, plan.where, meter)
    index, counts = plan.corpus.index, TokenCounts()
    n_occurrences = 0
    for i, (segment, sign) in enumerate(zip(index.segments, index.signs, strict=True)):
        interrupts.step(i, len(index.segments))
        lo, hi = segment.find(plan.gram.ids) if plan.gram.known else (0, 0)
        counts.add_before(segment, lo, hi, sign)
        n_occurrences += sign * (hi - lo)
    ids, numbers = counts.found()
    found = NextTokens(ids, numbers, counts.n_starts, n_occurrences, len(plan.gram) + 1)
    return result_of(found, plan.top, plan.corpus)


def _before_among(plan: DistributionBefore, where: DocExpr, meter: PlanMeter | None) -> Result:
    documents = matching(plan.corpus, where, plan.costs, meter)
    tokens = predecessors(plan.gram.ids, documents if plan.gram.known else ())
    found = NextTokens(tokens.ids, tokens.counts, tokens.n_none, tokens.n_places, len(plan.gram) + 1)
    return result_of(found, plan.top, plan.corpus)


def _batches(found: NextTokens, top: int | None, corpus: Corpus) -> Iterator[list[Row]]:
    every_id, every_count = best(found, top)
    for start in range(0, len(every_id), BATCH_ROWS):
        part = every_id[start : start + BATCH_ROWS]
        counts = every_count[start : start + BATCH_ROWS]
        ids: list[int | None] = part.tolist()
        ends = np.flatnonzero(part == END_OF_DOCUMENT).tolist() if found.n_end else ()
        # As uint32 they need no check: they come from the index.
        tokens = (np.delete(part, ends) if ends else part).astype(np.uint32)
        texts: list[str | None] = list(_texts(tokens, corpus))
        for i in ends:
            ids[i] = None
            texts.insert(i, None)
        probs = counts / found.context_count
        yield list(zip(texts, ids, counts.tolist(), probs.tolist(), strict=True))


def _texts(ids: IntArray | NDArray[np.uint32], corpus: Corpus) -> list[str]:
    with from_files(corpus.tokenizer, corpus.segments):
        return corpus.tokenizer.token_texts(ids)


# ---- DIST in some documents only, from the places of the context: without an index of these documents.


# Cost of indexing a token, in places of a context read in the same time.
PLACES_PER_TOKEN = 10


def distribution_among(plan: Distribution, found: Documents) -> Result | None:
    """Answer DIST of an n-gram model in these documents; None if an index of them is faster."""
    context, model = plan.context.before(plan.model.order), plan.model
    if model.kind != "ngram" or model.min_count > 1 or not is_counted(plan.corpus, model):
        return None
    if not len(context) or not context.known:
        return None
    plan.corpus.check_difference()
    ranges = [segment.index.find(context.ids) for segment, _ in found]
    places, tokens_indexed = sum(hi - lo for lo, hi in ranges), _n_indexed(plan.corpus, found)
    chosen = [docs.numbers() for _, docs in found]
    if plan.corpus.prefers_slice(chosen, places, PLACES_PER_TOKEN * tokens_indexed):
        return None
    tokens = followers(context.ids, found)
    n = len(context) + 1
    following = NextTokens(tokens.ids, tokens.counts, tokens.n_none, tokens.n_places, n)
    return result_of(following, plan.top, plan.corpus, effective_n=n, sparse=following.sparse)


def _n_indexed(corpus: Corpus, found: Documents) -> int:
    """Return the number of tokens that an index of these documents, or of the others, would hold."""
    chosen = 0
    for segment, docs in found:
        starts, stops = segment.index.document_bounds(docs.numbers())
        chosen += int((stops.astype(np.int64) - starts).sum())
    return min(chosen, corpus.n_tokens - chosen)


# ---- The tokens beside an n-gram in some documents, from its places: without an index of these documents.


# Places that are looked at between two interrupt checks.
CHUNK = 1 << 20

Documents = Sequence[tuple[Segment, DocSet]]


class Neighbours(NamedTuple):
    """Tokens beside an n-gram, ids ascending; `n_none` places have none: the document ends there."""

    ids: NDArray[np.uint32]
    counts: IntArray
    n_none: int

    @property
    def n_places(self) -> int:
        """All places."""
        return int(self.counts.sum()) + self.n_none


def followers(ids: IntArray, found: Documents) -> Neighbours:
    """The tokens after an n-gram in these documents.

    Cost: that of all that follow it anywhere, and some 3 ns an occurrence in all documents.
    """
    parts = []
    for number, (segment, docs) in enumerate(found):
        interrupts.step(number, len(found))
        if len(docs):
            bits = np.packbits(docs.mask(), bitorder="little")
            parts.append(tokens_after(segment.index, *segment.index.find(ids), len(ids), bits))
    if len(parts) == 1:
        return Neighbours(*parts[0])
    tokens = np.concatenate([np.empty(0, dtype=np.uint32), *(tokens for tokens, _, _ in parts)])
    first, where = numbered(tokens)
    counts = np.zeros(len(first), dtype=np.int64)
    np.add.at(counts, where, np.concatenate([np.empty(0, dtype=np.int64), *(n for _, n, _ in parts)]))
    return Neighbours(tokens[first], counts, sum(n_none for _, _, n_none in parts))


def predecessors(ids: IntArray, found: Documents) -> Neighbours:
    """The tokens before an n-gram in these documents. Cost: some 30 ns an occurrence in all documents."""
    parts: list[IntArray] = []
    for number, (segment, docs) in enumerate(found):
        interrupts.step(number, len(found))
        if not len(docs):
            continue
        chosen = docs.mask()
        index = segment.index
        lo, hi = index.find(ids)
        for start in range(lo, hi, CHUNK):
            interrupts.check()
            places = index.positions(start, min(start + CHUNK, hi))
            places = places[chosen[index.documents_at(places)]]
            parts.append(index.tokens_at(places, -1))
    every = np.concatenate([np.empty(0, dtype=np.int64), *parts])
    stands, numbers = numbered(every)
    tokens, counts = every[stands], np.bincount(numbers, minlength=len(stands))
    n_none = int(counts[0]) if len(tokens) and tokens[0] < 0 else 0
    first = 1 if n_none else 0
    return Neighbours(tokens[first:].astype(np.uint32), counts[first:].astype(np.int64), n_none)
