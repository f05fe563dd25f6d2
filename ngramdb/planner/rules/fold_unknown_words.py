"""An n-gram with a word outside the vocabulary occurs nowhere: its answer needs no index.

`COUNT "the xyzzy"` is 0, `DOCS WHERE "xyzzy"` is empty, `PROB … GIVEN "xyzzy"` under NGRAM is NULL. So do
patterns with such a part, and strings that no tokens of the corpus spell.
"""

from __future__ import annotations

from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    DISTRIBUTION_COLUMNS,
    PROBABILITY_COLUMNS,
    AllDocs,
    Constant,
    CountGram,
    CountTest,
    Distribution,
    DocsMatching,
    DocsWith,
    Gapped,
    Gram,
    Node,
    NoDocs,
    Nowhere,
    OccurrencesOf,
    Pattern,
    Plan,
    Probability,
)
from ngramdb.planner.rules.base import Rule, on_nodes


def reason(pattern: Pattern) -> str:
    """Why the count of a pattern that cannot occur is zero."""
    if isinstance(pattern, Gapped):
        pattern = next(part for part in pattern.parts if not part.known)
    if isinstance(pattern, Gram):
        return f"{pattern.shown} has a word that is not in the vocabulary"
    return f"{pattern.shown} stands nowhere"


def _fold_leaf(expr: Node) -> Node:
    if isinstance(expr, DocsWith) and not expr.gram.known:
        return NoDocs(reason(expr.gram))
    if isinstance(expr, DocsMatching) and not expr.pattern.known:
        return NoDocs(reason(expr.pattern))
    if isinstance(expr, OccurrencesOf) and not expr.pattern.known:
        return Nowhere(reason(expr.pattern))
    if isinstance(expr, CountTest) and not expr.pattern.known:
        return AllDocs() if expr.holds(0) else NoDocs(reason(expr.pattern))
    return expr


_fold_nodes = on_nodes(_fold_leaf)


def _fold(plan: Plan) -> Plan:
    if isinstance(plan, CountGram) and not plan.gram.known:
        return Constant(plan.corpus, COUNT_COLUMNS, ((0,),), reason(plan.gram))
    if isinstance(plan, Probability) and plan.model.kind == "ngram":
        context = plan.context.before(plan.model.order)
        if not context.known:
            row = (None, 0, 0, len(context) + 1, False)
            return Constant(plan.corpus, PROBABILITY_COLUMNS, (row,), reason(plan.context))
    if isinstance(plan, Distribution) and plan.model.kind == "ngram":
        context = plan.context.before(plan.model.order)
        if not context.known:
            summary = {"total": 0, "context_count": 0, "effective_n": len(context) + 1, "sparse": False}
            return Constant(plan.corpus, DISTRIBUTION_COLUMNS, (), reason(plan.context), summary)
    return _fold_nodes(plan)


FOLD_UNKNOWN_WORDS = Rule(
    "fold_unknown_words", "answers without the index what a word outside the vocabulary decides", _fold
)
