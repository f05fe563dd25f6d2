"""Running plans: a question answers itself from its corpus, an action runs in a session."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from ngramdb.errors import PlanError
from ngramdb.executor.results.result import Result
from ngramdb.late_dataclasses import dataclass
from ngramdb.lazy import lazy_module
from ngramdb.planner.plan import COUNT_COLUMNS, Constant, Plan, Question, SliceQuestion

if TYPE_CHECKING:
    from ngramdb.conditions.docset import DocSet
    from ngramdb.executor import document_subset
    from ngramdb.executor.questions import (
        distribution,
        generating,
        probability,
        scoring,
    )
    from ngramdb.planner.plan import Costs, DocExpr, PlanMeter
    from ngramdb.questions.session import Session
    from ngramdb.segments.base import Segment
else:
    document_subset = lazy_module("ngramdb.executor.document_subset")
    distribution = lazy_module("ngramdb.executor.questions.distribution")
    generating = lazy_module("ngramdb.executor.questions.generating")
    probability = lazy_module("ngramdb.executor.questions.probability")
    scoring = lazy_module("ngramdb.executor.questions.scoring")


class Query(Question):
    """A question whose plan is defined here, in the module of its statement."""

    @abstractmethod
    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return the answer. With a meter, the nodes of the plan's tree record what they did."""


@dataclass(frozen=True)
class SliceQuery(Query):
    """A query that may be limited to the documents of a WHERE, as if it held only these.

    Every model works on a corpus of these documents as on any other, so the answer is exactly that of a
    corpus into which nothing else was loaded.
    """

    where: DocExpr | None = field(default=None, kw_only=True)
    costs: Costs | None = field(default=None, compare=False, kw_only=True)

    def where_clause(self) -> DocExpr | None:
        return self.where

    @abstractmethod
    def answer_whole(self) -> Result:
        """Return the answer from all documents of the corpus."""

    def answer_among(self, found: Sequence[tuple[Segment, DocSet]]) -> Result | None:
        """Return the answer from some documents without an index of just these, or None if it needs one."""
        return None

    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return the answer from the documents that meet the condition.

        Cost: that of finding them and of the answer. An index of these documents, which is built once for
        each set of documents, takes about 100 ns per token of them or of the others, whichever are fewer.
        """
        kind = type(self)
        return document_subset.answer_among(self, kind.answer_whole, kind.answer_among, meter)


class Action(Plan):
    """A statement that changes the database or the session, or that lists what they have.

    `only_reads` is True if those who may only read may run it.
    """

    only_reads: ClassVar[bool] = False

    @abstractmethod
    def act(self, session: Session) -> Result:
        """Run the statement."""


# The functions that answer the questions whose plans are classes of `planner.plan`, by these. They are given
# the plan, and a meter if the plan has a tree whose nodes are measured.
OPERATORS: dict[str, Callable[[], Callable[..., Result]]] = {
    "Distribution": lambda: distribution.distribution,
    "DistributionBefore": lambda: distribution.before,
    "Generation": lambda: generating.generate,
    "Probability": lambda: probability.probability,
    "Scoring": lambda: scoring.score,
}
# Those that answer about some of the documents faster than about a corpus of just these, or return None.
DIRECT: dict[str, Callable[[], Callable[..., Result | None]]] = {
    "Distribution": lambda: distribution.distribution_among,
}


def is_question(plan: Plan) -> bool:
    """Return True if running the plan only reads the corpus that it holds."""
    return isinstance(plan, (Constant, Query)) or type(plan).__name__ in OPERATORS


def answer(plan: Plan, meter: PlanMeter | None = None) -> Result:
    """Answer a question. With a meter, the nodes of the plan's tree record what they did."""
    if isinstance(plan, Query):
        return plan.answer(meter)
    if isinstance(plan, Constant):
        return _known(plan)
    kind = type(plan).__name__
    if kind not in OPERATORS:
        raise PlanError(f"{plan.label()} is no question")
    operator = OPERATORS[kind]()
    if isinstance(plan, SliceQuestion):
        if plan.where is None:
            return operator(plan)
        direct = DIRECT[kind]() if kind in DIRECT else None
        return document_subset.answer_among(plan, operator, direct, meter)
    return operator(plan) if meter is None or plan.tree() is None else operator(plan, meter)


def _known(plan: Constant) -> Result:
    known = Result.of_rows(plan.columns, plan.rows, **plan.summary)
    if plan.columns == COUNT_COLUMNS:
        known.found = plan.rows[0][0] > 0
    return known


def run(plan: Plan, session: Session) -> Result:
    """Run any plan: answer a question, or act through the session."""
    if isinstance(plan, Action):
        return plan.act(session)
    return answer(plan)
