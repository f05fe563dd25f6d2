"""Running a plan: each node type has one operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngramdb.errors import PlanError
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
from ngramdb.executor.result import Result
from ngramdb.executor.session import Session
from ngramdb.planner import plan as nodes

_QUESTIONS: dict[type[nodes.Plan], Callable[[Any], Result]] = {
    nodes.CountGram: counting.count,
    nodes.Probability: probability.probability,
    nodes.Distribution: distribution.distribution,
    nodes.Scoring: scoring.score,
    nodes.Tracing: trace.trace,
    nodes.Generation: generating.generate,
}
_DOCUMENT_QUESTIONS: dict[type[nodes.Plan], Callable[[Any, Meter | None], Result]] = {
    nodes.CountOccurrences: counting.count_occurrences,
    nodes.GroupedCount: grouping.grouped_count,
    nodes.CountDocuments: documents.count_documents,
    nodes.Documents: documents.documents,
    nodes.Concordance: concordance.concordance,
    nodes.NgramList: ngrams.ngrams,
}
_SESSION_STATEMENTS: dict[type[nodes.Plan], Callable[[Any, Session], Result]] = {
    nodes.ShowTable: tables.show,
    nodes.DescribeCorpus: tables.describe,
    nodes.CheckCorpora: tables.check,
    nodes.AnalyzeCorpus: actions.analyze,
    nodes.CreateCorpus: actions.create,
    nodes.DropCorpus: actions.drop,
    nodes.Load: actions.load,
    nodes.DeleteDocuments: changes.delete,
    nodes.RestoreCorpus: changes.restore,
    nodes.CompactCorpora: changes.compact,
    nodes.AlterCorpus: changes.alter,
    nodes.ExportDocuments: changes.export,
    nodes.UseCorpus: actions.use,
    nodes.ChangeSetting: actions.change_setting,
}


def is_question(plan: nodes.Plan) -> bool:
    """Whether running the plan only reads the corpus that it holds."""
    return isinstance(plan, nodes.Constant) or type(plan) in {**_QUESTIONS, **_DOCUMENT_QUESTIONS}


def answer(plan: nodes.Plan, meter: Meter | None = None) -> Result:
    """The answer of a question. With a meter, conditions on documents record what they did."""
    if isinstance(plan, nodes.Constant):
        return Result.of_rows(plan.columns, plan.rows, **plan.summary)
    if type(plan) in _QUESTIONS:
        return _QUESTIONS[type(plan)](plan)
    if type(plan) in _DOCUMENT_QUESTIONS:
        return _DOCUMENT_QUESTIONS[type(plan)](plan, meter)
    raise PlanError(f"{plan.label()} is no question")


def run(plan: nodes.Plan, session: Session) -> Result:
    """Runs any plan: answers a question, or acts through the session."""
    statement = _SESSION_STATEMENTS.get(type(plan))
    return answer(plan) if statement is None else statement(plan, session)
