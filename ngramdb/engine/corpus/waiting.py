"""Segments that lie elsewhere, asked at the same time: what each of them has to fetch is waited for once.

From memory a segment answers in a microsecond, and threads would cost fifty; so questions are asked of all
segments at a time only while they take as long as a store does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ngramdb._cext.corpus.index import Index
from ngramdb._cext.segment.segment_index import SegmentIndex
from ngramdb.engine.corpus.grouped import Answers, Asked, GroupedIndex
from ngramdb.interrupts import at_once

# A question that takes longer has waited for the store, in seconds; the next ones may have to, too.
WAITED_S = 0.005
QUESTIONS = 32


class WaitingIndex(GroupedIndex):
    """An `Index` that asks its segments at a time, each by itself, as long as they have to be waited for."""

    def __init__(self, segments: Sequence[SegmentIndex], signs: Sequence[int]) -> None:
        self.ask = self._ask
        self._groups = [(sign, Index([one], [1])) for one, sign in zip(segments, signs, strict=True)]
        self._n_left = QUESTIONS

    def _ask(self, questions: Sequence[Asked]) -> list[Answers]:
        def one(group: tuple[int, Index]) -> list[Any]:
            index = group[1]
            return [
                method(index, *arguments) if callable(method) else getattr(index, method)(*arguments)
                for method, arguments in questions
            ]

        found = list(at_once(one, self._groups))
        return [
            [(sign, one[k]) for (sign, _), one in zip(self._groups, found, strict=True)]
            for k in range(len(questions))
        ]


def _waiting(name: str) -> Callable[..., Any]:
    grouped, plain = getattr(GroupedIndex, name), getattr(Index, name)

    def method(self: WaitingIndex, *arguments: Any, **named: Any) -> Any:
        started = time.perf_counter()
        answer = (grouped if self._n_left > 0 else plain)(self, *arguments, **named)
        self._n_left = QUESTIONS if time.perf_counter() - started > WAITED_S else max(self._n_left - 1, 0)
        return answer

    method.__name__, method.__doc__ = name, grouped.__doc__
    return method


for _name in ("count", "count_many", "prob", "prob_many", "score", "dist", "dist_many"):
    setattr(WaitingIndex, _name, _waiting(_name))
