"""COUNT of several n-grams, per million tokens, or by the text beside occurrences: one table.

A row for each n-gram and group. Per million, a group has a row if it has tokens, whether or not there are
occurrences: that there are none is an answer, too. Tokens are those of the documents that WHERE selects.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from ngramdb.conditions.disjunction import united
from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.evaluation import Evaluator, PlanMeter
from ngramdb.executor.questions.counting import evaluators, net_count
from ngramdb.executor.questions.document_columns import arrow_types_of_keys
from ngramdb.executor.questions.group_codes import of_occurrences
from ngramdb.executor.questions.grouping import (
    Groups,
    Identity,
    add_rows,
    add_to_groups,
    in_order,
    key_columns,
)
from ngramdb.executor.results.result import BATCH_ROWS, ColumnType, Result, batched
from ngramdb.interrupts import checked
from ngramdb.planner.plan import Actual, AllDocs, CountTable, FieldKey, Occurring, PlaceKey, Several
from ngramdb.segments.base import Segment
from ngramdb.source import IntArray

MILLION = 1_000_000


def count_table(plan: CountTable, meter: PlanMeter | None = None) -> Result:
    """A row for each n-gram and group, in the order of the n-grams, then of the keys.

    Cost: that of each count; by the text beside occurrences, some 50 ns an occurrence.
    """
    table = _Table(plan)
    if meter is not None or not table.is_plain():
        plan.corpus.check_difference()
        table.add_documents(meter)
    groups = table.rows()
    n_keys = len(plan.keys) + plan.is_named
    order = tuple((place, descending) for place, descending in plan.order)
    rows = in_order(groups, n_keys, order, plan.top)
    named = ["ngram"] if plan.is_named else []
    columns = (*named, *key_columns(plan.keys, (*named, *plan.numbers)), *plan.numbers)
    numbers: tuple[ColumnType, ...] = (int, int, float)
    types = (*(str for _ in named), *map(_type, plan.keys), *numbers[: len(plan.numbers)])
    result = Result(
        columns,
        batched(iter(rows), BATCH_ROWS),
        summary={"total": len(groups)} if plan.keys else {},
        n_rows=len(rows),
        types=types,
    )
    of_keys = arrow_types_of_keys(plan.corpus, plan.keys)
    result.arrow_types = (*(None for _ in named), *of_keys, *(None for _ in plan.numbers))
    result.found = all(table.occurs)
    return result


def _type(key: FieldKey | PlaceKey) -> ColumnType:
    return None if isinstance(key, FieldKey) else str


class _Table:
    """Counts by groups, a set of groups for each n-gram, and tokens by the groups of their documents."""

    def __init__(self, plan: CountTable) -> None:
        self._plan = plan
        self._n_tokens = 0
        self._counts: list[Groups] = [{} for _ in plan.what.operands]
        self._tokens: Groups = {}
        self._fields = [key for key in plan.keys if isinstance(key, FieldKey)]
        self.occurs = [False for _ in plan.what.operands]

    def is_plain(self) -> bool:
        """Count what the index alone can count; False where documents have to be told apart."""
        plan = self._plan
        if plan.keys or not isinstance(plan.what.docs, AllDocs):
            return False
        operands = checked(plan.what.operands)
        counts = [net_count(plan.corpus, united(item, plan.corpus.tokenizer)) for item in operands]
        if None in counts:
            return False
        for i, n in enumerate(counts):
            self._counts[i] = {(): [n]}
        self._tokens = {(): [plan.corpus.n_tokens]}
        return True

    def add_documents(self, meter: PlanMeter | None) -> None:
        """Count segment by segment."""
        plan = self._plan
        what = plan.what if meter is not None else united(plan.what, plan.corpus.tokenizer)
        assert isinstance(what, Several)
        if not plan.keys:
            self._counts = [{(): [0]} for _ in what.operands]
            self._tokens = {(): [0]}
        with nullcontext(Actual()) if meter is None else meter.timed(plan.what) as actual:
            for (evaluator, kept), segment in zip(
                evaluators(plan.corpus, plan.costs, meter), plan.corpus.segments, strict=True
            ):
                docs = kept
                if not isinstance(what.docs, AllDocs):
                    found = evaluator.evaluate(what.docs)
                    docs = found if kept is None else found & kept
                for groups, operand in zip(self._counts, what.operands, strict=True):
                    actual.rows += self._add(groups, operand, evaluator, segment, docs)
                if plan.per_million:
                    self._add_tokens(segment, docs)

    def _add(
        self, groups: Groups, operand: Occurring, evaluator: Evaluator, segment: Segment, docs: DocSet | None
    ) -> int:
        plan = self._plan
        if not plan.keys:
            n = evaluator.expressions.total(operand, docs)
            groups[()][-1] += n
            return n
        if len(self._fields) == len(plan.keys):
            some, counts = evaluator.expressions.counts(operand, docs)
            if len(some):
                add_to_groups(groups, self._fields, segment, some, counts)
            return int(counts.sum())
        found = evaluator.expressions.occurrences(operand, docs)
        if len(found):
            rows, codes = of_occurrences(plan.keys, plan.corpus, segment, found)
            add_rows(groups, codes, np.ones(len(rows), dtype=np.int64))
        return len(found)

    def _add_tokens(self, segment: Segment, docs: DocSet | None) -> None:
        """The tokens of documents, by the fields alone: text beside occurrences has none of its own."""
        every = np.arange(segment.n_documents, dtype=np.uint32) if docs is None else docs.numbers()
        first, last = segment.index.document_bounds(every)
        sizes: IntArray = last.astype(np.int64) - first
        if not self._fields:
            self._tokens.setdefault((), [0])[-1] += int(sizes.sum())
        elif len(every):
            add_to_groups(self._tokens, self._fields, segment, every, sizes)

    # ---- rows -------------------------------------------------------------------------------------------

    def rows(self) -> Groups:
        """Keys and numbers of every row, by what tells it from others and orders it."""
        plan, found = self._plan, Groups()
        if not plan.per_million and not plan.is_named:
            (groups,) = self._counts
            self.occurs = [any(values[-1] for values in groups.values())]
            return groups
        for i, groups in enumerate(checked(self._counts)):
            self.occurs[i] = any(values[-1] for values in groups.values())
            for key, values in self._groups(groups):
                row = list(values)
                if plan.per_million:
                    n_tokens = self._tokens_of(key)
                    row += [n_tokens, row[-1] * MILLION / n_tokens if n_tokens else None]
                named: Identity = ((i, ""), *key) if plan.is_named else key
                found[named] = [plan.names[i], *row] if plan.is_named else row
        return found

    def _groups(self, groups: Groups) -> Iterator[tuple[Identity, list[Any]]]:
        """The groups of an n-gram; per million those without occurrences, too."""
        yield from groups.items()
        if self._plan.per_million and len(self._fields) == len(self._plan.keys):
            for key, values in self._tokens.items():
                if key not in groups and values[-1]:
                    yield key, [*values[:-1], 0]

    def _tokens_of(self, key: Identity) -> int:
        """The tokens of the group of documents that a row's group is a part of."""
        pairs = zip(self._plan.keys, key, strict=True)
        own = tuple(value for of, value in pairs if isinstance(of, FieldKey))
        return int(self._tokens[own][-1])
