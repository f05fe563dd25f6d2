"""Queries of a corpus's language models that take more than one call of the kernel."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module
from ngramdb.questions.verbs import Bound
from ngramdb.types import array_of

if TYPE_CHECKING:
    from ngramdb.executor.questions import models as model_cache
    from ngramdb.executor.questions import probability as chains
    from ngramdb.language import ast
    from ngramdb.lm import values
    from ngramdb.lm.models import LanguageModel
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.patterns import grams
    from ngramdb.planner import cautions
    from ngramdb.planner import plan as plans
    from ngramdb.planner.plan import Generation
    from ngramdb.questions import python_warnings, results
    from ngramdb.questions.arguments import models, packing, patterns, to_ast
    from ngramdb.questions.results import NextTokens, NextTokensMany, Probability, Scores
    from ngramdb.source import IntArray
else:
    python_warnings = lazy_module("ngramdb.questions.python_warnings")
    models = lazy_module("ngramdb.questions.arguments.models")
    packing = lazy_module("ngramdb.questions.arguments.packing")
    to_ast = lazy_module("ngramdb.questions.arguments.to_ast")
    patterns = lazy_module("ngramdb.questions.arguments.patterns")
    results = lazy_module("ngramdb.questions.results")
    model_cache = lazy_module("ngramdb.executor.questions.models")
    chains = lazy_module("ngramdb.executor.questions.probability")
    values = lazy_module("ngramdb.lm.values")
    cautions = lazy_module("ngramdb.planner.cautions")
    ast = lazy_module("ngramdb.language.ast")
    grams = lazy_module("ngramdb.patterns.grams")
    plans = lazy_module("ngramdb.planner.plan")


# Distributions of at most this many occurrences are computed without an interrupt check.
FEW = 1 << 16


def count(bound: Bound, ngram: Any) -> int:
    """Count anything but a list of token ids: a text, a pattern, a tuple or an array."""
    if isinstance(ngram, str):
        if bound.database.settings.match != "tokens":
            return bound.number(bound.bind(ast.Count(to_ast.occurring(ngram))))
        ids = bound.encode(ngram)
        if not len(ids) and ngram:
            raise InvalidArgument(grams.no_token(ngram, bound.view.tokenizer, "match_text=True"))
        found = bound.count(ids)
        if not found or "*" in ngram or "?" in ngram:
            python_warnings.warn_of(bound.view, ngram, "match_text=True")
        return found
    if type(ngram) is not tuple and type(ngram) is not np.ndarray:
        if isinstance(ngram, patterns.Pattern):
            return bound.number(bound.bind(ast.Count(to_ast.occurring(ngram))))
        ngram = bound.ids(ngram)
    try:
        return bound.count(ngram)
    except (TypeError, OverflowError, ValueError) as error:
        cause = error
    bound.refuse(ngram, cause)  # outside of the handler: one error, not two


def count_as_set(bound: Bound, ngrams: list[Any]) -> NDArray[np.int64]:
    """Count many n-grams in one statement under the setting `match`: (n,) int64."""
    first, *others = to_ast.occurring_each(ngrams)
    found = bound.run(bound.bind(ast.Count(first, others=tuple(others))))
    return np.array([row[-1] for row in found], dtype=np.int64)


def counted(model: Any) -> ModelSpec:
    """Return a model whose answers are counts divided by counts. Raises InvalidArgument for others."""
    used = models.as_model(model)
    if not used.counted:
        raise InvalidArgument(
            f"{used} has no distribution of counts; corpus.language_model(…).dist(ids) returns its "
            "probabilities as arrays"
        )
    return used


def warn_of_unseen(bound: Bound, continuation: Any, given: Any) -> None:
    """Warn if a continuation never follows a context because of the tokens of either."""
    if isinstance(continuation, str) or isinstance(given, str):
        python_warnings.warn_of(bound.view, continuation, before=given)


def probability(bound: Bound, continuation: Any, context: Any, model: ModelSpec) -> Probability | None:
    """Return P(continuation | context) for several tokens, or any model; None for an unseen context."""
    tokens = bound.ids(continuation)
    if not len(tokens):
        raise InvalidArgument("prob needs a continuation of at least one token")
    with bound.work():
        found = chains.chain(bound.view, bound.ids(context), tokens, model)
    return None if found.prob is None else results.Probability(found.prob, found[1:])


def probabilities(bound: Bound, contexts: Any, continuations: Any, model: ModelSpec) -> Scores:
    """Return many probabilities, each of a continuation after the context at the same index."""
    view = bound.current()
    contexts, continuations = packing.listed(contexts), _ids_or_listed(continuations)
    with bound.work():
        flat, offsets = packing.pack(contexts, bound.encode_ngram)
        tokens, token_offsets = _continuations(bound, continuations)
        n = len(offsets) - 1
        if len(token_offsets) - 1 != n:
            raise InvalidArgument(f"{n} contexts, but {len(token_offsets) - 1} continuations")
        scores = chains.chain_many(view, (flat, offsets), (tokens, token_offsets), model)
    if isinstance(contexts, list) and isinstance(continuations, list):
        unseen = (scores.count == 0) | (scores.effective_n <= np.diff(offsets))
        python_warnings.warn_of_many(view, continuations, np.flatnonzero(unseen), contexts)
    return results.Scores.of(scores, model.is_probability)


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


def next_tokens(bound: Bound, given: Any, model: ModelSpec) -> NextTokens:
    """Return the next-token distribution of a context as arrays, for a model of counts."""
    if isinstance(given, str):
        python_warnings.warn_of(bound.view, given)
    if bound.prob is None:
        with bound.work():
            return _next_tokens(model_cache.language_model(bound.view, model), bound.ids(given))
    context = bound.ids(given) if not isinstance(given, (list, tuple)) else given
    try:
        found = bound.dist(context, model.infgram, model.limit, FEW)
        if found is None:
            with bound.work():
                found = bound.dist(context, model.infgram, model.limit)
    except (TypeError, OverflowError, ValueError) as error:
        cause, found = error, None
    if found is None:
        bound.refuse(given, cause)
    ids, counts, n_end, context_count, n = found
    return results.NextTokens(ids, counts, n_end, context_count, n + 1)


def next_tokens_many(bound: Bound, contexts: Any, model: ModelSpec) -> NextTokensMany:
    """Return the distributions of many contexts, in one kernel call without a sentence separator."""
    view = bound.current()
    contexts = packing.listed(contexts)
    with bound.work():
        flat, offsets = packing.pack(contexts, bound.encode_ngram)
        if isinstance(contexts, list) and any(isinstance(context, str) for context in contexts):
            seen = view.index.count_many(flat, offsets)
            python_warnings.warn_of_many(view, contexts, np.flatnonzero(seen == 0))
        if bound.prob is None:
            asked = model_cache.language_model(view, model)
            each = []
            for start, stop in pairwise(offsets.tolist()):
                interrupts.check()
                each.append(_next_tokens(asked, flat[start:stop]))
            return results.NextTokensMany.of(each)
        starts, ids, counts, n_end, context_count, n = view.index.dist_many(
            flat, offsets, model.infgram, model.limit
        )
    return results.NextTokensMany(starts, ids, counts, n_end, context_count, n + 1)


def generation(bound: Bound, tree: Any) -> Generation:
    """Return the plan of a GENERATE tree; warn of likely mistakes in its context."""
    plan = bound.optimized(bound.bind(tree))
    assert isinstance(plan, plans.Generation)
    if plan.phrases:
        python_warnings.warn(cautions.cautions_of(plan))
    return plan


def _next_tokens(model: LanguageModel, context: IntArray) -> NextTokens:
    """Return the distribution of a model whose answers are counts divided by counts."""
    found = model.dist(context)
    is_end = found.ids == values.END
    counts = np.zeros(0, dtype=np.int64) if found.counts is None else found.counts
    ids = found.ids[~is_end].astype(np.uint32)
    n_end = int(counts[is_end].sum())
    return results.NextTokens(ids, counts[~is_end], n_end, found.context_count, found.effective_n)


def single_token(continuation: Any) -> int | None:
    """Return the token of a continuation that is one id, or a list or tuple with just one; else None."""
    if type(continuation) in (list, tuple) and len(continuation) == 1:
        continuation = continuation[0]
    if type(continuation) is int:
        return continuation
    return int(continuation) if isinstance(continuation, np.integer) else None
