"""Running statements and plans: language, planner and executor wired together on one snapshot.

Imported when a connection runs its first statement; opening a database does without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ngramdb.api.checking import find_problems
from ngramdb.api.explaining import explain
from ngramdb.api.loading import LoadReport
from ngramdb.api.parsing import parsed
from ngramdb.api.settings import SETTINGS
from ngramdb.api.snapshot import Snapshot
from ngramdb.errors import QueryError
from ngramdb.executor.result import Result
from ngramdb.executor.run import run
from ngramdb.language import ast
from ngramdb.planner.binder import Binder
from ngramdb.planner.parameters import Parameters, ParameterValues
from ngramdb.planner.plan import ChangeSetting, CreateCorpus, DropCorpus, ExplainPlan, Load, Plan
from ngramdb.planner.planner import make_plan

if TYPE_CHECKING:
    from ngramdb.api.connection import Connection
    from ngramdb.engine.view import CorpusView


def execute_all(connection: Connection, sql: str, params: ParameterValues) -> Result:
    """Runs the statements of a text one after the other; the last one's result."""
    statements = parsed(sql)
    parameters = Parameters(statements, params, sql)
    result = Result(summary={"message": "(no statement)"}, snapshot=connection.version)
    for statement in statements:
        result.close()
        result = _execute_one(connection, statement, parameters, sql)
    return result


def _execute_one(
    connection: Connection, statement: ast.Statement, parameters: Parameters, sql: str
) -> Result:
    connection.refresh()
    session = Session(connection, connection.snapshot)
    try:
        return run_plan(make_plan(statement, session, parameters, sql), session)
    except QueryError as error:
        if error.text is None:
            error.text = sql
        raise


def run_plan(plan: Plan, session: Session) -> Result:
    """Runs a finished plan on the snapshot it was made for."""
    result = explain(plan) if isinstance(plan, ExplainPlan) else run(plan, session)
    result.snapshot = result.summary.get("version", session.manifest.version)
    return result


def current_corpus(session: Session) -> str:
    """The corpus that a statement without FROM means. Raises BindError when that is not clear."""
    return Binder(session).corpus(None).entry.name


class Session:
    """A connection on one snapshot: the catalog that planning asks, and what running statements need."""

    def __init__(self, connection: Connection, snapshot: Snapshot) -> None:
        self._connection = connection
        self._snapshot = snapshot

    # ---- what the planner asks --------------------------------------------------------------------------

    @property
    def current(self) -> str | None:
        return self._connection._current

    def corpus_names(self) -> list[str]:
        return self._snapshot.names()

    def corpus_view(self, name: str, /) -> CorpusView:
        return self._snapshot.view(name)

    def setting_names(self) -> list[str]:
        return list(SETTINGS)

    def check_setting(self, name: str, value: Any, /) -> Any:
        return SETTINGS[name].check(name, value)

    def disabled_rules(self) -> frozenset[str]:
        return self._connection.settings.disabled_rules

    # ---- what running statements needs ------------------------------------------------------------------

    @property
    def manifest(self) -> Any:
        return self._snapshot.manifest

    def versions(self) -> Sequence[Any]:
        return sorted(self._connection._store.versions(), key=lambda manifest: manifest.version)

    def setting_rows(self) -> list[tuple[Any, ...]]:
        return self._connection.settings.rows()

    def findings(self, names: Sequence[str], /) -> Iterator[tuple[str | None, str, int | None, str]]:
        """Every problem of these corpora: damaged files first, then parts that contradict each other."""
        return find_problems(self._connection._store, self._snapshot, names)

    def run_create(self, plan: CreateCorpus, /) -> int | None:
        return self._connection.create(plan)

    def run_drop(self, plan: DropCorpus, /) -> int | None:
        return self._connection.drop(plan)

    def run_load(self, plan: Load, /) -> LoadReport:
        return self._connection.load(plan)

    def run_use(self, name: str, /) -> None:
        self._connection.use(name)

    def run_setting(self, plan: ChangeSetting, /) -> Any:
        settings = self._connection.settings
        if plan.reset:
            settings.reset(plan.name)
        else:
            settings[plan.name] = plan.value
        return settings[plan.name]
