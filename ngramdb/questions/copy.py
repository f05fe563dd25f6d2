"""COPY … FROM files into a corpus, and COPY of documents or rows TO a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ngramdb.executor.results.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.parameters import EXPORT_OPTIONS, LOAD_OPTIONS
from ngramdb.planner.plan import Node, Outer, Plan, changed
from ngramdb.planner.scope import Scope
from ngramdb.questions.docs import Documents, OfDocuments
from ngramdb.questions.plans import Action, Session, Written, run

LOAD_COLUMNS = ("documents", "tokens", "segments", "skipped", "version")
EXPORT_COLUMNS = ("documents", "path")
WRITTEN_COLUMNS = ("rows", "path")

# Syntax and examples, for help.
HELP = {
    "COPY": (
        "COPY corpus FROM 'path or pattern' [(options)] [ON ERROR SKIP | FAIL]\n"
        "COPY (question) TO 'path' [(options)]",
        ("COPY wiki FROM 'data/*.jsonl.gz' (FORMAT jsonl)", "documents into it"),
    ),
}


def bind_from(scope: Scope, node: ast.CopyFrom) -> Plan:
    """Bind COPY … FROM."""
    name = scope.corpus_name(node.corpus)
    path = scope.path(node.path, "the path after FROM")
    return Load(name, (path,), scope.options(node.options, LOAD_OPTIONS), node.skip_errors)


@dataclass(frozen=True)
class Load(Action):
    """COPY … FROM and `Corpus.load`. `options` are those of `LOAD_OPTIONS`."""

    name: str
    paths: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    skip_errors: bool = False

    def label(self) -> str:
        return f"load into {self.name} from {', '.join(self.paths)}"

    def details(self) -> tuple[str, ...]:
        shown = tuple(f"{name} {value!r}" for name, value in self.options.items())
        return (*shown, "on error " + ("skip" if self.skip_errors else "fail"))

    def act(self, session: Session) -> Result:
        """Return one row: what was loaded. The summary has the first few reasons of skipped documents."""
        report = session.run_load(self.name, self.paths, self.options, self.skip_errors)
        row = (report.documents, report.tokens, report.segments, report.skipped, report.version)
        note = {"note": "; ".join(report.notes)} if report.notes else {}
        return Result.of_rows(LOAD_COLUMNS, [row], reasons=list(report.reasons), **note)


def bind_to(scope: Scope, node: ast.CopyTo) -> Plan:
    """Bind COPY … TO."""
    question = scope.bind(node.question)
    path = scope.path(node.path, "the path after TO")
    options = scope.options(node.options, EXPORT_OPTIONS)
    question = changed(question, phrases=())  # those of the whole statement
    if isinstance(question, Documents) and not question.returning:
        return ExportDocuments(question, path, options)
    return ExportRows(question, path, options)


@dataclass(frozen=True)
class ExportDocuments(OfDocuments):
    """COPY (DOCS …) TO. `options` are those of `EXPORT_OPTIONS`."""

    documents: Documents
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"export {self.documents.label()} to {self.path}"

    def act(self, session: Session) -> Result:
        """Return one row: the number of documents that were written, and the path."""
        written = session.run_export(self.documents, self.path, self.options.get("format"))
        drawn = written.summary if "seed" in written.summary else {}
        return _written(EXPORT_COLUMNS, self.path, written, {"documents": written.n, **drawn})


@dataclass(frozen=True)
class ExportRows(Outer, Action):
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

    def act(self, session: Session) -> Result:
        """Return one row: the number of rows that were written, and the path.

        The summary and the notes are those of the question.
        """
        written = session.run_export_rows(run(self.question, session), self.path, self.options.get("format"))
        return _written(WRITTEN_COLUMNS, self.path, written, {"rows": written.n, **written.summary})


def _written(columns: Sequence[str], path: str, written: Written, summary: dict[str, Any]) -> Result:
    said = [written.summary.get("note"), *(item.message for item in written.cautions)]
    note = "; ".join(filter(None, said))
    result = Result.of_rows(columns, [(written.n, path)], **summary | ({"note": note} if note else {}))
    result.cautions = written.cautions
    result.exact = written.exact
    result.found = written.found
    return result
