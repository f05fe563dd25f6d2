"""Verbs of a corpus that ask its language models: one question at a time, and millions at once."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb.api.bound import BoundCorpus
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api import cautioning, models, packing, results
    from ngramdb.api.results import DocumentScores, NextTokens, NextTokensMany, Probability, Scores
    from ngramdb.api.signatures import Ids, ModelLike, Ngram, Ngrams
    from ngramdb.executor import models as model_cache
    from ngramdb.executor import probability, scoring
    from ngramdb.executor.result import Result
    from ngramdb.lm import values
    from ngramdb.lm.models import LanguageModel
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.planner import plan as plans
    from ngramdb.planner.source import IntArray
else:
    cautioning = lazy_module("ngramdb.api.cautioning")
    models = lazy_module("ngramdb.api.models")
    packing = lazy_module("ngramdb.api.packing")
    results = lazy_module("ngramdb.api.results")
    model_cache = lazy_module("ngramdb.executor.models")
    probability = lazy_module("ngramdb.executor.probability")
    scoring = lazy_module("ngramdb.executor.scoring")
    values = lazy_module("ngramdb.lm.values")
    plans = lazy_module("ngramdb.planner.plan")


# Distributions of no more occurrences are made at once, without a look at what would stop them.
_FEW = 1 << 16
# Makes a named tuple of a tuple, in half the time that its class takes.
_new = tuple.__new__


class ModelVerbs(BoundCorpus):
    """PROB, DIST and SCORE. A model is what stands after USING, as text, or an object of `ngramdb.lm`."""

    def prob(
        self, continuation: Ngram | int, given: Ngram = "", model: ModelLike = "ngram"
    ) -> Probability | None:
        """P(continuation | given): a float with the counts behind it, or None where the context is unseen.

        Parameters
        ----------
        continuation : text, token ids, or one token id; several tokens go by the chain rule
        given : the context; empty for a token's share of the corpus
        model : what stands after USING: "ngram", "ngram order 3", "infgram", "kneser_ney", "backoff(0.4)", …
            or an object of `ngramdb.lm`
        """
        if self._snapshot is not self._connection._snapshot:
            self._rebind()
        used = models.as_model(model)
        context = self._encode_ngram(given) if type(given) is str else given
        token = continuation if type(continuation) is int else _single(continuation)
        ask = self._prob
        if (
            token is not None
            and ask is not None
            and used.counted
            and isinstance(context, (list, tuple, np.ndarray))
        ):
            # The usual question goes to the kernel as it is: checks here would cost more than the answer.
            try:
                step = ask(context, token, used.infgram, used.limit)
                if not step[0] or (used.infgram and type(given) is str):
                    self._never_follows(continuation, given)
                return results.Probability(step[0] / step[1], step) if step[1] else None
            except (TypeError, OverflowError, ValueError):
                pass  # what is wrong with it is found out, and said, below
        tokens = self._ids(continuation if token is None else (token,))
        if not len(tokens):
            raise InvalidArgument("prob needs a continuation of at least one token")
        with self._connection._work():
            found = probability.chain(self._view, self._ids(context), tokens, used)
        self._never_follows(continuation, given)
        return None if found.prob is None else results.Probability(found.prob, found[1:])

    def _never_follows(self, continuation: Any, given: Any) -> None:
        """Warns where a continuation never follows a context because of the tokens of either."""
        if isinstance(continuation, str) or isinstance(given, str):
            cautioning.warn_of(self._view, continuation, before=given)

    def dist(self, given: Ngram = "", model: ModelLike = "ngram", top: int | None = None) -> Result:
        """The next-token distribution of a context, the most probable token first: DIST.

        Columns `token`, `token_id`, `count`, `prob`; the end of a document is a row with token NULL.
        Kneser-Ney has a row `<unk>` for any token that the corpus lacks; the summary's `note` says what to
        know of a model.
        """
        if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 0):
            raise InvalidArgument(f"top is a whole number of at least 0, not {top!r}")
        view = self._current()
        context = self._gram(given)
        told = plans.may_mislead(context.text, view.tokenizer.kind)
        phrases = (plans.Phrase(view, context),) if told else ()
        return self._run(plans.Distribution(view, context, models.as_model(model), top, phrases=phrases))

    def dist_arrays(self, given: Ngram = (), model: ModelLike = "ngram") -> NextTokens:
        """The same distribution as arrays, by token id, straight from the kernel.

        Of the models whose answers are counts divided by counts, NGRAM and INFGRAM without MIN COUNT; for
        others `language_model(model).dist(ids)` has arrays of probabilities.
        """
        if self._snapshot is not self._connection._snapshot:
            self._rebind()
        if model == "ngram" and type(given) is list and self._prob is not None:
            # The usual question goes to the kernel as it is.
            try:
                found = self._dist(given, False, 0, _FEW)
            except (TypeError, OverflowError, ValueError):
                found = None  # what is wrong with it is found out, and said, below
            if found is not None:
                ids, counts, n_end, context_count, n = found
                return _new(results.NextTokens, (ids, counts, n_end, context_count, n + 1))
        used = self._counted(model)
        if isinstance(given, str):
            cautioning.warn_of(self._view, given)
        if self._prob is None:
            with self._connection._work():
                return _next_tokens(model_cache.language_model(self._view, used), self._ids(given))
        context = self._ids(given) if not isinstance(given, (list, tuple)) else given
        try:
            found = self._dist(context, used.infgram, used.limit, _FEW)
            if found is None:
                with self._connection._work():
                    found = self._dist(context, used.infgram, used.limit)
        except (TypeError, OverflowError, ValueError) as error:
            cause, found = error, None
        if found is None:
            self._refuse(given, cause)
        ids, counts, n_end, context_count, n = found
        return results.NextTokens(ids, counts, n_end, context_count, n + 1)

    def dist_many(self, contexts: Ngrams, model: ModelLike = "ngram") -> NextTokensMany:
        """The distributions of many contexts as arrays, in one kernel call; `dist_arrays` by the thousand.

        Parameters
        ----------
        contexts : a list of n-grams, or a pair of arrays `(flat ids, offsets)`
        model : as `dist_arrays` takes it
        """
        view = self._current()
        flat, offsets = packing.pack(contexts, self._encode_ngram)
        used = self._counted(model)
        if isinstance(contexts, list) and any(isinstance(context, str) for context in contexts):
            seen = view.index.count_many(flat, offsets)
            cautioning.warn_of_many(view, contexts, np.flatnonzero(seen == 0))
        with self._connection._work():
            if self._prob is None:
                asked = model_cache.language_model(view, used)
                each = [_next_tokens(asked, flat[start:stop]) for start, stop in pairwise(offsets.tolist())]
                return results.NextTokensMany.of(each)
            starts, ids, counts, n_end, context_count, n = view.index.dist_many(
                flat, offsets, used.infgram, used.limit
            )
        return results.NextTokensMany(starts, ids, counts, n_end, context_count, n + 1)

    def _counted(self, model: Any) -> ModelSpec:
        """A model whose answers are counts divided by counts. Raises InvalidArgument for others."""
        used = models.as_model(model)
        if not used.counted:
            raise InvalidArgument(
                f"{used} has no distribution of counts; corpus.language_model(…).dist(ids) has its "
                "probabilities as arrays"
            )
        return used

    def prob_many(self, contexts: Ngrams, continuations: Ngrams | Ids, model: ModelLike = "ngram") -> Scores:
        """Many probabilities: entry i is P(continuations[i] | contexts[i]), with its counts.

        Parameters
        ----------
        contexts : a list of n-grams, or a pair of arrays `(flat ids, offsets)`
        continuations : an array of token ids, one per context; or a list of n-grams
        """
        view = self._current()
        flat, offsets = packing.pack(contexts, self._encode_ngram)
        tokens, token_offsets = self._continuations(continuations)
        n = len(offsets) - 1
        if len(token_offsets) - 1 != n:
            raise InvalidArgument(f"{n} contexts, but {len(token_offsets) - 1} continuations")
        used = models.as_model(model)
        with self._connection._work():
            scores = probability.chain_many(view, (flat, offsets), (tokens, token_offsets), used)
        if isinstance(contexts, list) and isinstance(continuations, list):
            unseen = (scores.count == 0) | (scores.effective_n <= np.diff(offsets))
            cautioning.warn_of_many(view, continuations, np.flatnonzero(unseen), contexts)
        return results.Scores.of(scores, used.is_probability)

    def _continuations(self, given: Any) -> tuple[IntArray, IntArray]:
        if isinstance(given, np.ndarray) or (
            isinstance(given, (list, tuple)) and given and set(map(type, given)) == {int}
        ):
            tokens = self._ids(given)
            return tokens, np.arange(len(tokens) + 1, dtype=np.int64)
        tokens, offsets = packing.pack(given, self._encode_ngram)
        if (np.diff(offsets) == 0).any():
            empty = int(np.flatnonzero(np.diff(offsets) == 0)[0])
            raise InvalidArgument(f"continuation {empty} (counted from 0) has no token")
        return tokens, offsets

    def score(self, ngram: Ngram, model: ModelLike = "ngram", *, sentence: bool = False) -> Scores:
        """Every token of a text (or of token ids) given those before it: SCORE, as arrays.

        With `sentence` the text is a sentence of its own: `<s>` stands before it, and `</s>` is scored
        behind it, one entry more.
        """
        view = self._current()
        ids = self._passage(ngram)
        if isinstance(ngram, str):
            cautioning.warn_of(view, ngram)
        offsets = np.array([0, len(ids)], dtype=np.int64)
        used = models.as_model(model)
        with self._connection._work():
            found = scoring.token_scores(view, ids, offsets, used, sentence)
        return results.Scores.of(found, used.is_probability)

    def score_many(
        self, docs: Ngrams, model: ModelLike = "ngram", *, sentence: bool = False
    ) -> DocumentScores:
        """The scores of many documents in one kernel call; item i is what `score(docs[i])` gives."""
        view = self._current()
        flat, offsets = packing.pack(docs, self._encode)
        used = models.as_model(model)
        with self._connection._work():
            scores = scoring.token_scores(view, flat, offsets, used, sentence)
        bounds = offsets + np.arange(len(offsets)) if sentence else offsets
        return results.DocumentScores(results.Scores.of(scores, used.is_probability), bounds)


def _next_tokens(model: LanguageModel, context: IntArray) -> NextTokens:
    """The distribution of a model whose answers are counts divided by counts."""
    found = model.dist(context)
    is_end = found.ids == values.END
    counts = np.zeros(0, dtype=np.int64) if found.counts is None else found.counts
    ids = found.ids[~is_end].astype(np.uint32)
    n_end = int(counts[is_end].sum())
    return results.NextTokens(ids, counts[~is_end], n_end, found.context_count, found.effective_n)


def _single(continuation: Any) -> int | None:
    """The token of a continuation that is one token id, or a list or tuple with just one; else None."""
    if type(continuation) in (list, tuple) and len(continuation) == 1:
        continuation = continuation[0]
    return continuation if type(continuation) is int else None
