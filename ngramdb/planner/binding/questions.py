"""Binding queries of probabilities."""

from __future__ import annotations

from typing import cast

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.binding.conditions import among
from ngramdb.planner.binding.scope import Scope, why_not_in_sentences


def prob(scope: Scope, node: ast.Prob) -> plan.Plan:
    """Bind PROB."""
    corpus = scope.corpus(node.source)
    continuation = scope.gram(node.continuation, corpus)
    if not len(continuation):
        scope.fail(PlanError, "PROB needs a continuation of at least one token", node.continuation)
    context = scope.gram(node.context, corpus)
    if continuation.text is None:
        scope.remember(corpus, context)
    else:
        scope.remember(corpus, continuation, before=context)
    return plan.Probability(
        corpus, continuation, context, scope.model(node.model), where=among(scope, node.where, corpus)
    )


def dist(scope: Scope, node: ast.Dist) -> plan.Plan:
    """Bind DIST."""
    corpus = scope.corpus(node.source)
    top = scope.number(node.top, "TOP", 0)
    context = scope.context(node.context, corpus)
    where = among(scope, node.where, corpus)
    return plan.Distribution(corpus, context, scope.model(node.model), top, where=where)


def dist_before(scope: Scope, node: ast.DistBefore) -> plan.Plan:
    """Bind DIST BEFORE."""
    corpus = scope.corpus(node.source)
    top = scope.number(node.top, "TOP", 0)
    where = among(scope, node.where, corpus)
    return plan.DistributionBefore(corpus, scope.context(node.ngram, corpus), top, where)


def score(scope: Scope, node: ast.Score) -> plan.Plan:
    """Bind SCORE."""
    corpus = scope.corpus(node.source)
    passage = scope.passage(node.ngram, corpus)
    where = among(scope, node.where, corpus)
    unit = None if node.unit is None else cast("plan.Unit", node.unit.value)
    if node.unit is not None and unit == "sentence":
        why = why_not_in_sentences(corpus, scope.catalog.own_corpus_names())
        if why is not None:
            scope.fail(PlanError, why, node.unit)
    return plan.Scoring(corpus, passage, scope.model(node.model), unit, where=where)
