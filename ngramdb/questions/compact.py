"""COMPACT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from ngramdb.executor.results.result import Result, Row
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.plan import Plan
from ngramdb.questions.plans import Action
from ngramdb.questions.session import Session

COMPACT_COLUMNS = (
    "corpus",
    "segments_before",
    "segments_after",
    "documents_dropped",
    "bytes_before",
    "bytes_after",
    "version",
)


def bind(scope: Scope, node: ast.Compact) -> Plan:
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
