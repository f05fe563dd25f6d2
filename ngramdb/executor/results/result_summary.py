"""A result's summary in words, below its table: at the prompt, in Python and in notebooks alike."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any


def facts(summary: Mapping[str, Any], n_rows: int | None) -> Iterator[str]:
    """`25 in all`, `context count 4`, …: no zeros, and no total that is the number of rows again."""
    for name, value in summary.items():
        if name == "seed":
            yield f"seed {value}"
            continue
        if not value or not isinstance(value, int | float | str) or (name == "total" and value == n_rows):
            continue
        if name == "note":  # a sentence, which has a line of its own
            continue
        if isinstance(value, float) and math.isnan(value):  # it is not known
            continue
        words = {"total": f"{_shown(value)} in all", "message": _shown(value)}
        yield words.get(name, f"{name.replace('_', ' ')} {_shown(value)}")


# What `drawn` says in words.
_OF_A_DRAWING = frozenset({"seed", "sampled", "total", "sampled_documents", "documents", "standard_error"})


def beside(summary: Mapping[str, Any], columns: tuple[str, ...], n_rows: int | None) -> str | None:
    """The facts of a result on one line, for formats without a line below the rows; None for none.

    What the only row has is left out, and what the note on a drawing says (`drawn`). A result without
    columns has a message only, and a plan has all of it in its lines.
    """
    if columns in ((), ("plan",)):
        return None
    said = {*(columns if n_rows == 1 else ()), *(_OF_A_DRAWING if "seed" in summary else ())}
    return ", ".join(facts({name: summary[name] for name in summary if name not in said}, n_rows)) or None


def drawn(summary: Mapping[str, Any], exact: bool) -> str | None:
    """What was drawn at random for an answer, in words, with the seed that draws it again; None for none."""
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
