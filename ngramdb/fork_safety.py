"""Cleanup in forked children whose parent had other threads.

The child does not have these threads, but it does have their unfinished work: a lock that one of them held is
never released there. Locks that live as long as the process are created by `lock`, and are free in a child.
Objects with kernels that have their own locks are replaced: their owner registers by `renew_in_children`.
`cached_property` takes no lock at all.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

__all__ = ["Renewed", "cached_property", "lock", "renew_in_children", "rlock"]

# Time limit in seconds for imports of other threads before a fork.
_IMPORTS_S = 1.0


class Renewed(Protocol):
    """An object that replaces parts that threads of the parent may have left locked."""

    def renew(self) -> None:
        """Replace them; called in a child, once, while it has one thread."""


_locks: WeakSet[Any] = WeakSet()
_renewed: WeakSet[Renewed] = WeakSet()
# Weak references to the locks of modules that are being imported, by name; empty if importlib lacks them.
_import_locks: dict[str, Any] = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})


def lock() -> threading.Lock:
    """Return a lock that is free in a forked child, whoever held it."""
    made = threading.Lock()
    _locks.add(made)
    return made


def rlock() -> Any:
    """Return a reentrant lock that is free in a forked child."""
    made = threading.RLock()
    _locks.add(made)
    return made


def renew_in_children(renewed: Renewed) -> None:
    """Call an object's `renew` in each forked child, as long as the object is in use."""
    _renewed.add(renewed)


def _imported_elsewhere() -> list[str]:
    """Return the modules that other threads are importing, according to importlib's locks.

    Those threads' frames also contain them, but reading frames while they run has crashed Python.
    """
    own = threading.get_ident()
    owners = {name: getattr(held(), "owner", None) for name, held in _import_locks.copy().items()}
    return [name for name, owner in owners.items() if owner not in (None, own)]


def _free_imports(main_thread: int | None) -> None:
    """In a forked child, release import locks of the parent's threads and discard half-imported modules.

    The parent's main thread may be importing the program itself: that module is kept as it is.
    """
    own = threading.get_ident()
    for name, held in _import_locks.copy().items():
        owner = getattr(held(), "owner", None)
        if owner != own:  # also a lock in which a thread was just about to name itself
            _import_locks.pop(name, None)
            if owner not in (None, main_thread):
                _forget(name)


def _forget(name: str) -> None:
    """Make a module that a thread has left half-imported be imported again, or not at all."""
    spec = _unfinished(name)
    if spec is None:
        return
    has_parts = any(
        other.startswith(f"{name}.") and _unfinished(other) is None for other in list(sys.modules)
    )
    if has_parts or isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        # Submodules would not be bound to it again; importing an extension again returns the first one.
        sys.modules[name] = None  # type: ignore[assignment]  # importing it raises ImportError
    else:
        del sys.modules[name]


def _unfinished(name: str) -> importlib.machinery.ModuleSpec | None:
    """Return the spec of a module that is half-imported; None for others."""
    spec: importlib.machinery.ModuleSpec | None = getattr(sys.modules.get(name), "__spec__", None)
    return spec if getattr(spec, "_initializing", False) else None


class _Fork:
    """State before a fork: whether the parent had other threads, and its main thread."""

    had_others = False
    main_thread: int | None = None

    @classmethod
    def look(cls) -> None:
        """Record the state, and wait for imports of other threads, since a child keeps their locks."""
        cls.had_others = len(sys._current_exceptions()) > 1  # one per thread, with or without
        cls.main_thread = threading.main_thread().ident
        latest = time.monotonic() + _IMPORTS_S
        while cls.had_others and _imported_elsewhere() and time.monotonic() < latest:
            time.sleep(0.001)

    @classmethod
    def renew(cls) -> None:
        if not cls.had_others:
            return
        _free_imports(cls.main_thread)
        for made in list(_locks):
            made._at_fork_reinit()  # as the standard library's own modules do
        for renewed in list(_renewed):
            renewed.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_Fork.look, after_in_child=_Fork.renew)


# Before Python 3.12 all objects of a class share one lock while a value is computed: threads wait for each
# other, even for different objects, and a process forked meanwhile waits forever. Without the lock two
# threads may compute a value at once; one of the two is kept.
if not TYPE_CHECKING and sys.version_info < (3, 12):
    from contextlib import nullcontext

    class cached_property(cached_property):  # noqa: N801
        """The standard library's, without its lock."""

        def __init__(self, func):
            super().__init__(func)
            self.lock = nullcontext()
