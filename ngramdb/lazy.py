"""Modules, names of packages and methods of dataclasses that are created when they are first used.

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
from _thread import RLock
from importlib import import_module

TYPE_CHECKING = False  # importing `typing` would take longer than the rest of `import ngramdb`
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, AnyStr


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


class _LazyPattern:
    """A regular expression that is compiled at its first use; attributes are cached."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.__dict__["_arguments"] = pattern, flags

    def __getattr__(self, attribute: str) -> Any:
        import re

        value = getattr(re.compile(*self.__dict__["_arguments"]), attribute)
        self.__dict__[attribute] = value
        return value


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a substitute for `re.compile(pattern, flags)` that is compiled at its first use.

    Compiling takes 0.05 to 2 ms, and a process rarely uses more than a few of a module's expressions.
    """
    return _LazyPattern(pattern, flags)  # type: ignore[return-value]


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


# ---- Dataclasses whose methods are created when a class gets its first object.
#
# The standard library compiles seven functions per class, which takes 0.5 to 0.8 ms before Python 3.13, and
# a first statement needs some thirty classes. Here `==`, `hash` and `repr` are closures, and only
# `__init__`, `__setattr__` and `__delattr__` are compiled, for the classes that get objects.


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(**options: Any) -> Callable[[type], type]:
        """Do what `dataclasses.dataclass` does, with the options frozen, eq, repr and kw_only."""
        return lambda cls: _postponed(cls, options)


# Held while a class is changed, and while the process forks, so that no child gets a half-changed class.
_lock = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class _Fields:
    """Replaces `__dataclass_fields__`: creates them, and what makes objects frozen, when they are needed.

    They are needed by `dataclasses.fields`, and by classes derived from this one.
    """

    def __init__(self, cls: type, options: dict[str, Any]) -> None:
        self._cls = cls
        self._options = {**options, "init": False, "eq": False, "repr": False}

    def __get__(self, _: object, owner: type) -> Any:
        from dataclasses import dataclass as standard

        with _lock:
            if self._cls.__dict__["__dataclass_fields__"] is self:
                standard(**self._options)(self._cls)
        return owner.__dataclass_fields__  # type: ignore[attr-defined]


def _postponed(cls: type, options: dict[str, Any]) -> type:
    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        # One assignment puts it in place: other threads find either of the two, and both work.
        cls.__init__ = _initializer(cls)  # type: ignore[misc]
        cls.__init__(self, *args, **kwargs)  # type: ignore[misc]

    methods: dict[str, Any] = {}
    if options.get("repr", True):
        methods["__repr__"] = _representation(cls)
    if options.get("eq", True):
        values = _compared(cls)
        methods["__eq__"] = _equality(values)
        methods["__hash__"] = (lambda self: hash(values(self))) if options.get("frozen") else None
    own = set(cls.__dict__)
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    cls.__init__ = first  # type: ignore[misc]
    cls.__dataclass_fields__ = _Fields(cls, options)  # type: ignore[attr-defined]
    return cls


def _representation(cls: type) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:  # noqa: N807
        from dataclasses import fields

        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(cls) if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    return __repr__


def _compared(cls: type) -> Callable[[Any], Any]:
    """Return a function that returns the values of an object that are compared: a tuple of two or more."""
    getters: list[Callable[[Any], Any]] = []

    def values(self: Any) -> Any:
        if not getters:
            from dataclasses import fields
            from operator import attrgetter

            names = [field.name for field in fields(cls) if field.compare]
            names += ["__class__"] * max(0, 2 - len(names))
            getters.append(attrgetter(*names))
        return getters[0](self)

    return values


def _equality(values: Callable[[Any], Any]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if type(other) is not type(self):
            return NotImplemented
        return bool(values(self) == values(other))

    return __eq__


def _initializer(cls: type) -> Callable[..., None]:
    """Compile the `__init__` of a class."""
    from dataclasses import MISSING, fields

    plain, lines = ["self"], ["_ = self.__dict__"]
    keywords: list[str] = []
    known: dict[str, Any] = {"FACTORY": _FACTORY}
    for field in fields(cls):
        name = field.name
        parameter, value = name, name
        if field.default is not MISSING:
            known[f"default_{name}"] = field.default
            parameter = f"{name}=default_{name}"
        elif field.default_factory is not MISSING:
            known[f"make_{name}"] = field.default_factory
            parameter = f"{name}=FACTORY"
            value = f"make_{name}() if {name} is FACTORY else {name}"
        (keywords if field.kw_only else plain).append(parameter)
        lines.append(f"_[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join([*plain, "*", *keywords] if keywords else plain)
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines), known)
    made: Any = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {field.name: field.type for field in fields(cls)} | {"return": None}
    return made  # type: ignore[no-any-return]


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


# ---- Records of the logger `ngramdb` of Python's `logging`, for applications that configure it.


DEBUG, INFO, WARNING = 10, 20, 30


def log(level: int, message: str, *values: object) -> None:
    """Log a message with %-style values. A no-op if `logging` is not imported, since no handler exists."""
    if "logging" not in sys.modules:
        return
    import logging

    logger = logging.getLogger("ngramdb")
    if not logger.handlers:  # otherwise Python prints warnings without a handler
        logger.addHandler(logging.NullHandler())
    logger.log(level, message, *values, stacklevel=2)
