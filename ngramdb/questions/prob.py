"""PROB: the probability of a continuation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ngramdb.lazy import lazy_module
from ngramdb.questions.definition import Definition, Help
from ngramdb.questions.spelling import Condition, Model, Passage, Words
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import model_queries, results
    from ngramdb.questions.arguments import models
    from ngramdb.questions.arguments.signatures import ModelLike, Ngram
    from ngramdb.questions.results import Probability
else:
    model_queries = lazy_module("ngramdb.questions.model_queries")
    models = lazy_module("ngramdb.questions.arguments.models")
    results = lazy_module("ngramdb.questions.results")


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
        used = models.as_model(model)
        context = bound.encode_ngram(given) if type(given) is str else given
        token = continuation if type(continuation) is int else model_queries.single_token(continuation)
        if (
            token is not None
            and bound.prob is not None
            and used.counted
            and type(context) in (list, tuple, np.ndarray)
        ):
            # The usual question goes to the kernel as it is: checks here would cost more than the answer.
            try:
                step = bound.prob(context, token, used.infgram, used.limit)
                if not step[0] or (used.infgram and type(given) is str):
                    model_queries.warn_of_unseen(bound, continuation, given)
                return results.Probability(step[0] / step[1], step) if step[1] else None
            except (TypeError, OverflowError, ValueError):
                pass  # what is wrong with it is found out, and said, below
        found = model_queries.probability(bound, continuation if token is None else (token,), context, used)
        model_queries.warn_of_unseen(bound, continuation, given)
        return found


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
