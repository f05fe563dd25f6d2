"""What a forked child does first, where its parent had other threads.

The child has none of them, but what they were in the middle of: a lock that one of them held is never
released there. Locks that live as long as the process are made by `lock`, and are free in a child. Objects
over kernels, which have locks of their own, are made anew: their owner registers by `renew_in_children`.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
import threading
import time
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
# Weak references to the locks of modules that are being imported, by name; empty where importlib has none.
_import_locks: dict[str, Any] = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})


def lock() -> threading.Lock:
    """A lock that is free in a forked child, whoever held it."""
    made = threading.Lock()
    _locks.add(made)
    return made


def rlock() -> Any:
    """The same, for a thread that holds the lock to take it again."""
    made = threading.RLock()
    _locks.add(made)
    return made


def renew_in_children(renewed: Renewed) -> None:
    """Call an object's `renew` in each forked child, as long as the object is in use."""
    _renewed.add(renewed)


def _imported_elsewhere() -> list[str]:
    """The modules that other threads are importing, by the locks that importlib has for them.

    Those threads' frames would tell, too, but to look at them while they run has crashed Pythons.
    """
    own = threading.get_ident()
    owners = {name: getattr(held(), "owner", None) for name, held in _import_locks.copy().items()}
    return [name for name, owner in owners.items() if owner not in (None, own)]


def _free_imports(main_thread: int | None) -> None:
    """In a child, take the locks of imports by threads that are not here away, and what they have begun.

    What the parent's main thread imports may be the program itself: that stays as far as it has come.
    """
    own = threading.get_ident()
    for name, held in _import_locks.copy().items():
        owner = getattr(held(), "owner", None)
        if owner != own:  # also a lock in which a thread was just about to name itself
            _import_locks.pop(name, None)
            if owner not in (None, main_thread):
                _forget(name)


def _forget(name: str) -> None:
    """Let a module be imported from the beginning, or not at all, that a thread has left half made."""
    spec = _unfinished(name)
    if spec is None:
        return
    has_parts = any(
        other.startswith(f"{name}.") and _unfinished(other) is None for other in list(sys.modules)
    )
    if has_parts or isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        # Its parts would not be bound to it again; an extension's second import gives what the first left.
        sys.modules[name] = None  # type: ignore[assignment]  # an ImportError for who imports it
    else:
        del sys.modules[name]


def _unfinished(name: str) -> importlib.machinery.ModuleSpec | None:
    """How a module is imported that is half made; None for others."""
    spec: importlib.machinery.ModuleSpec | None = getattr(sys.modules.get(name), "__spec__", None)
    return spec if getattr(spec, "_initializing", False) else None


class _Fork:
    """Whether the parent had threads besides the one that forks, and which was its main thread."""

    had_others = False
    main_thread: int | None = None

    @classmethod
    def look(cls) -> None:
        """Wait for imports of other threads, too: Python does not free their locks in a child."""
        cls.had_others = len(sys._current_exceptions()) > 1  # one a thread, with or without
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
