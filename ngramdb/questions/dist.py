"""DIST and DIST BEFORE: the distribution of the token after a context, or before an n-gram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import dataclass, lazy_module
from ngramdb.planner.plan import AllDocs, Constant, why_nowhere
from ngramdb.questions.definition import Definition, Help, Tool
from ngramdb.questions.plans import ContextQuery, Query
from ngramdb.questions.requests import Condition, Model, Passage
from ngramdb.questions.verbs import Asking

if TYPE_CHECKING:
    from ngramdb import patterns
    from ngramdb.conditions.docset import DocSet
    from ngramdb.executor import per_segment
    from ngramdb.executor.result import Result
    from ngramdb.language import ast
    from ngramdb.lm import of_corpora, values
    from ngramdb.lm.models import LanguageModel
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.patterns import Gram
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import Costs, DocExpr, PlanMeter
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import next_tokens, packing, results, to_ast, verbs
    from ngramdb.questions.results import NextTokens, NextTokensMany
    from ngramdb.questions.signatures import ModelLike, Ngram, Ngrams
    from ngramdb.questions.verbs import Bound
    from ngramdb.segments.base import Segment
    from ngramdb.source import Corpus, IntArray
else:
    per_segment = lazy_module("ngramdb.executor.per_segment")
    ast = lazy_module("ngramdb.language.ast")
    values = lazy_module("ngramdb.lm.values")
    patterns = lazy_module("ngramdb.patterns")
    of_corpora = lazy_module("ngramdb.lm.of_corpora")
    next_tokens = lazy_module("ngramdb.questions.next_tokens")
    verbs = lazy_module("ngramdb.questions.verbs")
    results = lazy_module("ngramdb.questions.results")
    packing = lazy_module("ngramdb.questions.packing")
    to_ast = lazy_module("ngramdb.questions.to_ast")

# Distributions of at most this many occurrences are computed without an interrupt check.
FEW = 1 << 16
# Cost of indexing a token, in occurrences of a context that are read in the same time.
OCCURRENCES_PER_TOKEN = 10

# Makes a named tuple of a tuple, in half the time that its class takes.
_new = tuple.__new__


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
        """Return the next-token distribution of a context, the most probable token first: DIST.

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
        return self._bound.run(DistQuery(view, context, to_ast.as_model(model), top, phrases=phrases))

    def dist_before(
        self,
        ngram: Ngram,
        top: int | None = None,
        *,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the distribution of the token before an n-gram, the most probable first: DIST BEFORE.

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

    def dist_arrays(self, given: Ngram = (), model: ModelLike = "ngram") -> NextTokens:
        """Return the distribution of `dist` as arrays, by token id, straight from the kernel.

        Parameters
        ----------
        given : the context, text or token ids
        model : a model whose probabilities are ratios of counts: n-gram or ∞-gram, without MIN COUNT; for
            others `language_model(model).dist(ids)` returns arrays of probabilities

        Raises
        ------
        InvalidArgument
            Any other model.

        Notes
        -----
        Cost: one read per different successor, and a pass over the occurrences; microseconds for contexts
        that occur up to thousands of times.
        """
        bound = self._bound
        if bound.snapshot.is_past:
            bound.rebind()
        if type(model) is str and model == "ngram" and type(given) is list and bound.prob is not None:
            # The fast path passes arguments to the kernel unchecked, as in `count`.
            dist = bound.dist
            try:
                found = dist(given, False, 0, FEW)
            except (TypeError, OverflowError, ValueError):
                found = None  # the invalid argument is found and named below
            if found is not None:
                ids, counts, n_end, context_count, n = found
                return _new(results.NextTokens, (ids, counts, n_end, context_count, n + 1))
        return _arrays(bound, given, _counted(model))

    def dist_many(self, contexts: Ngrams, model: ModelLike = "ngram") -> NextTokensMany:
        """Return the distributions of many contexts as arrays, in one kernel call.

        Parameters
        ----------
        contexts : a list of n-grams, or a pair `(flat ids, offsets)` of arrays
        model : as for `dist_arrays`
        """
        used, bound = _counted(model), self._bound
        view = bound.current()
        contexts = packing.listed(contexts)
        with bound.work():
            flat, offsets = packing.pack(contexts, bound.encode_ngram)
            if isinstance(contexts, list) and any(isinstance(context, str) for context in contexts):
                seen = view.index.count_many(flat, offsets)
                verbs.warn_of_many(view, contexts, np.flatnonzero(seen == 0))
            if bound.prob is None:
                made = of_corpora.language_model(view, used)
                each = []
                for start, stop in pairwise(offsets.tolist()):
                    interrupts.check()
                    each.append(_arrays_of_model(made, flat[start:stop]))
                return results.NextTokensMany.of(each)
            starts, ids, counts, n_end, context_count, n = view.index.dist_many(
                flat, offsets, used.infgram, used.limit
            )
        return results.NextTokensMany(starts, ids, counts, n_end, context_count, n + 1)


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


# ---- arrays ---------------------------------------------------------------------------------------------


def _counted(model: Any) -> ModelSpec:
    """Return a model whose answers are ratios of counts. Raises InvalidArgument for others."""
    used = to_ast.as_model(model)
    if not used.counted:
        raise InvalidArgument(
            f"{used} has no distribution of counts; corpus.language_model(…).dist(ids) returns its "
            "probabilities as arrays"
        )
    return used


def _arrays(bound: Bound, given: Any, model: ModelSpec) -> NextTokens:
    """Return the distribution after any context, for a model of counts."""
    if isinstance(given, str):
        verbs.warn_of(bound.view, given)
    if bound.prob is None:
        with bound.work():
            return _arrays_of_model(of_corpora.language_model(bound.view, model), bound.ids(given))
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


def _arrays_of_model(model: LanguageModel, context: IntArray) -> NextTokens:
    """Return the distribution of a model of counts over a corpus with a separator."""
    found = model.dist(context)
    is_end = found.ids == values.END
    counts = np.zeros(0, dtype=np.int64) if found.counts is None else found.counts
    ids = found.ids[~is_end].astype(np.uint32)
    n_end = int(counts[is_end].sum())
    return results.NextTokens(ids, counts[~is_end], n_end, found.context_count, found.effective_n)


# ---- the statements -------------------------------------------------------------------------------------


def bind(scope: Scope, node: ast.Dist) -> DistQuery:
    """Bind DIST."""
    corpus = scope.corpus(node.source)
    top = scope.number(node.top, "TOP", 0)
    context = scope.context(node.context, corpus)
    where = scope.among(node.where, corpus)
    return DistQuery(corpus, context, scope.model(node.model), top, where=where)


@dataclass(frozen=True)
class DistQuery(ContextQuery):
    """DIST."""

    top: int | None = None

    def label(self) -> str:
        return f"distribution given {self.context.shown}, {self.model}{_top(self.top)}"

    def unanswered(self, effective_n: int) -> Constant:
        summary = {"total": 0, "context_count": 0, "effective_n": effective_n, "sparse": False}
        return Constant(self.corpus, next_tokens.COLUMNS, (), why_nowhere(self.context), summary)

    def answer_whole(self) -> Result:
        """Return the rows. Cost of counts: one search per segment, then galloping over what follows."""
        corpus, model, context = self.corpus, self.model, self.context.ids
        if of_corpora.is_counted(corpus, model):
            ids, counts, n_end, n_context, n = corpus.index.dist(context, model.infgram, model.limit)
            return self._rows(results.NextTokens(ids, counts, int(n_end), int(n_context), int(n) + 1))
        made, note = of_corpora.language_model(corpus, model), of_corpora.note_of(corpus, model)
        return next_tokens.modelled_rows(made, context, self.top, corpus, note)

    def answer_among(self, found: Sequence[tuple[Segment, DocSet]]) -> Result | None:
        """Answer for an n-gram model from the occurrences of its context, unless an index is faster."""
        corpus, model = self.corpus, self.model
        context = self.context.before(model.order)
        if model.kind != "ngram" or model.min_count > 1 or not of_corpora.is_counted(corpus, model):
            return None
        if not len(context) or not context.known:
            return None
        corpus.check_difference()
        ranges = [segment.index.find(context.ids) for segment, _ in found]
        n_indexed = _n_indexed(corpus, found)
        chosen = [docs.numbers() for _, docs in found]
        if corpus.prefers_slice(chosen, sum(hi - lo for lo, hi in ranges), OCCURRENCES_PER_TOKEN * n_indexed):
            return None
        return self._rows(next_tokens.followers(context.ids, found))

    def _rows(self, found: NextTokens) -> Result:
        facts = {"effective_n": found.effective_n, "sparse": next_tokens.is_sparse(found)}
        return next_tokens.counted_rows(found, self.top, self.corpus, **facts)


def bind_before(scope: Scope, node: ast.DistBefore) -> DistBeforeQuery:
    """Bind DIST BEFORE."""
    corpus = scope.corpus(node.source)
    top = scope.number(node.top, "TOP", 0)
    where = scope.among(node.where, corpus)
    return DistBeforeQuery(corpus, scope.context(node.ngram, corpus), top, where)


@dataclass(frozen=True)
class DistBeforeQuery(Query):
    """DIST BEFORE."""

    gram: Gram
    top: int | None = None
    where: DocExpr | None = None
    costs: Costs | None = field(default=None, compare=False)

    def where_clause(self) -> DocExpr | None:
        return self.where

    def label(self) -> str:
        return f"distribution before {self.gram.shown}{_top(self.top)}"

    def answer(self, meter: PlanMeter | None = None) -> Result:
        self.corpus.check_difference()
        if self.where is None or isinstance(self.where, AllDocs):
            found = next_tokens.predecessors(self.corpus, self.gram)
        else:
            chosen = per_segment.matching(self.corpus, self.where, self.costs, meter)
            found = next_tokens.predecessors_among(self.gram, chosen)
        return next_tokens.counted_rows(found, self.top, self.corpus)


def _top(top: int | None) -> str:
    return "" if top is None else f", top {top:,}"


def _n_indexed(corpus: Corpus, found: Sequence[tuple[Segment, DocSet]]) -> int:
    """Return the number of tokens that an index of these documents, or of the others, would hold."""
    chosen = 0
    for segment, docs in found:
        chosen += int(segment.lengths(docs.numbers()).sum())
    return min(chosen, corpus.n_tokens - chosen)
