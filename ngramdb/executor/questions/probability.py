"""PROB: the probability of a continuation, by the chain rule where it has several tokens.

The same functions serve the statement, `Corpus.prob` and `Corpus.prob_many`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.executor.questions.models import is_counted, language_model, note_of
from ngramdb.executor.results.result import Result
from ngramdb.lm.spec import ModelSpec
from ngramdb.lm.values import Scores
from ngramdb.planner.plan import PROBABILITY_COLUMNS, Probability
from ngramdb.planner.source import Corpus, Index, IntArray

# The fields of a `Chain`.
Step = tuple[float | None, int, int, int, bool]
# Tokens of contexts that are copied for one batch of steps.
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

    `prob` is None where the model has no answer to a step (NGRAM after a context that has no occurrence, or
    an empty corpus): then it is unknown, unless an earlier step was 0. Cost: one search per token.
    """
    counted = is_counted(corpus, model)
    steps = _counted_step(corpus.index, model) if counted else language_model(corpus, model).prob
    prob = 1.0
    step = Chain(None, 0, 0, 0, False)
    for i, token in enumerate(continuation.tolist()):
        seen = np.concatenate((context, continuation[:i])) if i else context
        step = Chain(*steps(seen, token))
        if step.prob is None:
            return step
        prob *= step.prob
        if not step.prob:
            break
    return step._replace(prob=prob)


def _counted_step(index: Index, model: ModelSpec) -> Callable[[IntArray, int], Step]:
    """One step of a model whose answers are ratios of counts."""

    def step(context: IntArray, token: int) -> Step:
        found = index.prob(context, token, model.infgram, model.limit)
        count, context_count = int(found[0]), int(found[1])
        prob = count / context_count if context_count else None
        return prob, count, context_count, int(found[2]), bool(found[3])

    return step


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
    """`chain` for many pairs, in one kernel call.

    Parameters
    ----------
    contexts, continuations : flat ids int64[m] and offsets int64[n + 1]; no continuation is empty

    Cost: one question per token of the continuations, in batches for which contexts are copied: memory for
    some millions of tokens, or for one context.
    """
    n_steps = np.diff(continuations[1])
    if (n_steps == 1).all():
        return _token_scores(corpus, *contexts, continuations[0], model)
    found = [_token_scores(corpus, *batch, model) for batch in _step_batches(contexts, continuations)]
    rows = ([getattr(part, field.name) for field in fields(TokenScores)] for part in found)
    columns: list[Any] = [None if one[0] is None else np.concatenate(one) for one in zip(*rows, strict=True)]
    steps = TokenScores(*columns)
    return _last_steps(steps, continuations[1])


def _token_scores(
    corpus: Corpus, flat: IntArray, offsets: IntArray, tokens: IntArray, model: ModelSpec
) -> TokenScores:
    if is_counted(corpus, model):
        answers = corpus.index.prob_many(flat, offsets, tokens, model.infgram, model.limit)
        return TokenScores(ratios(answers[0], answers[1]), *answers)
    return TokenScores.of(language_model(corpus, model).scores_of(flat, offsets, tokens))


def _step_batches(
    contexts: tuple[IntArray, IntArray], continuations: tuple[IntArray, IntArray]
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Contexts and token of every step: the pair's context and the tokens before it, some at a time."""
    pieces: list[IntArray] = []
    n_tokens = since = 0
    for i in range(len(contexts[1]) - 1):
        first, last = int(continuations[1][i]), int(continuations[1][i + 1])
        context = contexts[0][contexts[1][i] : contexts[1][i + 1]]
        for k in range(first, last):
            pieces.append(np.concatenate((context, continuations[0][first:k])))
            n_tokens += len(pieces[-1])
            if n_tokens >= BATCH_TOKENS:
                yield *_joined(pieces), continuations[0][since : k + 1]
                interrupts.check()
                pieces, n_tokens, since = [], 0, k + 1
    if pieces:
        yield *_joined(pieces), continuations[0][since:]


def _joined(pieces: list[IntArray]) -> tuple[IntArray, IntArray]:
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    return np.concatenate(pieces), offsets


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
