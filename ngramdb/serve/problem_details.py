"""Errors as answers, in one form for all, without anything private to the server."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from ngramdb import errors
from ngramdb.api import Connection
from ngramdb.errors import InvalidArgument, NgramdbError

#: The status of errors by class; subclasses inherit it.
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
#: Messages that replace those that name files of the server.
UNSAID = {
    errors.DatabaseGone: "the database is being moved or replaced; see the log of the server",
    errors.StorageError: "the database cannot be read at the moment; see the log of the server",
    MemoryError: "the answer does not fit into the server's memory; request less",
    RecursionError: "the query is nested too deeply",
}


#: Seconds after which a rejected client may retry.
RETRY_AFTER_S = 1


class Problem(Exception):
    """An error in a request: a status, a message, and further fields of the answer."""

    def __init__(self, status: int, message: str, **fields: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers: dict[str, str] = {}
        self.fields = fields


class Gone(Exception):
    """The client has disconnected, so no answer is sent."""


def busy(message: str) -> Problem:
    """Return a Problem with status 503 and the advice to retry after a second."""
    problem = Problem(503, message, type="Busy")
    problem.headers["Retry-After"] = str(RETRY_AFTER_S)
    return problem


def problem_of(error: BaseException) -> Problem:
    """Return the Problem that a client sees for an error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error.__cause__, MemoryError):  # the server is out of memory; no limit was exceeded
        error = error.__cause__
    for kind in type(error).__mro__:
        status = STATUS.get(kind)
        if status is not None:
            message = next((said for one, said in UNSAID.items() if isinstance(error, one)), None)
            made = Problem(status, _said(error) if message is None else message, **_details(error))
            if status == 503:
                made.headers["Retry-After"] = str(RETRY_AFTER_S)
            return made
    return Problem(500, "internal error; see the log of the server", type="InternalError")


def body_of(problem: Problem) -> dict[str, Any]:
    """Return the fields of the answer."""
    return {"ok": False, "status": problem.status, "error": problem.message, **problem.fields}


def is_ours(error: BaseException) -> bool:
    """Return True if an error is an expected one, not a bug in the program."""
    return isinstance(error, (NgramdbError, Problem, MemoryError, RecursionError))


def _said(error: BaseException) -> str:
    return error.message if isinstance(error, errors.QueryError) else str(error)


def _details(error: BaseException) -> dict[str, Any]:
    """Return the type of an error, its place in a statement, and other data for programs."""
    found: dict[str, Any] = {"type": type(error).__name__}
    names = ("text", "start", "stop", "line", "column", "expected", "nearest", "fraction", "elapsed")
    for name in names:
        value = getattr(error, name, None)
        if value not in (None, ()):
            found["statement" if name == "text" else name] = value
    return found


# ---- Limits of a request, and the settings that change them.


MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """The limits of a service.

    time_limit : time limit of a statement in seconds; a client may request less
    rows, max_rows : rows of an answer by default, and the maximum that a client may request
    max_answer : bytes of text in an answer, approximately; further rows follow on the next page
    max_body : bytes of a request's body
    max_batch : n-grams of a batch
    all_bodies : bytes of the bodies of all requests in progress
    body_timeout : seconds until a request's body must have arrived
    head_timeout : seconds until a request's head must have arrived
    connections : open connections; beyond that, the connection that has been idle longest is closed
    statements : statements that run at the same time
    waiting : requests that may wait for them; others are rejected
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

    def rows_of(self, limit: int | None) -> int:
        """Return the rows of an answer to a request for `limit` rows; None if it names no number."""
        return min(self.rows if limit is None else limit, self.max_rows)


#: Settings of ngramdb that may be set for all clients; `timeout` is `time_limit` here.
OF_THE_DATABASE = ("disabled_rules", "match", "prewarm", "threads")
NAMES = tuple(one.name for one in fields(Limits))


def settings_of(
    pairs: Iterable[tuple[str, str]], usual: Limits | None = None
) -> tuple[Limits, dict[str, str]]:
    """Return the limits, and the settings of the database, given by `--setting NAME VALUE`.

    `usual` has the defaults.

    Raises
    ------
    InvalidArgument
        There is no such setting, or its value is not a number above 0.
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
    """Apply the limits to a connection as well, for work that does not pass through a statement."""
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
        raise InvalidArgument(f"{name} must be a number of at least {least}, not {text!r}")
    number: int | float = value
    return number
