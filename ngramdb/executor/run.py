"""Running a plan: by the operator or the action that its class names, imported when it is first run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngramdb.errors import PlanError
from ngramdb.executor.results.result import Result
from ngramdb.lazy import function_named
from ngramdb.planner.plan import COUNT_COLUMNS, Constant, Plan, SliceQuestion

if TYPE_CHECKING:
    from ngramdb.executor.session import Session
    from ngramdb.planner.plan_meter import PlanMeter

_PACKAGE = "ngramdb.executor"


def is_question(plan: Plan) -> bool:
    """Whether running the plan only reads the corpus that it holds."""
    return isinstance(plan, Constant) or plan.operator is not None


def answer(plan: Plan, meter: PlanMeter | None = None) -> Result:
    """Answer a question. With a meter, conditions on documents record what they did."""
    if isinstance(plan, Constant):
        known = Result.of_rows(plan.columns, plan.rows, **plan.summary)
        if plan.columns == COUNT_COLUMNS:
            known.found = plan.rows[0][0] > 0
        return known
    if plan.operator is None:
        raise PlanError(f"{plan.label()} is no question")
    operator = function_named(_PACKAGE, plan.operator)
    if isinstance(plan, SliceQuestion):
        answered: Result
        if plan.where is None:
            answered = operator(plan)
            return answered
        answered = function_named(_PACKAGE, "document_subset.answer_among")(plan, operator, meter)
        return answered
    result: Result = operator(plan) if meter is None or plan.tree() is None else operator(plan, meter)
    return result


def run(plan: Plan, session: Session) -> Result:
    """Run any plan: answer a question, or act through the session."""
    if plan.action is None:
        return answer(plan)
    result: Result = function_named(_PACKAGE, plan.action)(plan, session)
    return result
