"""The base of a corpus's verbs: the database's newest version of it, and n-grams bound to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ngramdb.api.database import letting_go
from ngramdb.api.session import DatabaseSession
from ngramdb.errors import InvalidArgument, NgramdbError, NotSupportedError, QueryCancelled
from ngramdb.lazy import lazy_module
from ngramdb.lm.spec import is_cut

if TYPE_CHECKING:
    from ngramdb.api import statements
    from ngramdb.api.database import Database
    from ngramdb.api.snapshot import Snapshot
    from ngramdb.engine.corpus.view import CorpusView
    from ngramdb.executor import per_segment
    from ngramdb.executor.result import Result
    from ngramdb.interrupts import Interrupt
    from ngramdb.language import ast
    from ngramdb.patterns import Gram, Noted, grams
    from ngramdb.planner import cautions, parameters, planner
    from ngramdb.planner.parameters import ParameterValues
    from ngramdb.planner.plan import DocExpr, Plan
    from ngramdb.questions import binder as binders
    from ngramdb.questions import corpora, docs, parsing, to_ast, verbs
    from ngramdb.questions.binder import Binder
    from ngramdb.source import Catalog, IntArray
    from ngramdb.source import Corpus as CorpusSource
else:
    statements = lazy_module("ngramdb.api.statements")
    verbs = lazy_module("ngramdb.questions.verbs")
    to_ast = lazy_module("ngramdb.questions.to_ast")
    parsing = lazy_module("ngramdb.questions.parsing")
    binders = lazy_module("ngramdb.questions.binder")
    corpora = lazy_module("ngramdb.questions.corpora")
    docs = lazy_module("ngramdb.questions.docs")
    grams = lazy_module("ngramdb.patterns.grams")
    ast = lazy_module("ngramdb.language.ast")
    cautions = lazy_module("ngramdb.planner.cautions")
    parameters = lazy_module("ngramdb.planner.parameters")
    planner = lazy_module("ngramdb.planner.planner")
    per_segment = lazy_module("ngramdb.executor.per_segment")


class _Unread:
    """Stands in for a snapshot of which nothing has been read."""

    is_past = True


class _Gone:
    """Stands in for the data of a corpus that no longer exists, so that its version can be released."""

    is_past = True

    def __init__(self, error: NgramdbError) -> None:
        self._error = error

    def __getattr__(self, name: str) -> NoReturn:
        raise self._error.with_traceback(None)

    def __call__(self, *args: Any) -> NoReturn:
        raise self._error.with_traceback(None)


class BoundCorpus:
    """A corpus's name and database, with the most used functions of its newest version at hand.

    Attributes
    ----------
    view, snapshot : the corpus and the version that the functions below read
    count, prob, dist : the kernel's functions; `prob` is None if a separator cuts documents into sentences,
        since models then determine the context
    encode : the tokenizer's function
    """

    #: The conditions of the parts that this is a part of, outermost first, each with its parameters.
    conditions: tuple[tuple[str, ParameterValues], ...] = ()
    view: CorpusView
    count: Callable[[Any], int]

    def __init__(self, database: Database, name: str, at_once: bool = True) -> None:
        """`at_once`: True to open the corpus now, False to open it on the first query."""
        self.name = name
        self.database = database
        self.snapshot: Snapshot | _Unread = _Unread()
        if at_once:
            self.rebind()
        database.register(self)

    def follow(self) -> None:
        """Read the newest version from now on; none if it lacks the corpus or the database is closed."""
        if isinstance(self.snapshot, _Unread):
            return
        try:
            self._bind_to(self.database.snapshot)
        except QueryCancelled:
            raise
        except NgramdbError as error:  # each query looks for the corpus again, and raises
            gone: Any = _Gone(error.with_traceback(None))
            self.snapshot = self.view = self.count = self.prob = self.dist = self.encode = gone

    def rebind(self) -> CorpusView:
        """Read the newest version from now on; raise if the database is closed or lacks the corpus."""
        if self.database.settings.auto_refresh:
            self.database.refresh()
        return self._bind_to(self.database.snapshot)

    def _bind_to(self, snapshot: Snapshot) -> CorpusView:
        if snapshot is self.snapshot:
            return self.view
        view = self.opened(snapshot)
        self.count = view.index.count
        self.prob = None if is_cut(view) else view.index.prob
        self.dist = view.index.dist
        self.encode = view.tokenizer.encode
        self.view = view
        # Last, because the array verbs take it as the sign that all the others are set.
        self.snapshot = snapshot
        return view

    def opened(self, snapshot: Snapshot) -> CorpusView:
        """Open the corpus at a version."""
        return snapshot.view(self.name)

    def check_whole(self, verb: str) -> None:
        """Raise NotSupportedError if this is only a part of a corpus; for verbs that change it."""

    def name_of(self, other: BoundCorpus, verb: str) -> str:
        """Return the name of another whole corpus of this database, an argument of a verb.

        Raises InvalidArgument for one of another database, NotSupportedError for a part of one.
        """
        other.check_whole(verb)
        if not self.database.is_same(other.database):
            raise InvalidArgument(
                f"{verb} needs a corpus of the same database, but this {other.name} belongs to another; load "
                "its documents into this database first"
            )
        return other.name

    def current(self) -> CorpusView:
        """Return the corpus at the newest version."""
        if self.snapshot.is_past:
            return self.rebind()
        return self.view

    # ---- n-grams ----------------------------------------------------------------------------------------

    def refuse(self, ngram: Any, cause: Exception) -> NoReturn:
        """Raise the error for an n-gram that the kernel rejected."""
        grams.bind_gram(ngram, self.current().tokenizer)
        raise cause

    def gram(self, ngram: Any) -> Gram:
        """Return an n-gram for text or token ids."""
        return grams.bind_gram(ngram, self.view.tokenizer)

    def ids(self, ngram: Any) -> IntArray:
        """Return the ids of an n-gram."""
        return self.gram(ngram).ids

    def passage(self, text: Any) -> IntArray:
        """Return the ids of a text (or token ids) that is read token by token, and may have none."""
        if isinstance(text, str):
            verbs.warn_of(self.view, text)
        return grams.bind_text(text, self.view.tokenizer).ids

    def encode_ngram(self, text: str) -> IntArray:
        """Return the ids of one n-gram's text in a batch."""
        ids = self.encode(text)
        return ids if len(ids) else self.ids(text)

    # ---- plans ------------------------------------------------------------------------------------------

    def work(self) -> Interrupt:
        """Return the token of a piece of work; enter it while working."""
        return self.database.work()

    def session(self) -> DatabaseSession:
        """Return the database at its newest version, for planner and executor."""
        return DatabaseSession(self.database, self.database.snapshot)

    def scope(self) -> Binder:
        """Return a binder of names that are not part of a statement's text."""
        self.current()
        return binders.Binder(self.session())

    def bind(self, tree: Any, where: str | None = None, params: ParameterValues = None) -> Any:
        """Return the plan for the tree of a statement about this corpus; its condition is text."""
        self.current()
        condition, binder = self._parsed(where, params)
        return binder.bind(to_ast.about(tree, self.name, condition))

    def bind_text(self, text: str, params: ParameterValues = None) -> Plan:
        """Return the plan of one statement given as text."""
        self.current()
        statements, placeholders = parsing.parsed(text)
        values = parameters.Parameters(placeholders, params, text)
        return binders.Binder(self.session(), values, text).bind(statements[0])

    def copying(self, name: str, if_not_exists: bool) -> Plan:
        """Return the plan of a new corpus with all documents of this one."""
        return corpora.CopyDocuments(name, self.bind(ast.Docs()), if_not_exists)

    def condition(
        self, where: str | None, params: ParameterValues, view: CorpusView
    ) -> tuple[DocExpr, tuple[Noted, ...]]:
        """Bind a condition on documents (text; None for all) to the corpus; return it with its phrases."""
        tree, binder = self._parsed(where, params)
        return binder.condition(tree, view), tuple(binder.phrases)

    def _parsed(self, where: str | None, params: ParameterValues) -> tuple[ast.Condition | None, Binder]:
        tree, placeholders = (None, ()) if where is None else parsing.parsed_condition(where)[:2]
        values = parameters.Parameters(placeholders, params, where)
        return tree, binders.Binder(self.session(), values, where)

    def documents(
        self, where: str | None, params: ParameterValues, view: CorpusView
    ) -> tuple[DocExpr, tuple[Noted, ...]]:
        """Bind a condition for documents only: half of it may have been planned before."""
        if where is not None and not self.database.settings.disabled_rules:
            _, placeholders, template = parsing.parsed_condition(where)
            if template is not None:
                found = template.filled(parameters.Parameters(placeholders, params, where))
                if found is not None:
                    return found, ()
        return self.condition(where, params, view)

    def optimized(self, logical: Plan) -> Plan:
        """Return the plan as it is executed."""
        return planner.optimize(logical, self.database.settings.disabled_rules, estimated=False)[0]

    def ask(
        self, tree: Any, where: str | None, params: ParameterValues, work: Interrupt | None = None
    ) -> Result:
        """Bind the tree of a statement and run it as one piece of work, or as the rest of `work`."""
        work = self.work() if work is None else work
        with work:
            logical = self.bind(tree, where, params)
        return self.run(logical, work)

    def run(self, logical: Plan, work: Interrupt | None = None) -> Result:
        """Return a plan's answer, and warn of its cautions; it continues `work` if that is given."""
        work = self.work() if work is None else work
        with work:
            plan = self.optimized(logical)
        result = statements.answer(self.database, plan, work)
        if result.cautions:
            verbs.warn(result.cautions)
        return result

    def number(self, logical: Plan) -> int:
        """Return the single number that a plan computes."""
        row = self.run(logical).fetchone()
        return int(row[0]) if row else 0


# ---- Some documents of a corpus: the result of `Corpus.where`


class BoundPart(BoundCorpus):
    """The documents that meet a condition: of the newest version, searched again for each version."""

    def __init__(self, whole: BoundCorpus, where: str, params: ParameterValues) -> None:
        self._whole = whole
        self._where = where
        self._params = params
        self.conditions = (*whole.conditions, (where, params))
        super().__init__(whole.database, whole.name)

    def opened(self, snapshot: Snapshot) -> Any:
        """Return the part of the corpus at a version."""
        whole = self._whole.opened(snapshot)
        condition, phrases = self._whole.condition(self._where, self._params, whole)
        counting = docs.CountDocuments(whole, condition, phrases=phrases)
        self._whole.number(counting)  # warns of likely mistakes in the condition
        plan = self.optimized(counting)
        assert isinstance(plan, docs.CountDocuments)
        with self.work():
            found = per_segment.matching(whole, plan.where, plan.costs, None)
        return whole.sliced([chosen.numbers() for _, chosen in found], self._where)

    def session(self) -> DatabaseSession:
        """Return the database, in which the corpus's name refers to the part."""
        return _PartSession(self)

    def check_whole(self, verb: str) -> NoReturn:
        raise NotSupportedError(
            f"{verb} needs a whole corpus, but this is a part of {self.name}, for reading; "
            f"corpus({self.name!r}) has all of it, and copy(name) makes a corpus of the part"
        )


class _PartSession(DatabaseSession):
    """A database in which a corpus's name refers to a part of it."""

    def __init__(self, part: BoundPart) -> None:
        super().__init__(part.database, part.database.snapshot)
        self._part = part

    def corpus_view(self, name: str, /) -> Any:
        return self._part.view if name == self._part.name else super().corpus_view(name)

    def algebra(self, terms: tuple[tuple[int, str, int | None], ...], /) -> Any:
        return self._part.view if terms == ((1, self._part.name, None),) else super().algebra(terms)


class CorpusVerbs:
    """The base of the bases of `ngramdb.Corpus`, which have its verbs."""

    name: str
    _bound: BoundCorpus


# Decorates verbs that commit.
commits = letting_go(lambda verbs: verbs._bound.database)


def chosen_by(
    where: str | None, params: ParameterValues, removes: bool = False
) -> tuple[Any, parameters.Parameters, Callable[[Catalog, CorpusSource], DocExpr]]:
    """Return the tree of a condition, its parameters, and a function that binds it to change documents."""
    if where is None and removes:
        raise InvalidArgument("delete needs a condition; 'doc_id >= 0' removes all documents")
    tree, placeholders = (None, ()) if where is None else parsing.parsed_condition(where)[:2]
    values = parameters.Parameters(placeholders, params, where)

    def bind(catalog: Catalog, corpus: CorpusSource) -> DocExpr:
        bound = binders.Binder(catalog, values, where)
        bound.removes = removes
        found = bound.condition(tree, corpus)
        if bound.phrases:  # before anything is removed: a filter may make an error of a warning
            verbs.warn(cautions.cautions_of_removed(bound.phrases))
        return found

    return tree, values, bind
