"""Strict reading: JSON without repeated keys or NaN, and regular files, opened without waiting.

Errors in JSON name the place.

Opening a named pipe (FIFO) blocks until its other end is opened, a device may do anything, and
a socket cannot be opened at all. If a file of ours, or one that a user names, is something else, the
error names its type. Descriptors that the caller has already opened are not affected: `/dev/fd/63`, as a
shell calls the pipe of `<(command)`, is read like standard input.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from ngramdb.errors import CorruptionError
from ngramdb.lazy import lazy_pattern
from ngramdb.limits import MAX_INTEGER

_T = TypeVar("_T")


def parse_json(text: bytes) -> Any:
    """Parse the JSON value in UTF-8 `text`. Raises ValueError if invalid, or with repeated keys or NaN."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise ValueError("a key occurs twice in one JSON object")
        return result

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=unique, parse_constant=refuse)
    except RecursionError:
        raise ValueError("the JSON text is nested too deeply") from None


def is_integers(value: object) -> bool:
    """Return True for a list of integers from 0 to MAX_INTEGER."""
    return isinstance(value, list) and all(type(item) is int and 0 <= item <= MAX_INTEGER for item in value)


class JsonObject:
    """A reader of the fields of one JSON object in a file.

    All methods raise CorruptionError for a missing field and for a value of another type. The error names the
    file `path`, the `place` of the value within the JSON, what was expected and found, and what to do.
    """

    def __init__(
        self, value: Any, path: str, place: str, advice: str = "restore the file from a backup"
    ) -> None:
        self.path = path
        self.place = place
        self.advice = advice
        if not isinstance(value, dict):
            self._fail(place, "a JSON object", value)
        self.value: dict[str, Any] = value

    @classmethod
    def parse(
        cls, text: bytes, path: str, what: str, advice: str = "restore the file from a backup"
    ) -> JsonObject:
        """Return the object in the JSON text of a file; `what` names it in errors."""
        try:
            value = parse_json(text)
        except ValueError as error:
            raise CorruptionError(
                f"{path}: invalid JSON in the {what}: {error}; {advice}", path=path
            ) from error
        return cls(value, path, what, advice)

    def fail(self, key: str, expected: str, found: object) -> NoReturn:
        """Raise the error for the value of a field."""
        self._fail(f"{self.place}.{key}", expected, found)

    def _fail(self, place: str, expected: str, found: object) -> NoReturn:
        raise CorruptionError(
            f"{self.path}: {place} is {found!r:.80}, expected {expected}; {self.advice}",
            path=self.path,
            expected=expected,
            found=found,
        )

    def has(self, key: str) -> bool:
        return key in self.value

    def get(self, key: str) -> Any:
        """Return a value of any type."""
        if key not in self.value:
            self.fail(key, "a value", None)
        return self.value[key]

    def only(self, keys: Iterable[str]) -> None:
        """Reject all other fields."""
        for key in self.value.keys() - set(keys):
            self.fail(key, "no such field", self.value[key])

    def integer(self, key: str, low: int = 0, high: int = MAX_INTEGER) -> int:
        value = self.get(key)
        if type(value) is not int or not low <= value <= high:
            self.fail(key, f"an integer from {low} to {high}", value)
        return value

    def integers(self, key: str) -> tuple[int, ...]:
        value = self.get(key)
        if not is_integers(value):
            self.fail(key, f"an array of integers from 0 to {MAX_INTEGER}", value)
        return tuple(value)

    def number(self, key: str, high: float = math.inf) -> float:
        """Return a number from 0 to `high`."""
        value = self.get(key)
        if type(value) not in (int, float) or not 0 <= value <= high:
            self.fail(key, f"a number from 0 to {high}", value)
        return float(value)

    def text(self, key: str, empty: bool = False) -> str:
        """Return a text, which is not empty unless it may be."""
        value = self.get(key)
        if not isinstance(value, str) or not (value or empty):
            self.fail(key, "a text", value)
        return value

    def matching(self, key: str, pattern: re.Pattern[str]) -> str:
        value = self.text(key, empty=True)
        if not pattern.fullmatch(value):
            self.fail(key, f"a text like {pattern.pattern}", value)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail(key, "an array of texts", value)
        return tuple(value)

    def items(self, key: str, read: Callable[[JsonObject], _T]) -> tuple[_T, ...]:
        """Read each object of an array."""
        value = self.get(key)
        if not isinstance(value, list):
            self.fail(key, "a JSON array", value)
        return tuple(
            read(JsonObject(item, self.path, f"{self.place}.{key}[{i}]", self.advice))
            for i, item in enumerate(value)
        )

    def child(self, key: str) -> JsonObject:
        return JsonObject(self.get(key), self.path, f"{self.place}.{key}", self.advice)


# ---- Opening regular files, and nothing else, without waiting.


_KINDS = (
    (stat.S_ISFIFO, errno.EINVAL, "it is a named pipe (FIFO), not a regular file"),
    (stat.S_ISSOCK, errno.EINVAL, "it is a socket, not a regular file"),
    (stat.S_ISCHR, errno.EINVAL, "it is a device, not a regular file"),
    (stat.S_ISBLK, errno.EINVAL, "it is a device, not a regular file"),
    (stat.S_ISDIR, errno.EISDIR, "it is a folder, not a regular file"),
    (stat.S_ISLNK, errno.ELOOP, "it is a symbolic link, which is not followed here"),
)
# Absent on Windows, which has neither FIFOs nor devices among files.
_QUIETLY = (
    getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_INHERITED = lazy_pattern(r"/dev/(?:fd/|(?=stdin))(?P<fd>[0-9]{1,6}|stdin)|/proc/self/fd/(?P<own>[0-9]{1,6})")


def open_regular(path: str, flags: int = os.O_RDONLY, mode: int = 0o666, dir_fd: int | None = None) -> int:
    """Open a regular file and return its descriptor.

    Parameters
    ----------
    flags : as for `os.open`; with `NO_FOLLOW` a symbolic link is an error, else it is followed; with
        `os.O_CREAT` the file may be missing.
    Raises OSError: the system's error, or the type of the file if it is not regular.
    """
    # Checked before it is opened: opening a device can have effects of its own (a tape is rewound).
    try:
        status = os.stat(path, dir_fd=dir_fd, follow_symlinks=not flags & NO_FOLLOW)
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    else:
        require_regular(status, path)
    fd = os.open(path, flags | _QUIETLY, mode, dir_fd=dir_fd)
    try:
        require_regular(os.fstat(fd), path)
    except BaseException:
        os.close(fd)
        raise
    return fd


def require_regular(status: os.stat_result, path: str) -> None:
    """Raise OSError with the type of the file unless it is a regular one."""
    if stat.S_ISREG(status.st_mode):
        return
    for is_kind, number, what in _KINDS:
        if is_kind(status.st_mode):
            raise OSError(number, what, path)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def inherited_descriptor(path: str) -> int | None:
    """Return the descriptor of this process that a path refers to, such as 63 for `/dev/fd/63`; else None."""
    found = _INHERITED.fullmatch(path)
    if found is None:
        return None
    number = found["fd"] or found["own"]
    return 0 if number == "stdin" else int(number)


def open_named(path: str) -> int:
    """Open a file that a user has named for reading: a regular one, or one that is already open.

    Returns a descriptor. Raises OSError like `open_regular`.
    """
    inherited = inherited_descriptor(path)
    return open_regular(path) if inherited is None else os.dup(inherited)
