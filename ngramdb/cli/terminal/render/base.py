"""Code shared by all output modes: the shape of a result and the text of a single value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, Protocol

# Columns of a concordance: what is left of the match is aligned to it and cut at its beginning.
LEFT, MATCH, RIGHT = "left", "match", "right"


class Tabular(Protocol):
    """The part of a result that a renderer uses: names of columns, and rows as tuples in that order.

    `summary` holds facts beside the rows; `n_rows` is the number of rows, None while it is not known.
    """

    columns: tuple[str, ...]
    summary: dict[str, Any]
    n_rows: int | None

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Streamed(Tabular, Protocol):
    """A result whose answer is one text: `pieces` are its parts, as they are made."""

    pieces: Iterator[str] | None


def plain(value: object) -> object:
    """Convert the value for JSON: arrays and numpy scalars to lists and numbers, bytes to text.

    Not-a-number and the infinities become None, because JSON cannot represent them.
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return plain(value.tolist())
    return str(value)


def to_json(value: object) -> str:
    """Return the value as one line of JSON, without escapes for characters outside ASCII."""
    return json.dumps(plain(value), ensure_ascii=False)


def to_text(value: object) -> str:
    """Format the value for programs: numbers in full, true/false, lists and objects as JSON.

    None is for the caller to decide (each mode writes NULL its own way); here it is the empty string, as is
    a float that is not a number. Infinities are `inf` and `-inf`.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(float(value))
    if isinstance(value, int):
        return str(value)
    converted = plain(value)
    return converted if isinstance(converted, str) else to_json(converted)


def to_display(value: object) -> str:
    """Format the value for users: like `to_text`, with floats at six significant digits."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return to_text(value)


def is_number(value: object) -> bool:
    """Return True if the value is shown as a number, aligned to the right (True and False are not)."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or type(value).__module__ == "numpy"
