"""Tasks of Ray: their results as they come, whatever is lost meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ngramdb import interrupts
from ngramdb.cluster.starting import ray
from ngramdb.errors import ExecutionError

# How often a task is run again whose process or machine was lost.
RETRIES = 5
# How long a wait is, before it is looked whether results are still wanted, in seconds.
PATIENCE_S = 0.1


def results(references: Sequence[Any], retries: int, advice: str) -> Iterator[tuple[int, Any]]:
    """The number of a task and its result, as they are done.

    What a task returns is `answer_of` its work. On any error, or an interrupt, what is running is cancelled.

    Raises
    ------
    ExecutionError
        A task was lost more than `retries` times; `advice` says what to do.
    """
    places = {reference: i for i, reference in enumerate(references)}
    waiting = list(references)
    try:
        while waiting:
            ready, waiting = ray.wait(waiting, timeout=PATIENCE_S)
            interrupts.check()
            for reference in ready:
                yield places[reference], _result(reference, retries, advice)
    except BaseException:
        for reference in waiting:
            ray.cancel(reference, force=True)
        raise


def answer_of(work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a task returns: what the work gives, or the error that no second try would mend."""
    try:
        return work(*arguments, **named)
    except Exception as error:
        return error


def _result(reference: Any, retries: int, advice: str) -> Any:
    try:
        result = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise ExecutionError(
            f"a task was lost more than {retries:,} times: {error}; nothing was committed. {advice}"
        ) from error
    if isinstance(result, BaseException):
        raise result
    return result
