"""The nearest name to a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name in `known` most like `name` (whatever its letters' case), or None when nothing is near."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    # 0.6 is where difflib's ratio separates one or two slips in a short word from another word.
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def listing(names: Iterable[str], limit: int = 10) -> str:
    """Names as a sentence lists them, long lists cut."""
    every = sorted(names)
    shown = ", ".join(every[:limit])
    return f"{shown}, … ({len(every)} in all)" if len(every) > limit else shown
