"""SCORE: every token of a text given the tokens before it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.executor.models import is_counted, language_model
from ngramdb.executor.probability import TokenScores, ratios
from ngramdb.executor.result import BATCH_ROWS, Result, Row
from ngramdb.lm.values import END
from ngramdb.planner.plan import SCORE_COLUMNS, Model, Scoring
from ngramdb.planner.source import Corpus, IntArray, Tokenizer

# How a sentence's end is shown, and a word that the vocabulary lacks; they have no token id.
SHOWN_END = "</s>"
SHOWN_UNKNOWN = "<unk>"


def token_scores(
    corpus: Corpus, flat: IntArray, offsets: IntArray, model: Model, sentence: bool = False
) -> TokenScores:
    """The scores of several documents' tokens, one after the other; contexts begin with the document.

    With `sentence` each is a sentence of its own, behind `<s>`; the score of `</s>` is its last entry.
    """
    if is_counted(corpus, model) and not sentence:
        counts = corpus.index.score(flat, offsets, model.infgram, model.order)
        return TokenScores(ratios(counts[0], counts[1]), *counts)
    found = language_model(corpus, model).score_many(flat, offsets, sentence=sentence)
    return TokenScores(found.prob, found.count, found.context_count, found.effective_n, found.sparse)


def log_probabilities(prob: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithms: -inf for 0, NaN for NaN."""
    with np.errstate(divide="ignore"):
        return np.log(prob)


def score(plan: Scoring) -> Result:
    """A row per token; the summary holds the totals."""
    ids = plan.gram.ids
    bounds = np.array([0, len(ids)], dtype=np.int64)
    found = token_scores(plan.corpus, ids, bounds, plan.model, plan.sentence)
    logprob = log_probabilities(found.prob)
    batches = _batches(ids, found, logprob, plan.corpus.tokenizer)
    types = (int, str, int, int, int, int, float, float)
    summary = totals(ids, found, logprob)
    if not is_counted(plan.corpus, plan.model):
        note = language_model(plan.corpus, plan.model).note
        summary |= {} if note is None else {"note": note}
    return Result(SCORE_COLUMNS, batches, summary=summary, n_rows=len(found.prob), types=types)


def totals(ids: IntArray, found: TokenScores, logprob: NDArray[np.float64]) -> dict[str, Any]:
    """Sums over the tokens with a probability; `perplexity` is over those above 0, None where none is."""
    known = ~np.isnan(found.prob)
    positive = known & (found.prob > 0)
    n_positive = int(positive.sum())
    positive_sum = float(logprob[positive].sum())
    zeros = int(known.sum()) - n_positive
    return {
        "tokens": len(found.prob),
        "unknown_words": int((ids < 0).sum()),
        "unseen_contexts": int((~known).sum()),
        "zero_probabilities": zeros,
        "logprob": -math.inf if zeros else positive_sum,
        "perplexity": math.exp(-positive_sum / n_positive) if n_positive else None,
    }


def _batches(
    ids: IntArray, found: TokenScores, logprob: NDArray[np.float64], tokenizer: Tokenizer
) -> Iterator[list[Row]]:
    ended = len(found.prob) > len(ids)
    ids = np.append(ids, END) if ended else ids
    for start in range(0, len(ids), BATCH_ROWS):
        part = slice(start, start + BATCH_ROWS)
        known = (ids[part] >= 0) & (ids[part] < tokenizer.n_vocabulary)
        texts = [SHOWN_UNKNOWN] * len(known)
        for i, text in zip(
            np.flatnonzero(known).tolist(), tokenizer.token_texts(ids[part][known]), strict=True
        ):
            texts[i] = text
        if ended and start + BATCH_ROWS >= len(ids):
            texts[-1] = SHOWN_END
        lists = (
            texts,
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
                text,
                None if token < 0 else token,
                effective_n,
                count,
                context_count,
                None if math.isnan(prob) else prob,
                None if math.isnan(prob) else log,
            )
            for i, (text, token, effective_n, count, context_count, prob, log) in enumerate(
                zip(*lists, strict=True)
            )
        ]
