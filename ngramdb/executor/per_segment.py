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
from ngramdb.source import Corpus

if TYPE_CHECKING:
    from ngramdb.planner.plan import PlanMeter


Answer = TypeVar("Answer")


def each_segment(
    corpus: Corpus, answer: Callable[..., Answer], *arguments: Any, meter: PlanMeter | None = None
) -> Iterator[Answer]:
    """`answer(corpus, i, *arguments)` of each segment i, in order.

    With a meter, which `answer` takes as `meter`, nobody else is asked: it measures this process.
    """
    if meter is not None:
        return _one_by_one(corpus, partial(answer, meter=meter), arguments)
    ask = getattr(corpus, "ask_segments", None)
    if ask is not None:
        asked: Iterator[Answer] = ask(answer, arguments)
        return asked
    n = len(corpus.segments)
    if n == 1:  # most corpora: a generator would take a tenth of a quick question's time
        interrupts.step(0, 1)
        return iter((answer(corpus, 0, *arguments),))
    if getattr(corpus, "waits_for_segments", False):
        return interrupts.at_once(lambda i: answer(corpus, i, *arguments), range(n))
    return _one_by_one(corpus, answer, arguments)


def _one_by_one(
    corpus: Corpus, answer: Callable[..., Answer], arguments: tuple[Any, ...]
) -> Iterator[Answer]:
    n = len(corpus.segments)
    for i in range(n):
        interrupts.step(i, n)
        yield answer(corpus, i, *arguments)
