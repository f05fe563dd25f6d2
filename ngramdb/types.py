"""Arguments of users: token ids, arrays and flags.

The rule: a token id is an integer from 0 to `MAX_TOKEN_ID`. `UNKNOWN` (-1) is the result of `encode` for an
out-of-vocabulary word; in queries it represents that word, which occurs nowhere. Everything else is
rejected in any container: booleans, floats, other negative numbers, larger ones. Language models also
have END (-2) and BEGIN (-3), the borders of a sentence (`ngramdb.lm`). Documents only hold ids from 0 on.

Flags must be True or False, since otherwise "no" would count as True. `checked_flags` decorates functions
whose arguments are annotated `bool`, or `bool | None` if None is valid as well. Their modules postpone the
evaluation of annotations, so that these are texts.
"""

from __future__ import annotations

import array as buffers
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from ngramdb._cext.base import arguments
from ngramdb.errors import InvalidArgument, NgramdbError
from ngramdb.limits import MAX_TOKEN_ID

# An out-of-vocabulary word.
UNKNOWN = -1

_TEXTS = (str, bytes, bytearray)

Integers = NDArray[np.int64]
# Numbers of documents within a segment, usually ascending.
Docs = NDArray[np.uint32]


def token_ids(values: Any, least: int = UNKNOWN) -> Integers:
    """Return token ids as a contiguous one-dimensional int64 array, every one checked.

    Parameters
    ----------
    values : a sequence of integers, or an array-like (`array_of`)
    least : the smallest id that is allowed

    Raises
    ------
    InvalidArgument
        Not a flat sequence of integers, or an id outside least … 2**32 - 1; names the first invalid one.

    Notes
    -----
    Cost: a pass at memory speed over an array, three if some are negative; no copy of an int64 array.
    """
    if type(values) is list or type(values) is tuple:
        return _of_items(values, least)
    found = array_of(values)
    if found is None:
        if isinstance(values, _TEXTS) or not isinstance(values, Sequence):
            raise InvalidArgument(f"an n-gram must be text or a sequence of token ids, not {_kind(values)}")
        return _of_items(values, least)
    array = integers(found, "token ids")
    # As unsigned numbers negative ones are the largest: one pass for arrays without any.
    if array.size and not (
        array.view(np.uint64).max() <= MAX_TOKEN_ID or (least <= array.min() and array.max() <= MAX_TOKEN_ID)
    ):
        wrong = (array < least) | (array > MAX_TOKEN_ID)
        raise InvalidArgument(outside(int(array[int(np.argmax(wrong))])))
    return array


def array_of(values: Any) -> NDArray[Any] | None:
    """Return the elements of an array-like as a NumPy array, or None for anything else.

    Array-likes are objects with `__array__` or `__dlpack__` (tensors, Arrow arrays, columns of pandas and
    polars), `array.array`, `memoryview` and `range`. Lists, tuples and text are not.

    Raises
    ------
    InvalidArgument
        The elements cannot be read, such as those of a tensor on a GPU, or some are masked.
    """
    if isinstance(values, np.ndarray):
        refuse_masked(values, InvalidArgument, "the array")
        return values
    if isinstance(values, (list, tuple, np.generic, *_TEXTS)):
        return None
    is_direct = hasattr(values, "__array__") or isinstance(values, (buffers.array, memoryview, range))
    if not is_direct and not hasattr(values, "__dlpack__"):
        return None
    try:
        return np.asarray(values) if is_direct else np.from_dlpack(values)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise InvalidArgument(f"cannot read the {type(values).__name__} as an array: {error}") from error


def refuse_masked(values: NDArray[Any], kind: type[NgramdbError], what: str) -> None:
    """Raise an error of this kind if elements of the array are masked, as in `numpy.ma`."""
    if type(values) is not np.ndarray and np.ma.is_masked(values):
        raise kind(f"{what} has masked elements; use array.compressed() or array.filled(value)")


def many_token_ids(ngrams: list[Any]) -> tuple[Integers, Integers] | None:
    """Return lists and tuples of ints as flat ids (m,) int64 and offsets (n + 1,) int64, every id checked.

    None if one is something else, or contains anything but ids and UNKNOWN. Cost: about 5 ns per id.
    """
    found: tuple[Integers, Integers] | None = arguments.pack_lists(ngrams)
    return found


def plain(value: Any) -> Any:
    """Return a scalar of numpy as Python's own; anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def token_id(value: Any, least: int = 0) -> int:
    """Return one token id as an int. Raises InvalidArgument unless it is from `least` to 2**32 - 1."""
    if isinstance(value, (bool, np.bool_)):  # integers to Python, and never meant as ids
        raise InvalidArgument(f"a token id must be an integer, not {_kind(value)}")
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(f"a token id must be an integer, not {_kind(value)}") from None
    if not least <= number <= MAX_TOKEN_ID:
        raise InvalidArgument(outside(number))
    return number


def are_token_ids(value: Any) -> bool:
    """Return True for a list or tuple of token ids (or UNKNOWN), without making an array of it."""
    if type(value) is not list and type(value) is not tuple:
        return False
    for item in value:  # noqa: SIM110 - a third faster than a generator
        if type(item) is not int or not UNKNOWN <= item <= MAX_TOKEN_ID:
            return False
    return True


def integers(values: Any, what: str) -> Integers:
    """Return a contiguous one-dimensional int64 array of integers; none wraps around.

    Raises
    ------
    InvalidArgument
        Not integers in one dimension, or one of 2**63 and more; `what` names them.
    """
    found = array_of(values)
    try:
        array = np.asarray(values if found is None else found)
    except ValueError:  # ragged nesting
        _nested(what)
    if array.ndim != 1:
        raise InvalidArgument(f"{what} must be a flat sequence, not {array.ndim}-dimensional")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise InvalidArgument(f"{what} must be integers, not of type {array.dtype}")
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        too_large = int(array[int(np.argmax(array > np.iinfo(np.int64).max))])
        if what == "token ids":
            raise InvalidArgument(outside(too_large))
        raise InvalidArgument(f"{what} must be below 2**63, not {too_large}")
    return np.ascontiguousarray(array, dtype=np.int64)


def outside(number: int) -> str:
    """Return the message for a number that is not a token id."""
    shown = str(number) if abs(number) < 10**40 else f"of {number.bit_length()} bits"
    return f"token id {shown} is outside 0 … {MAX_TOKEN_ID}"


def _of_items(values: Sequence[Any], least: int) -> Integers:
    if set(map(type, values)) <= {int} and (
        not values or (least <= min(values) and max(values) <= MAX_TOKEN_ID)
    ):
        return np.array(values, dtype=np.int64)
    for item in values:
        if isinstance(item, (list, tuple)) or getattr(item, "ndim", None):
            _nested("token ids")
    return np.array([token_id(item, least) for item in values], dtype=np.int64)


def _nested(what: str) -> NoReturn:
    raise InvalidArgument(f"{what} must be a flat sequence, not a nested one") from None


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r}"[:80]


# ---- Flags.


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


def checked_flags(function: _F) -> _F:
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
