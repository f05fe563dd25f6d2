"""Paths to fields of a JSON object: "a.b" is the field b of the object a.

A dot or a backslash that belongs to a key is written with a backslash before it. The columns of stored
metadata are named by the same rule (`ngramdb.segments.metadata`), which a test holds both to.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

Path = tuple[str, ...]

# More names than these make an error message longer than helpful.
SHOWN_FIELDS = 12


def split_path(path: str) -> Path:
    r"""Return the keys of a path: `split_path(r"a.b\.c") == ("a", "b.c")`.

    A backslash before anything but a dot or a backslash stands for itself.
    """
    if "\\" not in path:
        return tuple(path.split("."))
    keys = [""]
    position = 0
    while position < len(path):
        char = path[position]
        if char == "\\" and path[position + 1 : position + 2] in (".", "\\"):
            position += 1
            keys[-1] += path[position]
        elif char == ".":
            keys.append("")
        else:
            keys[-1] += char
        position += 1
    return tuple(keys)


def join_path(keys: Iterable[str]) -> str:
    """Return the path that `split_path` splits into these keys."""
    return ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in keys)


def own_or_nested(record: dict[str, Any], path: Path) -> Path:
    """The path, or the key that reads like it where no nested field is there, as columns of tables have."""
    if len(path) > 1 and not has_field(record, path) and (name := ".".join(path)) in record:
        return (name,)
    return path


def has_field(record: dict[str, Any], path: Path) -> bool:
    """Whether there is a field at `path`."""
    value: Any = record
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def take(record: dict[str, Any], path: Path) -> Any:
    """Remove the field at `path` and return its value; objects on the way that become empty go too.

    Raises KeyError when there is no such field; the record is then unchanged.
    """
    key = path[0]
    if len(path) == 1:
        return record.pop(key)
    inner = record[key]
    if not isinstance(inner, dict):
        raise KeyError(key)
    value = take(inner, path[1:])
    if not inner:
        del record[key]
    return value


def select(record: dict[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """Return a new object with just the fields at `paths`; a path to an object keeps all that is in it."""
    kept: dict[str, Any] = {}
    for path in paths:
        path = own_or_nested(record, path)
        value: Any = record
        for key in path:
            if not isinstance(value, dict) or key not in value:
                break
            value = value[key]
        else:
            target = kept
            for key in path[:-1]:
                target = target.setdefault(key, {})
            target[path[-1]] = value
    return kept


def field_paths(record: dict[str, Any], prefix: Path = ()) -> list[str]:
    """Return the paths of all fields that are not objects, in the record's order."""
    paths: list[str] = []
    for key, value in record.items():
        if isinstance(value, dict) and len(prefix) < SHOWN_FIELDS:
            paths.extend(field_paths(value, (*prefix, key)))
        else:
            paths.append(join_path((*prefix, key)))
    return paths


@lru_cache(maxsize=256)
def missing_field(wanted: str, present: tuple[str, ...]) -> str:
    """Return the message for a field that is not there: the nearest name, and those that there are.

    Cached, since a file read with errors skipped may lack the field on every line.
    """
    if not present:
        return f"no field {wanted!r}: the object is empty"
    folded = {name.lower(): name for name in present}
    near = difflib.get_close_matches(wanted.lower(), folded, n=1)
    hint = f" (did you mean {folded[near[0]]!r}?)" if near else ""
    shown = ", ".join(repr(name) for name in present[:SHOWN_FIELDS])
    more = f" and {len(present) - SHOWN_FIELDS} more" if len(present) > SHOWN_FIELDS else ""
    return f"no field {wanted!r}{hint}; the fields are {shown}{more}"
