"""An n-gram with a word outside the vocabulary occurs nowhere: its answer needs no index.

`COUNT "the xyzzy"` is 0, `DOCS WHERE "xyzzy"` is empty, `PROB … GIVEN "xyzzy"` under NGRAM is NULL unless the
corpus has a sentence separator. The same holds for patterns with such a part and for strings that no tokens
of the corpus spell.
"""

from __future__ import annotations

from ngramdb.lm.sentences import is_cut
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
    if isinstance(plan, (Probability, Distribution)):
        return _fold_model(plan)
    return _fold_nodes(plan)


def _fold_model(plan: Probability | Distribution) -> Plan:
    """Answer an n-gram model whose context has an unknown word; `<s>` may hide it from the model."""
    context = plan.context.before(plan.model.order)
    if plan.model.kind != "ngram" or context.known or is_cut(plan.corpus):
        return plan
    n = len(context) + 1
    if isinstance(plan, Probability):
        return Constant(plan.corpus, PROBABILITY_COLUMNS, ((None, 0, 0, n, False),), reason(plan.context))
    summary = {"total": 0, "context_count": 0, "effective_n": n, "sparse": False}
    return Constant(plan.corpus, DISTRIBUTION_COLUMNS, (), reason(plan.context), summary)


FOLD_UNKNOWN_WORDS = Rule(
    "fold_unknown_words", "answers without the index what a word outside the vocabulary decides", _fold
)
