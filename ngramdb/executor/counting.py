"""COUNT: occurrences of an n-gram."""

from __future__ import annotations

from ngramdb.executor.result import Result
from ngramdb.planner.plan import COUNT_COLUMNS, CountGram


def count(plan: CountGram) -> Result:
    """One row, one number. Cost: one search per segment."""
    return Result.of_rows(COUNT_COLUMNS, [(int(plan.corpus.index.count(plan.gram.ids)),)])
