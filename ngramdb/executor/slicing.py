"""Questions about some documents only: answered over a corpus of just these.

Every model and every operator works on such a corpus as on any other, so the answer is that of a corpus
into which nothing else was loaded, exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngramdb.executor.questions.documents import matching
from ngramdb.planner.plan import AllDocs, DocExpr, SliceQuestion, changed
from ngramdb.planner.source import Corpus

if TYPE_CHECKING:
    from ngramdb.executor.measuring import PlanMeter
    from ngramdb.planner.plan import Costs


def sliced(plan: SliceQuestion, meter: PlanMeter | None = None) -> SliceQuestion:
    """The same question about a corpus of the documents that meet its condition.

    Cost: that of finding them, and, when these are asked about for the first time, some 100 ns for each of
    their tokens or of the others', whichever are fewer.
    """
    if plan.where is None or isinstance(plan.where, AllDocs):
        return plan
    part = slice_of(plan.corpus, plan.where, plan.costs, plan.where.label(), meter)
    return changed(plan, corpus=part, where=None)


def slice_of(
    corpus: Corpus, where: DocExpr, costs: Costs | None, shown: str, meter: PlanMeter | None = None
) -> Corpus:
    """The documents that meet a condition, as a corpus; `shown` is how messages call the condition."""
    found = matching(corpus, where, costs, meter)
    return corpus.sliced([docs.numbers() for _, docs in found], shown)
