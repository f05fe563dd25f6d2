"""What a result's summary says in words, below its table: at the prompt, in Python and in notebooks alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any


def facts(summary: Mapping[str, Any], n_rows: int | None) -> Iterator[str]:
    """`25 in all`, `context count 4`, …: no zeros, and no total that is the number of rows again."""
    for name, value in summary.items():
        if not value or not isinstance(value, int | float | str) or (name == "total" and value == n_rows):
            continue
        if name == "note":  # a sentence, which has a line of its own
            continue
        words = {"total": f"{_shown(value)} in all", "message": _shown(value)}
        yield words.get(name, f"{name.replace('_', ' ')} {_shown(value)}")


def _shown(value: float | str) -> str:
    if isinstance(value, bool):
        return "true"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value
