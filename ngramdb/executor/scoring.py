"""SCORE: every token of a text given the tokens before it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.executor.probability import TokenScores, ratios
from ngramdb.executor.result import BATCH_ROWS, Result, Row
from ngramdb.planner.plan import SCORE_COLUMNS, Model, Scoring
from ngramdb.planner.source import Index, IntArray, Tokenizer


def token_scores(index: Index, flat: IntArray, offsets: IntArray, model: Model) -> TokenScores:
    """The scores of several documents' tokens, one after the other; contexts begin with the document."""
    count, context_count, effective_n, sparse = index.score(flat, offsets, model.infgram, model.order)
    return TokenScores(ratios(count, context_count), count, context_count, effective_n, sparse)


def log_probabilities(prob: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithms: -inf for 0, NaN for NaN."""
    with np.errstate(divide="ignore"):
        return np.log(prob)


def score(plan: Scoring) -> Result:
    """A row per token; the summary holds the totals."""
    ids = plan.gram.ids
    found = token_scores(plan.corpus.index, ids, np.array([0, len(ids)], dtype=np.int64), plan.model)
    logprob = log_probabilities(found.prob)
    batches = _batches(ids, found, logprob, plan.corpus.tokenizer)
    return Result(SCORE_COLUMNS, batches, summary=totals(ids, found, logprob), n_rows=len(ids))


def totals(ids: IntArray, found: TokenScores, logprob: NDArray[np.float64]) -> dict[str, Any]:
    """Sums over the tokens with a probability; `perplexity` is over those above 0, None where none is."""
    known = ~np.isnan(found.prob)
    positive = known & (found.prob > 0)
    n_positive = int(positive.sum())
    positive_sum = float(logprob[positive].sum())
    zeros = int(known.sum()) - n_positive
    return {
        "tokens": len(ids),
        "unknown_words": int((ids < 0).sum()),
        "unseen_contexts": int((~known).sum()),
        "zero_probabilities": zeros,
        "logprob": -math.inf if zeros else positive_sum,
        "perplexity": math.exp(-positive_sum / n_positive) if n_positive else None,
    }


def _batches(
    ids: IntArray, found: TokenScores, logprob: NDArray[np.float64], tokenizer: Tokenizer
) -> Iterator[list[Row]]:
    for start in range(0, len(ids), BATCH_ROWS):
        part = slice(start, start + BATCH_ROWS)
        lists = (
            ids[part].tolist(),
            found.effective_n[part].tolist(),
            found.count[part].tolist(),
            found.context_count[part].tolist(),
            found.prob[part].tolist(),
            logprob[part].tolist(),
        )
        yield [
            (
                start + i,
                None if token < 0 else tokenizer.token_text(token),
                None if token < 0 else token,
                effective_n,
                count,
                context_count,
                prob if context_count else None,
                log if context_count else None,
            )
            for i, (token, effective_n, count, context_count, prob, log) in enumerate(
                zip(*lists, strict=True)
            )
        ]
