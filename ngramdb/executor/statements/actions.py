"""Statements that change something: corpora, settings, the current corpus."""

from __future__ import annotations

from ngramdb.executor.results.result import Result
from ngramdb.executor.session import Session
from ngramdb.planner.plan import (
    ANALYZE_COLUMNS,
    AnalyzeCorpus,
    AttachIndex,
    ChangeSetting,
    CreateCorpus,
    DetachIndex,
    DropCorpus,
    Load,
    UseCorpus,
)

LOAD_COLUMNS = ("documents", "tokens", "segments", "skipped", "version")


def create(plan: CreateCorpus, session: Session) -> Result:
    """Run CREATE CORPUS."""
    version = session.run_create(plan)
    if version is None:
        return Result(summary={"message": f"corpus {plan.name} exists already", "changed": False})
    return Result(summary={"message": f"corpus {plan.name} created", "changed": True, "version": version})


def drop(plan: DropCorpus, session: Session) -> Result:
    """Run DROP CORPUS."""
    version = session.run_drop(plan)
    if version is None:
        return Result(summary={"message": f"there is no corpus {plan.name}", "changed": False})
    return Result(summary={"message": f"corpus {plan.name} dropped", "changed": True, "version": version})


def load(plan: Load, session: Session) -> Result:
    """One row: what was loaded. The summary has the first few reasons of documents that were skipped."""
    report = session.run_load(plan)
    row = (report.documents, report.tokens, report.segments, report.skipped, report.version)
    note = {"note": "; ".join(report.notes)} if report.notes else {}
    return Result.of_rows(LOAD_COLUMNS, [row], reasons=list(report.reasons), **note)


def analyze(plan: AnalyzeCorpus, session: Session) -> Result:
    """A row per length of n-grams: how many there are, and the discounts that Kneser-Ney takes of them."""
    report = session.run_analyze(plan)
    statistics = report.statistics
    fallen_back = statistics.fallbacks()
    rows = [
        (length, n_types, *discount, length in fallen_back)
        for length, (n_types, discount) in enumerate(
            zip(statistics.n_types, statistics.discounts(), strict=True), start=1
        )
    ]
    note = statistics.note()
    summary = {"version": report.version} | ({} if note is None else {"note": note})
    return Result.of_rows(ANALYZE_COLUMNS, rows, **summary)


def attach(plan: AttachIndex, session: Session) -> Result:
    """Run ATTACH."""
    session.run_attach(plan)
    return Result(summary={"message": f"{plan.path} attached as {plan.name}"})


def detach(plan: DetachIndex, session: Session) -> Result:
    """Run DETACH."""
    session.run_detach(plan.name)
    return Result(summary={"message": f"{plan.name} detached"})


def use(plan: UseCorpus, session: Session) -> Result:
    """Run USE."""
    session.run_use(plan.name)
    return Result(summary={"message": f"using corpus {plan.name}"})


def change_setting(plan: ChangeSetting, session: Session) -> Result:
    """Run SET and RESET."""
    value = session.run_setting(plan)
    message = f"{plan.name} = {notation(value)}"
    return Result(summary={"message": message, "name": plan.name, "value": value})


def notation(value: str | int | float | bool) -> str:
    """A setting's value as a statement would give it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"{value:g}" if isinstance(value, float) else str(value)
