"""Statements that change which documents a corpus has, and that carry documents out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ngramdb.executor.questions.document_columns import ReturnedColumns
from ngramdb.executor.questions.documents import BATCH_DOCUMENTS, matching, selected
from ngramdb.executor.results.result import Result, Row, batched
from ngramdb.executor.session import Session, Written
from ngramdb.executor.statements.audit_notes import notes
from ngramdb.planner.plan import (
    ALTER_COLUMNS,
    COMPACT_COLUMNS,
    DELETE_COLUMNS,
    EXPORT_COLUMNS,
    RESTORE_COLUMNS,
    WRITTEN_COLUMNS,
    AlterCorpus,
    BindCondition,
    CompactCorpora,
    CopyDocuments,
    DeleteDocuments,
    DropVersion,
    ExportDocuments,
    ExportRows,
    KeepVersion,
    RestoreCorpus,
)
from ngramdb.planner.source import Corpus
from ngramdb.types import Docs


@dataclass(frozen=True)
class Removed:
    """What a removal did.

    `documents` with so many `tokens` are no longer part of the corpus from `version` on. `view` is the corpus
    before, and `chosen` the documents per segment of it, so that RETURNING can show them.
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

    The condition is bound to the very version that they are removed from.

    The audit record has the statement and the reason once, and of each document what `audit_notes` gives.
    """
    with session.change(name, f"delete from {name}") as change:
        view = change.view
        asked = session.planned(condition, view)
        chosen = [docs.numbers() for _, docs in matching(view, asked.where, asked.costs, None)]
        details = list(notes(view, chosen, asked.where, asked.costs))
        change.remove(chosen, details, statement=statement, reason=reason)
        outcome = change.commit()
    return Removed(outcome.documents, outcome.tokens, outcome.version, view, tuple(chosen))


def delete(plan: DeleteDocuments, session: Session) -> Result:
    """One row: what was removed; with RETURNING a row per removed document, read from the version before."""
    removed = remove(session, plan.corpus.entry.name, plan.condition, plan.statement)
    summary = {"documents": removed.documents, "tokens": removed.tokens, "version": removed.version}
    if not plan.returning:
        return Result.of_rows(DELETE_COLUMNS, [tuple(summary.values())], **summary)
    returned = ReturnedColumns(removed.view, plan.returning)
    batches = batched(_removed_rows(removed, returned), BATCH_DOCUMENTS)
    n_rows = removed.documents
    result = Result(returned.names, batches, summary=summary, n_rows=n_rows, types=returned.types)
    result.arrow_types = returned.arrow_types()
    return result


def _removed_rows(removed: Removed, returned: ReturnedColumns) -> Iterator[Row]:
    for segment, numbers in zip(removed.view.segments, removed.chosen, strict=True):
        for i in numbers.tolist():
            yield returned.row(segment, i)


def restore(plan: RestoreCorpus, session: Session) -> Result:
    """One row: what the corpus has now."""
    report = session.run_restore(plan)
    row = (report.documents, report.tokens, report.version)
    return Result.of_rows(RESTORE_COLUMNS, [row], version=report.version)


def keep(plan: KeepVersion, session: Session) -> Result:
    """Run KEEP VERSION."""
    number, version = session.run_keep(plan)
    return Result(summary={"message": f"version {number} is kept as {plan.name}", "version": version})


def drop_version(plan: DropVersion, session: Session) -> Result:
    """Run DROP VERSION."""
    number, version = session.run_drop_version(plan)
    return Result(
        summary={"message": f"version {number} is no longer kept as {plan.name}", "version": version}
    )


def compact(plan: CompactCorpora, session: Session) -> Result:
    """A row per corpus."""
    rows: list[Row] = []
    for name in plan.names:
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


def alter(plan: AlterCorpus, session: Session) -> Result:
    """One row: the documents that were added or taken away."""
    report = session.run_alter(plan)
    row = (report.documents, report.tokens, report.version)
    return Result.of_rows(ALTER_COLUMNS, [row], version=report.version)


def export(plan: ExportDocuments, session: Session) -> Result:
    """One row: how many documents were written, and where."""
    written = session.run_export(plan)
    drawn = written.summary if "seed" in written.summary else {}
    return _written(EXPORT_COLUMNS, plan.path, written, {"documents": written.n, **drawn})


def export_rows(plan: ExportRows, session: Session) -> Result:
    """One row: how many rows were written, and where; the summary and the notes are those of the question."""
    written = session.run_export_rows(plan)
    return _written(WRITTEN_COLUMNS, plan.path, written, {"rows": written.n, **written.summary})


def _written(columns: Sequence[str], path: str, written: Written, summary: dict[str, Any]) -> Result:
    said = [written.summary.get("note"), *(item.message for item in written.cautions)]
    note = "; ".join(filter(None, said))
    result = Result.of_rows(columns, [(written.n, path)], **summary | ({"note": note} if note else {}))
    result.cautions = written.cautions
    result.exact = written.exact
    result.found = written.found
    return result


def copy_documents(plan: CopyDocuments, session: Session) -> Result:
    """Run CREATE CORPUS … AS."""
    made = session.run_copy(plan, selected(plan.documents))
    if made is None:
        return Result(summary={"message": f"corpus {plan.name} exists already", "changed": False})
    shown = f"{made.documents:,} document{'' if made.documents == 1 else 's'}, {made.tokens:,} tokens"
    return Result(
        summary={
            "message": f"corpus {plan.name} created: {shown}",
            "changed": True,
            "documents": made.documents,
            "tokens": made.tokens,
            "version": made.version,
        }
    )
