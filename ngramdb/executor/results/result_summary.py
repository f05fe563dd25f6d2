"""A result's summary in words, below its table: the same at the prompt, in Python and in notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any


def facts(summary: Mapping[str, Any], n_rows: int | None) -> Iterator[str]:
    """Yield `25 in all`, `context count 4`, …: no zeros, and no total that equals the number of rows."""
    for name, value in summary.items():
        if name == "seed":
            yield f"seed {value}"
            continue
        if not value or not isinstance(value, int | float | str) or (name == "total" and value == n_rows):
            continue
        if name == "note":  # a sentence, which has its own line
            continue
        if isinstance(value, float) and math.isnan(value):  # unknown
            continue
        words = {"total": f"{_shown(value)} in all", "message": _shown(value)}
        yield words.get(name, f"{name.replace('_', ' ')} {_shown(value)}")


# Facts that `drawn` describes in words.
_OF_A_DRAWING = frozenset({"seed", "sampled", "total", "sampled_documents", "documents", "standard_error"})


def beside(summary: Mapping[str, Any], columns: tuple[str, ...], n_rows: int | None) -> str | None:
    """Return the facts of a result on one line, for formats without a line below the rows; None if empty.

    Facts in the only row are left out, and those in the note on a sample (`drawn`). A result without
    columns has a message only, and a plan has all of it in its lines.
    """
    if columns in ((), ("plan",)):
        return None
    said = {*(columns if n_rows == 1 else ()), *(_OF_A_DRAWING if "seed" in summary else ())}
    return ", ".join(facts({name: summary[name] for name in summary if name not in said}, n_rows)) or None


def drawn(summary: Mapping[str, Any], exact: bool) -> str | None:
    """Describe the random sample of an answer, with the seed that reproduces it; None without one."""
    if "seed" not in summary:
        return None
    seed = f"seed {summary['seed']}"
    if "sampled_documents" in summary:
        said = f"a sample of {summary['sampled_documents']:,} of {summary['documents']:,} documents, {seed}"
        error = summary["standard_error"]
        known = (
            ""
            if exact or math.isnan(error)
            else f", standard error {error:{',.0f' if error >= 10 else '.3g'}}"
        )
        return said if exact else f"an estimate from {said}{known}"
    if "sampled" in summary:
        return f"a sample of {summary['sampled']:,} of {summary['total']:,}, {seed}"
    return f"drawn with {seed}"


def _shown(value: float | str) -> str:
    if isinstance(value, bool):
        return "true"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return value
