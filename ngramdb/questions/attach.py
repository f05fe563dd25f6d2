"""ATTACH and DETACH of other programs' indexes, and USE of a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ngramdb.executor.results.result import Result
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.options import ATTACH_OPTIONS
from ngramdb.planner.plan import Plan
from ngramdb.questions.plans import Action
from ngramdb.questions.session import Session


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
