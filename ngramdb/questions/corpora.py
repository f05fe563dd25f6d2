"""CREATE CORPUS and DROP CORPUS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ngramdb.errors import PlanError
from ngramdb.executor.results.result import Result
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.options import CORPUS_OPTIONS
from ngramdb.planner.plan import Plan, changed
from ngramdb.questions.docs_plan import Documents, OfDocuments, selected
from ngramdb.questions.plans import Action
from ngramdb.questions.session import Session
from ngramdb.registries import DEFAULT_TOKENIZER


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
            what = f"{name} and AS don't go together: a copy has the tokenizer and the options of its corpus"
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


@dataclass(frozen=True)
class CopyDocuments(OfDocuments):
    """CREATE CORPUS … AS (DOCS …): a corpus of its own with these documents."""

    name: str
    documents: Documents
    if_not_exists: bool = False

    def label(self) -> str:
        return f"create corpus {self.name} of {self.documents.label()}"

    def act(self, session: Session) -> Result:
        chosen = selected(self.documents)
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
