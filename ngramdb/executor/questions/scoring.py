"""SCORE: every token of a text given the tokens before it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.executor.questions.models import is_counted, language_model, note_of
from ngramdb.executor.questions.probability import TokenScores, ratios
from ngramdb.executor.results.result import BATCH_ROWS, Result, Row
from ngramdb.limits import SENTENCE_BREAK
from ngramdb.lm.evaluation import are_known, types_among
from ngramdb.lm.sentences import is_cut, separator_of
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.values import END, Measure
from ngramdb.planner.plan import SCORE_COLUMNS, Scoring
from ngramdb.source import Corpus, IntArray
from ngramdb.tokenizers.base import Tokenizer

# How a sentence's end is shown, and a word that does not occur in the corpus.
SHOWN_END = "</s>"
SHOWN_UNKNOWN = "<unk>"


def token_scores(
    corpus: Corpus, flat: IntArray, offsets: IntArray, model: ModelSpec, between: bool = False
) -> TokenScores:
    """Score the tokens of several documents, one after the other; contexts begin with the document.

    With `between` each comes after `<s>`, and the score of `</s>` is its last entry.
    """
    if is_counted(corpus, model) and not between:
        counts = corpus.index.score(flat, offsets, model.infgram, model.limit)
        return TokenScores(ratios(counts[0], counts[1]), *counts)
    found = language_model(corpus, model).score_many(flat, offsets, document=between)
    return TokenScores.of(found)


def log_probabilities(prob: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithms: -inf for 0, NaN for NaN."""
    with np.errstate(divide="ignore"):
        return np.log(prob)


def score(plan: Scoring) -> Result:
    """A row per token; the summary holds the totals."""
    corpus, ids = plan.corpus, plan.gram.ids
    if plan.unit == "sentence":
        sentences = corpus.in_sentences()
        corpus, ids = sentences, sentences.cut(ids, plan.gram.text)
    bounds = np.array([0, len(ids)], dtype=np.int64)
    found = token_scores(corpus, ids, bounds, plan.model, plan.unit is not None)
    logprob = log_probabilities(found.prob)
    types = types_among(ids, corpus.index)
    separator = separator_of(corpus) if is_cut(corpus) else None
    known = are_known(ids, types, separator)
    batches = _batches(ids, known, found, logprob, corpus.tokenizer)
    columns = (int, str, int, int, int, int, float, float, bool)
    summary = totals(known, logprob)
    if not is_counted(corpus, plan.model):
        note = note_of(language_model(corpus, plan.model))
        summary |= {} if note is None else {"note": note}
    return Result(SCORE_COLUMNS, batches, summary=summary, n_rows=len(found.prob), types=columns)


def totals(known: NDArray[np.bool_], logprob: NDArray[np.float64]) -> dict[str, Any]:
    """Sums over the tokens with a probability, as `ngramdb.lm.values` defines them.

    `perplexity` is None where no token has one. `perplexity_nonzero` leaves out the tokens of probability 0,
    and is there where one is. `known` marks the tokens that `ngramdb.lm.evaluation` calls so.
    """
    found = Measure.of(logprob)
    return {
        "tokens": found.n_tokens,
        "unknown_words": int((~known).sum()),
        "unseen_contexts": found.n_unanswered,
        "zero_probabilities": found.n_zero,
        "logprob": found.logprob,
        "perplexity": _or_none(found.perplexity),
        **({"perplexity_nonzero": _or_none(found.perplexity_nonzero)} if found.n_zero else {}),
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _batches(
    ids: IntArray,
    known: NDArray[np.bool_],
    found: TokenScores,
    logprob: NDArray[np.float64],
    tokenizer: Tokenizer,
) -> Iterator[list[Row]]:
    ended = len(found.prob) > len(ids)
    named = known & (ids >= 0) & (ids < tokenizer.n_vocabulary)
    if ended:
        ids, named = np.append(ids, END), np.append(named, False)
    for start in range(0, len(ids), BATCH_ROWS):
        part = slice(start, start + BATCH_ROWS)
        shown = np.flatnonzero(named[part])
        texts = np.where(ids[part] == SENTENCE_BREAK, SHOWN_END, SHOWN_UNKNOWN).tolist()
        for i, text in zip(shown.tolist(), tokenizer.token_texts(ids[part][shown]), strict=True):
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
            found.sparse[part].tolist(),
        )
        yield [
            (
                start + i,
                text,
                None if token < 0 or token == SENTENCE_BREAK else token,
                effective_n,
                count,
                context_count,
                None if math.isnan(prob) else prob,
                None if math.isnan(prob) else log,
                sparse,
            )
            for i, (text, token, effective_n, count, context_count, prob, log, sparse) in enumerate(
                zip(*lists, strict=True)
            )
        ]
