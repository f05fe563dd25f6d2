"""ALTER CORPUS."""

from __future__ import annotations

from ngramdb.executor.results.result import Result
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.binding.scope import Scope
from ngramdb.planner.plan import Plan
from ngramdb.questions.plans import Action
from ngramdb.questions.session import Session

ALTER_COLUMNS = ("documents", "tokens", "version")


def bind(scope: Scope, node: ast.Alter) -> Plan:
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
