"""The threads in which a connection's questions run, each stopped together with the task that awaits it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from ngramdb import errors
from ngramdb.errors import ExecutionError
from ngramdb.interrupts import Interrupt, Stoppable
from ngramdb.planner.cautions import Caution
from ngramdb.questions import verbs

Value = TypeVar("Value")

_END = object()


class Team:
    """Threads, and the tokens of what runs in them. One event loop uses it."""

    def __init__(self, threads: int | None) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ngramdb-aio")
        self._running: set[Interrupt] = set()
        self._is_closed = False

    async def run(self, work: Callable[[], Value], token: Interrupt | None = None) -> Value:
        """Run `work` in a thread under a token, and return its value.

        If the task is cancelled, the work is stopped, and has ended when CancelledError is raised: within
        milliseconds, but a commit that has begun is finished.

        Raises
        ------
        ExecutionError
            The connection is closed.
        """
        token = Stoppable() if token is None else token
        told: list[tuple[str, str]] = []

        def done() -> Value:
            with token, verbs.collected(told):
                return work()

        if self._is_closed:
            raise ExecutionError("the connection is closed")
        job = self._pool.submit(copy_context().run, done)
        waiting = asyncio.wrap_future(job)
        self._running.add(token)
        try:
            await asyncio.wait([waiting])
        except asyncio.CancelledError:
            waiting.add_done_callback(_forget)
            if not job.cancel():
                token.set()
                await asyncio.wait([waiting])
            raise
        finally:
            self._running.discard(token)
        if waiting.cancelled():
            raise ExecutionError("the connection was closed before the question began")
        # Here, and not in the thread: Python finds the line that awaits.
        verbs.warn(Caution(message, getattr(errors, category)) for message, category in told)
        return waiting.result()

    async def steps(self, begin: Callable[[], Iterator[Value]]) -> AsyncGenerator[Value, None]:
        """Yield the items of an iterator; it is made, and each item computed, in a thread."""
        token = Stoppable()
        items = await self.run(begin, token)
        try:
            while (item := await self.run(lambda: next(items, _END), token)) is not _END:
                yield item  # type: ignore[misc]
        finally:
            if hasattr(items, "close"):
                items.close()

    def interrupt(self) -> None:
        """Stop all work that runs."""
        for token in tuple(self._running):
            token.set()

    async def close(self) -> None:
        """Stop all work, and end the threads."""
        self._is_closed = True
        self.interrupt()
        self._pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._pool.shutdown)


def _forget(job: asyncio.Future[Value]) -> None:
    """Release what cancelled work has returned or raised: nobody reads it."""
    if not job.cancelled() and job.exception() is None and hasattr(job.result(), "close"):
        job.result().close()  # type: ignore[attr-defined]
