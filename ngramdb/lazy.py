"""Modules that are imported when they are first used.

Opening a database takes a few milliseconds; importing all that a statement needs takes ten times as long.
Packages hand on names lazily by `lazy_loader`, and a function that is rarely called imports what it needs
itself. Where many functions of a module need the same, it has a handle, next to an import for type checkers:

```python
if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")
```
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any


class _LazyModule:
    """Stands for a module; what is once asked of it is kept, so that asking again costs nothing more."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, attribute: str) -> Any:
        module: ModuleType = import_module(self.__dict__["_name"])
        value = getattr(module, attribute)
        self.__dict__[attribute] = value
        return value


def lazy_module(name: str) -> Any:
    """A stand-in for the module of that (absolute) name. Safe in threads, by Python's own import lock."""
    return _LazyModule(name)


@cache
def function_named(package: str, name: str) -> Callable[..., Any]:
    """Return the function "module.function" of a package; the first call imports the module."""
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"{package}.{module}"), function)
    return found
