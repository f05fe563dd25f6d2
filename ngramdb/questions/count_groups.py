"""COUNT … GROUP BY fields: occurrences or documents for each combination of values.

Occurrences are counted by document from ranges of the index, and documents' counts are added up by numbers of
values: no occurrence becomes a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import compress
from typing import Any

import numpy as np

from ngramdb.conditions.expressions import united
from ngramdb.errors import PlanError
from ngramdb.executor.per_segment import each_segment, evaluator_of
from ngramdb.executor.result import BATCH_ROWS, Result, Row, batched
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_fields import DOC_ID, bound_key, field_types, path_of
from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    Costs,
    DocExpr,
    FieldKey,
    Node,
    Occurring,
    PlaceKey,
    Plan,
    PlanMeter,
    changed,
    column_of,
)
from ngramdb.planner.plan.fields import PREFIX, plain_name
from ngramdb.planner.scope import Scope
from ngramdb.questions.document_columns import describe_fields, type_of_group
from ngramdb.questions.groups import NULL_KEY, Groups, Identity, add_groups, add_to_groups
from ngramdb.questions.plans import Query
from ngramdb.source import Corpus

# The most tokens beside an occurrence by which it may be grouped: longer texts rarely recur.
MAX_BESIDE = 100

Keys = tuple[FieldKey | PlaceKey, ...]
# Numbers of columns, each with True if it descends.
Order = tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class GroupedCount(Query):
    """COUNT … GROUP BY: occurrences, or documents, for each combination of the fields' values.

    The last column of `order` is the count.
    """

    what: Occurring | DocExpr
    keys: tuple[FieldKey, ...]
    order: Order = ()
    top: int | None = None
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        counted = "documents" if isinstance(self.what, DocExpr) else "occurrences"
        names = [key.name for key in self.keys]
        shown = f"count {counted} by {', '.join(names)}"
        return "; ".join([shown, *order_label([*names, "count"], self.order, self.top)])

    def documents_corpus(self) -> Corpus | None:
        return self.corpus

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Any) -> Plan:
        return changed(self, what=tree)

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row per combination of values; `summary['total']` is their number regardless of TOP.

        A value is NULL if documents lack the field. Rows are in the order of ORDER BY; without it, under TOP
        by count descending, else by the fields. NULL is last.

        Cost: 5 ns per occurrence, some ns per document with any, and Python objects for groups only.
        """
        what = self.what
        if isinstance(what, Occurring):
            self.corpus.check_difference()
            if meter is None:
                what = united(what, self.corpus.tokenizer)
        groups: Groups = {}
        for found in each_segment(self.corpus, groups_of, self.keys, what, self.costs, meter=meter):
            if groups:
                add_groups(groups, found)
            else:
                groups = found
        rows = in_order(groups, len(self.keys), self.order, self.top)
        columns = (*key_columns(self.keys, COUNT_COLUMNS), *COUNT_COLUMNS)
        summary = {"total": len(groups)}
        types = (*map(type_of_group, self.keys), *(int for _ in COUNT_COLUMNS))
        batches = batched(iter(rows), BATCH_ROWS)
        result = Result(columns, batches, summary=summary, n_rows=len(rows), types=types)
        describe_fields(result, self.corpus, self.keys)
        return result


def bind_documents(scope: Scope, node: ast.CountDocs, corpus: Corpus, where: DocExpr) -> Plan:
    """Return the plan of COUNT DOCS … GROUP BY."""
    return grouped(scope, node, corpus, where, tuple(_field_key(scope, key, corpus) for key in node.group_by))


def grouped(
    scope: Scope,
    node: ast.Count | ast.CountDocs,
    corpus: Corpus,
    what: Occurring | DocExpr,
    keys: tuple[FieldKey, ...],
) -> Plan:
    """Return the plan of a count by fields."""
    order = bound_order(scope, node, corpus, keys, [key.name for key in keys] + ["count"])
    return GroupedCount(corpus, what, keys, order, scope.number(node.top, "TOP", 0))


def refuse_order(scope: Scope, node: ast.Count | ast.CountDocs) -> None:
    """Raise PlanError for ORDER BY and TOP of a single number."""
    if node.order_by:
        scope.fail(PlanError, "ORDER BY needs GROUP BY: a count alone is one row", node.order_by[0])
    if node.top is not None:
        scope.fail(PlanError, "TOP (or LIMIT) needs GROUP BY: a count alone is one row", node.top)


def group_key(scope: Scope, node: ast.GroupKey, corpus: Corpus) -> FieldKey | PlaceKey:
    """Return a key that rows are grouped by."""
    if isinstance(node, ast.Beside):
        n_tokens = scope.number(node.tokens, node.side.upper(), 1, MAX_BESIDE)
        assert n_tokens is not None
        return PlaceKey(node.side, n_tokens)
    if isinstance(node, ast.Form) and "form" not in field_types(corpus):
        return PlaceKey("form")
    return _field_key(scope, node, corpus)


def _field_key(scope: Scope, node: ast.GroupKey, corpus: Corpus) -> FieldKey:
    """Return a field that rows are grouped by."""
    key = bound_key(scope, node, corpus)
    if corpus.n_added > 1 and key.own and key.path == DOC_ID:
        what = "documents of different corpora have the same doc_id; group those of one corpus by it"
        scope.fail(PlanError, what, node)
    return key


def bound_order(
    scope: Scope, node: ast.Count | ast.CountDocs, corpus: Corpus, keys: Keys, columns: list[str]
) -> Order:
    """Return the columns of ORDER BY."""
    return tuple((_column(scope, item, corpus, keys, columns), item.descending) for item in node.order_by)


def _column(scope: Scope, item: ast.OrderBy, corpus: Corpus, keys: Keys, columns: list[str]) -> int:
    """Return the number of the column that ORDER BY names: a key of GROUP BY, or else a number."""
    node = item.field
    n_keys = len(keys)
    if isinstance(node, ast.Field):
        path = path_of(node.keys)
        if path in columns[n_keys:]:  # a field of this name is `metadata.count`
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
        key = group_key(scope, node, corpus)
        if key in keys:
            return columns.index(key.name)
    numbers = [name for name in columns if name not in [key.name for key in keys]]
    known = ", ".join(numbers[:-1]) + (", " if numbers[1:] else "")
    what = f"{known}{numbers[-1]} or a field of GROUP BY" if keys else " or ".join(numbers)
    scope.fail(PlanError, f"ORDER BY takes {what}, not {path}", item)


def _written(scope: Scope, item: ast.OrderBy) -> str:
    start, stop = scope.place(item.field)
    return "this" if scope.text is None or start is None else " ".join(scope.text[start:stop].split())


def order_label(columns: list[str], order: Order, top: int | None) -> list[str]:
    """Return the order of rows, in parts of a label."""
    keys = [columns[i] + (" descending" if down else "") for i, down in order]
    parts = [f"order {', '.join(keys)}"] if keys else []
    return parts if top is None else [*parts, f"top {top:,}"]


def groups_of(
    corpus: Corpus,
    i: int,
    keys: Sequence[FieldKey],
    what: Occurring | DocExpr,
    costs: Costs | None,
    meter: PlanMeter | None = None,
) -> Groups:
    """Return the groups of the documents of segment i."""
    evaluator, kept = evaluator_of(corpus, i, costs, meter)
    groups: Groups = {}
    if isinstance(what, DocExpr):
        found = evaluator.evaluate(what)
        docs = (found if kept is None else found & kept).numbers()
        counts = np.ones(len(docs), dtype=np.int64)
    else:
        docs, counts = evaluator.expressions.counts(what, kept)
    if len(docs):
        add_to_groups(groups, keys, corpus.segments[i], docs, counts)
    return groups


def key_columns(keys: Sequence[FieldKey | PlaceKey], others: Sequence[str]) -> list[str]:
    """Return the names of the columns of keys, beside `others`; names of different keys differ.

    A field with the name of another column has a prefix, and LEFT 1 beside LEFT 2 its number of tokens.
    """
    places = [key.name for key in dict.fromkeys(keys) if isinstance(key, PlaceKey)]
    taken = {*others, *places}
    fields = {key.path for key in keys if isinstance(key, FieldKey) and not key.own}
    columns = []
    for key in keys:
        if isinstance(key, PlaceKey):
            columns.append(key.name if places.count(key.name) == 1 else key.label())
        elif key.is_computed:
            columns.append(key.name)
        else:
            column = key.path if key.own else column_of(key.path, fields)
            columns.append(f"metadata.{column}" if column in taken else column)
    return columns


def in_order(groups: Groups, n: int, order: Order, top: int | None) -> list[Row]:
    """Return the rows in their order, limited by TOP; rows with equal columns are in the order of their keys.

    The first `n` columns are keys, the others numbers, the count first. Without an order, TOP sorts by
    count.
    """
    ordered = sorted(_first_by_count(groups, n, order, top), key=lambda item: item[0])
    for place, descending in reversed(order if order or top is None else ((n, True),)):
        if place >= n:
            ordered.sort(key=lambda item: item[1][place], reverse=descending)
        elif descending:
            known = [item for item in ordered if item[0][place] != NULL_KEY]
            known.sort(key=lambda item: item[0][place], reverse=True)
            ordered = known + [item for item in ordered if item[0][place] == NULL_KEY]
        else:
            ordered.sort(key=lambda item: item[0][place])
    return [tuple(values) for _, values in ordered[:top]]


def _first_by_count(
    groups: Groups, n: int, order: Order, top: int | None
) -> Iterable[tuple[Identity, list[Any]]]:
    """Return the groups that can be among the first `top`: all, or those with the highest counts."""
    by_count = not order or order[0] == (n, True)
    if top is None or not by_count or top >= len(groups):
        return groups.items()
    counts = np.fromiter((values[n] for values in groups.values()), dtype=np.int64, count=len(groups))
    least = np.partition(counts, -top)[-top] if top else np.iinfo(np.int64).max
    return compress(groups.items(), counts >= least)
