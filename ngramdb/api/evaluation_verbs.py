"""Verbs of a corpus around its language models: statistics, generation, evaluation, files for other
programs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ngramdb.api.model_verbs import ModelVerbs
from ngramdb.interrupts import under
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.api import analyzing, cautioning, evaluation, models, results, trees
    from ngramdb.api.analyzing import AnalysisReport
    from ngramdb.api.results import Generated
    from ngramdb.api.signatures import Documents, ModelLike, Ngram
    from ngramdb.executor import generating
    from ngramdb.executor import models as model_cache
    from ngramdb.lm.agreement import Agreement
    from ngramdb.lm.drafting import Draft
    from ngramdb.lm.evaluation import Perplexity, Progress
    from ngramdb.lm.models import LanguageModel
    from ngramdb.planner import cautions, planner
    from ngramdb.planner import plan as plans
    from ngramdb.planner.plan import Generation
else:
    cautioning = lazy_module("ngramdb.api.cautioning")
    cautions = lazy_module("ngramdb.planner.cautions")
    models = lazy_module("ngramdb.api.models")
    results = lazy_module("ngramdb.api.results")
    trees = lazy_module("ngramdb.api.trees")
    generating = lazy_module("ngramdb.executor.generating")
    model_cache = lazy_module("ngramdb.executor.models")
    plans = lazy_module("ngramdb.planner.plan")
    planner = lazy_module("ngramdb.planner.planner")
    analyzing = lazy_module("ngramdb.api.analyzing")
    evaluation = lazy_module("ngramdb.api.evaluation")


class EvaluationVerbs(ModelVerbs):
    """ANALYZE, GENERATE, and what has no statement of its own."""

    def analyze(self, order: int | None = None) -> AnalysisReport:
        """Takes the counts of counts that Kneser-Ney's discounts come from, and keeps them: ANALYZE.

        order : the greatest length of n-grams that has discounts of its own, 2 to 1,000; by default 10, or 50
            where tokens are characters or bytes. Longer n-grams reuse the last that could be estimated.

        One commit; nothing is done where the corpus has not changed since, and no other order is asked for.
        Without it they are taken in memory when they are first needed. Cost: a pass over the index, less than
        building it.

        Raises
        ------
        InvalidArgument
            an order that is not a whole number from 2 to 1,000
        """
        with self._connection._work():
            return analyzing.analyze(self._connection, self.name, order)

    def language_model(self, model: ModelLike = "kneser_ney") -> LanguageModel:
        """The model over the corpus's current version, as `ngramdb.lm.make` makes it.

        Its methods take and give token ids and arrays, `<s>` and `</s>` (`ngramdb.lm.BEGIN` and `END`) among
        them. It stays at this version whatever is committed later.
        """
        with self._connection._work():
            return model_cache.language_model(self._current(), models.as_model(model))

    # ---- making text ------------------------------------------------------------------------------------

    def generate(
        self,
        given: Ngram = "",
        tokens: int = 20,
        model: ModelLike = "infgram",
        *,
        method: str | None = None,
        beams: int | None = None,
        temperature: float | None = None,
        top: int | None = None,
        nucleus: float | None = None,
        diversity: float | None = None,
        seed: int | None = None,
        n: int = 1,
    ) -> list[Generated]:
        """Continuations of a context, the most probable first, as texts that know more: GENERATE.

        Parameters
        ----------
        tokens : each ends after so many, or where a document would end
        method : 'greedy', 'sample' or 'beam'; when not given, the one that the other parameters are of, or
            greedy
        temperature, top, nucleus : of 'sample': above 1 flatter; from so many of the most probable tokens;
            from as few of them as have that much probability together
        beams, diversity : of 'beam': how many; what a token costs that another beam took at the same place
        seed : the same continuations for the same seed
        n : how many
        """
        plan = self._generation(
            given, tokens, model, method, beams, temperature, top, nucleus, diversity, seed, n
        )
        tokenizer = plan.corpus.tokenizer
        with self._connection._work():
            found = generating.Run(plan).continuations()
        return [
            results.Generated(generating.text_of(item, tokenizer), item.ids, item.logprob, item.ended)
            for item in found
        ]

    def stream(
        self,
        given: Ngram = "",
        tokens: int = 20,
        model: ModelLike = "infgram",
        *,
        method: str | None = None,
        temperature: float | None = None,
        top: int | None = None,
        nucleus: float | None = None,
        seed: int | None = None,
    ) -> Iterator[str]:
        """The text of one continuation piece by piece, while it is made; together what `generate` gives."""
        plan = self._generation(given, tokens, model, method, None, temperature, top, nucleus, None, seed, 1)
        work = self._connection._work()
        with work:
            run = generating.Run(plan)
        return under(work, run.pieces())

    def draft(self, given: Ngram, n: int, *, least_prob: float = 0.0, least_count: int = 1) -> Draft:
        """The most frequent continuation in the corpus, for a larger model to check (speculative decoding).

        After the longest suffix of the context that occurs, token by token: `ids`, `probs` and
        `effective_n` are arrays, `confidence` is the probability of all. Ends before a token less probable
        than `least_prob`. A suffix that occurs once foresees its next token with probability 1: with
        `least_count` shorter ones are taken until one occurs so often.
        """
        view = self._current()
        if isinstance(given, str):
            cautioning.warn_of(view, given)
        with self._connection._work():
            return evaluation.draft(view, self._ids(given), n, least_prob, least_count)

    def _generation(
        self,
        given: Any,
        tokens: int,
        model: Any,
        method: str | None,
        beams: int | None,
        temperature: float | None,
        top: int | None,
        nucleus: float | None,
        diversity: float | None,
        seed: int | None,
        n: int,
    ) -> Generation:
        tree = trees.generate(
            given,
            tokens,
            models.as_model(model),
            method,
            beams,
            temperature,
            top,
            nucleus,
            diversity,
            seed,
            n,
        )
        plan, _ = planner.optimize(
            self._bind(tree, None, None), self._connection.settings.disabled_rules, estimated=False
        )
        assert isinstance(plan, plans.Generation)
        if plan.phrases:
            cautioning.warn(cautions.cautions_of(plan))
        return plan

    # ---- evaluation -------------------------------------------------------------------------------------

    def perplexity(
        self,
        docs: Documents,
        model: ModelLike = "kneser_ney",
        *,
        sentence: bool = True,
        progress: Progress | None = None,
    ) -> Perplexity:
        """How well a model of the corpus predicts documents, with and without their unknown words: those that
        do not occur in it.

        Parameters
        ----------
        docs : texts, sequences of token ids, dicts with `text` or `ids`
        sentence : each document is a sentence, `</s>` is predicted as well
        progress : called after each batch with the numbers of documents and tokens so far

        Returns
        -------
        An object with `perplexity`, `perplexity_known` (unknown words left out), `per_document`, `n_tokens`,
        `n_unknown`, `n_zero`, `tokens_per_second`, …: `ngramdb.lm.Perplexity`.
        """
        used = self.language_model(model)
        with self._connection._work():
            return evaluation.perplexity(used, self._current().tokenizer, docs, sentence, progress)

    def agreement(
        self,
        docs: Documents,
        model: ModelLike = "infgram",
        *,
        sentence: bool = False,
        skip: int = 0,
        progress: Progress | None = None,
    ) -> Agreement:
        """How many tokens of documents a model gives more than one half of its probability, by effective n.

        As `perplexity`; an `ngramdb.lm.Agreement`: `share` of all tokens, `n_tokens` and `n_agreeing` by
        effective n, and the same of sparse estimates alone.

        Parameters
        ----------
        skip : so many tokens at the start of each document, a prompt for example, are context only
        """
        used = self.language_model(model)
        with self._connection._work():
            return evaluation.agreement(used, self._current().tokenizer, docs, sentence, skip, progress)

    def export_arpa(self, path: str | os.PathLike[str], order: int) -> list[int]:
        r"""Writes the Kneser-Ney model of an order as an ARPA file; how many n-grams each length has.

        The file appears under its name when it is complete; a name in .gz or .zst has it compressed.

        Raises
        ------
        InvalidArgument
            An order below 2.

        Notes
        -----
        A blank in a token is written as `▁`, other white space as `\u000a`; a token without text, or with
        that of another one or of `<s>`, `</s>` and `<unk>`, by its id: `id:17`.
        """
        view = self._current()
        with self._connection._work():
            return evaluation.export_arpa(view, os.fspath(path), order)
