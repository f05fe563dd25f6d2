"""PROB: the probability of a continuation, by the chain rule if it has several tokens.

The statement, `Corpus.prob` and `Corpus.prob_many` compute it with the same functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.lazy import dataclass, lazy_module
from ngramdb.planner.plan import Constant, why_nowhere
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.plans import ContextQuery
from ngramdb.questions.requests import Condition, Model, Passage, Words
from ngramdb.questions.verbs import Asking
from ngramdb.types import array_of

if TYPE_CHECKING:
    from ngramdb._cext.corpus.index import Index
    from ngramdb.executor import result
    from ngramdb.executor.result import Result
    from ngramdb.language import ast
    from ngramdb.lm import models as lm_models
    from ngramdb.lm import of_corpora, values
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.patterns import Gram
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import packing, results, to_ast, verbs
    from ngramdb.questions.results import Probability, Scores
    from ngramdb.questions.signatures import Ids, ModelLike, Ngram, Ngrams
    from ngramdb.questions.verbs import Bound
    from ngramdb.source import Corpus, IntArray
else:
    result = lazy_module("ngramdb.executor.result")
    lm_models = lazy_module("ngramdb.lm.models")
    values = lazy_module("ngramdb.lm.values")
    of_corpora = lazy_module("ngramdb.lm.of_corpora")
    verbs = lazy_module("ngramdb.questions.verbs")
    results = lazy_module("ngramdb.questions.results")
    to_ast = lazy_module("ngramdb.questions.to_ast")
    packing = lazy_module("ngramdb.questions.packing")

COLUMNS = ("prob", "cont_count", "context_count", "effective_n", "sparse")
# Tokens of contexts and continuations that are copied for one batch.
BATCH_TOKENS = 1 << 22


class Verbs(Asking):
    """Verbs of a corpus."""

    def prob(
        self,
        continuation: Ngram | int,
        given: Ngram = "",
        model: ModelLike = "ngram",
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Probability | None:
        """P(continuation | given): a float with its counts, or None where the context is unseen.

        Parameters
        ----------
        continuation : text, token ids, or one token id; for several tokens the chain rule is applied
        given : the context; empty for a token's share of the corpus
        model : as after USING: "ngram", "ngram order 3", "infgram", "kneser_ney", "backoff(0.4)", …
            or an object of `ngramdb.lm`
        where, params : as if there were only the documents that meet this condition (`Corpus.where`)

        Raises
        ------
        InvalidArgument
            A continuation without tokens, or an unknown model.

        Notes
        -----
        Cost: about a microsecond for a token id under n-gram and ∞-gram models. The formulas and their
        sources are in docs/models.md.
        """
        if where is not None or params is not None:
            part: Verbs = self._among(where, params)
            return part.prob(continuation, given, model)
        bound = self._bound
        if bound.snapshot.is_past:
            bound.rebind()
        used = to_ast.as_model(model)
        context = bound.encode_ngram(given) if type(given) is str else given
        token = continuation if type(continuation) is int else _single_token(continuation)
        if (
            token is not None
            and bound.prob is not None
            and used.counted
            and type(context) in (list, tuple, np.ndarray)
        ):
            # The fast path passes arguments to the kernel unchecked: checks would take longer.
            try:
                step = bound.prob(context, token, used.infgram, used.limit)
                if not step[0] or (used.infgram and type(given) is str):
                    _warn_of_unseen(bound, continuation, given)
                return results.Probability(step[0] / step[1], step) if step[1] else None
            except (TypeError, OverflowError, ValueError):
                pass  # the invalid argument is found and named below
        found = _probability(bound, continuation if token is None else (token,), context, used)
        _warn_of_unseen(bound, continuation, given)
        return found

    def prob_many(self, contexts: Ngrams, continuations: Ngrams | Ids, model: ModelLike = "ngram") -> Scores:
        """Compute many probabilities in one kernel call: entry i is P(continuations[i] | contexts[i]).

        Parameters
        ----------
        contexts : a list of n-grams, or a pair `(flat ids, offsets)` of arrays
        continuations : an array of token ids, one per context; or a list of n-grams
        model : as `prob` takes it

        Raises
        ------
        InvalidArgument
            Numbers of contexts and continuations that differ, or a continuation without tokens.
        """
        used, bound = to_ast.as_model(model), self._bound
        view = bound.current()
        contexts, continuations = packing.listed(contexts), _ids_or_listed(continuations)
        with bound.work():
            flat, offsets = packing.pack(contexts, bound.encode_ngram)
            tokens, token_offsets = _continuations(bound, continuations)
            n = len(offsets) - 1
            if len(token_offsets) - 1 != n:
                raise InvalidArgument(f"{n} contexts, but {len(token_offsets) - 1} continuations")
            scores = chain_many(view, (flat, offsets), (tokens, token_offsets), used)
        if isinstance(contexts, list) and isinstance(continuations, list):
            unseen = (scores.count == 0) | (scores.effective_n <= np.diff(offsets))
            verbs.warn_of_many(view, continuations, np.flatnonzero(unseen), contexts)
        return results.Scores.of(scores)


DEFINITION = Definition(
    Verbs,
    "prob",
    "PROB",
    "How likely a continuation is: PROB.",
    {
        "continuation": Passage("the continuation"),
        "given": Words("the context", "GIVEN", stays=True),
        "where": Condition(),
        "model": Model(),
    },
    before_from=2,
    help=Help(
        "PROB ngram GIVEN ngram [USING model] [WHERE condition] [FROM source]",
        ('PROB "language" GIVEN "natural" USING INFGRAM', "P(language | natural)"),
    ),
)


# ---- arguments of the verbs -----------------------------------------------------------------------------


def _single_token(continuation: Any) -> int | None:
    """Return the token of a continuation that is one id, or a list or tuple with just one; else None."""
    if type(continuation) in (list, tuple) and len(continuation) == 1:
        continuation = continuation[0]
    if type(continuation) is int:
        return continuation
    return int(continuation) if isinstance(continuation, np.integer) else None


def _probability(bound: Bound, continuation: Any, context: Any, model: ModelSpec) -> Probability | None:
    """Return P(continuation | context) for several tokens, or any model; None for an unseen context."""
    tokens = bound.ids(continuation)
    if not len(tokens):
        raise InvalidArgument("prob needs a continuation of at least one token")
    with bound.work():
        found = chain(bound.view, bound.ids(context), tokens, model)
    return None if found.prob is None else results.Probability(found.prob, found[1:])


def _warn_of_unseen(bound: Bound, continuation: Any, given: Any) -> None:
    """Warn if a continuation never follows a context because of the tokens of either."""
    if isinstance(continuation, str) or isinstance(given, str):
        verbs.warn_of(bound.view, continuation, before=given)


def _ids_or_listed(continuations: Any) -> Any:
    """Return one token id per continuation as an array or a list, else what `packing.listed` returns."""
    found = array_of(continuations)
    if found is continuations or (found is not None and found.ndim == 1 and found.dtype.kind in "iub"):
        return found
    is_flat = isinstance(continuations, (list, tuple)) and {int}.issuperset(map(type, continuations))
    return list(continuations) if is_flat else packing.listed(continuations)


def _continuations(bound: Bound, given: Any) -> tuple[IntArray, IntArray]:
    if isinstance(given, np.ndarray) or (given and set(map(type, given)) == {int}):
        tokens = bound.ids(given)
        return tokens, np.arange(len(tokens) + 1, dtype=np.int64)
    tokens, offsets = packing.pack(given, bound.encode_ngram)
    if (np.diff(offsets) == 0).any():
        empty = int(np.flatnonzero(np.diff(offsets) == 0)[0])
        raise InvalidArgument(f"continuation {empty} (counted from 0) is empty")
    return tokens, offsets


# ---- the statement --------------------------------------------------------------------------------------


def bind(scope: Scope, node: ast.Prob) -> ProbQuery:
    """Bind PROB."""
    corpus = scope.corpus(node.source)
    continuation = scope.gram(node.continuation, corpus)
    if not len(continuation):
        scope.fail(PlanError, "PROB needs a continuation of at least one token", node.continuation)
    context = scope.gram(node.context, corpus)
    if continuation.text is None:
        scope.remember(corpus, context)
    else:
        scope.remember(corpus, continuation, before=context)
    model = scope.model(node.model)
    return ProbQuery(corpus, context, model, continuation, where=scope.among(node.where, corpus))


@dataclass(frozen=True)
class ProbQuery(ContextQuery):
    """PROB."""

    continuation: Gram

    def label(self) -> str:
        return f"probability of {self.continuation.shown} given {self.context.shown}, {self.model}"

    def unanswered(self, effective_n: int) -> Constant:
        row = (None, 0, 0, effective_n, False)
        return Constant(self.corpus, COLUMNS, (row,), why_nowhere(self.context))

    def answer_whole(self) -> Result:
        """Return one row."""
        found = chain(self.corpus, self.context.ids, self.continuation.ids, self.model)
        note = of_corpora.note_of(self.corpus, self.model)
        return result.Result.of_rows(COLUMNS, [tuple(found)], **note)


# ---- the chain rule -------------------------------------------------------------------------------------


def chain(corpus: Corpus, context: IntArray, continuation: IntArray, model: ModelSpec) -> values.Probability:
    """Return P(continuation | context), one step per token, with the counts of the last step.

    The chain ends at a step that is 0 or that the model cannot answer (NGRAM after a context that does not
    occur, or an empty corpus); `prob` is None in the second case. Cost: that of `chain_many`.
    """
    found = chain_many(corpus, _alone(context), _alone(continuation), model)
    prob = float(found.prob[0])
    return values.Probability(
        None if np.isnan(prob) else prob,
        int(found.count[0]),
        int(found.context_count[0]),
        int(found.effective_n[0]),
        bool(found.sparse[0]),
    )


def _alone(ids: IntArray) -> tuple[IntArray, IntArray]:
    return ids, np.array([0, len(ids)], dtype=np.int64)


def chain_many(
    corpus: Corpus,
    contexts: tuple[IntArray, IntArray],
    continuations: tuple[IntArray, IntArray],
    model: ModelSpec,
) -> values.Scores:
    """Return the probabilities of many pairs, as `chain` computes each.

    Parameters
    ----------
    contexts, continuations : flat ids int64[m] and offsets int64[n + 1]; no continuation is empty

    Cost: one search per context, and a step per token of its continuation. Memory: for some millions of
    tokens, or for the longest pair.
    """
    tokens, bounds = continuations
    if not of_corpora.is_counted(corpus, model):
        used = of_corpora.language_model(corpus, model)
        return _last_steps(used.chain_scores_of(*contexts, tokens, bounds), bounds)
    if (np.diff(bounds) == 1).all():
        return ratios(*corpus.index.prob_many(*contexts, tokens, model.infgram, model.limit))
    found = [_counted_steps(corpus.index, *batch, model) for batch in _batches(contexts, continuations)]
    return _last_steps(ratios(*map(np.concatenate, zip(*found, strict=True))), bounds)


def ratios(
    count: IntArray, context_count: IntArray, effective_n: NDArray[np.int32], sparse: NDArray[np.bool_]
) -> values.Scores:
    """Return the scores count / context_count, NaN if the context does not occur."""
    prob = np.full(len(count), np.nan)
    np.divide(count, context_count, out=prob, where=context_count > 0)
    return values.Scores(prob, effective_n, count, context_count, sparse)


def _batches(
    contexts: tuple[IntArray, IntArray], continuations: tuple[IntArray, IntArray]
) -> Iterator[tuple[list[IntArray], list[IntArray]]]:
    """Yield contexts and continuations, about `BATCH_TOKENS` tokens at a time."""
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
    pack = lm_models.pack
    if model.infgram:
        firsts = np.array([tokens[0] for tokens in continuations], dtype=np.int64)
        lengths = (index.prob_many(*pack(contexts), firsts, True, model.limit)[2] - 1).tolist()
    else:
        most = model.limit - 1 if model.limit else None
        lengths = [len(ids) if most is None else min(len(ids), most) for ids in contexts]
    used = [ids[len(ids) - length :] for ids, length in zip(contexts, lengths, strict=True)]
    flat, offsets = pack([np.concatenate(pair) for pair in zip(used, continuations, strict=True)])
    is_step = np.ones(len(flat), dtype=np.bool_)
    for start, length in zip(offsets.tolist(), lengths, strict=False):
        is_step[start : start + length] = False
    return tuple(column[is_step] for column in index.score(flat, offsets, model.infgram, model.limit))


def _last_steps(steps: values.Scores, offsets: IntArray) -> values.Scores:
    """Return the product of the steps of each continuation, with the counts of the step that ended it."""
    n = len(offsets) - 1
    prob, last = np.empty(n), np.empty(n, dtype=np.int64)
    for i in range(n):
        first, stop = int(offsets[i]), int(offsets[i + 1])
        ends = np.flatnonzero(~(steps.prob[first:stop] > 0))
        last[i] = first + int(ends[0]) if len(ends) else stop - 1
        prob[i] = np.prod(steps.prob[first : last[i] + 1])
    return values.Scores(
        prob,
        steps.effective_n[last],
        steps.count[last],
        steps.context_count[last],
        steps.sparse[last],
        steps.is_probability,
        steps.suffix_n[last],
        steps.suffix_count[last],
    )
