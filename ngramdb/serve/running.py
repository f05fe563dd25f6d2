"""Work that is asked for: a few pieces at a time, each with its time, stopped when nobody waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from starlette.types import Receive

from ngramdb.errors import Interrupted
from ngramdb.interrupts import Interrupt
from ngramdb.serve.limits import Limits
from ngramdb.serve.problems import Gone, busy

Value = TypeVar("Value")

#: Work that is done sooner is not watched for clients that hang up, which costs a tenth of a count.
SOON_S = 0.02


class Workers:
    """Threads for statements, and the tokens of those that run."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.statements, thread_name_prefix="statement")
        self._n_asked = 0
        self._running: set[Interrupt] = set()
        #: Set when what every statement needs once has been read; until then their time does not begin.
        self.ready = threading.Event()
        self.ready.set()

    async def run(self, work: Callable[[Interrupt], Value], seconds: float, receive: Receive) -> Value:
        """Do a piece of work in a thread.

        Raises
        ------
        Problem
            503: too much is waiting already.
        Gone
            The client has hung up, and the work was stopped.
        """
        if self._n_asked >= self._limits.statements + self._limits.waiting:
            raise busy("too many statements are running; ask again in a moment")
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
        """Stop everything that runs."""
        for token in tuple(self._running):
            token.set()

    def close(self) -> None:
        """End the threads."""
        self.interrupt()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Watch:
    """Stops work when its client hangs up."""

    def __init__(self, token: Interrupt, receive: Receive) -> None:
        self._token = token
        self._receive = receive
        self._task: asyncio.Future[None] | None = None
        self.has_left = False

    def begin(self) -> None:
        """Watch from now on."""
        self._task = asyncio.ensure_future(self._wait())

    def end(self) -> None:
        """Watch no more."""
        if self._task is not None:
            self._task.cancel()

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.has_left = True
        self._token.set()
