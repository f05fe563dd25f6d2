"""SHOW, DESCRIBE and CHECK: what the catalog knows, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from ngramdb.executor.documents import REST_COLUMN, has_rest, metadata_fields
from ngramdb.executor.result import Result, Row
from ngramdb.executor.session import Session
from ngramdb.planner.plan import CheckCorpora, DescribeCorpus, ShowTable
from ngramdb.segments.metadata_values import JSON

CORPORA_COLUMNS = ("corpus", "current", "tokenizer", "documents", "tokens", "segments")
SEGMENT_COLUMNS = ("corpus", "segment", "sign", "documents", "tokens", "first_doc_id", "bytes", "version")
VERSION_COLUMNS = ("version", "created", "action", "current")
SETTING_COLUMNS = ("name", "value", "default", "type", "description")
DESCRIBE_COLUMNS = ("property", "value")
CHECK_COLUMNS = ("corpus", "file", "offset", "problem")


def show(plan: ShowTable, session: Session) -> Result:
    """One of the four tables of SHOW."""
    if plan.what == "corpora":
        return Result.of_rows(CORPORA_COLUMNS, _corpora(session))
    if plan.what == "segments":
        return Result.of_rows(SEGMENT_COLUMNS, _segments(session, plan.name))
    if plan.what == "versions":
        return Result.of_rows(VERSION_COLUMNS, _versions(session, plan.name))
    return Result.of_rows(SETTING_COLUMNS, session.setting_rows())


def _corpora(session: Session) -> Iterator[Row]:
    for name, entry in sorted(session.manifest.corpora.items()):
        yield (
            name,
            name == session.current,
            entry.tokenizer.kind,
            sum(segment.sign * segment.n_documents for segment in entry.segments),
            sum(segment.sign * segment.n_tokens for segment in entry.segments),
            len(entry.segments),
        )


def _segments(session: Session, only: str | None) -> Iterator[Row]:
    for name, entry in sorted(session.manifest.corpora.items()):
        if only is not None and name != only:
            continue
        for segment in entry.segments:
            yield (
                name,
                segment.file.name,
                segment.sign,
                segment.n_documents,
                segment.n_tokens,
                segment.first_doc_id,
                segment.file.size,
                segment.created_version,
            )


def _versions(session: Session, only: str | None) -> Iterator[Row]:
    """Kept versions, oldest first; with a corpus, those that changed it."""
    before: Any = None
    for manifest in session.versions():
        entry = None if only is None else manifest.corpora.get(only)
        if only is None or entry != before:
            created = datetime.fromtimestamp(manifest.created, tz=timezone.utc)
            shown = created.strftime("%Y-%m-%d %H:%M:%S UTC")
            yield manifest.version, shown, manifest.action, manifest.version == session.manifest.version
        before = entry


def describe(plan: DescribeCorpus, session: Session) -> Result:
    """Properties of one corpus, a field of its metadata per row at the end."""
    view = plan.corpus
    entry: Any = view.entry
    segments: Sequence[Any] = entry.segments
    rows: list[Row] = [
        ("corpus", entry.name),
        ("tokenizer", entry.tokenizer.kind),
        ("vocabulary", view.tokenizer.n_vocabulary),
        ("documents", view.n_documents),
        ("tokens", view.n_tokens),
        ("segments", len(segments)),
        ("bytes", _bytes(entry)),
        ("version", max((segment.created_version for segment in segments), default=session.manifest.version)),
    ]
    rows.extend((f"option {name}", value) for name, value in sorted(entry.options.items()))
    fields = metadata_fields(view)
    rows.extend((f"field {name}", " or ".join(types)) for name, types in fields.items())
    if has_rest(fields):
        rows.append((f"field {REST_COLUMN}", JSON))
    return Result.of_rows(DESCRIBE_COLUMNS, rows)


def _bytes(entry: Any) -> int:
    """The corpus's files on disk, segments and tokenizer together."""
    files = [segment.file for segment in entry.segments]
    files.extend(entry.tokenizer.vocabulary)
    if entry.tokenizer.file is not None:
        files.append(entry.tokenizer.file)
    return sum(file.size for file in files)


def check(plan: CheckCorpora, session: Session) -> Result:
    """A row per problem, none when all is well."""
    rows = list(session.findings(plan.names))
    n = len(rows)
    message = "no problems found" if not n else f"{n} problem{'' if n == 1 else 's'} found"
    return Result.of_rows(CHECK_COLUMNS, rows, problems=n, corpora=len(plan.names), message=message)
