"""DIST and DIST BEFORE: the distribution of the token after a context, or before an n-gram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngramdb.lazy import lazy_module
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.spelling import Condition, Model, Passage
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb import patterns
    from ngramdb.executor.results.result import Result
    from ngramdb.language import ast
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions.arguments import models, to_ast
    from ngramdb.questions.arguments.signatures import ModelLike, Ngram
else:
    models = lazy_module("ngramdb.questions.arguments.models")
    ast = lazy_module("ngramdb.language.ast")
    patterns = lazy_module("ngramdb.patterns")
    plans = lazy_module("ngramdb.planner.plan")
    to_ast = lazy_module("ngramdb.questions.arguments.to_ast")


class Verbs(Asking):
    """Verbs of a corpus."""

    def dist(
        self,
        given: Ngram = "",
        model: ModelLike = "ngram",
        top: int | None = None,
        *,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The next-token distribution of a context, the most probable token first: DIST.

        Parameters
        ----------
        given : the context, text or token ids
        model : as `prob` takes it
        top : the greatest number of rows
        where, params : as if there were only the documents that meet this condition (`Corpus.where`)

        Returns
        -------
        Columns `token`, `token_id`, `count`, `prob`; the end of a document is a row with token NULL.
        Kneser-Ney has a row `<unk>` for every out-of-vocabulary token. `summary['note']` explains a model.

        Raises
        ------
        InvalidArgument
            A `top` that is not a whole number of at least 0, or an unknown model.
        """
        top = to_ast.at_least(0, "top", top)
        if where is not None or params is not None:
            part: Verbs = self._among(where, params)
            return part.dist(given, model, top)
        view = self._bound.current()
        context = self._bound.gram(given)
        told = patterns.may_mislead(context.text, view.tokenizer.kind)
        phrases = (patterns.Phrase(view, context),) if told else ()
        return self._bound.run(
            plans.Distribution(view, context, models.as_model(model), top, phrases=phrases)
        )

    def dist_before(
        self,
        ngram: Ngram,
        top: int | None = None,
        *,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The distribution of the token before an n-gram, the most probable first: DIST BEFORE.

        Parameters
        ----------
        ngram : text or token ids
        top : the greatest number of rows
        where, params : only in documents that meet this condition

        Returns
        -------
        Columns `token`, `token_id`, `count`, `prob`; the beginning of a document is a row with token NULL.

        Raises
        ------
        InvalidArgument
            A `top` that is not a whole number of at least 0.

        Notes
        -----
        Cost: a random read or two for each occurrence.
        """
        tree = ast.DistBefore(to_ast.ngram(ngram), to_ast.number(0, "top", top))
        return self._bound.ask(tree, where, params)


DEFINITION = Definition(
    Verbs,
    "dist",
    "DIST",
    "What comes next: DIST GIVEN.",
    {
        "given": Passage("the context; without it, the tokens of the corpus by their share", "GIVEN", False),
        "where": Condition(),
        "model": Model(),
    },
    page="TOP",
    tool=Tool(
        "next_tokens",
        "What comes next after a text, with exact counts and probabilities: the most frequent "
        "continuations. Under sub-word tokenizers begin a text inside a sentence with its blank.",
    ),
    help=Help(
        "DIST [GIVEN] ngram [USING model] [WHERE condition] [TOP k] [FROM source]",
        ('DIST GIVEN "natural language" TOP 10', "what comes next, and how often"),
    ),
)
BEFORE = Definition(
    Verbs,
    "dist_before",
    "DIST",
    "What comes before: DIST BEFORE.",
    {"ngram": Passage(after="BEFORE"), "where": Condition()},
    page="TOP",
    tool=Tool("previous_tokens", "What stands before a text, with exact counts and probabilities."),
    help=Help(
        "DIST BEFORE ngram [WHERE condition] [TOP k] [FROM source]",
        ('DIST BEFORE "language" TOP 10', "what comes before it, and how often"),
    ),
)
