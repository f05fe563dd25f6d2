"""CREATE, DROP and ALTER CORPUS, COPY, ATTACH and DETACH of other programs' indexes, USE, SET and RESET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.result import Result
from ngramdb.language import ast
from ngramdb.lazy import dataclass
from ngramdb.planner.parameters import ATTACH_OPTIONS, CORPUS_OPTIONS, EXPORT_OPTIONS, LOAD_OPTIONS
from ngramdb.planner.plan import Node, Outer, Plan, changed
from ngramdb.planner.scope import Scope
from ngramdb.questions.docs import Documents, OfDocuments, selected
from ngramdb.questions.plans import Action, Removal, Session, Written, run
from ngramdb.questions.removal_files import bind_removal
from ngramdb.registries import DEFAULT_TOKENIZER

# Syntax and examples, for help.
HELP = {
    "CREATE CORPUS": (
        "CREATE CORPUS [IF NOT EXISTS] name [TOKENIZER 'name or path'] [WITH (options)] [AS (docs)]",
        ("CREATE CORPUS wiki TOKENIZER 'words'", "a new, empty corpus"),
        ("CREATE CORPUS late AS (DOCS WHERE year > 2000)", "some documents as a corpus of their own"),
    ),
    "ALTER CORPUS": ("ALTER CORPUS corpus ADD | SUBTRACT CORPUS corpus [AT VERSION n | 'name']",),
    "DROP CORPUS": ("DROP CORPUS [IF EXISTS] corpus",),
    "ATTACH": (
        "ATTACH 'path' AS name [(options)]",
        ("ATTACH '/data/pile' AS pile (TYPE infini_gram)", "an index of infini-gram's as a corpus"),
    ),
    "DETACH": ("DETACH corpus",),
    "USE": ("USE corpus", ("USE wiki", "questions without FROM go to this corpus")),
    "SET": ("SET name = value", ("SET threads = 2", "changes a setting")),
    "RESET": ("RESET name",),
    "COPY": (
        "COPY corpus FROM 'path or pattern' [(options)] [ON ERROR SKIP | FAIL]\n"
        "COPY (question | DELETE … | CUT … | DECONTAMINATE …) TO 'path' [(options)]",
        ("COPY wiki FROM 'data/*.jsonl.gz' (FORMAT jsonl)", "documents into it"),
    ),
}


def bind_create(scope: Scope, node: ast.CreateCorpus) -> Plan:
    """Bind CREATE CORPUS."""
    tokenizer = DEFAULT_TOKENIZER if node.tokenizer is None else scope.string(node.tokenizer, "TOKENIZER")
    options = scope.options(node.options, CORPUS_OPTIONS)
    name = scope.new_corpus_name(node.name)
    if node.documents is not None:
        return _bind_copy(scope, node, node.documents)
    return CreateCorpus(name, tokenizer, node.if_not_exists, options)


def _bind_copy(scope: Scope, node: ast.CreateCorpus, documents: ast.Docs) -> Plan:
    """Bind CREATE CORPUS … AS (DOCS …)."""
    for given, name in ((node.tokenizer, "TOKENIZER"), (node.options, "WITH")):
        if given:
            what = f"{name} and AS cannot be combined: a copy has the tokenizer and the options of its corpus"
            scope.fail(PlanError, what, node)
    if documents.returning:
        what = "RETURNING chooses columns, and documents are copied whole; leave it out"
        scope.fail(PlanError, what, documents.returning[0])
    if documents.source is not None and sum(term.sign > 0 for term in documents.source.terms) > 1:
        what = "AS copies documents of one corpus, or of a difference; ALTER CORPUS … ADD CORPUS adds others"
        scope.fail(PlanError, what, documents.source)
    found = scope.bind(documents)
    assert isinstance(found, Documents)
    return CopyDocuments(node.name.value, changed(found, phrases=()), node.if_not_exists)


@dataclass(frozen=True)
class CreateCorpus(Action):
    """CREATE CORPUS."""

    name: str
    tokenizer: Any  # a name or path, or an object that has a tokenizer.json
    if_not_exists: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"create corpus {self.name}, tokenizer {self._shown}"

    @property
    def _shown(self) -> str:
        return self.tokenizer if isinstance(self.tokenizer, str) else type(self.tokenizer).__name__

    def act(self, session: Session) -> Result:
        version = session.run_create(self.name, self.tokenizer, self.if_not_exists, self.options)
        if version is None:
            return _existing(self.name)
        return Result(summary={"message": f"corpus {self.name} created", "changed": True, "version": version})


# Facts about a sample that is copied.
_DRAWN = ("total", "sampled", "seed", "note")


@dataclass(frozen=True)
class CopyDocuments(OfDocuments):
    """CREATE CORPUS … AS (DOCS …): a corpus of its own with these documents."""

    name: str
    documents: Documents
    if_not_exists: bool = False

    def label(self) -> str:
        return f"create corpus {self.name} of {self.documents.label()}"

    def act(self, session: Session) -> Result:
        chosen, drawn = selected(self.documents)
        made = session.run_copy(self.name, self.documents.corpus, chosen, self.if_not_exists)
        if made is None:
            return _existing(self.name)
        shown = f"{made.documents:,} document{'' if made.documents == 1 else 's'}, {made.tokens:,} tokens"
        return Result(
            summary={
                "message": f"corpus {self.name} created: {shown}",
                "changed": True,
                "documents": made.documents,
                "tokens": made.tokens,
                "version": made.version,
                **({name: drawn[name] for name in _DRAWN if name in drawn} if "seed" in drawn else {}),
            }
        )


def _existing(name: str) -> Result:
    return Result(summary={"message": f"corpus {name} exists already", "changed": False})


def bind_drop(scope: Scope, node: ast.DropCorpus) -> Plan:
    """Bind DROP CORPUS."""
    name = node.name.value if node.if_exists else scope.corpus_name(node.name)
    return DropCorpus(name, node.if_exists)


@dataclass(frozen=True)
class DropCorpus(Action):
    """DROP CORPUS."""

    name: str
    if_exists: bool = False

    def label(self) -> str:
        return f"drop corpus {self.name}"

    def act(self, session: Session) -> Result:
        version = session.run_drop(self.name, self.if_exists)
        if version is None:
            return Result(summary={"message": f"there is no corpus {self.name}", "changed": False})
        return Result(summary={"message": f"corpus {self.name} dropped", "changed": True, "version": version})


ALTER_COLUMNS = ("documents", "tokens", "version")


def bind_alter(scope: Scope, node: ast.Alter) -> Plan:
    """Bind ALTER CORPUS."""
    name = scope.corpus_name(node.name)
    version = scope.version(node.term.version)
    other = scope.corpus_name(node.term.corpus) if version is None else node.term.corpus.value
    return AlterCorpus(name, other, node.term.sign, version, scope.written(node))


@dataclass(frozen=True)
class AlterCorpus(Action):
    """ALTER CORPUS name ADD (`sign` 1) or SUBTRACT (-1) CORPUS other, as of `version` if one is given."""

    name: str
    other: str
    sign: int
    version: int | None
    statement: str

    def label(self) -> str:
        verb, link = ("add", "to") if self.sign > 0 else ("subtract", "from")
        at = "" if self.version is None else f" at version {self.version}"
        return f"{verb} corpus {self.other}{at} {link} {self.name}"

    def act(self, session: Session) -> Result:
        """Return one row: the documents that were added or removed."""
        report = session.run_alter(self.name, self.other, self.sign, self.version, self.statement)
        row = (report.documents, report.tokens, report.version)
        return Result.of_rows(ALTER_COLUMNS, [row], version=report.version)


def bind_attach(scope: Scope, node: ast.Attach) -> Plan:
    """Bind ATTACH."""
    path = scope.path(node.path, "the path after ATTACH")
    options = scope.options(node.options, ATTACH_OPTIONS)
    return AttachIndex(path, scope.new_corpus_name(node.name), options)


@dataclass(frozen=True)
class AttachIndex(Action):
    """ATTACH. `options` are those of `ATTACH_OPTIONS`."""

    path: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def label(self) -> str:
        return f"attach {self.path} as {self.name}"

    def details(self) -> tuple[str, ...]:
        return tuple(f"{name} {value!r}" for name, value in self.options.items())

    def act(self, session: Session) -> Result:
        session.run_attach(self.path, self.name, self.options)
        return Result(summary={"message": f"{self.path} attached as {self.name}"})


def bind_detach(scope: Scope, node: ast.Detach) -> Plan:
    """Bind DETACH."""
    return DetachIndex(scope.corpus_name(node.name))


@dataclass(frozen=True)
class DetachIndex(Action):
    """DETACH."""

    name: str

    def label(self) -> str:
        return f"detach {self.name}"

    def act(self, session: Session) -> Result:
        session.run_detach(self.name)
        return Result(summary={"message": f"{self.name} detached"})


def bind_use(scope: Scope, node: ast.Use) -> Plan:
    """Bind USE."""
    return UseCorpus(scope.corpus_name(node.name))


@dataclass(frozen=True)
class UseCorpus(Action):
    """USE: the session's current corpus."""

    name: str

    def label(self) -> str:
        return f"use {self.name}"

    def act(self, session: Session) -> Result:
        session.run_use(self.name)
        return Result(summary={"message": f"using corpus {self.name}"})


def bind_set(scope: Scope, node: ast.SetSetting) -> Plan:
    """Bind SET."""
    name = _name(scope, node.name)
    try:
        value = scope.catalog.check_setting(name, scope.scalar(node.value))
    except InvalidArgument as error:
        scope.fail(PlanError, str(error), node.value, error)
    return ChangeSetting(name, value)


def bind_reset(scope: Scope, node: ast.ResetSetting) -> Plan:
    """Bind RESET."""
    return ChangeSetting(_name(scope, node.name), reset=True)


def _name(scope: Scope, name: ast.Name) -> str:
    known = scope.catalog.setting_names()
    if name.value.lower() not in known:
        scope.unknown("setting", name, known, "there are no settings")
    return name.value.lower()


@dataclass(frozen=True)
class ChangeSetting(Action):
    """SET; `value` None with `reset` restores the default."""

    name: str
    value: str | int | float | bool | None = None
    reset: bool = False

    def label(self) -> str:
        return f"reset {self.name}" if self.reset else f"set {self.name} to {self.value!r}"

    def act(self, session: Session) -> Result:
        value = session.run_setting(self.name, self.value, self.reset)
        message = f"{self.name} = {notation(value)}"
        return Result(summary={"message": message, "name": self.name, "value": value})


def notation(value: str | int | float | bool) -> str:
    """Return a setting's value as it is written in a statement."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"{value:g}" if isinstance(value, float) else str(value)


# ---- COPY … FROM files into a corpus, and COPY of documents or rows TO a file.


LOAD_COLUMNS = ("documents", "tokens", "segments", "skipped", "version")
EXPORT_COLUMNS = ("documents", "path")
WRITTEN_COLUMNS = ("rows", "path")

# Syntax and examples, for help.


def bind_copy_from(scope: Scope, node: ast.CopyFrom) -> Plan:
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


def bind_copy_to(scope: Scope, node: ast.CopyTo) -> Plan:
    """Bind COPY … TO."""
    question = scope.bind(node.question)
    if isinstance(question, Removal):
        return bind_removal(scope, node, changed(question, phrases=()))
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
        written = session.run_export(self.documents, self.path, self.options)
        told = {} if {"seed", "dtype"}.isdisjoint(written.summary) else written.summary
        return _written(EXPORT_COLUMNS, self.path, written, {"documents": written.n, **told})


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
        written = session.run_export_rows(run(self.question, session), self.path, self.options)
        return _written(WRITTEN_COLUMNS, self.path, written, {"rows": written.n, **written.summary})


def _written(columns: Sequence[str], path: str, written: Written, summary: dict[str, Any]) -> Result:
    said = [written.summary.get("note"), *(item.message for item in written.cautions)]
    note = "; ".join(filter(None, said))
    result = Result.of_rows(columns, [(written.n, path)], **summary | ({"note": note} if note else {}))
    result.cautions = written.cautions
    result.exact = written.exact
    result.found = written.found
    return result
