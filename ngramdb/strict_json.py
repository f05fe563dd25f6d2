"""Strict reading of JSON: no repeated keys, no NaN, fields of the right types; errors name the place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from ngramdb.errors import CorruptionError
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
