"""Arguments that are True or False, and nothing else: "no" would count as True otherwise.

`checked` is put on functions whose arguments are annotated `bool`, in modules that postpone the evaluation of
annotations, so that these are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from ngramdb.errors import InvalidArgument

_F = TypeVar("_F", bound=Callable[..., Any])


def as_flag(name: str, value: Any) -> bool:
    """The value of a flag, of Python or numpy. Raises InvalidArgument for anything else."""
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_") and hasattr(value, "dtype"):
        return bool(value)
    raise InvalidArgument(f"{name} is True or False, not {value!r:.80}")


def flags_of(function: Callable[..., Any]) -> dict[str, int]:
    """The flags that a function takes, with their places among its arguments."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    annotations = function.__annotations__
    return {name: place for place, name in enumerate(names) if annotations.get(name) == "bool"}


def check_flags(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise InvalidArgument where a flag, given by its name, is neither True nor False."""
    for name in flags_of(function):
        if name in arguments:
            as_flag(name, arguments[name])


def checked(function: _F) -> _F:
    """The function, which raises InvalidArgument where a flag is neither True nor False.

    Cost: a few tenths of a microsecond a call.
    """
    flags = tuple(flags_of(function).items())

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        for name, place in flags:
            if name in named:
                if named[name] is not True and named[name] is not False:
                    named[name] = as_flag(name, named[name])
            elif place < len(given) and given[place] is not True and given[place] is not False:
                given = (*given[:place], as_flag(name, given[place]), *given[place + 1 :])
        return function(*given, **named)

    return call  # type: ignore[return-value]
