"""SHOW and CHECK: what the catalog knows, and the problems of its files, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.executor.results.result import Result, Row
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.plan import Plan
from ngramdb.questions.plans import Action
from ngramdb.questions.session import Session

CORPORA_COLUMNS = ("corpus", "current", "tokenizer", "documents", "tokens", "segments")
_COUNTS = ("documents", "tokens", "first_doc_id", "bytes")
SEGMENT_COLUMNS = ("corpus", "segment", "sign", *_COUNTS, "version", "in_memory")
VERSION_COLUMNS = ("version", "created", "by", "action", "documents", "tokens", "current", "kept_as")
REMOVAL_COLUMNS = (
    *("corpus", "version", "created", "by", "documents", "tokens", "statement", "reason", "restored"),
)
SETTING_COLUMNS = ("name", "value", "default", "type", "description")
CHECK_COLUMNS = ("corpus", "file", "offset", "problem")


def bind_show(scope: Scope, node: ast.Show) -> Plan:
    """Bind SHOW."""
    if node.source is None:
        return ShowTable(node.what)
    if node.what not in ("segments", "versions", "removals"):
        scope.fail(PlanError, f"SHOW {node.what.upper()} takes no FROM", node.source)
    return ShowTable(node.what, scope.corpus(node.source).entry.name)


@dataclass(frozen=True)
class ShowTable(Action):
    """SHOW corpora, segments, versions, removals or settings; `name` limits it to one corpus."""

    what: str
    name: str | None = None

    only_reads = True

    def label(self) -> str:
        return f"show {self.what}" + (f" of {self.name}" if self.name else "")

    def act(self, session: Session) -> Result:
        if self.what == "corpora":
            return Result.of_rows(CORPORA_COLUMNS, _corpora(session))
        if self.what == "segments":
            return Result.of_rows(SEGMENT_COLUMNS, _segments(session, self.name))
        if self.what == "versions":
            return Result.of_rows(VERSION_COLUMNS, _versions(session, self.name))
        if self.what == "removals":
            return Result.of_rows(REMOVAL_COLUMNS, _removals(session, self.name))
        return Result.of_rows(SETTING_COLUMNS, session.setting_rows())


def _corpora(session: Session) -> Iterator[Row]:
    """Yield a row per corpus; `current` is the default without FROM: that of USE, or the only one."""
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
                shown_time(manifest.created),
                manifest.by or None,
                manifest.action,
                sum(corpus.n_documents for corpus in corpora),
                sum(corpus.n_tokens for corpus in corpora),
                manifest.version == session.manifest.version,
                ", ".join(names) or None,
            )
        before = entry


def _removals(session: Session, only: str | None) -> Iterator[Row]:
    """Yield the removals from audit records, oldest first."""
    for name in sorted(session.entries):
        if only is None or name == only:
            for removal, n_restored in session.removals(name):
                yield (
                    name,
                    removal.version,
                    shown_time(removal.created),
                    removal.by or None,
                    removal.n_documents,
                    removal.n_tokens,
                    removal.statement or removal.action,
                    removal.reason or None,
                    n_restored,
                )


def shown_time(seconds: float) -> str:
    """Return a time as tables show it."""
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def bind_check(scope: Scope, node: ast.Check) -> Plan:
    """Bind CHECK."""
    if node.name is None:
        return CheckCorpora(tuple(scope.catalog.corpus_names()))
    return CheckCorpora((scope.corpus_name(node.name),))


@dataclass(frozen=True)
class CheckCorpora(Action):
    """CHECK: the problems of corpora, one per row."""

    names: tuple[str, ...]

    def label(self) -> str:
        return "check " + (", ".join(self.names) if self.names else "(no corpora)")

    def act(self, session: Session) -> Result:
        """Return a row per problem."""
        rows = list(session.findings(self.names))
        n = len(rows)
        message = "no problems found" if not n else f"{n} problem{'' if n == 1 else 's'} found"
        return Result.of_rows(CHECK_COLUMNS, rows, problems=n, corpora=len(self.names), message=message)
