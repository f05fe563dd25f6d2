"""Metadata values before they are columns: paths, plain form, and the types that hold them exactly.

Knows nothing of Arrow; `ngramdb.segments.metadata` says what the types mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ngramdb.errors import InvalidArgument
from ngramdb.limits import MAX_INTEGER, MAX_VALUE_DEPTH, MIN_INTEGER

# Deeper objects are stored as JSON.
MAX_OBJECT_DEPTH = 16
# 64-bit floats hold every integer up to here.
EXACT_FLOAT = 2**53
# Python writes integers of up to 4,300 decimal digits (14,284 bits); only beyond this is it worth asking.
SAFE_INTEGER_BITS = 14_000

JSON = "json"
#: The type of lists none of which has a value.
EMPTY_LISTS = "list<null>"
_SCALARS = {bool: "bool", int: "int64", float: "float64", str: "string"}


def split_path(path: str) -> tuple[str, ...]:
    r"""Return the keys of a column's path: `split_path(r"a.b\.c") == ("a", "b.c")`."""
    if "\\" not in path:
        return tuple(path.split("."))
    # Unpaired surrogates stand in for the escaped characters: no key has one, since UTF-8 cannot hold them.
    hidden = path.replace("\\\\", "\ud800").replace("\\.", "\ud801")
    return tuple(key.replace("\ud801", ".").replace("\ud800", "\\") for key in hidden.split("."))


def join_path(prefix: str | None, key: str) -> str:
    """Return the path of `key` inside the object at `prefix` (None: the document's metadata themselves)."""
    if "." in key or "\\" in key:
        key = key.replace("\\", "\\\\").replace(".", "\\.")
    return key if prefix is None else f"{prefix}.{key}"


def flatten(record: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return (path, value) for every field that is not null; an object without fields is the value {}.

    Any mapping is an object, and any list or tuple an array.

    Raises InvalidArgument for a value that JSON does not have.
    """
    leaves: list[tuple[str, Any]] = []
    _flatten(None, record, 1, leaves)
    return leaves


def _flatten(
    prefix: str | None, record: Mapping[str, Any], depth: int, leaves: list[tuple[str, Any]]
) -> None:
    first = len(leaves)
    for key, value in record.items():
        if type(key) is not str:  # rare: begin again
            del leaves[first:]
            _flatten(prefix, _with_plain_keys(prefix, record), depth, leaves)
            return
        if value is None:
            continue
        path = _checked_text(key, join_path(prefix, key))
        if type(value) in _SCALARS or depth == MAX_OBJECT_DEPTH or not isinstance(value, Mapping):
            leaves.append((path, _plain(path, value, depth)))
            continue
        n_before = len(leaves)
        _flatten(path, value, depth + 1, leaves)
        if len(leaves) == n_before:
            leaves.append((path, {}))


def _with_plain_keys(path: str | None, record: Mapping[Any, Any]) -> Mapping[str, Any]:
    """Return the mapping with keys of type str, whatever subclasses of it (enumerations, NumPy's) they were.

    Raises InvalidArgument for a key that is not a string, and for two keys with the same text.
    """
    if set(map(type, record)) <= {str}:
        return record
    where = "" if path is None else f" in the field {path!r}"
    plain: dict[str, Any] = {}
    for key, value in record.items():
        if not isinstance(key, str):
            raise InvalidArgument(f"metadata key {key!r}{where} is a {type(key).__name__}; keys are strings")
        text = str.__str__(key)
        if text in plain:
            raise InvalidArgument(f"metadata key {text!r} occurs twice{where}")
        plain[text] = value
    return plain


def _plain(path: str, value: Any, depth: int) -> Any:
    """Return a value as JSON's own Python types; raises InvalidArgument for one that has no such form."""
    kind = type(value)
    if kind is str:
        return _checked_text(path, value)
    if kind is bool or kind is float or value is None:
        return value
    if kind is int:
        return value if value.bit_length() <= SAFE_INTEGER_BITS else _checked_integer(path, value)
    if depth > MAX_VALUE_DEPTH:
        raise InvalidArgument(f"metadata field {path!r} is nested more than {MAX_VALUE_DEPTH} levels deep")
    if isinstance(value, (list, tuple)):
        return [_plain(path, item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        items = _with_plain_keys(path, value).items()
        return {_checked_text(path, key): _plain(path, item, depth + 1) for key, item in items}
    # Of times NumPy makes numbers since 1970 where Python's end at microseconds.
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind not in "mM":
        return _plain(path, value.tolist(), depth + 1)
    # Subclasses, such as enumerations: what they are, not how they call themselves.
    if isinstance(value, str):
        return _plain(path, str.__str__(value), depth + 1)
    if isinstance(value, int):
        return _plain(path, int.__int__(value), depth + 1)
    if isinstance(value, float):
        return _plain(path, float.__float__(value), depth + 1)
    raise InvalidArgument(
        f"metadata field {path!r} holds {_called(value)}; values are strings, numbers, booleans, None, "
        "and lists and dicts of these"
    )


def _called(value: Any) -> str:
    is_array = isinstance(value, np.ndarray)
    return f"an array of {value.dtype}" if is_array else f"a {type(value).__name__}"


def _checked_text(path: str, text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(
                f"metadata field {path!r} has an unpaired surrogate at character {error.start}, "
                "which cannot be stored as UTF-8"
            ) from None
    return text


def _checked_integer(path: str, value: int) -> int:
    try:
        str(value)
    except ValueError as error:
        raise InvalidArgument(
            f"metadata field {path!r} has an integer with too many digits: {error}"
        ) from None
    return value


def scalar_types(value: Any) -> set[str]:
    """The type of a value, or those of a list's elements; none of an object, null, or a list in a list."""
    values = value if type(value) is list else [value]
    return {_SCALARS[kind] for kind in set(map(type, values)) if kind in _SCALARS}


def types_of(values: list[Any]) -> set[str]:
    """Return the column types of values, null aside; with "wide" for integers that floats may not hold."""
    found: set[str] = set()
    for kind in set(map(type, values)) - {type(None)}:
        if kind is list:
            found.update(_list_type(value) for value in values if type(value) is list)
        elif kind is dict:
            found.add(JSON)
        else:
            found.add(_SCALARS[kind])
    if "int64" in found:
        integers = [value for value in values if type(value) is int]
        least, most = min(integers), max(integers)
        if not (least >= MIN_INTEGER and most <= MAX_INTEGER):
            found.add(JSON)
        elif not (least >= -EXACT_FLOAT and most <= EXACT_FLOAT):
            found.add("wide")
    return found


def _list_type(values: list[Any]) -> str:
    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return EMPTY_LISTS
    kind = kinds.pop()
    if kinds or kind not in _SCALARS:
        return JSON
    if kind is int:
        integers = [value for value in values if value is not None]
        if not (min(integers) >= MIN_INTEGER and max(integers) <= MAX_INTEGER):
            return JSON
    return f"list<{_SCALARS[kind]}>"


def common_type(found: set[str]) -> str:
    """Return the narrowest column type that holds values of all these types exactly."""
    if found == {"int64", "wide"}:
        return "int64"
    if found == {"int64", "float64"}:
        return "float64"
    # An array without values fits every type of array.
    narrow = found - {EMPTY_LISTS} if all(name.startswith("list<") for name in found) else found
    if len(narrow) == 1:
        return next(iter(narrow))
    return EMPTY_LISTS if found == {EMPTY_LISTS} else JSON
