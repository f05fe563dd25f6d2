"""PROB: the probability of a continuation, by the chain rule where it has several tokens.

The same functions serve the statement, `Corpus.prob` and `Corpus.prob_many`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb._cext.corpus.index import Index
from ngramdb.executor.questions.models import is_counted, language_model, note_of
from ngramdb.executor.results.result import Result
from ngramdb.lm.models import pack
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.values import Scores
from ngramdb.planner.plan import PROBABILITY_COLUMNS, Probability
from ngramdb.source import Corpus, IntArray

# Tokens of contexts and continuations that are copied for one batch.
BATCH_TOKENS = 1 << 22


class Chain(NamedTuple):
    """A continuation's probability; counts, `effective_n` and `sparse` are those of its last step."""

    prob: float | None
    cont_count: int
    context_count: int
    effective_n: int
    sparse: bool


@dataclass(frozen=True)
class TokenScores:
    """One entry per token.

    `prob` is NaN if the model has no answer (an n-gram after an unseen context). `suffix_n` and
    `suffix_count` are as in `ngramdb.lm.Scores`; None if they are `effective_n` and `context_count`.
    """

    prob: NDArray[np.float64]
    count: IntArray
    context_count: IntArray
    effective_n: NDArray[np.int32]
    sparse: NDArray[np.bool_]
    suffix_n: NDArray[np.int32] | None = None
    suffix_count: IntArray | None = None

    @classmethod
    def of(cls, found: Scores) -> TokenScores:
        """Return a model's scores; the arrays are shared."""
        counts = (found.count, found.context_count, found.effective_n, found.sparse)
        return cls(found.prob, *counts, found.suffix_n, found.suffix_count)


def chain(corpus: Corpus, context: IntArray, continuation: IntArray, model: ModelSpec) -> Chain:
    """P(continuation | context), one step per token; a step that is 0 or has no answer is the last.

    `prob` is None if the model cannot answer a step (NGRAM after a context that does not occur, or an empty
    corpus): then it is unknown, unless an earlier step was 0. Cost: that of `chain_many`.
    """
    found = chain_many(corpus, _alone(context), _alone(continuation), model)
    prob = float(found.prob[0])
    return Chain(
        None if np.isnan(prob) else prob,
        int(found.count[0]),
        int(found.context_count[0]),
        int(found.effective_n[0]),
        bool(found.sparse[0]),
    )


def _alone(ids: IntArray) -> tuple[IntArray, IntArray]:
    return ids, np.array([0, len(ids)], dtype=np.int64)


def ratios(cont_count: IntArray, context_count: IntArray) -> NDArray[np.float64]:
    """cont_count / context_count per entry, NaN where the context has no occurrence."""
    prob = np.full(len(cont_count), np.nan)
    np.divide(cont_count, context_count, out=prob, where=context_count > 0)
    return prob


def probability(plan: Probability) -> Result:
    """One row."""
    found = chain(plan.corpus, plan.context.ids, plan.continuation.ids, plan.model)
    counted = is_counted(plan.corpus, plan.model)
    note = None if counted else note_of(language_model(plan.corpus, plan.model))
    summary = {} if note is None else {"note": note}
    return Result.of_rows(PROBABILITY_COLUMNS, [tuple(found)], **summary)


def chain_many(
    corpus: Corpus,
    contexts: tuple[IntArray, IntArray],
    continuations: tuple[IntArray, IntArray],
    model: ModelSpec,
) -> TokenScores:
    """`chain` for many pairs.

    Parameters
    ----------
    contexts, continuations : flat ids int64[m] and offsets int64[n + 1]; no continuation is empty

    Cost: a search for each context, and a step per token of its continuation. Memory: for some millions of
    tokens, or for the longest pair.
    """
    tokens, bounds = continuations
    if not is_counted(corpus, model):
        scores = language_model(corpus, model).chain_scores_of(*contexts, tokens, bounds)
        return _last_steps(TokenScores.of(scores), bounds)
    if (np.diff(bounds) == 1).all():
        answers = corpus.index.prob_many(*contexts, tokens, model.infgram, model.limit)
        return TokenScores(ratios(answers[0], answers[1]), *answers)
    found = [_counted_steps(corpus.index, *batch, model) for batch in _batches(contexts, continuations)]
    count, context_count, effective_n, sparse = map(np.concatenate, zip(*found, strict=True))
    steps = TokenScores(ratios(count, context_count), count, context_count, effective_n, sparse)
    return _last_steps(steps, bounds)


def _batches(
    contexts: tuple[IntArray, IntArray], continuations: tuple[IntArray, IntArray]
) -> Iterator[tuple[list[IntArray], list[IntArray]]]:
    """Contexts and continuations of some pairs at a time."""
    befores: list[IntArray] = []
    afters: list[IntArray] = []
    n_tokens = 0
    for i in range(len(contexts[1]) - 1):
        befores.append(contexts[0][contexts[1][i] : contexts[1][i + 1]])
        afters.append(continuations[0][continuations[1][i] : continuations[1][i + 1]])
        n_tokens += len(befores[-1]) + len(afters[-1])
        if n_tokens >= BATCH_TOKENS:
            yield befores, afters
            interrupts.check()
            befores, afters, n_tokens = [], [], 0
    if befores:
        yield befores, afters


def _counted_steps(
    index: Index, contexts: list[IntArray], continuations: list[IntArray], model: ModelSpec
) -> tuple[Any, ...]:
    """Return the counts of every step. A pair is scored as one text, from the first step's context on."""
    if model.infgram:
        firsts = np.array([tokens[0] for tokens in continuations], dtype=np.int64)
        lengths = (index.prob_many(*pack(contexts), firsts, True, model.limit)[2] - 1).tolist()
    else:
        most = model.limit - 1 if model.limit else None
        lengths = [len(ids) if most is None else min(len(ids), most) for ids in contexts]
    used = [ids[len(ids) - length :] for ids, length in zip(contexts, lengths, strict=True)]
    flat, offsets = pack(np.concatenate(pair) for pair in zip(used, continuations, strict=True))
    is_step = np.ones(len(flat), dtype=np.bool_)
    for start, length in zip(offsets.tolist(), lengths, strict=False):
        is_step[start : start + length] = False
    return tuple(column[is_step] for column in index.score(flat, offsets, model.infgram, model.limit))


def _last_steps(steps: TokenScores, offsets: IntArray) -> TokenScores:
    """Per continuation the product of its steps, and the counts of the step that ended it."""
    n = len(offsets) - 1
    prob, last = np.empty(n), np.empty(n, dtype=np.int64)
    for i in range(n):
        first, stop = int(offsets[i]), int(offsets[i + 1])
        ends = np.flatnonzero(~(steps.prob[first:stop] > 0))
        last[i] = first + int(ends[0]) if len(ends) else stop - 1
        prob[i] = np.prod(steps.prob[first : last[i] + 1])
    return TokenScores(
        prob,
        steps.count[last],
        steps.context_count[last],
        steps.effective_n[last],
        steps.sparse[last],
        None if steps.suffix_n is None else steps.suffix_n[last],
        None if steps.suffix_count is None else steps.suffix_count[last],
    )
