"""COUNT … GROUP BY: occurrences or documents for each combination of fields' values.

Occurrences are counted by document straight from ranges of the index, and documents' counts are added up by
their values' numbers; no occurrence ever becomes a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.disjunction import united
from ngramdb.conditions.evaluation import PlanMeter
from ngramdb.conditions.field_values import Codes, identity
from ngramdb.executor.per_segment import each_segment
from ngramdb.executor.questions.counting import evaluator_of
from ngramdb.executor.questions.document_columns import arrow_types_of_keys
from ngramdb.executor.questions.group_codes import of_documents
from ngramdb.executor.results.result import BATCH_ROWS, Result, Row, batched
from ngramdb.interruptible_sort import numbered, numbered_rows
from ngramdb.interrupts import checked
from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    Costs,
    DocExpr,
    FieldKey,
    GroupedCount,
    Occurring,
    PlaceKey,
    column_of,
)
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus
from ngramdb.types import Docs

# A field that most documents have a value of their own in makes about as many groups as documents; then a
# table of all combinations would be larger than they are.
MAX_TABLE = 1 << 22

NULL_KEY = (float("inf"), None)
Identity = tuple[Any, ...]
# Values of the fields and a number, by what tells them from others.
Groups = dict[Identity, list[Any]]


def grouped_count(plan: GroupedCount, meter: PlanMeter | None = None) -> Result:
    """A row per combination of values that occurs; NULL where documents lack the field.

    `total` in the summary is how many combinations there are, whatever TOP is.

    Rows come by ORDER BY; without it, under TOP by count descending, else by the fields. NULL comes last.

    Cost: 5 ns an occurrence, some ns a document with any, and Python objects for groups only.
    """
    groups: dict[Identity, list[Any]] = {}
    if isinstance(plan.what, Occurring):
        plan.corpus.check_difference()
    if meter is None and isinstance(plan.what, Occurring):
        plan = replace(plan, what=united(plan.what, plan.corpus.tokenizer))
    for found in each_segment(plan.corpus, groups_of, plan.keys, plan.what, plan.costs, meter=meter):
        if not groups:
            groups = found
            continue
        add_groups(groups, found)
    rows = in_order(groups, len(plan.keys), plan.order, plan.top)
    columns = (*key_columns(plan.keys, COUNT_COLUMNS), *COUNT_COLUMNS)
    summary = {"total": len(groups)}
    result = Result(columns, batched(iter(rows), BATCH_ROWS), summary=summary, n_rows=len(rows))
    result.arrow_types = (*arrow_types_of_keys(plan.corpus, plan.keys), *(None for _ in COUNT_COLUMNS))
    return result


def groups_of(
    corpus: Corpus,
    i: int,
    keys: Sequence[FieldKey],
    what: Occurring | DocExpr,
    costs: Costs | None,
    meter: PlanMeter | None = None,
) -> Groups:
    """The groups that the documents of segment i make."""
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


def add_groups(groups: Groups, others: Groups) -> None:
    """Add the counts of other groups to these."""
    for key, values in others.items():
        if key in groups:
            groups[key][-1] += values[-1]
        else:
            groups[key] = values


def add_to_groups(
    groups: Groups,
    keys: Sequence[FieldKey],
    segment: Segment,
    docs: Docs,
    counts: NDArray[np.int64],
) -> None:
    """Add one segment's documents to the groups: [values…, count] by the values' identities."""
    rows, fields = of_documents(keys, segment, docs)
    add_rows(groups, fields, counts if rows is None else counts[rows])


def add_rows(groups: Groups, fields: Sequence[Codes], counts: NDArray[np.int64]) -> None:
    """Add rows, each with its values by numbers and a count, to the groups."""
    columns, totals = _combinations(fields, counts)
    identities, values = [], []
    for field, column in zip(fields, columns, strict=True):
        of_number = {n: None if n < 0 else field.values[n] for n in np.unique(column).tolist()}
        known = {n: NULL_KEY if value is None else identity(value) for n, value in of_number.items()}
        identities.append(map(known.__getitem__, column.tolist()))
        values.append(map(of_number.__getitem__, column.tolist()))
    rows = zip(zip(*identities, strict=True), zip(*values, strict=True), totals.tolist(), strict=True)
    for group, shown, count in checked(rows):
        if group in groups:
            groups[group][-1] += count
        else:
            groups[group] = [*shown, count]


def _combinations(
    fields: Sequence[Codes], counts: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Return the combinations of codes that occur, a column for each field, and their counts added."""
    sizes = [len(field.values) + 1 for field in fields]
    combined = np.zeros(len(counts), dtype=np.int64)
    for field, size in zip(fields, sizes, strict=True):
        if int(combined.max(initial=0)) >= 2**62 // size:
            return _by_rows(fields, counts)
        combined = combined * size + (field.codes + 1)
    n_table = int(combined.max(initial=-1)) + 1
    if n_table <= MAX_TABLE:
        totals = _sums(combined, counts, n_table)
        found = np.flatnonzero(np.bincount(combined, minlength=n_table))
        totals = totals[found]
    else:
        first, places = numbered(combined)
        found, totals = combined[first], _sums(places, counts, len(first))
    columns = []
    for size in reversed(sizes):
        columns.append(found % size - 1)
        found = found // size
    return columns[::-1], totals


def _by_rows(
    fields: Sequence[Codes], counts: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """The same for so many values that a combination exceeds 64 bits."""
    table = np.stack([field.codes for field in fields], axis=1)
    first, places = numbered_rows(table)
    return list(table[first].T), _sums(places, counts, len(first))


def _sums(places: NDArray[np.int64], counts: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Counts added by place. As floats they are exact: a segment has less than 2**32 tokens."""
    return np.bincount(places, weights=counts, minlength=n).astype(np.int64)


def key_columns(keys: Sequence[FieldKey | PlaceKey], others: Sequence[str]) -> list[str]:
    """The columns of what rows are grouped by, beside `others`; different keys have different ones.

    A field called as another column has a prefix, and LEFT 1 beside LEFT 2 its number of tokens.
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


def in_order(groups: Groups, n: int, order: Sequence[tuple[int, bool]], top: int | None) -> list[Row]:
    """The rows in their order, cut to TOP; rows that are equal in it by their keys.

    The first `n` columns are keys, the others numbers, the count first: without an order, TOP goes by it.
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
    groups: Groups, n: int, order: Sequence[tuple[int, bool]], top: int | None
) -> Iterable[tuple[Identity, list[Any]]]:
    """Return the groups that can be among the first `top`: all, or those with the highest counts."""
    by_count = not order or order[0] == (n, True)
    if top is None or not by_count or top >= len(groups):
        return groups.items()
    counts = np.fromiter((values[n] for values in groups.values()), dtype=np.int64, count=len(groups))
    least = np.partition(counts, -top)[-top] if top else np.iinfo(np.int64).max
    return compress(groups.items(), counts >= least)
