"""Names: the nearest one to a misspelt one, lists of them, and the corpus that is meant without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ngramdb.errors import BindError


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name in `known` most like `name` (whatever its letters' case), or None when nothing is near."""
    import difflib

    by_folded = {candidate.casefold(): candidate for candidate in known}
    # 0.6 is where difflib's ratio separates one or two slips in a short word from another word.
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def listing(names: Iterable[str], limit: int = 10) -> str:
    """Names as a sentence lists them, long lists cut."""
    every = sorted(names)
    shown = ", ".join(every[:limit])
    return f"{shown}, … ({len(every)} in all)" if len(every) > limit else shown


def default_corpus(current: str | None, names: Sequence[str]) -> str:
    """The corpus that is asked without FROM: the current one (USE), else the only one of `names`.

    Raises
    ------
    BindError
        There is none, or it is not clear which one is meant; or the current one is gone: no other one was
        meant then.
    """
    if current is not None and current in names:
        return current
    if not names:
        raise BindError("there is no corpus yet: CREATE CORPUS name makes one")
    if current is not None:
        raise BindError(
            f"the current corpus, {current!r}, is no longer there. Say FROM name, or USE name once; known: "
            f"{listing(names)}"
        )
    if len(names) == 1:
        return names[0]
    raise BindError(f"which corpus? Say FROM name, or USE name once; known: {listing(names)}")
