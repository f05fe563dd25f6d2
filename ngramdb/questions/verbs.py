"""Verbs of statements: the interface of their corpus, their attachment to `ngramdb.Corpus`, their warnings.

A verb is a method of the class `Verbs` in the module of its statement. Type checkers see these classes as
bases of `Corpus`; at run time `Corpus` has a `LazyVerb` by each name until it is first used.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ngramdb.lazy import imported, lazy_module

if TYPE_CHECKING:
    from ngramdb import patterns
    from ngramdb.executor.result import Result
    from ngramdb.interrupts import Interrupt
    from ngramdb.patterns import Gram, Noted, grams
    from ngramdb.planner import cautions
    from ngramdb.planner import plan as plans
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import DocExpr, Plan
    from ngramdb.source import Corpus, IntArray
else:
    cautions = lazy_module("ngramdb.planner.cautions")
    grams = lazy_module("ngramdb.patterns.grams")
    patterns = lazy_module("ngramdb.patterns")
    plans = lazy_module("ngramdb.planner.plan")


#: The verbs of a corpus that are defined here, each with its module.
VERBS = {
    "collocates": "collocates",
    "count": "count",
    "counts": "count",
    "docs": "docs",
    "count_docs": "docs",
    "sample": "docs",
    "kwic": "kwic",
    "occurrences": "kwic",
    "keywords": "keywords",
    "dispersion": "dispersion",
    "duplicates": "duplicate_spans",
    "ngrams": "ngrams",
    "trace": "trace",
    "near_duplicates": "near_duplicates",
    "prob": "prob",
    "prob_many": "prob",
    "dist": "dist",
    "dist_before": "dist",
    "dist_arrays": "dist",
    "dist_many": "dist",
    "score": "score",
    "score_many": "score",
    "generate": "generate",
    "stream": "generate",
    "perplexity_table": "perplexity",
    "agreement_table": "agreement",
    "novelty": "novelty",
    "continuations": "continuations",
}


class Bound(Protocol):
    """A corpus at the newest version of its database, as verbs use it (`ngramdb.api.corpus_handle`)."""

    view: Any
    count: Callable[[Any], int]
    prob: Any
    dist: Any
    encode: Callable[[str], Any]

    @property
    def database(self) -> Any: ...

    @property
    def snapshot(self) -> Any: ...

    def current(self) -> Corpus: ...
    def rebind(self) -> Corpus: ...
    def session(self) -> Any: ...
    def work(self) -> Interrupt: ...
    def check_whole(self, verb: str) -> None: ...
    def name_of(self, other: Any, verb: str) -> str: ...
    def refuse(self, ngram: Any, cause: Exception) -> NoReturn: ...
    def gram(self, ngram: Any) -> Gram: ...
    def ids(self, ngram: Any) -> IntArray: ...
    def passage(self, text: Any) -> IntArray: ...
    def encode_ngram(self, text: str) -> IntArray: ...
    def bind(self, tree: Any, where: str | None = None, params: ParameterValues = None) -> Any: ...
    def bind_text(self, text: str, params: ParameterValues = None) -> Plan: ...
    def documents(
        self, where: str | None, params: ParameterValues, view: Any
    ) -> tuple[DocExpr, tuple[Noted, ...]]: ...
    def optimized(self, logical: Plan) -> Plan: ...
    def ask(
        self, tree: Any, where: str | None, params: ParameterValues, work: Interrupt | None = None
    ) -> Result: ...
    def run(self, logical: Plan, work: Interrupt | None = None) -> Result: ...
    def number(self, logical: Plan) -> int: ...


class Asking:
    """Base class of classes with verbs, with the parts of a corpus that verbs use."""

    name: str
    _bound: Bound

    def _among(self, where: str | None, params: ParameterValues) -> Any:
        """Return the corpus, or the part of it that meets a condition."""
        raise NotImplementedError


class LazyVerb:
    """A placeholder for a method: on first use, the class gets the function that `load` returns."""

    def __init__(self, owner: type, name: str, load: Callable[[str], Any]) -> None:
        self._owner, self._name, self._load = owner, name, load

    def __get__(self, instance: Any, owner: type) -> Any:
        found = self._load(self._name)
        setattr(self._owner, self._name, found)
        return found if instance is None else found.__get__(instance, owner)


def attach(owner: type) -> None:
    """Give a class the verbs of all statements."""

    def load(name: str) -> Any:
        found = vars(imported(f"ngramdb.questions.{VERBS[name]}").Verbs)[name]
        _name_after(owner, found)
        return found

    for name in VERBS:
        setattr(owner, name, LazyVerb(owner, name, load))


def adopt(owner: type, verbs: type) -> None:
    """Give a class the methods of another one, unless it has its own."""
    for name, found in vars(verbs).items():
        if inspect.isfunction(found) and name not in vars(owner):
            _name_after(owner, found)
            setattr(owner, name, found)


def _name_after(owner: type, method: Any) -> None:
    for function in (method, inspect.unwrap(method)):
        function.__qualname__ = f"{owner.__name__}.{method.__name__}"


# ---- Warnings of the Python verbs about problems that statements report in notes.


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
        if item.category is None:
            continue
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
