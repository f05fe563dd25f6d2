"""DELETE DOCS, and the audit record of what it removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.docset import DocSet
from ngramdb.errors import PlanError
from ngramdb.executor.per_segment import evaluator_of, matching
from ngramdb.executor.results.result import Result, Row, batched
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_conditions import condition
from ngramdb.planner.bind_fields import returned_fields
from ngramdb.planner.plan import (
    Complement,
    Costs,
    CountTest,
    DocExpr,
    DocsMatching,
    DocsWith,
    FieldKey,
    Nearby,
    NearTo,
    Node,
    OccurrencesOf,
    Occurring,
    Plan,
    Question,
)
from ngramdb.planner.scope import Scope
from ngramdb.questions.docs import BATCH_DOCUMENTS
from ngramdb.questions.document_columns import ReturnedColumns
from ngramdb.questions.plans import Action, BindCondition, Session
from ngramdb.source import Catalog, Corpus
from ngramdb.types import Docs

DELETE_COLUMNS = ("documents", "tokens", "version")

# Syntax and examples, for help.
HELP = {"DELETE DOCS": ("DELETE DOCS WHERE condition [RETURNING fields] [FROM source]",)}


def bind(scope: Scope, node: ast.Delete) -> Plan:
    """Bind DELETE."""
    if node.source is not None and not _is_one_corpus(node.source):
        scope.fail(PlanError, "documents are deleted from one corpus, as it is now", node.source)
    corpus = scope.corpus(node.source)

    def rebind(catalog: Catalog, now: Corpus) -> DocExpr:
        again = Scope(catalog, scope.parameters, scope.text)
        again.removes = True
        return condition(again, node.where, now)

    scope.removes = True
    where = condition(scope, node.where, corpus)
    returning = returned_fields(scope, node.returning, corpus)
    statement = scope.written(node, scope.catalog.match())
    return DeleteDocuments(corpus, where, returning, statement, rebind)


def _is_one_corpus(source: ast.Source) -> bool:
    return len(source.terms) == 1 and source.terms[0].sign > 0 and source.terms[0].version is None


@dataclass(frozen=True)
class DeleteDocuments(Question, Action):
    """DELETE DOCS. `where` is the condition on the version that was planned on, for EXPLAIN.

    `condition` is bound again to the version that the commit succeeds, and decides which documents are
    removed. `statement` is for the audit record.
    """

    carries_documents = True

    where: DocExpr
    returning: tuple[FieldKey, ...]
    statement: str
    condition: BindCondition = dataclasses.field(compare=False, repr=False)
    costs: Costs | None = dataclasses.field(default=None, compare=False)

    def label(self) -> str:
        return "delete documents"

    def where_clause(self) -> DocExpr | None:
        return self.where

    def act(self, session: Session) -> Result:
        """Return one row: what was removed. With RETURNING, return a row per removed document."""
        removed = remove(session, self.corpus.entry.name, self.condition, self.statement)
        summary = {"documents": removed.documents, "tokens": removed.tokens, "version": removed.version}
        if not self.returning:
            return Result.of_rows(DELETE_COLUMNS, [tuple(summary.values())], **summary)
        returned = ReturnedColumns(removed.view, self.returning)
        batches = batched(_removed_rows(removed, returned), BATCH_DOCUMENTS)
        n_rows = removed.documents
        result = Result(returned.names, batches, summary=summary, n_rows=n_rows, types=returned.types)
        returned.describe(result)
        return result


def _removed_rows(removed: Removed, returned: ReturnedColumns) -> Iterator[Row]:
    for segment, numbers in zip(removed.view.segments, removed.chosen, strict=True):
        for i in numbers.tolist():
            yield returned.row(segment, i)


@dataclasses.dataclass(frozen=True)
class Removed:
    """The outcome of a removal.

    From `version` on, the corpus no longer has these `documents`, with that many `tokens`. `view` is the
    corpus before, and `chosen` are the documents per segment of it, so that RETURNING can show them.
    """

    documents: int
    tokens: int
    version: int
    view: Corpus
    chosen: tuple[Docs, ...]


def remove(
    session: Session, name: str, condition: BindCondition, statement: str = "", reason: str = ""
) -> Removed:
    """Remove the documents that meet a condition.

    The condition is bound to the version that they are removed from. The audit record has the statement and
    the reason once, and the first matches of each document.
    """
    with session.change(name, f"delete from {name}") as change:
        view = change.view
        where, costs = session.planned(condition, view)
        chosen = [docs.numbers() for _, docs in matching(view, where, costs, None)]
        details = list(notes(view, chosen, where, costs))
        change.remove(chosen, details, statement=statement, reason=reason)
        outcome = change.commit()
    return Removed(outcome.documents, outcome.tokens, outcome.version, view, tuple(chosen))


def notes(
    view: Corpus, chosen: Sequence[Docs], where: DocExpr, costs: Costs | None
) -> Iterator[dict[str, Any]]:
    """Yield, for each chosen document in order, the first match of each pattern."""
    patterns = list(_patterns(where))
    for i, docs in enumerate(chosen):
        if not len(docs):
            continue
        places = first_places(view, i, docs, patterns, costs)
        for k in range(len(docs)):
            matches = [
                {"ngram": shown, "position": int(at[k])}
                for (shown, _), at in zip(patterns, places, strict=True)
                if at[k] >= 0
            ]
            yield {"matches": matches} if matches else {}


def first_places(
    view: Corpus, i: int, docs: Docs, patterns: Sequence[tuple[str, Occurring]], costs: Costs | None
) -> list[NDArray[np.int64]]:
    """Return, per pattern, the first token of each document that matches it, or -1.

    Cost: that of finding the patterns' occurrences in the documents.
    """
    if not patterns:
        return []
    expressions = evaluator_of(view, i, costs, None)[0].expressions
    index = view.segments[i].index
    starts, _ = index.document_bounds(docs)
    among = DocSet(docs, view.segments[i].n_documents)
    found = []
    for _, what in patterns:
        positions = expressions.occurrences(what, among).starts
        owners, first = np.unique(index.documents_at(positions), return_index=True)
        at = np.full(len(docs), -1, dtype=np.int64)
        places = np.searchsorted(docs, owners)
        at[places] = positions[first].astype(np.int64) - starts[places]
        found.append(at)
    return found


def _patterns(where: Node) -> Iterator[tuple[str, Occurring]]:
    """Yield the patterns of a condition that are not below a NOT, as text and as occurrences."""
    if isinstance(where, Complement):
        return
    if isinstance(where, DocsWith):
        if len(where.gram):  # the empty n-gram is everywhere
            yield where.gram.shown, OccurrencesOf(where.gram)
    elif isinstance(where, DocsMatching) or (isinstance(where, CountTest) and not where.holds(0)):
        yield where.pattern.shown, OccurrencesOf(where.pattern)
    elif isinstance(where, Nearby):
        for what in where.operands:
            others = tuple(other for other in where.operands if other is not what)
            for shown, one in _patterns(what):
                yield shown, NearTo(one, others, (), where.tokens)
    elif isinstance(where, NearTo):
        for shown, one in _patterns(where.what):
            yield shown, dataclasses.replace(where, what=one)
    elif isinstance(where, OccurrencesOf):
        yield where.pattern.shown, where
    else:
        for child in where.children():
            yield from _patterns(child)
