"""ALTER CORPUS … ADD FIELDS and DROP FIELD: metadata fields that change after loading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.bind_fields import DOC_ID, bound_field, path_of
from ngramdb.planner.plan import FieldKey
from ngramdb.planner.scope import Scope
from ngramdb.questions.plans import Action, FieldsReport, Session
from ngramdb.source import Corpus

# First keys that the notes of ADD FIELDS list, and those of a report.
SHOWN = 5

ADD_COLUMNS = ("documents", "without_row", "rows", "unmatched", "version")
DROP_COLUMNS = ("fields", "version")


# Syntax and examples, for help.
HELP = {
    "ADD FIELDS": (
        "ALTER CORPUS corpus ADD FIELDS FROM 'path or pattern' ON field [(field {, field})] [REPLACE]",
        ("ALTER CORPUS wiki ADD FIELDS FROM 'scores.parquet' ON id", "columns of a table, joined by a key"),
    ),
    "DROP FIELD": ("ALTER CORPUS corpus DROP FIELD field {, field}",),
}


def bind_add(scope: Scope, node: ast.AddFields) -> AddFields:
    """Bind ALTER CORPUS … ADD FIELDS."""
    name = scope.corpus_name(node.name)
    path = scope.path(node.path, "the path after FROM")
    key_of(scope, node.key, scope.catalog.corpus_view(name))
    fields = tuple(path_of(one.keys) for one in node.fields) or None
    return AddFields(
        name,
        (path,),
        lambda view: key_of(scope, node.key, view),
        path_of(node.key.keys),
        fields,
        node.replace,
    )


def key_of(scope: Scope, node: ast.Field, corpus: Corpus) -> FieldKey:
    """Return the field by which documents are matched. Raises BindError, PlanError."""
    key = bound_field(scope, node, corpus)[0]
    if key.own and key.path != DOC_ID:
        scope.fail(PlanError, f"{key.path} does not identify documents; ON takes a field, or doc_id", node)
    return key


@dataclass(frozen=True)
class AddFields(Action):
    """ALTER CORPUS … ADD FIELDS: the columns of a table become fields of the documents with its keys.

    table : a tuple of paths, or a table in memory
    key : binds the documents' key to the version that the commit succeeds
    column : the path of the key in the table
    fields : the fields to add; None for all but the key
    """

    name: str
    table: Any = field(compare=False, repr=False)
    key: Callable[[Corpus], FieldKey] = field(compare=False, repr=False)
    column: str
    fields: tuple[str, ...] | None = None
    replaces: bool = False

    def label(self) -> str:
        shown = "fields" if self.fields is None else ", ".join(self.fields)
        source = ", ".join(self.table) if isinstance(self.table, tuple) else f"a {type(self.table).__name__}"
        return f"add {shown} to {self.name} from {source}, by {self.column}"

    def details(self) -> tuple[str, ...]:
        return ("existing fields are replaced",) if self.replaces else ()

    def act(self, session: Session) -> Result:
        """Return one row: documents with and without new values, all rows, rows without documents."""
        done = session.run_add_fields(
            self.name, self.table, self.key, self.column, self.fields, self.replaces
        )
        row = (done.documents, done.without_row, done.rows, done.unmatched, done.version)
        notes = "; ".join((*_notes(done), *done.notes))
        return Result.of_rows(ADD_COLUMNS, [row], **({"note": notes} if notes else {}))


def _notes(done: FieldsReport) -> list[str]:
    """Return what was not matched one to one, with the first few of each kind."""
    said = []
    if done.unmatched:
        said.append(f"no document has the key of {_rows(done.unmatched)}: {_some(done.first_unmatched)}")
    if done.without_row:
        said.append(f"{_documents(done.without_row)} without a row: {_some(done.first_without_row)}")
    if done.without_key:
        said.append(f"{_rows(done.without_key)} without a key")
    if done.repeated:
        said.append(f"{_rows(done.repeated)} repeated an earlier one")
    if done.shared:
        said.append(f"{_documents(done.shared)} share a key with others, and so have the same row")
    return said


def _some(items: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, items)) + ", …" * (len(items) == SHOWN)


def _rows(n: int) -> str:
    return f"{n:,} row{'' if n == 1 else 's'}"


def _documents(n: int) -> str:
    return f"{n:,} document{'' if n == 1 else 's'}"


def bind_drop(scope: Scope, node: ast.DropFields) -> DropFields:
    """Bind ALTER CORPUS … DROP FIELD."""
    return dropped(scope, scope.corpus_name(node.name), node.fields)


def dropped(scope: Scope, name: str, nodes: Sequence[ast.Field]) -> DropFields:
    """Return the plan that drops fields of a corpus."""

    def bind(view: Corpus) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_path_of(scope, node, view) for node in nodes))

    return DropFields(name, bind(scope.catalog.corpus_view(name)), bind)


def _path_of(scope: Scope, node: ast.Field, corpus: Corpus) -> str:
    """Return the path of a field or of an object with fields. Raises BindError."""
    path = path_of(node.keys)
    if any(segment.metadata.has_within(path) for segment in corpus.segments):
        return path
    key = bound_field(scope, node, corpus)[0]
    if key.own:
        scope.fail(PlanError, f"{key.path} is not a metadata field, so it stays", node)
    return key.path


@dataclass(frozen=True)
class DropFields(Action):
    """ALTER CORPUS … DROP FIELD. `bind` returns the paths at the version that the commit succeeds."""

    name: str
    shown: tuple[str, ...]
    bind: Callable[[Corpus], tuple[str, ...]] = field(compare=False, repr=False)

    def label(self) -> str:
        return f"drop {', '.join(self.shown)} from {self.name}"

    def act(self, session: Session) -> Result:
        """Return one row: the number of fields that were dropped."""
        with session.change(self.name, self.label()) as change:
            paths = self.bind(change.view)
            change.drop_fields(paths)
            version = change.commit().version
        return Result.of_rows(DROP_COLUMNS, [(len(paths), version)], version=version)
