"""SCORE: the probability of a text, token by token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ngramdb import bool_arguments
from ngramdb.lazy import lazy_module
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.spelling import Condition, Model, Passage, Switch
from ngramdb.questions.verbs import Asking
from ngramdb.registries import MODELS

if TYPE_CHECKING:
    from ngramdb.executor.questions import scoring
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.questions import results
    from ngramdb.questions.arguments import models, units
    from ngramdb.questions.arguments.signatures import ModelLike, Ngram
    from ngramdb.questions.results import Scores
else:
    scoring = lazy_module("ngramdb.executor.questions.scoring")
    models = lazy_module("ngramdb.questions.arguments.models")
    results = lazy_module("ngramdb.questions.results")
    units = lazy_module("ngramdb.questions.arguments.units")


class Verbs(Asking):
    """Verbs of a corpus."""

    @bool_arguments.checked
    def score(
        self,
        ngram: Ngram,
        model: ModelLike = "ngram",
        *,
        document: bool = False,
        sentence: bool = False,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Scores:
        """Score every token of a text (or of token ids) given the tokens before it: SCORE, as arrays.

        Parameters
        ----------
        ngram : text or token ids
        model : as `prob` takes it
        document : score the text as a document of the corpus: `<s>`, the beginning of a document, comes
            before it, and `</s>` is scored after it, as one entry more
        sentence : cut the text into sentences, and score each with its `</s>` as a sentence of the corpus.
            Sentences are those of patterns (`<s>`, WITHIN SENTENCE). The first such question indexes those of
            the corpus (about 100 ns per token).
        where, params : as `prob` takes them

        Raises
        ------
        PlanError
            With `sentence`, the sentences of some document are not known, or the corpus was created with a
            `sentence_separator`, at which its models cut documents: `document` scores texts by these.
        ResourceError
            With `sentence`, the corpus has more than 200 million tokens.
        """
        if where is not None or params is not None:
            part: Verbs = self._among(where, params)
            return part.score(ngram, model, document=document, sentence=sentence)
        used, unit = models.as_model(model), units.unit_of(document, sentence)
        with self._bound.work():
            view = units.corpus_for(unit, self._bound)
            ids = units.cut(view, unit, self._bound.passage(ngram), ngram)
            offsets = np.array([0, len(ids)], dtype=np.int64)
            found = scoring.token_scores(view, ids, offsets, used, unit is not None)
        return results.Scores.of(found, used.is_probability)


DEFINITION = Definition(
    Verbs,
    "score",
    "SCORE",
    "How likely a text is, token by token: SCORE.",
    {
        "ngram": Passage("the text"),
        "where": Condition(),
        "model": Model(),
        "document": Switch("as a document, from its beginning to its end"),
        "sentence": Switch("cut into sentences, each from its beginning to its end"),
    },
    tool=Tool(
        "score_text",
        "How likely a text is under a language model of the corpus, token by token. Models: "
        f"{', '.join(MODELS)}.",
    ),
    help=Help(
        "SCORE ngram [USING model] [WHERE condition] [SENTENCE | DOCUMENT] [FROM source]",
        ('SCORE "a whole sentence"', "probability token by token"),
    ),
)
