"""COUNT of several n-grams, per million tokens, or by the text beside occurrences: one table.

The table has a row for each n-gram and group. Per million, a group has a row if it has tokens, even without
occurrences. Tokens are those of the documents that WHERE selects.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import field
from typing import Any

import numpy as np

from ngramdb.conditions.docset import DocSet
from ngramdb.conditions.evaluation import Evaluator
from ngramdb.conditions.expressions import net_count, united
from ngramdb.errors import PlanError
from ngramdb.executor.per_segment import evaluators
from ngramdb.executor.result import BATCH_ROWS, ColumnType, Result, batched
from ngramdb.interrupts import checked
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.patterns import Gram, show_ids
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.bind_occurrences import occurring
from ngramdb.planner.plan import (
    COUNT_COLUMNS,
    Actual,
    AllDocs,
    Costs,
    FieldKey,
    InDocs,
    Node,
    OccurrencesOf,
    Occurring,
    PlaceKey,
    Plan,
    PlanMeter,
    Several,
    changed,
)
from ngramdb.planner.scope import Scope
from ngramdb.questions.count_groups import (
    Keys,
    Order,
    bound_order,
    group_key,
    grouped,
    in_order,
    key_columns,
    order_label,
    refuse_order,
)
from ngramdb.questions.document_columns import describe_fields, type_of_group
from ngramdb.questions.groups import Groups, Identity, add_rows, add_to_groups, of_occurrences
from ngramdb.questions.plans import Query
from ngramdb.segments.base import Segment
from ngramdb.source import Corpus, IntArray

MILLION = 1_000_000


@dataclass(frozen=True)
class CountTable(Query):
    """COUNT of several n-grams, PER MILLION, or by the text beside occurrences.

    `names` are those of the operands of `what`, in the column `ngram`; a single operand has no such column.
    """

    what: Several
    names: tuple[str, ...]
    keys: Keys = ()
    order: Order = ()
    top: int | None = None
    per_million: bool = False
    costs: Costs | None = field(default=None, compare=False)

    @property
    def is_named(self) -> bool:
        """True if rows name their n-gram."""
        return len(self.names) > 1

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns after the n-gram and the keys."""
        return ("count", "tokens", "per_million") if self.per_million else COUNT_COLUMNS

    @property
    def columns(self) -> list[str]:
        """The columns by which rows can be ordered."""
        return [*(["ngram"] if self.is_named else []), *(key.name for key in self.keys), *self.numbers]

    def label(self) -> str:
        parts = [f"count {len(self.names):,} n-grams" if self.is_named else "count occurrences"]
        if self.keys:
            parts[0] += f" by {', '.join(key.label() for key in self.keys)}"
        if self.per_million:
            parts.append("per million tokens")
        return "; ".join(parts + order_label(self.columns, self.order, self.top))

    def tree(self) -> Node | None:
        return self.what

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, what=tree)

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return a row for each n-gram and group, in the order of the n-grams, then of the keys.

        Cost: that of each count; for the text beside occurrences, some 50 ns per occurrence.
        """
        table = _Table(self)
        if meter is not None or not table.is_plain():
            self.corpus.check_difference()
            table.add_documents(meter)
        groups = table.rows()
        rows = in_order(groups, len(self.keys) + self.is_named, self.order, self.top)
        named = ["ngram"] if self.is_named else []
        columns = (*named, *key_columns(self.keys, (*named, *self.numbers)), *self.numbers)
        numbers: tuple[ColumnType, ...] = (int, int, float)
        types = (*(str for _ in named), *map(type_of_group, self.keys), *numbers[: len(self.numbers)])
        result = Result(
            columns,
            batched(iter(rows), BATCH_ROWS),
            summary={"total": len(groups)} if self.keys else {},
            n_rows=len(rows),
            types=types,
        )
        describe_fields(result, self.corpus, self.keys, len(named))
        result.found = all(table.occurs)
        return result


def bind(scope: Scope, node: ast.Count, corpus: Corpus) -> Plan:
    """Return the plan of COUNT with groups, several n-grams, or PER MILLION."""
    keys = tuple(group_key(scope, key, corpus) for key in node.group_by)
    fields = tuple(key for key in keys if isinstance(key, FieldKey))
    if node.others or node.per_million or len(fields) < len(keys):
        return _bind_table(scope, node, corpus, keys)
    what = occurring(scope, node.what, corpus, condition)
    if node.where is not None:
        what = InDocs(what, condition(scope, node.where, corpus))
    if node.sample is not None:
        scope.fail(PlanError, "SAMPLE and GROUP BY cannot be combined", node.sample)
    return grouped(scope, node, corpus, what, fields)


def _bind_table(scope: Scope, node: ast.Count, corpus: Corpus, keys: Keys) -> Plan:
    if node.sample is not None:
        other = "several n-grams" if node.others else "PER MILLION" if node.per_million else "GROUP BY"
        scope.fail(PlanError, f"SAMPLE and {other} cannot be combined", node.sample)
    if not keys and not node.others:
        refuse_order(scope, node)
    every = (node.what, *node.others)
    what_each = tuple(occurring(scope, item, corpus, condition) for item in checked(every))
    if any(isinstance(key, PlaceKey) for key in keys):
        for what, item in zip(what_each, checked(every), strict=True):
            pattern = what.pattern if isinstance(what, OccurrencesOf) else None
            if isinstance(pattern, Gram) and not len(pattern):
                scope.fail(PlanError, "text beside occurrences needs an n-gram of at least one token", item)
    found = CountTable(
        corpus,
        Several(what_each, condition(scope, node.where, corpus)),
        tuple(_name(scope, item) for item in checked(every)),
        keys,
        top=scope.number(node.top, "TOP", 0),
        per_million=node.per_million,
    )
    return changed(found, order=bound_order(scope, node, corpus, keys, found.columns))


def _name(scope: Scope, node: ast.Condition) -> str:
    """Return an n-gram's text, or another pattern as it was written."""
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


class _Table:
    """Counts by group, a set of groups for each n-gram, and tokens by the groups of their documents."""

    def __init__(self, plan: CountTable) -> None:
        self._plan = plan
        self._n_tokens = 0
        self._counts: list[Groups] = [{} for _ in plan.what.operands]
        self._tokens: Groups = {}
        self._fields = [key for key in plan.keys if isinstance(key, FieldKey)]
        self.occurs = [False for _ in plan.what.operands]

    def is_plain(self) -> bool:
        """Count from the index alone; return False if documents must be distinguished."""
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
        """Add the tokens of documents by fields only: text beside occurrences has no tokens of its own."""
        every = np.arange(segment.n_documents, dtype=np.uint32) if docs is None else docs.numbers()
        sizes: IntArray = segment.lengths(every)
        if not self._fields:
            self._tokens.setdefault((), [0])[-1] += int(sizes.sum())
        elif len(every):
            add_to_groups(self._tokens, self._fields, segment, every, sizes)

    # ---- rows -------------------------------------------------------------------------------------------

    def rows(self) -> Groups:
        """Return keys and numbers of every row, by an identity that also orders them."""
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
        """Yield the groups of an n-gram; per million also those without occurrences."""
        yield from groups.items()
        if self._plan.per_million and len(self._fields) == len(self._plan.keys):
            for key, values in self._tokens.items():
                if key not in groups and values[-1]:
                    yield key, [*values[:-1], 0]

    def _tokens_of(self, key: Identity) -> int:
        """Return the number of tokens of the documents whose group contains the row's group."""
        pairs = zip(self._plan.keys, key, strict=True)
        own = tuple(value for of, value in pairs if isinstance(of, FieldKey))
        return int(self._tokens[own][-1])
