"""Names: the nearest to a misspelt one, lists of them, and the default corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ngramdb.errors import BindError
from ngramdb.source import Corpus


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` most like `name`, ignoring case, or None if no name is near."""
    import difflib

    by_folded = {candidate.casefold(): candidate for candidate in known}
    # 0.6 is where difflib's ratio separates one or two slips in a short word from another word.
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def listing(names: Iterable[str], limit: int = 10) -> str:
    """Join names as a sentence lists them; cut long lists."""
    every = sorted(names)
    shown = ", ".join(every[:limit])
    return f"{shown}, … ({len(every)} in all)" if len(every) > limit else shown


def default_corpus(current: str | None, names: Sequence[str]) -> str:
    """Return the corpus of a query without FROM: the current one (USE), else the only one of `names`.

    Raises
    ------
    BindError
        No corpus exists; several exist and none is current; or the current one no longer exists.
    """
    if current is not None and current in names:
        return current
    if not names:
        raise BindError("no corpus exists yet: create one with CREATE CORPUS name")
    if current is not None:
        raise BindError(
            f"the current corpus, {current!r}, no longer exists. Write FROM name, or USE name once; known: "
            f"{listing(names)}"
        )
    if len(names) == 1:
        return names[0]
    raise BindError(f"which corpus? Write FROM name, or USE name once; known: {listing(names)}")


# ---- values of a field that are similar to the one that a statement compares it with


# Limits of the values of a segment that are compared one by one, and of those searched for similar spelling.
MAX_VALUES = 1 << 17
MAX_SIMILAR = 1000


def near_value(corpus: Corpus, path: str, text: str) -> str | None:
    """Return the value of a field that is most like `text`, or None if the field has `text` itself.

    A value is near if it differs in case or in surrounding blanks. A value that documents share is also near
    if its spelling is similar.

    Notes
    -----
    Cost: that of reading the different values of a dictionary, or of a column of at most MAX_VALUES texts.
    """
    shared: dict[str, None] = {}
    near: str | None = None
    folded = text.strip().casefold()
    for segment in corpus.segments:
        type_name = segment.metadata.fields().get(path)
        if type_name not in (None, "string", "list<string>") or segment.metadata.rest_has(path):
            return None
        if type_name is None:
            continue
        for values, is_shared in _values(segment.metadata.column(path), type_name):
            if len(values) > MAX_VALUES or values.index(text).as_py() >= 0:
                return None
            known = [value for value in values.to_pylist() if value is not None]
            near = near or next((value for value in known if value.strip().casefold() == folded), None)
            if is_shared and len(shared) + len(known) <= MAX_SIMILAR:
                shared.update(dict.fromkeys(known))
    return near or nearest(text, shared)


def _values(column: Any, type_name: str) -> Iterator[tuple[Any, bool]]:
    """Yield arrays with all values of a column, and whether documents share them."""
    last = None
    for chunk in getattr(column, "chunks", [column]):
        strings = chunk.flatten() if type_name.startswith("list<") else chunk
        if not hasattr(strings, "dictionary"):
            yield strings, False
        elif last is None or not strings.dictionary.equals(last):
            last = strings.dictionary
            yield last, True
