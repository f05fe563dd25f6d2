"""An n-gram with a word outside the vocabulary occurs nowhere: its answer needs no index.

`COUNT "the xyzzy"` is 0, `DOCS WHERE "xyzzy"` is empty, `PROB … GIVEN "xyzzy"` under NGRAM is NULL.
"""

from __future__ import annotations

from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    DISTRIBUTION_COLUMNS,
    PROBABILITY_COLUMNS,
    Constant,
    CountGram,
    Distribution,
    DocExpr,
    DocsWith,
    Gram,
    NoDocs,
    Plan,
    Probability,
)
from ngramdb.planner.rules.base import Rule, on_documents


def reason(gram: Gram) -> str:
    """Why the count of an n-gram with unknown words is zero."""
    return f"{gram.shown} has a word that is not in the vocabulary"


def _fold_leaf(expr: DocExpr) -> DocExpr:
    if isinstance(expr, DocsWith) and not expr.gram.known:
        return NoDocs(reason(expr.gram))
    return expr


_fold_documents = on_documents(_fold_leaf)


def _fold(plan: Plan) -> Plan:
    if isinstance(plan, CountGram) and not plan.gram.known:
        return Constant(plan.corpus, COUNT_COLUMNS, ((0,),), reason(plan.gram))
    if isinstance(plan, Probability) and not plan.model.infgram:
        context = plan.model.context(plan.context)
        if not context.known:
            row = (None, 0, 0, len(context) + 1, False)
            return Constant(plan.corpus, PROBABILITY_COLUMNS, (row,), reason(plan.context))
    if isinstance(plan, Distribution) and not plan.model.infgram:
        context = plan.model.context(plan.context)
        if not context.known:
            summary = {"total": 0, "context_count": 0, "effective_n": len(context) + 1, "sparse": False}
            return Constant(plan.corpus, DISTRIBUTION_COLUMNS, (), reason(plan.context), summary)
    return _fold_documents(plan)


FOLD_UNKNOWN_WORDS = Rule(
    "fold_unknown_words", "answers without the index what a word outside the vocabulary decides", _fold
)
