"""The bases of the plans of statements: a query answers itself from its corpus, an action uses a session."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ngramdb.errors import PlanError
from ngramdb.executor.results.result import Result
from ngramdb.late_dataclasses import dataclass
from ngramdb.lazy import lazy_module
from ngramdb.lm.sentences import is_cut, separator_of
from ngramdb.planner import plan as plans
from ngramdb.planner.plan import COUNT_COLUMNS, Constant, Plan, Question, changed

if TYPE_CHECKING:
    from ngramdb.conditions.docset import DocSet
    from ngramdb.executor import per_segment
    from ngramdb.lm.spec import ModelSpec
    from ngramdb.patterns import Gram
    from ngramdb.planner.plan import Costs, DocExpr, PlanMeter
    from ngramdb.questions.session import Session
    from ngramdb.segments.base import Segment
else:
    per_segment = lazy_module("ngramdb.executor.per_segment")


NOTHING_MEETS = "no document meets the condition"


class Query(Question):
    """The plan of a statement that only reads a corpus."""

    @abstractmethod
    def answer(self, meter: PlanMeter | None = None) -> Result:
        """Return the answer. With a meter, the nodes of the plan's tree record what they did."""


@dataclass(frozen=True)
class SliceQuery(Query):
    """A query that may be limited to the documents that meet a condition.

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
        if self.where is None or isinstance(self.where, plans.AllDocs):
            return self.answer_whole()
        found = per_segment.matching(self.corpus, self.where, self.costs, meter)
        answered = self.answer_among(found)
        if answered is None:
            part = self.corpus.sliced([docs.numbers() for _, docs in found], self.where.label())
            answered = changed(self, corpus=part, where=None).answer_whole()
        if not any(len(docs) for _, docs in found):
            others = [answered.summary["note"]] if "note" in answered.summary else []
            answered.summary["note"] = "; ".join([NOTHING_MEETS, *others])
        return answered


@dataclass(frozen=True)
class ContextQuery(SliceQuery):
    """A query about what follows a context, under a language model."""

    context: Gram
    model: ModelSpec

    @abstractmethod
    def unanswered(self, effective_n: int) -> Constant:
        """Return the answer of an n-gram model after a context that does not occur."""

    def fold_unknown_words(self) -> Plan:
        read = self.context.before(self.model.order)
        # A separator starts a new context, which may hide the unknown word from the model.
        if self.model.kind != "ngram" or read.known or is_cut(self.corpus):
            return self
        return self.unanswered(len(read) + 1)

    def cut_context(self) -> Plan:
        context = self._read_context()
        return self if context is self.context else changed(self, context=context)

    def _read_context(self) -> Gram:
        """Return the part of the context that can affect the answer."""
        context = self.context
        if is_cut(self.corpus):
            separators = np.flatnonzero(context.ids == separator_of(self.corpus))
            return context.last(len(context) - int(separators[-1])) if separators.size else context
        context = context.before(self.model.order)
        if not self.model.infgram or context.known:
            return context
        last_unknown = int(np.flatnonzero(context.ids < 0)[-1])
        return context.last(len(context) - last_unknown - 1)


class Action(Plan):
    """A statement that changes the database or the session, or that lists what they have.

    `only_reads` is True if those who may only read may run it.
    """

    only_reads: ClassVar[bool] = False

    @abstractmethod
    def act(self, session: Session) -> Result:
        """Run the statement."""


def is_question(plan: Plan) -> bool:
    """Return True if running the plan only reads the corpus that it holds."""
    return isinstance(plan, (Constant, Query))


def answer(plan: Plan, meter: PlanMeter | None = None) -> Result:
    """Answer a query. With a meter, the nodes of the plan's tree record what they did."""
    if isinstance(plan, Query):
        return plan.answer(meter)
    if isinstance(plan, Constant):
        return _known(plan)
    raise PlanError(f"{plan.label()} is not a query")


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
