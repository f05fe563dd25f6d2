"""KEEP VERSION, DROP VERSION and RESTORE CORPUS."""

from __future__ import annotations

from ngramdb.executor.results.result import Result
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions.plans import Action, Session

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
