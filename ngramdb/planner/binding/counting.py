"""Binding COUNT and COUNT DOCS: one number, or one for each n-gram and group."""

from __future__ import annotations

import numpy as np

from ngramdb.errors import PlanError
from ngramdb.interrupts import checked
from ngramdb.language import ast
from ngramdb.patterns import Gram, show_ids
from ngramdb.planner import plan
from ngramdb.planner.binding.concordance import sampling
from ngramdb.planner.binding.conditions import condition
from ngramdb.planner.binding.fields import DOC_ID, bound_key, field_types, path_of
from ngramdb.planner.binding.occurrences import occurring
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.plan.fields import PREFIX, plain_name
from ngramdb.source import Corpus

# Tokens beside an occurrence by which it may be grouped: longer texts hardly ever come twice.
MAX_BESIDE = 100

Keys = tuple[plan.FieldKey | plan.PlaceKey, ...]


def count(scope: Scope, node: ast.Count) -> plan.Plan:
    """Bind COUNT."""
    corpus = scope.corpus(node.source)
    keys = tuple(_key(scope, key, corpus) for key in node.group_by)
    if node.others or node.per_million or any(isinstance(key, plan.PlaceKey) for key in keys):
        return _table(scope, node, corpus, keys)
    what = occurring(scope, node.what, corpus, condition)
    if node.where is not None:
        what = plan.InDocs(what, condition(scope, node.where, corpus))
    if node.sample is not None and isinstance(what, plan.InDocs):
        what = plan.Among(what.what, what.docs)
    if keys:
        if node.sample is not None:
            scope.fail(PlanError, "SAMPLE and GROUP BY don't go together", node.sample)
        fields = tuple(key for key in keys if isinstance(key, plan.FieldKey))
        return _grouped(scope, node, corpus, what, fields)
    _refuse_order(scope, node)
    sample = sampling(scope, node.sample)
    if sample is None and isinstance(what, plan.OccurrencesOf) and isinstance(what.pattern, Gram):
        return plan.CountGram(corpus, what.pattern)
    return plan.CountOccurrences(corpus, what, sample=sample)


def count_docs(scope: Scope, node: ast.CountDocs) -> plan.Plan:
    """Bind COUNT DOCS."""
    corpus = scope.corpus(node.source)
    where = condition(scope, node.where, corpus)
    if node.group_by:
        keys = tuple(_field_key(scope, key, corpus) for key in node.group_by)
        return _grouped(scope, node, corpus, where, keys)
    _refuse_order(scope, node)
    return plan.CountDocuments(corpus, where)


def _refuse_order(scope: Scope, node: ast.Count | ast.CountDocs) -> None:
    """One number has no order."""
    if node.order_by:
        scope.fail(PlanError, "ORDER BY needs GROUP BY: a count alone is one row", node.order_by[0])
    if node.top is not None:
        scope.fail(PlanError, "TOP (or LIMIT) needs GROUP BY: a count alone is one row", node.top)


def _grouped(
    scope: Scope,
    node: ast.Count | ast.CountDocs,
    corpus: Corpus,
    what: plan.Occurring | plan.DocExpr,
    keys: tuple[plan.FieldKey, ...],
) -> plan.Plan:
    order = _order(scope, node, corpus, keys, [key.name for key in keys] + ["count"])
    return plan.GroupedCount(corpus, what, keys, order, scope.number(node.top, "TOP", 0))


def _table(scope: Scope, node: ast.Count, corpus: Corpus, keys: Keys) -> plan.Plan:
    """COUNT with several n-grams, PER MILLION, or LEFT, RIGHT or FORM."""
    if node.sample is not None:
        other = "several n-grams" if node.others else "PER MILLION" if node.per_million else "GROUP BY"
        scope.fail(PlanError, f"SAMPLE and {other} don't go together", node.sample)
    if not keys and not node.others:
        _refuse_order(scope, node)
    every = (node.what, *node.others)
    what_each = tuple(occurring(scope, item, corpus, condition) for item in checked(every))
    if any(isinstance(key, plan.PlaceKey) for key in keys):
        for what, item in zip(what_each, checked(every), strict=True):
            pattern = what.pattern if isinstance(what, plan.OccurrencesOf) else None
            if isinstance(pattern, Gram) and not len(pattern):
                scope.fail(PlanError, "text beside occurrences needs an n-gram of at least one token", item)
    found = plan.CountTable(
        corpus,
        plan.Several(what_each, condition(scope, node.where, corpus)),
        tuple(_name(scope, item) for item in checked(every)),
        keys,
        top=scope.number(node.top, "TOP", 0),
        per_million=node.per_million,
    )
    return plan.changed(found, order=_order(scope, node, corpus, keys, found.columns))


def _name(scope: Scope, node: ast.Condition) -> str:
    """An n-gram's text, or what else was written."""
    pattern = node.pattern if isinstance(node, ast.Contains) else None
    if isinstance(pattern, ast.Matching) and pattern.span is None:
        pattern = pattern.ngram
    if isinstance(pattern, ast.Parameter):
        value = scope.parameters.value(pattern)
        return value if isinstance(value, str) else show_ids(np.asarray(value))
    if isinstance(pattern, ast.Text):
        return pattern.value
    if isinstance(pattern, ast.TokenIds):
        return show_ids(np.array(pattern.ids, dtype=np.int64))
    start, stop = scope.place(node)
    return "" if scope.text is None or start is None else " ".join(scope.text[start:stop].split())


def _key(scope: Scope, node: ast.GroupKey, corpus: Corpus) -> plan.FieldKey | plan.PlaceKey:
    if isinstance(node, ast.Beside):
        n_tokens = scope.number(node.tokens, node.side.upper(), 1, MAX_BESIDE)
        assert n_tokens is not None
        return plan.PlaceKey(node.side, n_tokens)
    if isinstance(node, ast.Form) and "form" not in field_types(corpus):
        return plan.PlaceKey("form")
    return _field_key(scope, node, corpus)


def _field_key(scope: Scope, node: ast.GroupKey, corpus: Corpus) -> plan.FieldKey:
    """A field that rows are grouped by."""
    key = bound_key(scope, node, corpus)
    if corpus.n_added > 1 and key.own and key.path == DOC_ID:
        what = "documents of different corpora have the same doc_id; group those of one corpus by it"
        scope.fail(PlanError, what, node)
    return key


def _order(
    scope: Scope, node: ast.Count | ast.CountDocs, corpus: Corpus, keys: Keys, columns: list[str]
) -> tuple[tuple[int, bool], ...]:
    return tuple((_column(scope, item, corpus, keys, columns), item.descending) for item in node.order_by)


def _column(scope: Scope, item: ast.OrderBy, corpus: Corpus, keys: Keys, columns: list[str]) -> int:
    """Which column ORDER BY means: one of GROUP BY, else one of the numbers."""
    node = item.field
    n_keys = len(keys)
    if isinstance(node, ast.Field):
        path = path_of(node.keys)
        if path in columns[n_keys:]:  # a field called so is `metadata.count`
            return columns.index(path, n_keys)
        name = path
        if path not in columns and node.keys[0] == PREFIX:
            name = path_of(node.keys[1:])
        if name in columns[:n_keys]:
            return columns.index(name)
        dotted = [plain_name(column) for column in columns]
        if dotted.count(path) == 1:
            return dotted.index(path)
    else:
        path = _written(scope, item)
        key = _key(scope, node, corpus)
        if key in keys:
            return columns.index(key.name)
    numbers = [name for name in columns if name not in [key.name for key in keys]]
    known = ", ".join(numbers[:-1]) + (", " if numbers[1:] else "")
    what = f"{known}{numbers[-1]} or a field of GROUP BY" if keys else " or ".join(numbers)
    scope.fail(PlanError, f"ORDER BY takes {what}, not {path}", item)


def _written(scope: Scope, item: ast.OrderBy) -> str:
    start, stop = scope.place(item.field)
    return "this" if scope.text is None or start is None else " ".join(scope.text[start:stop].split())
