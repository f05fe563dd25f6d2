"""Binding questions about counts, probabilities and documents."""

from __future__ import annotations

from dataclasses import replace

from ngramdb.errors import PlanError
from ngramdb.language import ast
from ngramdb.planner import plan
from ngramdb.planner.binding.concordance import sampling
from ngramdb.planner.binding.conditions import among, condition
from ngramdb.planner.binding.fields import PREFIX, bound_field, path_of, returned_fields
from ngramdb.planner.binding.occurrences import occurring
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.source import Corpus


def count(scope: Scope, node: ast.Count) -> plan.Plan:
    """Bind COUNT."""
    corpus = scope.corpus(node.source)
    what = occurring(scope, node.what, corpus, condition)
    if node.where is not None:
        what = plan.InDocs(what, condition(scope, node.where, corpus))
    if node.sample is not None and isinstance(what, plan.InDocs):
        what = plan.Among(what.what, what.docs)
    if node.group_by:
        if node.sample is not None:
            scope.fail(PlanError, "SAMPLE and GROUP BY don't go together", node.sample)
        return _grouped(scope, node, corpus, what)
    _refuse_order(scope, node)
    sample = sampling(scope, node.sample)
    if sample is None and isinstance(what, plan.OccurrencesOf) and isinstance(what.pattern, plan.Gram):
        return plan.CountGram(corpus, what.pattern)
    return plan.CountOccurrences(corpus, what, sample=sample)


def count_docs(scope: Scope, node: ast.CountDocs) -> plan.Plan:
    """Bind COUNT DOCS."""
    corpus = scope.corpus(node.source)
    where = condition(scope, node.where, corpus)
    if node.group_by:
        return _grouped(scope, node, corpus, where)
    _refuse_order(scope, node)
    return plan.CountDocuments(corpus, where)


def _refuse_order(scope: Scope, node: ast.Count | ast.CountDocs) -> None:
    """One number has no order."""
    if node.order_by:
        scope.fail(PlanError, "ORDER BY needs GROUP BY: a count alone is one row", node.order_by[0])
    if node.top is not None:
        scope.fail(PlanError, "TOP (or LIMIT) needs GROUP BY: a count alone is one row", node.top)


def _grouped(
    scope: Scope, node: ast.Count | ast.CountDocs, corpus: Corpus, what: plan.Occurring | plan.DocExpr
) -> plan.Plan:
    keys = tuple(bound_field(scope, field, corpus)[0] for field in node.group_by)
    order = tuple((_group_column(scope, item, keys, corpus), item.descending) for item in node.order_by)
    return plan.GroupedCount(corpus, what, keys, order, scope.number(node.top, "TOP", 0))


def _group_column(scope: Scope, item: ast.OrderBy, keys: tuple[plan.FieldKey, ...], corpus: Corpus) -> int:
    """Which column ORDER BY means: a field of GROUP BY, else the count."""
    paths = [key.path for key in keys]
    path = path_of(item.field.keys)
    if path in paths:
        return paths.index(path)
    if path == "count":
        return len(keys)
    if item.field.keys[0] == PREFIX and path_of(item.field.keys[1:]) in paths:
        return paths.index(path_of(item.field.keys[1:]))
    scope.fail(PlanError, f"ORDER BY takes count or a field of GROUP BY, not {path}", item)


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
    return plan.DistributionBefore(corpus, scope.context(node.ngram, corpus), top)


def score(scope: Scope, node: ast.Score) -> plan.Plan:
    """Bind SCORE."""
    corpus = scope.corpus(node.source)
    passage = scope.passage(node.ngram, corpus)
    where = among(scope, node.where, corpus)
    return plan.Scoring(corpus, passage, scope.model(node.model), node.sentence, where=where)


def docs(scope: Scope, node: ast.Docs) -> plan.Plan:
    """Bind DOCS."""
    corpus = scope.corpus(node.source)
    keys = []
    for item in node.order_by:
        key, _ = bound_field(scope, item.field, corpus)
        keys.append(replace(key, descending=item.descending))
        if key.own and key.path == "doc_id":
            break  # no two documents are equal in it, so what comes after decides nothing
    by_id = len(keys) == 1 and keys[0].own and keys[0].path == "doc_id"
    return plan.Documents(
        corpus,
        condition(scope, node.where, corpus),
        descending=by_id and keys[0].descending,
        limit=scope.number(node.limit, "LIMIT", 0),
        offset=scope.number(node.offset, "OFFSET", 0) or 0,
        order=() if by_id else tuple(keys),
        sample=sampling(scope, node.sample),
        returning=returned_fields(scope, node.returning, corpus),
    )
