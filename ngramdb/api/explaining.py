"""EXPLAIN: a plan as a table of lines, with or without running it."""

from __future__ import annotations

import time

from ngramdb.errors import PlanError
from ngramdb.executor.results.result import Result
from ngramdb.executor.run import answer, is_question
from ngramdb.planner.explain import explain_lines
from ngramdb.planner.plan import ExplainPlan
from ngramdb.planner.plan_meter import PlanMeter

COLUMNS = ("plan",)


def explain(plan: ExplainPlan) -> Result:
    """Return the plan's lines; with ANALYZE, run the query, count its rows and discard them.

    Raises
    ------
    PlanError
        ANALYZE of a statement that changes something: it must not be run.
    """
    if not plan.analyze:
        return Result.of_rows(COLUMNS, [(line,) for line in explain_lines(plan)])
    if not is_question(plan.plan):
        raise PlanError(
            "EXPLAIN ANALYZE runs its statement and so allows queries only; EXPLAIN alone shows this plan"
        )
    meter = PlanMeter()
    started = time.perf_counter()
    result = answer(plan.plan, meter)
    n_rows = sum(map(len, result.batches()))
    seconds = time.perf_counter() - started
    total = f"actual {n_rows:,} row{'' if n_rows == 1 else 's'}, {seconds * 1e3:.3f} ms"
    lines = explain_lines(plan, meter.actual, total)
    return Result.of_rows(COLUMNS, [(line,) for line in lines], n_rows=n_rows, seconds=seconds)
