"""Statements that change something: corpora, settings, the current corpus."""

from __future__ import annotations

from ngramdb.executor.result import Result
from ngramdb.executor.session import Session
from ngramdb.planner.plan import ChangeSetting, CreateCorpus, DropCorpus, Load, UseCorpus

LOAD_COLUMNS = ("documents", "tokens", "segments", "skipped", "version")


def create(plan: CreateCorpus, session: Session) -> Result:
    version = session.run_create(plan)
    if version is None:
        return Result(summary={"message": f"corpus {plan.name} exists already", "changed": False})
    return Result(summary={"message": f"corpus {plan.name} created", "changed": True, "version": version})


def drop(plan: DropCorpus, session: Session) -> Result:
    version = session.run_drop(plan)
    if version is None:
        return Result(summary={"message": f"there is no corpus {plan.name}", "changed": False})
    return Result(summary={"message": f"corpus {plan.name} dropped", "changed": True, "version": version})


def load(plan: Load, session: Session) -> Result:
    """One row: what was loaded. The summary has the first few reasons of documents that were skipped."""
    report = session.run_load(plan)
    row = (report.documents, report.tokens, report.segments, report.skipped, report.version)
    return Result.of_rows(LOAD_COLUMNS, [row], reasons=list(report.reasons))


def use(plan: UseCorpus, session: Session) -> Result:
    session.run_use(plan.name)
    return Result(summary={"message": f"using corpus {plan.name}"})


def change_setting(plan: ChangeSetting, session: Session) -> Result:
    value = session.run_setting(plan)
    return Result(summary={"message": f"{plan.name} = {value!r}", "name": plan.name, "value": value})
