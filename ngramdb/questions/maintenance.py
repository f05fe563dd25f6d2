"""DELETE DOCS, ANALYZE, COMPACT, KEEP VERSION, DROP VERSION, RESTORE: upkeep of corpora and versions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngramdb.conditions.docset import DocSet
from ngramdb.curation.marks import Marks, of_documents
from ngramdb.errors import PlanError
from ngramdb.executor.per_segment import evaluator_of, matching
from ngramdb.executor.result import Result, Row, batched
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.lm.spec import MAX_ANALYZED_ORDER, MIN_ANALYZED_ORDER
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
from ngramdb.questions.plans import Action, BindCondition, Removal, Session
from ngramdb.source import Catalog, Corpus
from ngramdb.types import Docs

ANALYZE_COLUMNS = ("length", "ngrams", "d1", "d2", "d3", "fallback")

# Syntax and examples, for help.
HELP = {
    "RESTORE CORPUS": ("RESTORE CORPUS corpus TO VERSION n | 'name'",),
    "KEEP VERSION": (
        "KEEP VERSION [n] AS 'name'",
        ("KEEP VERSION AS 'raw'", "the database as it is now, to RESTORE or read AT VERSION 'raw'"),
    ),
    "DROP VERSION": ("DROP VERSION 'name'",),
    "COMPACT": ("COMPACT [corpus]",),
    "ANALYZE": (
        "ANALYZE corpus [ORDER n]",
        ("ANALYZE wiki", "takes what Kneser-Ney's discounts come from"),
    ),
    "DELETE DOCS": ("DELETE DOCS WHERE condition [RETURNING fields] [FROM source]",),
}


def bind_analyze(scope: Scope, node: ast.Analyze) -> Plan:
    """Bind ANALYZE."""
    order = scope.number(node.order, "ANALYZE's ORDER", MIN_ANALYZED_ORDER, MAX_ANALYZED_ORDER)
    return AnalyzeCorpus(scope.corpus_name(node.name), order)


@dataclass(frozen=True)
class AnalyzeCorpus(Action):
    """ANALYZE: the statistics of Kneser-Ney models, kept with the corpus.

    order : the greatest length of n-grams that is counted; None: the default of the tokenizer
    """

    name: str
    order: int | None = None

    def label(self) -> str:
        return f"analyze {self.name}" + ("" if self.order is None else f" order {self.order}")

    def act(self, session: Session) -> Result:
        """Return a row per length of n-grams: their number, and the discounts of Kneser-Ney models."""
        report = session.run_analyze(self.name, self.order)
        statistics = report.statistics
        fallen_back = statistics.fallbacks()
        rows = [
            (length, n_types, *discount, length in fallen_back)
            for length, (n_types, discount) in enumerate(
                zip(statistics.n_types, statistics.discounts(), strict=True), start=1
            )
        ]
        note = statistics.note()
        summary = {"version": report.version} | ({} if note is None else {"note": note})
        return Result.of_rows(ANALYZE_COLUMNS, rows, **summary)


COMPACT_COLUMNS = (
    "corpus",
    "segments_before",
    "segments_after",
    "documents_dropped",
    "bytes_before",
    "bytes_after",
    "version",
)


def bind_compact(scope: Scope, node: ast.Compact) -> Plan:
    """Bind COMPACT."""
    if node.name is None:
        return CompactCorpora(tuple(scope.catalog.own_corpus_names()), scope.catalog.compaction)
    return CompactCorpora((scope.corpus_name(node.name),), scope.catalog.compaction)


@dataclass(frozen=True)
class CompactCorpora(Action):
    """COMPACT: segments are merged, removed documents dropped. `outlook` lists what it would rewrite."""

    names: tuple[str, ...]
    outlook: Callable[[str], Sequence[str]] = field(compare=False, repr=False)

    def label(self) -> str:
        return "compact " + (", ".join(self.names) if self.names else "(no corpora)")

    def details(self) -> tuple[str, ...]:
        return tuple(
            f"{name}: {line}" for name in self.names for line in self.outlook(name) or ("nothing to rewrite",)
        )

    def act(self, session: Session) -> Result:
        """Return a row per corpus."""
        rows: list[Row] = []
        for name in self.names:
            with session.change(name, f"compact {name}") as change:
                done = change.compact()
            rows.append(
                (
                    name,
                    done.segments_before,
                    done.segments_after,
                    done.documents_dropped,
                    done.bytes_before,
                    done.bytes_after,
                    done.version,
                )
            )
        versions = {"version": rows[-1][-1]} if rows else {}
        return Result.of_rows(COMPACT_COLUMNS, rows, **versions)


RESTORE_COLUMNS = ("documents", "tokens", "version")


def bind_keep(scope: Scope, node: ast.KeepVersion) -> Plan:
    """Bind KEEP VERSION."""
    name = scope.string(node.name, "the name of a version")
    return KeepVersion(name, scope.number(node.version, "VERSION", 1))


@dataclass(frozen=True)
class KeepVersion(Action):
    """KEEP VERSION: a version is kept under a name; None stands for the newest one."""

    name: str
    version: int | None = None

    def label(self) -> str:
        which = "the newest version" if self.version is None else f"version {self.version}"
        return f"keep {which} as {self.name}"

    def act(self, session: Session) -> Result:
        number, version = session.run_keep(self.name, self.version)
        return Result(summary={"message": f"version {number} is kept as {self.name}", "version": version})


def bind_drop(scope: Scope, node: ast.DropVersion) -> Plan:
    """Bind DROP VERSION."""
    return DropVersion(scope.string(node.name, "the name of a version"))


@dataclass(frozen=True)
class DropVersion(Action):
    """DROP VERSION: a version is no longer kept under its name."""

    name: str

    def label(self) -> str:
        return f"drop version {self.name}"

    def act(self, session: Session) -> Result:
        number, version = session.run_drop_version(self.name)
        return Result(
            summary={"message": f"version {number} is no longer kept as {self.name}", "version": version}
        )


def bind_restore(scope: Scope, node: ast.Restore) -> Plan:
    """Bind RESTORE."""
    # The corpus may have been dropped since: its name is looked up in that version.
    version = scope.version(node.version)
    assert version is not None
    return RestoreCorpus(node.name.value, version)


@dataclass(frozen=True)
class RestoreCorpus(Action):
    """RESTORE CORPUS: an earlier version becomes the current one."""

    name: str
    version: int

    def label(self) -> str:
        return f"restore corpus {self.name} to version {self.version}"

    def act(self, session: Session) -> Result:
        """Return one row: what the corpus has now."""
        report = session.run_restore(self.name, self.version)
        row = (report.documents, report.tokens, report.version)
        return Result.of_rows(RESTORE_COLUMNS, [row], version=report.version)


# ---- DELETE DOCS, and the audit record of what it removed.


DELETE_COLUMNS = ("documents", "tokens", "version")

# Syntax and examples, for help.


def bind_delete(scope: Scope, node: ast.Delete) -> Plan:
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
class DeleteDocuments(Question, Removal):
    """DELETE DOCS. `where` is the condition on the version that was planned on, for EXPLAIN.

    `condition` is bound again to the version that the commit succeeds, and decides which documents are
    removed. `statement` is for the audit record.
    """

    name = "delete"
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

    def marks(self, session: Session) -> list[Marks]:
        where, costs = session.planned(self.condition, self.corpus)
        return of_documents([docs.numbers() for _, docs in matching(self.corpus, where, costs, None)])


def _removed_rows(removed: Removed, returned: ReturnedColumns) -> Iterator[Row]:
    parts = zip(removed.view.segments, removed.chosen, strict=True)
    documents = ((segment, i) for segment, numbers in parts for i in numbers.tolist())
    for segment, i in returned.ahead(documents):
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
    among = DocSet(docs, view.segments[i].n_documents)
    found = []
    for _, what in patterns:
        positions = expressions.occurrences(what, among).starts
        documents, before = index.places_at(positions)
        owners, first = np.unique(documents, return_index=True)
        at = np.full(len(docs), -1, dtype=np.int64)
        at[np.searchsorted(docs, owners)] = before[first]
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
