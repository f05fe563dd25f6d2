"""Questions about some documents only: answered over a corpus of just these.

Every model and every operator works on such a corpus as on any other, so the answer is that of a corpus
into which nothing else was loaded, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ngramdb.executor.per_segment import matching
from ngramdb.planner.plan import AllDocs, DocExpr, changed
from ngramdb.source import Corpus

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.planner.plan import Costs, PlanMeter


NOTHING_MEETS = "no document meets the condition"


def answer_among(
    plan: Any,
    operator: Callable[[Any], Result],
    direct: Callable[[Any, Any], Result | None] | None,
    meter: PlanMeter | None,
) -> Result:
    """What the operator answers about a corpus of the documents that meet the plan's condition.

    `plan` is a question with `where`, `costs` and `corpus`.

    Cost: that of finding them, and, when these are asked about for the first time, some 100 ns for each of
    their tokens or of the others', whichever are fewer; unless `direct` answers, which is given the plan and
    the documents.
    """
    if plan.where is None or isinstance(plan.where, AllDocs):
        return operator(plan)
    found = matching(plan.corpus, plan.where, plan.costs, meter)
    answered = None if direct is None else direct(plan, found)
    if answered is None:
        part = plan.corpus.sliced([docs.numbers() for _, docs in found], plan.where.label())
        answered = operator(changed(plan, corpus=part, where=None))
    if not any(len(docs) for _, docs in found):
        others = [answered.summary["note"]] if "note" in answered.summary else []
        answered.summary["note"] = "; ".join([NOTHING_MEETS, *others])
    return answered


def slice_of(
    corpus: Corpus, where: DocExpr, costs: Costs | None, shown: str, meter: PlanMeter | None = None
) -> Corpus:
    """The documents that meet a condition, as a corpus; `shown` is how messages call the condition."""
    found = matching(corpus, where, costs, meter)
    return corpus.sliced([docs.numbers() for _, docs in found], shown)
