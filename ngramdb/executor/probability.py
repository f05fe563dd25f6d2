"""PROB: the probability of a continuation, by the chain rule where it has several tokens.

The same functions serve the statement, `Corpus.prob` and `Corpus.prob_many`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb.executor.result import Result
from ngramdb.planner.plan import PROBABILITY_COLUMNS, Model, Probability
from ngramdb.planner.source import Index, IntArray


class Chain(NamedTuple):
    """A continuation's probability; counts, `effective_n` and `sparse` are those of its last step."""

    prob: float | None
    cont_count: int
    context_count: int
    effective_n: int
    sparse: bool


@dataclass(frozen=True)
class TokenScores:
    """One entry per token; `prob` is NaN where the context has no occurrence."""

    prob: NDArray[np.float64]
    count: IntArray
    context_count: IntArray
    effective_n: NDArray[np.int32]
    sparse: NDArray[np.bool_]


def chain(index: Index, context: IntArray, continuation: IntArray, model: Model) -> Chain:
    """P(continuation | context), one step per token; a step that is 0 or has no answer is the last.

    `prob` is None where a step's context has no occurrence (NGRAM, or an empty corpus): then it is unknown,
    unless an earlier step was 0. Cost: one search per token.
    """
    tokens = continuation.tolist()
    prob = 1.0
    step = (0, 0, 0, False)
    for i, token in enumerate(tokens):
        seen = np.concatenate((context, continuation[:i])) if i else context
        step = index.prob(seen, token, model.infgram, model.order)
        if not step[1]:
            return Chain(None, *_plain(step))
        prob *= step[0] / step[1]
        if not step[0]:
            break
    return Chain(prob, *_plain(step))


def _plain(step: tuple[int, int, int, bool]) -> tuple[int, int, int, bool]:
    return int(step[0]), int(step[1]), int(step[2]), bool(step[3])


def ratios(cont_count: IntArray, context_count: IntArray) -> NDArray[np.float64]:
    """cont_count / context_count per entry, NaN where the context has no occurrence."""
    prob = np.full(len(cont_count), np.nan)
    np.divide(cont_count, context_count, out=prob, where=context_count > 0)
    return prob


def probability(plan: Probability) -> Result:
    """One row."""
    found = chain(plan.corpus.index, plan.context.ids, plan.continuation.ids, plan.model)
    return Result.of_rows(PROBABILITY_COLUMNS, [tuple(found)])


def chain_many(
    index: Index, contexts: tuple[IntArray, IntArray], continuations: tuple[IntArray, IntArray], model: Model
) -> TokenScores:
    """`chain` for many pairs, in one kernel call.

    Parameters
    ----------
    contexts, continuations : flat ids int64[m] and offsets int64[n + 1]; no continuation is empty

    Cost: a batch of one question per token of the continuations; contexts of continuations with several
    tokens are copied once per token.
    """
    n_steps = np.diff(continuations[1])
    if (n_steps == 1).all():
        flat, offsets = contexts
    else:
        flat, offsets = _step_contexts(contexts, continuations)
    answers = index.prob_many(flat, offsets, continuations[0], model.infgram, model.order)
    count, context_count, effective_n, sparse = answers
    prob = ratios(count, context_count)
    scores = TokenScores(prob, count, context_count, effective_n, sparse)
    return scores if (n_steps == 1).all() else _last_steps(scores, continuations[1])


def _step_contexts(
    contexts: tuple[IntArray, IntArray], continuations: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """The context of every token of every continuation: the pair's context and the tokens before it."""
    pieces: list[IntArray] = []
    for i in range(len(contexts[1]) - 1):
        context = contexts[0][contexts[1][i] : contexts[1][i + 1]]
        first, last = int(continuations[1][i]), int(continuations[1][i + 1])
        pieces.extend(np.concatenate((context, continuations[0][first:k])) for k in range(first, last))
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    return (np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)), offsets


def _last_steps(steps: TokenScores, offsets: IntArray) -> TokenScores:
    """Per continuation the product of its steps, and the figures of the step that ended it."""
    n = len(offsets) - 1
    prob, last = np.empty(n), np.empty(n, dtype=np.int64)
    for i in range(n):
        first, stop = int(offsets[i]), int(offsets[i + 1])
        ends = np.flatnonzero(~(steps.prob[first:stop] > 0))
        last[i] = first + int(ends[0]) if len(ends) else stop - 1
        prob[i] = np.prod(steps.prob[first : last[i] + 1])
    return TokenScores(
        prob, steps.count[last], steps.context_count[last], steps.effective_n[last], steps.sparse[last]
    )
