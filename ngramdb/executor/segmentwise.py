"""What an operator asks each segment by itself: the answers of all, to be merged.

Such an answer is a function of a corpus, the place of a segment, and further arguments; its value may be sent
to another process. A corpus whose segments others hold has them answer (`ask_segments`); one that waits for
its segments (`waits_for_segments`) is asked about several at the same time; every other one is asked segment
by segment, here. Operators need not know which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ngramdb import interrupts
from ngramdb.planner.source import Corpus

if TYPE_CHECKING:
    from ngramdb.executor.measuring import PlanMeter

Answer = TypeVar("Answer")


def each_segment(
    corpus: Corpus, answer: Callable[..., Answer], *arguments: Any, meter: PlanMeter | None = None
) -> Iterator[Answer]:
    """`answer(corpus, i, *arguments)` of each segment i, in order.

    With a meter, which `answer` takes as `meter`, nobody else is asked: it measures this process.
    """
    ask = getattr(corpus, "ask_segments", None)
    if meter is not None:
        answer = partial(answer, meter=meter)
    elif ask is not None:
        yield from ask(answer, arguments)
        return
    n = len(corpus.segments)
    if meter is None and getattr(corpus, "waits_for_segments", False):
        yield from interrupts.at_once(lambda i: answer(corpus, i, *arguments), range(n))
        return
    for i in range(n):
        interrupts.step(i, n)
        yield answer(corpus, i, *arguments)
