"""Statements that change which documents a corpus has, and that carry documents out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.plan.base import Outer, Plan, Question
from ngramdb.planner.plan.estimates import Costs
from ngramdb.planner.plan.field_keys import FieldKey
from ngramdb.planner.plan.nodes import DocExpr, Node, changed
from ngramdb.planner.plan.questions import Documents
from ngramdb.planner.source import Catalog, Corpus

DELETE_COLUMNS = ("documents", "tokens", "version")
RESTORE_COLUMNS = ("documents", "tokens", "version")
COMPACT_COLUMNS = (
    "corpus",
    "segments_before",
    "segments_after",
    "documents_dropped",
    "bytes_before",
    "bytes_after",
    "version",
)
ALTER_COLUMNS = ("documents", "tokens", "version")
EXPORT_COLUMNS = ("documents", "path")
WRITTEN_COLUMNS = ("rows", "path")

# A condition, to be bound to the corpus as it is when the writer's lock is held.
BindCondition = Callable[[Catalog, Corpus], DocExpr]


@dataclass(frozen=True)
class DeleteDocuments(Question):
    """DELETE DOCS. `where` is the condition on the version that was planned on, for EXPLAIN.

    What is removed is what `condition` gives on the version that is succeeded. `statement` is for the audit
    record.
    """

    carries_documents = True

    where: DocExpr
    returning: tuple[FieldKey, ...]
    statement: str
    condition: BindCondition = field(compare=False, repr=False)
    costs: Costs | None = field(default=None, compare=False)

    def label(self) -> str:
        return "delete documents"

    def where_clause(self) -> DocExpr | None:
        return self.where


@dataclass(frozen=True)
class RestoreCorpus(Plan):
    """RESTORE CORPUS: an earlier version becomes the current one."""

    name: str
    version: int

    def label(self) -> str:
        return f"restore corpus {self.name} to version {self.version}"


@dataclass(frozen=True)
class KeepVersion(Plan):
    """KEEP VERSION: a version is kept under a name; None stands for the newest one."""

    name: str
    version: int | None = None

    def label(self) -> str:
        which = "the newest version" if self.version is None else f"version {self.version}"
        return f"keep {which} as {self.name}"


@dataclass(frozen=True)
class DropVersion(Plan):
    """DROP VERSION: a version is no longer kept under its name."""

    name: str

    def label(self) -> str:
        return f"drop version {self.name}"


@dataclass(frozen=True)
class CompactCorpora(Plan):
    """COMPACT: segments are merged, removed documents dropped. `outlook` tells what will be of a corpus."""

    names: tuple[str, ...]
    outlook: Callable[[str], Sequence[str]] = field(compare=False, repr=False)

    def label(self) -> str:
        return "compact " + (", ".join(self.names) if self.names else "(no corpora)")

    def details(self) -> tuple[str, ...]:
        return tuple(
            f"{name}: {line}" for name in self.names for line in self.outlook(name) or ("nothing to rewrite",)
        )


@dataclass(frozen=True)
class AlterCorpus(Plan):
    """ALTER CORPUS name ADD (`sign` 1) or SUBTRACT (-1) CORPUS other, as of `version` where one is given."""

    name: str
    other: str
    sign: int
    version: int | None
    statement: str

    def label(self) -> str:
        verb, link = ("add", "to") if self.sign > 0 else ("subtract", "from")
        at = "" if self.version is None else f" at version {self.version}"
        return f"{verb} corpus {self.other}{at} {link} {self.name}"


class OfDocuments(Outer):
    """What carries the documents of a DOCS elsewhere: what is chosen of these, is chosen there."""

    documents: Documents
    carries_documents = True

    @property
    def inner(self) -> Plan:
        return self.documents

    def with_inner(self, inner: Plan, fired: tuple[str, ...]) -> Plan:
        return changed(self, documents=inner)

    def details(self) -> tuple[str, ...]:
        return self.documents.details()

    def where_clause(self) -> DocExpr | None:
        return self.documents.where

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, documents=changed(self.documents, where=tree))


@dataclass(frozen=True)
class ExportDocuments(OfDocuments):
    """COPY (DOCS …) TO. `options` are those of `EXPORT_OPTIONS`."""

    documents: Documents
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"export {self.documents.label()} to {self.path}"


@dataclass(frozen=True)
class CopyDocuments(OfDocuments):
    """CREATE CORPUS … AS (DOCS …): a corpus of its own with these documents."""

    name: str
    documents: Documents
    if_not_exists: bool = False

    def label(self) -> str:
        return f"create corpus {self.name} of {self.documents.label()}"


@dataclass(frozen=True)
class ExportRows(Outer):
    """COPY of the rows of any question TO a file. `options` are those of `EXPORT_OPTIONS`."""

    question: Plan
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"write {self.question.label()} to {self.path}"

    @property
    def inner(self) -> Plan:
        return self.question

    def with_inner(self, inner: Plan, fired: tuple[str, ...]) -> Plan:
        return changed(self, question=inner)

    def details(self) -> tuple[str, ...]:
        return self.question.details()

    def tree(self) -> Node | None:
        return self.question.tree()

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, question=self.question.with_tree(tree))
