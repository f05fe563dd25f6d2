"""COUNT: numbers of occurrences, also by groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module
from ngramdb.questions.verbs import Asking, Bound
from ngramdb.types import as_optional_flag, checked_flags

if TYPE_CHECKING:
    from ngramdb.executor.result import Result
    from ngramdb.language import ast
    from ngramdb.patterns import grams
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.scope import Scope
    from ngramdb.questions import count_plan, parsing, to_ast, verbs
    from ngramdb.questions.parsing import Pattern
    from ngramdb.questions.signatures import Ngram
else:
    ast = lazy_module("ngramdb.language.ast")
    plans = lazy_module("ngramdb.planner.plan")
    count_plan = lazy_module("ngramdb.questions.count_plan")
    to_ast = lazy_module("ngramdb.questions.to_ast")
    grams = lazy_module("ngramdb.patterns.grams")
    verbs = lazy_module("ngramdb.questions.verbs")
    parsing = lazy_module("ngramdb.questions.parsing")


class Verbs(Asking):
    """Verbs of a corpus."""

    # No parameter is keyword-only: their defaults would take a tenth of the time of a query in token ids.
    def count(
        self,
        ngram: Ngram | Pattern,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        where: str | None = None,
        params: ParameterValues = None,
    ) -> int:
        """Return the number of occurrences of an n-gram; `count([])` is the number of tokens.

        Parameters
        ----------
        ngram : text or token ids, or a pattern (`ngramdb.pattern`)
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; by default, the setting `match` applies
        where, params : condition on documents, as after WHERE

        Raises
        ------
        InvalidArgument
            The n-gram is neither text nor token ids, or a text without tokens.

        Notes
        -----
        Cost: one search per segment, about 1 µs, plus some 0.1 µs for the call in Python.
        """
        bound = self._bound
        if match_text is not None or ignore_case is not None or where is not None or params is not None:
            match_text = as_optional_flag("match_text", match_text)
            ignore_case = as_optional_flag("ignore_case", ignore_case)
            return bound.number(
                bound.bind(ast.Count(to_ast.occurring(ngram, match_text, ignore_case)), where, params)
            )
        if bound.snapshot.is_past:
            bound.rebind()
        if type(ngram) is list:  # the most frequent query, called by the million
            count = bound.count  # called as a method it would take Python 3.11 longer
            try:
                return count(ngram)
            except (TypeError, OverflowError, ValueError) as error:
                cause = error
            bound.refuse(ngram, cause)  # outside of the handler, to raise one error, not two
        return count_any(bound, ngram)

    @checked_flags
    def counts(
        self,
        ngrams: Ngram | Pattern | Sequence[Ngram],
        where: str | None = None,
        *,
        group_by: str | Sequence[str] | None = None,
        per_million: bool = False,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        top: int | None = None,
        match_text: bool | None = None,
        ignore_case: bool | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """Return the numbers of occurrences of n-grams as a table, also by groups: COUNT … GROUP BY.

        Parameters
        ----------
        ngrams : an n-gram, or a list or column of them: texts or token ids; or a pattern (`ngramdb.pattern`)
        where, params : condition on documents, as after WHERE
        group_by : one or several fields, or other groups: 'year / 10 * 10', 'MONTH(date)', 'UNNEST(tags)',
            'RIGHT 1', 'FORM'
        per_million : add the numbers of tokens, and of occurrences per million tokens
        order_by : columns by which rows are ordered
        descending : reverse the order
        top : maximum number of rows, those with the highest counts
        match_text, ignore_case : MATCH TEXT and IGNORE CASE; by default, the setting `match` applies

        Returns
        -------
        Columns `ngram`, if there are several, those of `group_by`, `count`; `tokens` and `per_million`.

        Raises
        ------
        QueryError
            A condition or a group is invalid, or a value is missing.
        """
        with self._bound.work() as work:
            first, *others = to_ast.occurring_each(ngrams, match_text, ignore_case)
            keys = to_ast.group_keys("order_by", order_by)
            tree = ast.Count(
                first,
                others=tuple(others),
                group_by=to_ast.group_keys("group_by", group_by),
                per_million=per_million,
                order_by=tuple(ast.OrderBy(key, descending) for key in keys),
                top=to_ast.number(0, "top", top),
            )
        return self._bound.ask(tree, where, params, work)


def bind(scope: Scope, node: ast.Count) -> plans.Plan:
    """Return the plan of COUNT: one number, or a row for each n-gram and group."""
    from ngramdb.patterns.grams import Gram
    from ngramdb.planner import bind_conditions, bind_occurrences

    corpus = scope.corpus(node.source)
    if node.group_by or node.others or node.per_million:
        from ngramdb.questions import count_table

        return count_table.bind(scope, node, corpus)
    if node.order_by or node.top is not None:
        from ngramdb.questions.count_groups import refuse_order

        refuse_order(scope, node)
    what = bind_occurrences.occurring(scope, node.what, corpus, bind_conditions.condition)
    if node.where is not None:
        what = plans.InDocs(what, bind_conditions.condition(scope, node.where, corpus))
    if node.sample is not None:
        from ngramdb.questions.sampling import bind_sample

        if isinstance(what, plans.InDocs):  # documents are drawn from those that meet the condition
            what = plans.Among(what.what, what.docs)
        return count_plan.CountOccurrences(corpus, what, sample=bind_sample(scope, node.sample))
    if isinstance(what, plans.OccurrencesOf) and isinstance(what.pattern, Gram):
        return count_plan.CountGram(corpus, what.pattern)
    return count_plan.CountOccurrences(corpus, what)


# ---- arguments that the kernel does not take as they are


def count_any(bound: Bound, ngram: Any) -> int:
    """Count anything but a list of token ids: a text, a pattern, a tuple or an array."""
    if isinstance(ngram, str):
        if bound.database.settings.match != "tokens":
            return bound.number(bound.bind(ast.Count(to_ast.occurring(ngram))))
        ids = bound.encode(ngram)
        if not len(ids) and ngram:
            raise InvalidArgument(grams.no_token(ngram, bound.view.tokenizer, "match_text=True"))
        found = bound.count(ids)
        if not found or "*" in ngram or "?" in ngram:
            verbs.warn_of(bound.view, ngram, "match_text=True")
        return found
    if type(ngram) is not tuple and type(ngram) is not np.ndarray:
        if isinstance(ngram, parsing.Pattern):
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
