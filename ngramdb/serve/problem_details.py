"""Errors as answers: one form for all, and nothing in it that is not the client's business."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from ngramdb import errors
from ngramdb.api import Connection
from ngramdb.errors import InvalidArgument, NgramdbError

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


# ---- What one request may take, and what `--setting` changes.


MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The limits of a service.

    time_limit : seconds that a statement may take; a client may ask for less
    rows, max_rows : rows of an answer when none are asked for, and the most that may be asked for
    max_answer : bytes of text in an answer, about; more rows follow on the next page
    max_body : bytes of a request's body
    max_batch : n-grams of a batch
    all_bodies : bytes of the bodies of all requests in progress
    body_timeout : seconds in which a request's body has to arrive
    head_timeout : seconds in which a request's head has to arrive
    connections : open connections; if there are more, the one that has been idle longest is closed
    statements : how many run at a time
    waiting : how many may wait for them; others are turned away
    """

    time_limit: float = 1.0
    rows: int = 100
    max_rows: int = 1000
    max_answer: int = 16 * MEGABYTE
    max_body: int = 32 * MEGABYTE
    max_batch: int = 5_000_000
    all_bodies: int = 256 * MEGABYTE
    body_timeout: float = 10.0
    head_timeout: float = 10.0
    connections: int = 500
    statements: int = max(4, 2 * (os.cpu_count() or 1))
    waiting: int = 64


#: Settings of ngramdb that make sense for all who ask; `timeout` is `time_limit` here.
OF_THE_DATABASE = ("disabled_rules", "match", "prewarm", "threads")
NAMES = tuple(one.name for one in fields(Limits))


def settings_of(
    pairs: Iterable[tuple[str, str]], usual: Limits | None = None
) -> tuple[Limits, dict[str, str]]:
    """The limits, and the settings of the database, that `--setting NAME VALUE` gives.

    `usual` has those that are not given.

    Raises
    ------
    InvalidArgument
        No such setting, or a value that is no number above 0.
    """
    chosen: dict[str, Any] = {}
    others = {}
    for name, text in pairs:
        if name in OF_THE_DATABASE:
            others[name] = text
        elif name in NAMES:
            chosen[name] = _number(name, text, type(getattr(Limits, name)))
        else:
            raise InvalidArgument(f"no setting {name!r}; known: {', '.join((*NAMES, *OF_THE_DATABASE))}")
    limits = replace(usual or Limits(), **chosen)
    if limits.rows > limits.max_rows:
        limits = replace(limits, rows=limits.max_rows)
    return limits, others


def apply_settings(connection: Connection, limits: Limits, others: dict[str, str]) -> None:
    """Put a connection under the same limits: what runs without a statement's token obeys them, too."""
    connection.settings["timeout"] = limits.time_limit
    for name, text in others.items():
        connection.settings[name] = int(text) if text.isdigit() else text


def _number(name: str, text: str, kind: type) -> int | float:
    least = 0 if name == "waiting" else 1 if kind is int else 0.001
    try:
        value = kind(text.replace("_", ""))
    except ValueError:
        value = math.nan
    if not least <= value < 1e12:
        raise InvalidArgument(f"{name} is a number of at least {least}, not {text!r}")
    number: int | float = value
    return number
