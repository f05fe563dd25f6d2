"""Verbs of statements: the interface of their corpus, and their attachment to `ngramdb.Corpus`.

A verb is a method of the class `Verbs` in the module of its statement. Type checkers see these classes as
bases of `Corpus`; at run time `Corpus` has a `LazyVerb` by each name until it is first used.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ngramdb.lazy import imported

if TYPE_CHECKING:
    from ngramdb.executor.results.result import Result
    from ngramdb.interrupts import Interrupt
    from ngramdb.patterns import Gram, Noted
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import DocExpr, Plan
    from ngramdb.source import Corpus, IntArray

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
    "ngrams": "ngrams",
    "trace": "trace",
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
