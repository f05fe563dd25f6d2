"""Running a plan: each node type has one operator, whose module is imported when it is first run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ngramdb.errors import PlanError
from ngramdb.executor.result import Result
from ngramdb.lazy import lazy_module
from ngramdb.planner.plan import Constant, Plan

if TYPE_CHECKING:
    from ngramdb.executor import (
        actions,
        changes,
        concordance,
        counting,
        distribution,
        documents,
        generating,
        grouping,
        ngrams,
        probability,
        scoring,
        tables,
        trace,
    )
    from ngramdb.executor.measuring import Meter
    from ngramdb.executor.session import Session
else:
    actions = lazy_module("ngramdb.executor.actions")
    changes = lazy_module("ngramdb.executor.changes")
    concordance = lazy_module("ngramdb.executor.concordance")
    counting = lazy_module("ngramdb.executor.counting")
    distribution = lazy_module("ngramdb.executor.distribution")
    documents = lazy_module("ngramdb.executor.documents")
    generating = lazy_module("ngramdb.executor.generating")
    grouping = lazy_module("ngramdb.executor.grouping")
    ngrams = lazy_module("ngramdb.executor.ngrams")
    probability = lazy_module("ngramdb.executor.probability")
    scoring = lazy_module("ngramdb.executor.scoring")
    tables = lazy_module("ngramdb.executor.tables")
    trace = lazy_module("ngramdb.executor.trace")

# By the names of node types.
_QUESTIONS: dict[str, Callable[[Any], Result]] = {
    "CountGram": lambda plan: counting.count(plan),
    "Probability": lambda plan: probability.probability(plan),
    "Distribution": lambda plan: distribution.distribution(plan),
    "Scoring": lambda plan: scoring.score(plan),
    "Tracing": lambda plan: trace.trace(plan),
    "Generation": lambda plan: generating.generate(plan),
}
_DOCUMENT_QUESTIONS: dict[str, Callable[[Any, Meter | None], Result]] = {
    "CountOccurrences": lambda plan, meter: counting.count_occurrences(plan, meter),
    "GroupedCount": lambda plan, meter: grouping.grouped_count(plan, meter),
    "CountDocuments": lambda plan, meter: documents.count_documents(plan, meter),
    "Documents": lambda plan, meter: documents.documents(plan, meter),
    "Concordance": lambda plan, meter: concordance.concordance(plan, meter),
    "NgramList": lambda plan, meter: ngrams.ngrams(plan, meter),
}
_SESSION_STATEMENTS: dict[str, Callable[[Any, Session], Result]] = {
    "ShowTable": lambda plan, session: tables.show(plan, session),
    "DescribeCorpus": lambda plan, session: tables.describe(plan, session),
    "CheckCorpora": lambda plan, session: tables.check(plan, session),
    "AnalyzeCorpus": lambda plan, session: actions.analyze(plan, session),
    "CreateCorpus": lambda plan, session: actions.create(plan, session),
    "DropCorpus": lambda plan, session: actions.drop(plan, session),
    "Load": lambda plan, session: actions.load(plan, session),
    "DeleteDocuments": lambda plan, session: changes.delete(plan, session),
    "RestoreCorpus": lambda plan, session: changes.restore(plan, session),
    "CompactCorpora": lambda plan, session: changes.compact(plan, session),
    "AlterCorpus": lambda plan, session: changes.alter(plan, session),
    "ExportDocuments": lambda plan, session: changes.export(plan, session),
    "UseCorpus": lambda plan, session: actions.use(plan, session),
    "ChangeSetting": lambda plan, session: actions.change_setting(plan, session),
}


def is_question(plan: Plan) -> bool:
    """Whether running the plan only reads the corpus that it holds."""
    return isinstance(plan, Constant) or type(plan).__name__ in {**_QUESTIONS, **_DOCUMENT_QUESTIONS}


def answer(plan: Plan, meter: Meter | None = None) -> Result:
    """The answer of a question. With a meter, conditions on documents record what they did."""
    if isinstance(plan, Constant):
        return Result.of_rows(plan.columns, plan.rows, **plan.summary)
    kind = type(plan).__name__
    if kind in _QUESTIONS:
        return _QUESTIONS[kind](plan)
    if kind in _DOCUMENT_QUESTIONS:
        return _DOCUMENT_QUESTIONS[kind](plan, meter)
    raise PlanError(f"{plan.label()} is no question")


def run(plan: Plan, session: Session) -> Result:
    """Runs any plan: answers a question, or acts through the session."""
    statement = _SESSION_STATEMENTS.get(type(plan).__name__)
    return answer(plan) if statement is None else statement(plan, session)
