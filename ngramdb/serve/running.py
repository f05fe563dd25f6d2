"""Threads that run statements: a few at a time, each with a time limit, stopped if the client disconnects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.types import ASGIApp, Receive

from ngramdb.errors import Interrupted
from ngramdb.interrupts import Interrupt
from ngramdb.serve.problem_details import Gone, Limits, busy

Value = TypeVar("Value")

#: Seconds before a client is watched for disconnecting; watching costs a tenth of the time of a count.
SOON_S = 0.02


class Workers:
    """Threads for statements, and the interrupts of those that run."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.statements, thread_name_prefix="statement")
        self._n_asked = 0
        self._running: set[Interrupt] = set()
        #: Set once the data that every statement needs have been loaded; until then no time limit runs.
        self.ready = threading.Event()
        self.ready.set()

    async def run(self, work: Callable[[Interrupt], Value], seconds: float, receive: Receive) -> Value:
        """Run `work` in a thread.

        Raises
        ------
        Problem
            503: too many requests are waiting.
        Gone
            The client has disconnected, and the work was stopped.
        """
        if self._n_asked >= self._limits.statements + self._limits.waiting:
            raise busy("too many statements are running; retry in a moment")
        token = Interrupt(None, seconds)
        self._n_asked += 1
        self._running.add(token)
        loop = asyncio.get_running_loop()
        watch = _Watch(token, receive)
        timer = loop.call_later(SOON_S, watch.begin)
        try:
            return await loop.run_in_executor(self._pool, self._when_ready, work, token)
        except asyncio.CancelledError:
            token.set()
            raise
        except Interrupted:
            if watch.has_left:
                raise Gone from None
            raise
        finally:
            timer.cancel()
            watch.end()
            self._running.discard(token)
            self._n_asked -= 1

    def _when_ready(self, work: Callable[[Interrupt], Value], token: Interrupt) -> Value:
        self.ready.wait()
        return work(token)

    def interrupt(self) -> None:
        """Stop all running statements."""
        for token in tuple(self._running):
            token.set()

    def close(self) -> None:
        """End the threads."""
        self.interrupt()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Watch:
    """Stop work when its client disconnects."""

    def __init__(self, token: Interrupt, receive: Receive) -> None:
        self._token = token
        self._receive = receive
        self._task: asyncio.Future[None] | None = None
        self.has_left = False

    def begin(self) -> None:
        """Begin watching."""
        self._task = asyncio.ensure_future(self._wait())

    def end(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.has_left = True
        self._token.set()


# ---- requests to an application in this process, for `--get` and tests


@dataclass
class Answered:
    """The answer; `headers` has lower-case names."""

    status: int
    headers: dict[str, str]
    body: bytes


async def answered(
    app: ASGIApp,
    target: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answered:
    """Send a request to the application for `target`, a path with a query string."""
    path, _, query = target.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "surrogateescape"),
        "query_string": query.encode("utf-8", "surrogateescape"),
        "root_path": "",
        "headers": [
            (name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()
        ],
        "client": ("127.0.0.1", 0),
        "server": ("localhost", 80),
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    never = asyncio.Event()
    sent: list[Any] = []

    async def receive() -> Any:
        if waiting:
            return waiting.pop()
        await never.wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Answered(start["status"], names, b"".join(message.get("body", b"") for message in sent[1:]))


def ask(
    app: ASGIApp,
    target: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answered:
    """Send a request from outside an event loop."""
    return asyncio.run(answered(app, target, method, headers, body))
