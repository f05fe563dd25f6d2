"""SHOW, DESCRIBE and CHECK: what the catalog knows, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from ngramdb.executor.questions.document_columns import REST_COLUMN, has_rest, metadata_fields
from ngramdb.executor.questions.models import stored_statistics
from ngramdb.executor.results.result import Result, Row
from ngramdb.executor.session import Session
from ngramdb.planner.plan import CheckCorpora, DescribeCorpus, ShowTable
from ngramdb.planner.source import Corpus
from ngramdb.segments.metadata_columns import JSON

CORPORA_COLUMNS = ("corpus", "current", "tokenizer", "documents", "tokens", "segments")
_COUNTS = ("documents", "tokens", "first_doc_id", "bytes")
SEGMENT_COLUMNS = ("corpus", "segment", "sign", *_COUNTS, "version", "in_memory")
VERSION_COLUMNS = ("version", "created", "by", "action", "documents", "tokens", "current", "kept_as")
REMOVAL_COLUMNS = (
    *("corpus", "version", "created", "by", "documents", "tokens", "statement", "reason", "restored"),
)
SETTING_COLUMNS = ("name", "value", "default", "type", "description")
DESCRIBE_COLUMNS = ("property", "value")
CHECK_COLUMNS = ("corpus", "file", "offset", "problem")


def show(plan: ShowTable, session: Session) -> Result:
    """One of the tables of SHOW."""
    if plan.what == "corpora":
        return Result.of_rows(CORPORA_COLUMNS, _corpora(session))
    if plan.what == "segments":
        return Result.of_rows(SEGMENT_COLUMNS, _segments(session, plan.name))
    if plan.what == "versions":
        return Result.of_rows(VERSION_COLUMNS, _versions(session, plan.name))
    if plan.what == "removals":
        return Result.of_rows(REMOVAL_COLUMNS, _removals(session, plan.name))
    return Result.of_rows(SETTING_COLUMNS, session.setting_rows())


def _corpora(session: Session) -> Iterator[Row]:
    """A row per corpus; `current` is the one that is asked without FROM: that of USE, or the only one."""
    corpora = session.entries
    current = session.current
    if current is None and len(corpora) == 1:
        current = next(iter(corpora))
    for name, entry in sorted(corpora.items()):
        yield (
            name,
            name == current,
            session.tokenizer_title(name),
            sum(segment.sign * segment.n_documents for segment in entry.segments),
            sum(segment.sign * segment.n_tokens for segment in entry.segments),
            len(entry.segments),
        )


def _segments(session: Session, only: str | None) -> Iterator[Row]:
    for name, entry in sorted(session.entries.items()):
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
                session.resident_bytes(segment),
            )


def _versions(session: Session, only: str | None) -> Iterator[Row]:
    """Kept versions, oldest first; `only`: those with names, and those that changed this corpus."""
    before: Any = None
    for manifest in session.versions():
        entry = None if only is None else manifest.corpora.get(only)
        names = session.manifest.names_of(manifest.version)
        if only is None or entry != before or names:
            corpora = manifest.corpora.values() if only is None else [] if entry is None else [entry]
            yield (
                manifest.version,
                _time(manifest.created),
                manifest.by or None,
                manifest.action,
                sum(corpus.n_documents for corpus in corpora),
                sum(corpus.n_tokens for corpus in corpora),
                manifest.version == session.manifest.version,
                ", ".join(names) or None,
            )
        before = entry


def _removals(session: Session, only: str | None) -> Iterator[Row]:
    """What was removed, oldest first, from audit records."""
    for name in sorted(session.entries):
        if only is None or name == only:
            for removal, n_restored in session.removals(name):
                yield (
                    name,
                    removal.version,
                    _time(removal.created),
                    removal.by or None,
                    removal.n_documents,
                    removal.n_tokens,
                    removal.statement or removal.action,
                    removal.reason or None,
                    n_restored,
                )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def describe(plan: DescribeCorpus, session: Session) -> Result:
    """Properties of one corpus, a field of its metadata per row at the end."""
    view = plan.corpus
    entry: Any = view.entry
    segments: Sequence[Any] = entry.segments
    rows: list[Row] = [
        ("corpus", entry.name),
        ("tokenizer", session.tokenizer_title(entry.name)),
        ("vocabulary", view.tokenizer.n_vocabulary),
        ("documents", view.n_documents),
        ("tokens", view.n_tokens),
        ("segments", len(segments)),
        ("bytes", _bytes(entry)),
        ("version", max((segment.created_version for segment in segments), default=session.manifest.version)),
    ]
    rows.extend((f"option {name}", value) for name, value in sorted(entry.options.items()))
    rows.extend(_statistics(view))
    fields = metadata_fields(view)
    rows.extend((f"field {name}", " or ".join(types)) for name, types in fields.items())
    if has_rest(fields):
        rows.append((f"field {REST_COLUMN}", JSON))
    return Result.of_rows(DESCRIBE_COLUMNS, rows)


def _statistics(view: Corpus) -> Iterator[Row]:
    """When ANALYZE was run, and the discounts that follow: D1, D2 and D3+ of each length of n-grams."""
    entry: Any = view.entry
    taken = getattr(entry, "statistics", None)
    if taken is None:
        return
    statistics = stored_statistics(view)
    if statistics is None:
        yield "statistics", f"taken {_time(taken.created)}, out of date: ANALYZE takes them anew"
        return
    yield "statistics", f"taken {_time(taken.created)}"
    fallen_back = statistics.fallbacks()
    for length, discount in enumerate(statistics.discounts(), start=1):
        shown = ", ".join(f"{value:.4g}" for value in discount)
        tail = " (fallback: too few n-grams to estimate them)" if length in fallen_back else ""
        yield f"discounts {length}", shown + tail


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
