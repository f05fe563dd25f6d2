"""What the verbs of a corpus stand on: the connection's current version of it, and n-grams bound to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ngramdb.errors import NgramdbError
from ngramdb.lazy import lazy_module
from ngramdb.lm.sentences import is_cut

if TYPE_CHECKING:
    from ngramdb.api import cautioning, parsing, trees
    from ngramdb.api.connection import Connection
    from ngramdb.api.snapshot import Snapshot
    from ngramdb.engine.view import CorpusView
    from ngramdb.executor.result import Result
    from ngramdb.planner import binder as binders
    from ngramdb.planner import grams, parameters, planner
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import DocExpr, Gram, Phrase, Plan
    from ngramdb.planner.source import IntArray
else:
    cautioning = lazy_module("ngramdb.api.cautioning")
    trees = lazy_module("ngramdb.api.trees")
    parsing = lazy_module("ngramdb.api.parsing")
    binders = lazy_module("ngramdb.planner.binder")
    grams = lazy_module("ngramdb.planner.grams")
    parameters = lazy_module("ngramdb.planner.parameters")
    planner = lazy_module("ngramdb.planner.planner")


class BoundCorpus:
    """A corpus's name and connection, and what is asked most of its current version, ready at hand."""

    def __init__(self, connection: Connection, name: str) -> None:
        self.name = name
        self._connection = connection
        self._rebind()
        connection._register(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """The name and the connection, which is opened anew where this is unpickled."""
        return type(self), (self._connection, self.name)

    def _follow(self) -> None:
        """Goes over to the connection's new version, unless that has no such corpus."""
        with contextlib.suppress(NgramdbError):
            self._rebind()

    def _rebind(self) -> CorpusView:
        """Goes over to the connection's current version; raises when that is closed or has no such corpus."""
        snapshot = self._connection.snapshot
        view = snapshot.view(self.name)
        self._count: Callable[[Any], int] = view.index.count
        # Not where a separator cuts documents into sentences: then models say what a context is.
        self._prob = None if is_cut(view) else view.index.prob
        self._dist = view.index.dist
        self._encode = view.tokenizer.encode
        self._view = view
        # Last, since the array verbs take it as the sign that all the others are there.
        self._snapshot: Snapshot | None = snapshot
        return view

    def _current(self) -> CorpusView:
        if self._snapshot is not self._connection._snapshot:
            return self._rebind()
        return self._view

    def _refuse(self, ngram: Any, cause: Exception) -> NoReturn:
        """Says what is wrong with an n-gram that the kernel would not take."""
        grams.bind_gram(ngram, self._current().tokenizer)
        raise cause

    def _gram(self, ngram: Any) -> Gram:
        return grams.bind_gram(ngram, self._view.tokenizer)

    def _ids(self, ngram: Any) -> IntArray:
        return self._gram(ngram).ids

    def _passage(self, text: Any) -> IntArray:
        """The ids of a text (or token ids) that is read token by token, and may have none."""
        return grams.bind_text(text, self._view.tokenizer).ids

    def _encode_ngram(self, text: str) -> IntArray:
        """The ids of one n-gram's text among many."""
        ids = self._encode(text)
        return ids if len(ids) else self._ids(text)

    def _bind(self, tree: Any, where: str | None, params: ParameterValues) -> Any:
        """The plan of a statement about this corpus, made by hand; its condition as text."""
        self._current()
        condition, placeholders = (None, ()) if where is None else parsing.parsed_condition(where)[:2]
        session = self._connection._session()
        binder = binders.Binder(session, parameters.Parameters(placeholders, params, where), where)
        return binder.bind(trees.about(tree, self.name, condition))

    def _condition(
        self, where: str | None, params: ParameterValues, view: CorpusView
    ) -> tuple[DocExpr, tuple[Phrase, ...]]:
        """A condition on documents as text, bound to the corpus, and its phrases; None means all of them."""
        tree, placeholders = (None, ()) if where is None else parsing.parsed_condition(where)[:2]
        values = parameters.Parameters(placeholders, params, where)
        binder = binders.Binder(self._connection._session(), values, where)
        return binder.condition(tree, view), tuple(binder.phrases)

    def _documents(
        self, where: str | None, params: ParameterValues, view: CorpusView
    ) -> tuple[DocExpr, tuple[Phrase, ...]]:
        """The same where documents are all that is asked for: half of it may have been planned before."""
        if where is not None and not self._connection.settings.disabled_rules:
            _, placeholders, template = parsing.parsed_condition(where)
            if template is not None:
                found = template.filled(parameters.Parameters(placeholders, params, where))
                if found is not None:
                    return found, ()
        return self._condition(where, params, view)

    def _run(self, logical: Plan) -> Result:
        plan, _ = planner.optimize(logical, self._connection.settings.disabled_rules, estimated=False)
        result = self._connection._run_plan(plan)
        if result.cautions:
            cautioning.warn(result.cautions)
        return result
