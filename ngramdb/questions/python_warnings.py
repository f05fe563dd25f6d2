"""Warnings of the Python verbs about problems that statements report in notes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb import patterns
    from ngramdb.patterns import grams
    from ngramdb.planner import cautions
    from ngramdb.planner import plan as plans
    from ngramdb.source import Corpus
else:
    cautions = lazy_module("ngramdb.planner.cautions")
    grams = lazy_module("ngramdb.patterns.grams")
    patterns = lazy_module("ngramdb.patterns")
    plans = lazy_module("ngramdb.planner.plan")


PACKAGE = __name__.partition(".")[0]

# The greatest number of n-grams that are examined if many occur nowhere.
MOST_EXAMINED = 1000


#: The list that collects warnings for a remote client: their messages, and the names of their categories.
_collected: ContextVar[list[tuple[str, str]] | None] = ContextVar("collected", default=None)


@contextmanager
def collected(into: list[tuple[str, str]]) -> Iterator[None]:
    """Collect the warnings of this thread in a list, for a service to send."""
    token = _collected.set(into)
    try:
        yield
    finally:
        _collected.reset(token)


def warn(said: Iterable[Any]) -> None:
    """Warn the caller of ngramdb. Python shows equal warnings from one place once."""
    into = _collected.get()
    for item in said:
        if into is not None:
            into.append((item.message, item.category.__name__))
        else:
            warnings.warn(item.message, item.category, stacklevel=_frames_of_ours())


def warn_of(view: Corpus, text: Any, matched: str | None = None, before: Any = None) -> None:
    """Warn of a text that occurs nowhere, or that never follows `before`, if its tokens are the reason.

    `before` is text or token ids.
    """
    phrase = _phrase(view, text, matched, before)
    found = None if phrase is None else cautions.caution_of(phrase)
    if found is not None:
        warn((found,))


def warn_of_many(
    view: Corpus, texts: Sequence[Any], places: Iterable[int], befores: Sequence[Any] | None = None
) -> None:
    """Warn of the texts at these places that occur nowhere because of their tokens."""
    for n_examined, place in enumerate(places):
        if n_examined == MOST_EXAMINED:
            break
        before = None if befores is None else befores[place]
        phrase = _phrase(view, texts[place], None, before)
        found = None if phrase is None else cautions.caution_of(phrase)
        if found is not None:
            message = f"n-gram {place} (counted from 0), perhaps among others: {found.message}"
            warn((found._replace(message=message),))
            return


def _phrase(view: Corpus, text: Any, matched: str | None, before: Any) -> patterns.Phrase | None:
    if not isinstance(text, str) and not isinstance(before, str):
        return None
    kind = view.tokenizer.kind
    context = None if before is None else grams.bind_text(before, view.tokenizer)
    if not isinstance(text, str):
        if context is None or context.text is None:
            return None
        text, context = context.text, None
    if not patterns.may_mislead(text, kind):
        return None
    return patterns.Phrase(
        view, grams.bind_text(text, view.tokenizer), matched, context, is_pattern=bool(matched)
    )


def _frames_of_ours() -> int:
    """Return the number of frames from `warn` to the innermost caller outside of the package, from 1."""
    n, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        n, frame = n + 1, frame.f_back
    return n
