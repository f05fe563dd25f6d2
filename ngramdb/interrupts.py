"""Stopping running work, wherever it runs: one token for requests, timeouts and progress.

A connection creates an `Interrupt` for each statement and enters it while it works for that statement; it is
then *current* in the thread, and need not be passed along:

- Kernels check it every few milliseconds with the GIL released (see `_cext/base/interrupt.pxd`).
- Loops in Python call `check()` once per batch, or `step(done, total)` if they know their progress.
- Code that hands work to other threads waits for them with `result_of`, and passes kernels there a token
  of its own, which is set if the wait ends in an error.

Ctrl-C raises KeyboardInterrupt between any two bytecodes of the main thread. Code that acquires a resource,
or must not stop halfway, defers it: `Deferred` for a short block, `guarded` for the ends of a context
manager.

Without a current token `check` and `step` do nothing, and kernels only check for signals.
"""

from __future__ import annotations

import math
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from ngramdb._cext.base.interrupt import Deferred, Guarded, Interrupt, check, current, step
from ngramdb.errors import ResourceError

if TYPE_CHECKING:
    from concurrent import futures
    from types import TracebackType

__all__ = [
    "Deferred",
    "Guarded",
    "Interrupt",
    "ProgressCallback",
    "Stoppable",
    "Work",
    "acquired",
    "at_once",
    "check",
    "checked",
    "current",
    "ended_by",
    "guarded",
    "holding",
    "memory_errors",
    "pause",
    "require_memory",
    "result_of",
    "step",
    "under",
    "waited_for",
]

# Called with the progress of a statement: see `fraction` and `elapsed` of the token.
ProgressCallback = Callable[[Interrupt], None]

Item = TypeVar("Item")
Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")


class Lock(Protocol):
    """A lock of `threading`, plain or reentrant."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...


# Polling interval while waiting for another thread, in seconds.
PATIENCE_S = 0.02
# Number of concurrent calls that wait for a network.
_AT_A_TIME = 16


class Work(Interrupt):
    """The token of a statement, with the maximum bytes of one array of its answer (0: no limit)."""

    memory_limit = 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if isinstance(error, MemoryError):
            raise _out_of_memory(error)


class Stoppable(Interrupt):
    """A token whose `set` also ends waits that cannot poll, such as those for a network: see `ended_by`."""

    def __init__(self) -> None:
        self._ends: list[Callable[[], object]] = []

    def set(self) -> None:
        super().set()
        for end in tuple(self._ends):
            end()

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end`, in the thread that stops the work, if it is stopped in the block."""
        self._ends.append(end)
        try:
            check()
            yield
        finally:
            self._ends.remove(end)


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise a MemoryError of the block (of Python, a kernel, NumPy or Arrow) as a ResourceError.

    `Work` does so itself; this is for code outside of it, such as the conversion of rows to a table.
    """
    try:
        yield
    except MemoryError as error:
        raise _out_of_memory(error) from None


def _out_of_memory(error: MemoryError) -> ResourceError:
    # The frames below hold the large objects; release them before the caller handles the error.
    traceback.clear_frames(error.__traceback__)
    found = ResourceError(
        "memory ran out; request fewer or shorter rows, or SET memory_limit to less than the memory that is "
        "free, so that large answers are refused before they are computed"
    )
    found.__cause__ = error.with_traceback(None)
    return found


def require_memory(n_bytes: int, what: str) -> None:
    """Check, before it is allocated, that an array fits `memory_limit` of the current work.

    Raises
    ------
    ResourceError
    """
    work, limit = current(), 0
    while work is not None and not limit:
        limit = getattr(work, "memory_limit", 0)
        work = work.parent
    if limit and n_bytes > limit:
        text = f"{what} take {n_bytes:,} bytes, and memory_limit is {limit:,}"
        advice = "request fewer or shorter ones, or SET memory_limit higher"
        raise ResourceError(f"{text}: {advice}", limit=limit, asked=n_bytes)


def checked(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, with a check before each: for loops that take microseconds per item."""
    for item in items:
        check()
        yield item


def guarded(function: Callable[Arguments, Iterator[Value]]) -> Callable[Arguments, Guarded[Value]]:
    """Act like `contextlib.contextmanager`, but defer Ctrl-C before and after the `yield`.

    Polls in these parts do raise.
    """
    manager = contextmanager(function)

    @wraps(function)
    def make(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Guarded[Value]:
        return Guarded(manager(*args, **kwargs))

    return make


def acquired(lock: Lock, timeout_s: float | None) -> bool:
    """Wait for a lock, at most `timeout_s` seconds (None: no limit) and until work is stopped."""
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while not lock.acquire(timeout=max(0.0, min(PATIENCE_S, deadline - time.monotonic()))):
        if time.monotonic() >= deadline:
            return False
        check()
    return True


@guarded
def holding(lock: Lock) -> Iterator[None]:
    """Hold the lock, waiting for it until the current work is stopped."""
    acquired(lock, None)
    try:
        yield
    finally:
        lock.release()


def under(work: Interrupt, items: Iterable[Value]) -> Iterator[Value]:
    """Yield the items, each of them computed with the token as the current one."""
    iterator = iter(items)
    while True:
        with work:
            try:
                item = next(iterator)
            except StopIteration:
                return  # no check: everything was computed
            check()
        yield item


def waited_for(work: Callable[[], Value]) -> Value:
    """Return the result of a call that cannot be stopped but lets other threads run.

    It runs in a separate thread; if the current work is stopped, its result is no longer waited for.
    """
    import threading
    from concurrent import futures

    if current() is None:
        return work()
    future: futures.Future[Value] = futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return result_of(future)


def ended_by(end: Callable[[], object]) -> AbstractContextManager[None]:
    """Call `end` if the current work is stopped within the block; only work that is `Stoppable` is."""
    work = current()
    return work.ended_by(end) if isinstance(work, Stoppable) else nullcontext()


def pause(seconds: float) -> None:
    """Sleep, until the current work is stopped."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, PATIENCE_S))
        check()


def result_of(future: futures.Future[Value]) -> Value:
    """Return the result of the future; raise an error once the current work is stopped."""
    from concurrent import futures

    while True:
        try:
            return future.result(timeout=PATIENCE_S)
        except futures.TimeoutError:
            if future.done():  # the call's error, not that of the wait
                return future.result()
            check()


def at_once(ask: Callable[[Item], Value], items: Sequence[Item]) -> Iterator[Value]:
    """Yield the results for all items, in order, computed by sixteen threads slightly ahead of the reader.

    The threads stop when the current work is stopped, when one of them fails, and when reading ends.
    """
    from concurrent import futures

    token = Interrupt(parent=current())

    def run(item: Item) -> Value:
        with token:
            return ask(item)

    pool = futures.ThreadPoolExecutor(_AT_A_TIME, thread_name_prefix="ngramdb-waiting")
    waiting: deque[futures.Future[Value]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(run, item))
            if len(waiting) >= _AT_A_TIME:
                yield result_of(waiting.popleft())
        while waiting:
            yield result_of(waiting.popleft())
    finally:
        token.set()
        pool.shutdown(wait=False, cancel_futures=True)
