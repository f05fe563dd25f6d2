"""Child processes for tests that break things: forked from a process that has imported everything and used
nothing, so that one costs milliseconds."""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from ngramdb.language.syntax import syntax

MODULES = (
    *(
        "pyarrow",
        "zstandard",
        "ngramdb.api.corpus",
        "ngramdb.questions.maintenance",
        "ngramdb.api.session",
    ),
    *(
        "ngramdb.engine.loading.loads",
        "ngramdb.api.verbs.exporting",
        "ngramdb.segments.merging",
        "ngramdb.questions.plans",
    ),
)
# Sent by a child that ends with an exception.
FAILED = "failed"


class Child:
    """A forked process that runs `work(say)`; `say(value)` sends one JSON value to the parent."""

    def __init__(self, work: Callable[[Callable[[Any], None]], None]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _live(work, writing)
        os.close(writing)
        self._pipe = reading
        self._rest = b""

    def listen(self, timeout_s: float | None = None) -> Iterator[Any]:
        """Yield the child's values until it ends. Raises TimeoutError if none arrives for too long."""
        while True:
            while b"\n" in self._rest:
                line, self._rest = self._rest.split(b"\n", 1)
                yield json.loads(line)
            if timeout_s is not None and not select.select([self._pipe], [], [], timeout_s)[0]:
                raise TimeoutError
            data = os.read(self._pipe, 1 << 16)
            if not data:
                return
            self._rest += data

    def kill(self) -> None:
        """Ends it at once, wherever it is."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return how it ended: 0, or minus the number of a signal, or an exit status."""
        _, status = os.waitpid(self.pid, 0)
        os.close(self._pipe)
        return os.waitstatus_to_exitcode(status)


def _live(work: Callable[[Callable[[Any], None]], None], pipe: int) -> None:
    """The child's whole life; it never returns, so that nothing of the parent runs twice."""

    def say(value: Any) -> None:
        os.write(pipe, json.dumps(value).encode() + b"\n")

    status = 1
    try:
        work(say)
        status = 0
    except BaseException:
        say([FAILED, traceback.format_exc()])
    finally:
        os._exit(status)


def watch(seconds: float) -> None:
    """End this process by a signal after that much work from now on, or ten times as long without; 0 stops
    the watch."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)


def warm_up() -> None:
    """Imports what children would import one by one, and makes the parser's tables; starts no thread."""
    for name in MODULES:
        import_module(name)
    syntax()


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The parser of a program's arguments, its description as it is written."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


class Clock:
    """Says now and then how far a long run is."""

    def __init__(self, every_s: float = 60.0) -> None:
        self.started = time.monotonic()
        self._every_s = every_s
        self._last = self.started

    def tell(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last >= self._every_s:
            self._last = now
            print(f"{now - self.started:6.0f} s  {text}", flush=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started
