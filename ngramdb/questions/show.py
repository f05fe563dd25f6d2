"""SHOW, DESCRIBE, CHECK and EXPLAIN: what the database has, the problems of its files, and plans."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.executor.result import Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.lm.of_corpora import stored_statistics
from ngramdb.planner.plan import Actual, Node, Occurring, Outer, Plan, PlanMeter, Question, changed
from ngramdb.planner.scope import Scope
from ngramdb.questions.document_columns import REST_COLUMN, has_rest, metadata_fields
from ngramdb.questions.plans import Action, Session, answer, is_question
from ngramdb.segments.metadata_columns import JSON
from ngramdb.source import Corpus

CORPORA_COLUMNS = ("corpus", "current", "tokenizer", "documents", "tokens", "segments")
_COUNTS = ("documents", "tokens", "first_doc_id", "bytes")
SEGMENT_COLUMNS = ("corpus", "segment", "sign", *_COUNTS, "version", "in_memory")
VERSION_COLUMNS = ("version", "created", "by", "action", "documents", "tokens", "current", "kept_as")
REMOVAL_COLUMNS = (
    *("corpus", "version", "created", "by", "documents", "tokens", "statement", "reason", "restored"),
)
SETTING_COLUMNS = ("name", "value", "default", "type", "description")
CHECK_COLUMNS = ("corpus", "file", "offset", "problem")

# Syntax and examples, for help.
HELP = {
    "CHECK": ("CHECK [corpus]", ("CHECK wiki", "whether every file of it is sound")),
    "DESCRIBE": ("DESCRIBE [corpus]", ("DESCRIBE wiki", "its size and its metadata fields")),
    "SHOW": (
        "SHOW CORPORA | SEGMENTS | VERSIONS | REMOVALS | SETTINGS [FROM source]",
        ("SHOW CORPORA", "all corpora; also SEGMENTS, VERSIONS, SETTINGS"),
    ),
    "EXPLAIN": ("EXPLAIN [ANALYZE] statement", ('EXPLAIN COUNT "of the"', "the plan of a question")),
}


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
                sum(file.size for file in segment.files()),
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


DESCRIBE_COLUMNS = ("property", "value")


def bind_describe(scope: Scope, node: ast.Describe) -> Plan:
    """Bind DESCRIBE."""
    return DescribeCorpus(scope.corpus(None) if node.name is None else scope.named_corpus(node.name))


@dataclass(frozen=True)
class DescribeCorpus(Question, Action):
    """DESCRIBE: the properties of a corpus."""

    only_reads = True

    def label(self) -> str:
        return "describe"

    def act(self, session: Session) -> Result:
        """Return the properties of one corpus; the last rows are the fields of its metadata."""
        view = self.corpus
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
            (
                "version",
                max((segment.created_version for segment in segments), default=session.manifest.version),
            ),
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
        yield "statistics", f"taken {shown_time(taken.created)}, out of date: ANALYZE takes them anew"
        return
    yield "statistics", f"taken {shown_time(taken.created)}"
    fallen_back = statistics.fallbacks()
    for length, discount in enumerate(statistics.discounts(), start=1):
        shown = ", ".join(f"{value:.4g}" for value in discount)
        tail = " (fallback: too few n-grams to estimate them)" if length in fallen_back else ""
        yield f"discounts {length}", shown + tail


def _bytes(entry: Any) -> int:
    """Return the corpus's files on disk, segments and tokenizer together."""
    files = [file for segment in entry.segments for file in segment.files()]
    files.extend(entry.tokenizer.vocabulary)
    if entry.tokenizer.file is not None:
        files.append(entry.tokenizer.file)
    return sum(file.size for file in files)


# ---- EXPLAIN: a plan as lines of text, with estimates and, if it was run, with measurements.


COLUMNS = ("plan",)

# Estimates start in this column, or two blanks after a longer label.
NOTE_COLUMN = 44

# Variants of a pattern that are listed, the most frequent first.
SHOWN_DETAILS = 20

# Syntax and examples, for help.


def bind_explain(scope: Scope, node: ast.Explain) -> Plan:
    """Bind EXPLAIN."""
    return Explanation(scope.bind(node.statement), node.analyze)


@dataclass(frozen=True)
class Explanation(Outer, Action):
    """EXPLAIN of a finished plan; `fired` are the rules that changed it, in order."""

    plan: Plan
    analyze: bool = False
    fired: tuple[str, ...] = ()

    is_shown = True

    def label(self) -> str:
        return "explain analyze" if self.analyze else "explain"

    @property
    def asked(self) -> Plan:
        return self.plan

    @property
    def inner(self) -> Plan:
        return self.plan

    def with_inner(self, inner: Plan, fired: tuple[str, ...]) -> Plan:
        return changed(self, plan=inner, fired=fired)

    def act(self, session: Session) -> Result:
        """Return the plan's lines; with ANALYZE, run the query, count its rows and discard them.

        Raises
        ------
        PlanError
            ANALYZE of a statement that changes something: it must not be run.
        """
        if not self.analyze:
            return Result.of_rows(COLUMNS, [(line,) for line in explain_lines(self)])
        if not is_question(self.plan):
            raise PlanError(
                "EXPLAIN ANALYZE runs its statement and so allows queries only; EXPLAIN alone shows this plan"
            )
        meter = PlanMeter()
        started = time.perf_counter()
        result = answer(self.plan, meter)
        n_rows = sum(map(len, result.batches()))
        seconds = time.perf_counter() - started
        total = f"actual {n_rows:,} row{'' if n_rows == 1 else 's'}, {seconds * 1e3:.3f} ms"
        lines = explain_lines(self, meter.actual, total)
        return Result.of_rows(COLUMNS, [(line,) for line in lines], n_rows=n_rows, seconds=seconds)


def explain_lines(
    explain: Explanation, actual: Mapping[int, Actual] | None = None, total: str = ""
) -> list[str]:
    """Return the lines that EXPLAIN prints.

    Parameters
    ----------
    explain : the plan and the rules that changed it
    actual : per `id` of a document expression what it did; None when the plan wasn't run
    total : what the whole statement took, for the first line
    """
    plan = explain.plan
    lines = [_with_note(plan.label(), total)]
    where = plan.tree()
    bar = "│  " if where is not None else "   "
    lines.extend(bar + detail for detail in _first(plan.details()))
    if where is not None:
        lines.extend(_tree(where, "└─ ", "   ", actual))
    if explain.fired:
        lines.append("rules: " + ", ".join(explain.fired))
    return lines


def _tree(expr: Node, head: str, indent: str, actual: Mapping[int, Actual] | None) -> Iterator[str]:
    notes = [] if expr.estimate is None else [expr.estimate.label()]
    if actual is not None:
        unit = "occurrences" if isinstance(expr, Occurring) else "docs"
        notes.append(actual.get(id(expr), Actual()).label(unit))
    yield _with_note(head + expr.label(), "; ".join(notes))
    children = expr.children()
    if expr.estimate is not None and expr.estimate.order is not None:
        children = tuple(children[i] for i in expr.estimate.order)
    for detail in _first(expr.details()):
        yield indent + ("│  " if children else "   ") + detail
    for child in children[:-1]:
        yield from _tree(child, indent + "├─ ", indent + "│  ", actual)
    for child in children[-1:]:
        yield from _tree(child, indent + "└─ ", indent + "   ", actual)


def _first(details: Sequence[str]) -> list[str]:
    shown = list(details[:SHOWN_DETAILS])
    return shown if len(details) <= SHOWN_DETAILS else [*shown, f"… {len(details) - SHOWN_DETAILS:,} more"]


def _with_note(label: str, note: str) -> str:
    return f"{label:<{NOTE_COLUMN}}  {note}" if note else label
