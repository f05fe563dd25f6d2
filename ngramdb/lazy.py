"""Modules and names of packages that are imported when they are first used.

Opening a database takes a few milliseconds; importing everything that any statement needs takes a hundred.
A package passes on the names of its modules by `attach_stub`, and a function that is rarely called imports
its needs itself. If many functions of a module need the same one, the module has a handle, next to an
import for type checkers:

```python
if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")
```
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

TYPE_CHECKING = False  # importing `typing` would take longer than the rest of `import ngramdb`
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any


_TOO_MANY = (errno.EMFILE, errno.ENFILE)


class _LazyModule:
    """A stand-in for a module; attributes are cached, so that repeated access costs nothing more."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, attribute: str) -> Any:
        module = imported(self.__dict__["_name"])
        value = getattr(module, attribute)
        self.__dict__[attribute] = value
        return value


def imported(name: str) -> ModuleType:
    """Import a module. Raises ResourceError if the process has too many open files to read it."""
    try:
        return import_module(name)
    except (OSError, ImportError) as error:
        # The loader of shared libraries reports it in words only.
        if getattr(error, "errno", None) not in _TOO_MANY and os.strerror(errno.EMFILE) not in str(error):
            raise
        from ngramdb.errors import ResourceError

        raise ResourceError(
            f"cannot load the module {name}: too many open files; close some, or raise the limit (ulimit -n)"
        ) from error


def lazy_module(name: str) -> Any:
    """Return a stand-in for the module of that (absolute) name. Thread-safe, by Python's own import lock."""
    return _LazyModule(name)


def attach_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that imports its names at their first use.

    Parameters
    ----------
    package : the package's `__name__`
    file : the package's `__file__`; in the stub `__init__.pyi` beside it, which type checkers read, each line
        imports one name: `from .module import name as name`
    """
    with open(os.path.splitext(file)[0] + ".pyi", encoding="utf-8") as stub:
        words = [line.split() for line in stub if line.startswith("from .")]
    modules = {name: module for _, module, _, name, *_ in words}

    def getter(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = modules[name]
        if module == ".":  # a module of the package itself
            value: Any = imported(f"{package}.{name}")
        else:
            value = getattr(imported(package + module), name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(modules)
    return getter, names.copy, names
