"""COPY (DELETE … | CUT … | DECONTAMINATE …) TO: what these would remove is written, and nothing removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_fields import bound_key
from ngramdb.planner.parameters import REMOVAL_OPTIONS
from ngramdb.planner.plan import DocExpr, FieldKey, Node, Outer, Plan, changed
from ngramdb.planner.scope import Scope
from ngramdb.questions import to_ast
from ngramdb.questions.document_columns import metadata_fields
from ngramdb.questions.plans import Action, Removal, Session, Written
from ngramdb.source import Corpus

COLUMNS = ("rows", "path")
# The field that identifies documents if no other is given.
ID = "id"


def bind_removal(scope: Scope, node: ast.CopyTo, removal: Removal) -> Plan:
    """Bind COPY of a statement that removes."""
    if isinstance(node.question, ast.Delete) and node.question.returning:
        what = "RETURNING chooses columns, and the file has its own; leave it out"
        scope.fail(PlanError, what, node.question.returning[0])
    if isinstance(node.question, ast.Decontaminate) and not node.question.delete:
        what = "the file has the documents that DECONTAMINATE … DELETE would remove; add DELETE"
        scope.fail(PlanError, what, node.question)
    options = scope.options(node.options, REMOVAL_OPTIONS)
    corpus = removal.corpus
    key = FieldKey("doc_id", True)
    if "id" in options:
        key = bound_key(scope, to_ast.key(options.pop("id")), corpus)
    elif ID in metadata_fields(corpus):
        key = bound_key(scope, ast.Field((ID,)), corpus)
    path = scope.path(node.path, "the path after TO")
    return ExportRemoval(
        removal, path, key, {"attribute": removal.name, "in_ranges": removal.is_of_ranges, **options}
    )


@dataclass(frozen=True)
class ExportRemoval(Outer, Action):
    """COPY of a statement that removes TO a file. `key` identifies documents there.

    `options` are those of `export_marks` (`ngramdb.api.verbs.range_files`).
    """

    removal: Removal
    path: str
    key: FieldKey
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"write what would be removed to {self.path}: {self.removal.label()}"

    @property
    def inner(self) -> Plan:
        return self.removal

    def with_inner(self, inner: Plan, fired: tuple[str, ...]) -> Plan:
        return changed(self, removal=inner)

    def details(self) -> tuple[str, ...]:
        return self.removal.details()

    def where_clause(self) -> DocExpr | None:
        return self.removal.where_clause()

    def tree(self) -> Node | None:
        return self.removal.tree()

    def with_tree(self, tree: Node) -> Plan:
        return changed(self, removal=self.removal.with_tree(tree))

    def act(self, session: Session) -> Result:
        """Return one row: the number of rows that were written, and the path."""
        corpus: Corpus = self.removal.corpus
        marks = self.removal.marks(session)
        written: Written = session.run_export_marks(corpus, marks, self.key, self.path, self.options)
        return Result.of_rows(COLUMNS, [(written.n, self.path)], rows=written.n, **written.summary)
