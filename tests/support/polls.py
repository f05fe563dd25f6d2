"""Work measured and stopped by its polls, which depend on the work done and not on its duration."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ngramdb.errors import QueryCancelled
from ngramdb.interrupts import Interrupt

NO_LIMIT = 2**40
#: Time limit for an event that must come, even on a busy machine.
PATIENCE_S = 120.0


def n_polls(run: Callable[[], object]) -> int:
    """Return the number of polls of a run that is not stopped."""
    with Interrupt(polls=NO_LIMIT) as token:
        run()
        return NO_LIMIT - token.polls_left


def is_stopped(run: Callable[[], object], polls: int) -> bool:
    """Run under a number of polls; return False if fewer were needed, as with answers that are kept."""
    with Interrupt(polls=polls) as token:
        try:
            run()
        except QueryCancelled:
            return True
        assert token.polls_left >= 0, f"continued after it was stopped at poll {polls + 1}"
        return False


def until(is_true: Callable[[], object]) -> None:
    """Wait until something is true; an AssertionError when it never is."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline, f"still not so after {PATIENCE_S:.0f} s"
        time.sleep(0.005)


@contextmanager
def repeated(act: Callable[[], object]) -> Iterator[None]:
    """Do something again and again in another thread, until the block is left."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(0.02):
            act()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def cpu_below(seconds: float) -> Iterator[None]:
    """Check the CPU time of the block, for work that takes hours where its cost grows as it must not."""
    started = time.process_time()
    yield
    assert time.process_time() - started < seconds


def n_calls(run: Callable[[], object]) -> int:
    """Return the number of calls, of Python and C functions, that something takes."""
    n = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal n
        n += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return n
