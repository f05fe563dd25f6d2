"""SET and RESET."""

from __future__ import annotations

from ngramdb.errors import InvalidArgument, PlanError
from ngramdb.executor.results.result import Result
from ngramdb.language import ast
from ngramdb.late_dataclasses import dataclass
from ngramdb.planner.plan import Plan
from ngramdb.planner.scope import Scope
from ngramdb.questions.plans import Action, Session


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
