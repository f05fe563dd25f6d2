"""Arguments that must be True or False, since otherwise "no" would count as True.

`checked` decorates functions whose arguments are annotated `bool`, or `bool | None` if None is valid as well.
Their modules postpone the evaluation of annotations, so that these are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from ngramdb.errors import InvalidArgument

_F = TypeVar("_F", bound=Callable[..., Any])


def as_flag(name: str, value: Any) -> bool:
    """Return the value of a flag, of Python or numpy. Raises InvalidArgument for anything else."""
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_") and hasattr(value, "dtype"):
        return bool(value)
    raise InvalidArgument(f"{name} must be True or False, not {value!r:.80}")


def as_optional_flag(name: str, value: Any) -> bool | None:
    """Return the value of a flag, or None. Raises InvalidArgument for anything else."""
    return None if value is None else as_flag(name, value)


_CHECKS: dict[str, Callable[[str, Any], bool | None]] = {"bool": as_flag, "bool | None": as_optional_flag}


def flags_of(function: Callable[..., Any]) -> dict[str, int]:
    """Return the flags among a function's arguments, with their positions."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    annotations = function.__annotations__
    return {name: place for place, name in enumerate(names) if annotations.get(name) in _CHECKS}


def check_flags(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise InvalidArgument if a flag, given by its name, is neither True nor False."""
    for name in flags_of(function):
        if name in arguments:
            _CHECKS[function.__annotations__[name]](name, arguments[name])


def checked(function: _F) -> _F:
    """Make the function raise InvalidArgument if a flag is neither True nor False.

    Cost: a few tenths of a microsecond per call.
    """
    flags = [
        (name, place, _CHECKS[function.__annotations__[name]]) for name, place in flags_of(function).items()
    ]

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        for name, place, check in flags:
            if name in named:
                if named[name] is not True and named[name] is not False:
                    named[name] = check(name, named[name])
            elif place < len(given) and given[place] is not True and given[place] is not False:
                given = (*given[:place], check(name, given[place]), *given[place + 1 :])
        return function(*given, **named)

    return call  # type: ignore[return-value]
