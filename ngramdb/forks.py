"""What a forked child does first, where its parent had other threads.

The child has none of them, but what they were in the middle of: a lock that one of them held is never
released there. Locks that live as long as the process are made by `lock`, and are free in a child. Objects
over kernels, which have locks of their own, are made anew: their owner registers by `renew_in_children`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType
from typing import Any, Protocol
from weakref import WeakSet

# How long a fork waits for imports of other threads.
_IMPORTS_S = 1.0


class Renewed(Protocol):
    """An object that replaces what threads of another process may have left locked."""

    def renew(self) -> None:
        """Called in a child, once, while it has one thread."""


_locks: WeakSet[Any] = WeakSet()
_renewed: WeakSet[Renewed] = WeakSet()


def lock() -> threading.Lock:
    """A lock that is free in a forked child, whoever held it."""
    made = threading.Lock()
    _locks.add(made)
    return made


def renew_in_children(renewed: Renewed) -> None:
    """Call an object's `renew` in each forked child, as long as the object is in use."""
    _renewed.add(renewed)


def _imports(frame: FrameType | None) -> bool:
    """Whether a thread that is there imports a module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class _Fork:
    """Whether the parent had threads besides the one that forks."""

    had_others = False

    @classmethod
    def look(cls) -> None:
        """Wait for imports of other threads, too: Python does not free their locks in a child."""
        own = threading.get_ident()
        latest = time.monotonic() + _IMPORTS_S
        while True:
            others = [frame for ident, frame in sys._current_frames().items() if ident != own]
            cls.had_others = bool(others)
            if not any(map(_imports, others)) or time.monotonic() > latest:
                return
            time.sleep(0.001)

    @classmethod
    def renew(cls) -> None:
        if not cls.had_others:
            return
        for made in list(_locks):
            made._at_fork_reinit()  # as the standard library's own modules do
        for renewed in list(_renewed):
            renewed.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_Fork.look, after_in_child=_Fork.renew)
