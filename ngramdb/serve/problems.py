"""Errors as answers: one form for all, and nothing in it that is not the client's business."""

from __future__ import annotations

from typing import Any

from ngramdb import errors
from ngramdb.errors import NgramdbError

#: The status of our errors: that of the nearest class.
STATUS: dict[type[Exception], int] = {
    errors.ReadingOnly: 403,
    errors.QueryError: 400,
    errors.InvalidArgument: 400,
    errors.ResourceError: 413,
    errors.TimeoutExceeded: 408,
    errors.QueryCancelled: 503,
    errors.ExecutionError: 400,
    errors.StorageError: 503,
    errors.NotSupportedError: 400,
    MemoryError: 503,
    RecursionError: 400,
}
#: What is said instead of messages that name files of the server.
UNSAID = {
    errors.DatabaseGone: "the database is being moved or replaced; the log of the server says more",
    errors.StorageError: "the database cannot be read at the moment; the log of the server says more",
    MemoryError: "the answer does not fit into the server's memory; ask for less",
    RecursionError: "the question is nested too deeply",
}


#: When a client that was turned away may come again, in seconds.
RETRY_AFTER_S = 1


class Problem(Exception):
    """What is wrong with a request: a status, a sentence, and further fields of the answer."""

    def __init__(self, status: int, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers: dict[str, str] = {}
        self.fields = fields


class Gone(Exception):
    """The client has hung up; nobody reads an answer."""


def busy(message: str) -> Problem:
    """Return a Problem of status 503 that tells the client to retry after a second."""
    problem = Problem(503, message, type="Busy")
    problem.headers["Retry-After"] = str(RETRY_AFTER_S)
    return problem


def problem_of(error: BaseException) -> Problem:
    """What an error is for a client."""
    if isinstance(error, Problem):
        return error
    if isinstance(error.__cause__, MemoryError):  # the server's memory, not a limit that was set
        error = error.__cause__
    for kind in type(error).__mro__:
        status = STATUS.get(kind)
        if status is not None:
            message = next((said for one, said in UNSAID.items() if isinstance(error, one)), None)
            made = Problem(status, _said(error) if message is None else message, **_details(error))
            if status == 503:
                made.headers["Retry-After"] = str(RETRY_AFTER_S)
            return made
    return Problem(500, "an error of the server; its log says more", type="InternalError")


def body_of(problem: Problem) -> dict[str, Any]:
    """The fields of the answer."""
    return {"ok": False, "status": problem.status, "error": problem.message, **problem.fields}


def is_ours(error: BaseException) -> bool:
    """Whether an error is one that is expected to happen, and not a mistake in the program."""
    return isinstance(error, (NgramdbError, Problem, MemoryError, RecursionError))


def _said(error: BaseException) -> str:
    return error.message if isinstance(error, errors.QueryError) else str(error)


def _details(error: BaseException) -> dict[str, Any]:
    """The type of an error, its place in a statement, and what else a program may act upon."""
    found: dict[str, Any] = {"type": type(error).__name__}
    names = ("text", "start", "stop", "line", "column", "expected", "nearest", "fraction", "elapsed")
    for name in names:
        value = getattr(error, name, None)
        if value not in (None, ()):
            found["statement" if name == "text" else name] = value
    return found
