"""ANALYZE and COMPACT, and KEEP VERSION, DROP VERSION and RESTORE: upkeep of corpora and of versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from ngramdb.executor.results.result import Result, Row
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.lm.spec import MAX_ANALYZED_ORDER, MIN_ANALYZED_ORDER
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions.plans import Action, Session

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
