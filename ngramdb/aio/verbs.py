"""Corpora and results whose verbs are awaited, made from those of `ngramdb.Corpus` and `ngramdb.Result`.

At run time `attach` makes them all. Type checkers read the assignments below, which keep the signatures.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ngramdb import api
from ngramdb.aio.team import Team
from ngramdb.display import visible
from ngramdb.executor.result import ColumnType, Row
from ngramdb.interrupts import Stoppable
from ngramdb.lazy import lazy_module
from ngramdb.questions.verbs import LazyVerb

if TYPE_CHECKING:
    from ngramdb.api import remote
else:
    remote = lazy_module("ngramdb.api.remote")

Given = ParamSpec("Given")
Item = TypeVar("Item")
Value = TypeVar("Value")
Waiting = Coroutine[Any, Any, Value]

if TYPE_CHECKING:

    class Verb(Generic[Given, Value]):
        """A method, for type checkers."""

        def __get__(self, instance: Any, owner: Any = None) -> Callable[Given, Value]: ...

    @overload
    def awaited(verb: Callable[Concatenate[Any, Given], api.Result]) -> Verb[Given, Waiting[Result]]: ...
    @overload
    def awaited(verb: Callable[Concatenate[Any, Given], api.Corpus]) -> Verb[Given, Waiting[Corpus]]: ...
    @overload
    def awaited(verb: Callable[Concatenate[Any, Given], Value]) -> Verb[Given, Waiting[Value]]: ...
    def awaited(verb: Any) -> Any:
        """Return the verb as a coroutine function; results and corpora are those of this module."""

    def stepped(
        verb: Callable[Concatenate[Any, Given], Iterator[Value]],
    ) -> Verb[Given, AsyncGenerator[Value, None]]:
        """Return the verb as an asynchronous generator."""


class Awaited:
    """The base of classes with awaited verbs: a synchronous object, and the threads that use it.

    Attributes
    ----------
    sync : the synchronous object, for arguments of other verbs, and for code in threads of its own
    """

    sync: Any

    def __init__(self, sync: Any, team: Team) -> None:
        self.sync = sync
        self._team = team

    def __repr__(self) -> str:
        kind = type(self)
        return visible(f"<{kind.__module__.rpartition('.')[0]}.{kind.__name__} of {self._named()}>")

    def _named(self) -> str:
        return str(self.sync.name)

    async def _answer(self, work: Callable[[], Any]) -> Any:
        """Return what `work` returns; results and corpora are those of this module."""
        token = Stoppable()
        found = await self._team.run(work, token)
        if isinstance(found, api.Result):
            return Result(found, self._team, token)
        if isinstance(found, (api.Corpus, remote.RemoteCorpus)):
            return Corpus(found, self._team)
        return found

    async def _read(self, name: str) -> Any:
        """Return the value of a property that reads the database."""
        return await self._answer(lambda: getattr(self.sync, name))


class Corpus(Awaited):
    """A corpus whose verbs are awaited. They are those of `ngramdb.Corpus`, or of a `RemoteCorpus`.

    `stream` and `removed_documents` are read with `async for`; properties are awaited as well. Arguments and
    results are the same, except that a `Result` is a `ngramdb.aio.Result`. Documents, callbacks and
    tokenizers that are passed are used in another thread.
    """

    sync: api.Corpus

    @property
    def name(self) -> str:
        """The name of the corpus."""
        return str(self.sync.name)

    @property
    def n_documents(self) -> Waiting[int]:
        """The number of documents."""
        return self._read("n_documents")

    @property
    def n_tokens(self) -> Waiting[int]:
        """The number of tokens, without separators."""
        return self._read("n_tokens")

    @property
    def tokenizer(self) -> Waiting[Any]:
        """The corpus's tokenizer, with `encode` and `decode`."""
        return self._read("tokenizer")

    async def batch(
        self,
        verb: Callable[Concatenate[Any, Item, Given], Value],
        items: Iterable[Item],
        *args: Given.args,
        **named: Given.kwargs,
    ) -> list[Value]:
        """Call a verb of `ngramdb.Corpus` for each of many texts or n-grams, as `ngramdb.Corpus.batch`.

        Tables among the answers are of the class `ngramdb.Result`; read long ones in a thread.
        """
        found: list[Value] = await self._answer(lambda: self.sync.batch(verb, items, *args, **named))
        return found

    if TYPE_CHECKING:
        add = awaited(api.Corpus.add)
        add_fields = awaited(api.Corpus.add_fields)
        agreement = awaited(api.Corpus.agreement)
        agreement_table = awaited(api.Corpus.agreement_table)
        analyze = awaited(api.Corpus.analyze)
        append = awaited(api.Corpus.append)
        collocates = awaited(api.Corpus.collocates)
        compact = awaited(api.Corpus.compact)
        continuations = awaited(api.Corpus.continuations)
        copy = awaited(api.Corpus.copy)
        count = awaited(api.Corpus.count)
        count_docs = awaited(api.Corpus.count_docs)
        count_many = awaited(api.Corpus.count_many)
        counts = awaited(api.Corpus.counts)
        cut_duplicates = awaited(api.Corpus.cut_duplicates)
        cut_spans = awaited(api.Corpus.cut_spans)
        decontaminate = awaited(api.Corpus.decontaminate)
        delete = awaited(api.Corpus.delete)
        delete_duplicates = awaited(api.Corpus.delete_duplicates)
        delete_near_duplicates = awaited(api.Corpus.delete_near_duplicates)
        dispersion = awaited(api.Corpus.dispersion)
        dist = awaited(api.Corpus.dist)
        dist_arrays = awaited(api.Corpus.dist_arrays)
        dist_before = awaited(api.Corpus.dist_before)
        dist_many = awaited(api.Corpus.dist_many)
        docs = awaited(api.Corpus.docs)
        document = awaited(api.Corpus.document)
        draft = awaited(api.Corpus.draft)
        drop_fields = awaited(api.Corpus.drop_fields)
        duplicates = awaited(api.Corpus.duplicates)
        export = awaited(api.Corpus.export)
        export_arpa = awaited(api.Corpus.export_arpa)
        export_infini_gram = awaited(api.Corpus.export_infini_gram)
        export_ngrams = awaited(api.Corpus.export_ngrams)
        export_removals = awaited(api.Corpus.export_removals)
        generate = awaited(api.Corpus.generate)
        keep_sample = awaited(api.Corpus.keep_sample)
        keywords = awaited(api.Corpus.keywords)
        kwic = awaited(api.Corpus.kwic)
        language_model = awaited(api.Corpus.language_model)
        load = awaited(api.Corpus.load)
        match_lengths = awaited(api.Corpus.match_lengths)
        matcher = awaited(api.Corpus.matcher)
        near_duplicates = awaited(api.Corpus.near_duplicates)
        ngrams = awaited(api.Corpus.ngrams)
        novelty = awaited(api.Corpus.novelty)
        occurrences = awaited(api.Corpus.occurrences)
        perplexity = awaited(api.Corpus.perplexity)
        perplexity_table = awaited(api.Corpus.perplexity_table)
        prob = awaited(api.Corpus.prob)
        prob_many = awaited(api.Corpus.prob_many)
        quality = awaited(api.Corpus.quality)
        quotations = awaited(api.Corpus.quotations)
        removals = awaited(api.Corpus.removals)
        removed_documents = stepped(api.Corpus.removed_documents)
        restore = awaited(api.Corpus.restore)
        sample = awaited(api.Corpus.sample)
        score = awaited(api.Corpus.score)
        score_many = awaited(api.Corpus.score_many)
        stream = stepped(api.Corpus.stream)
        subtract = awaited(api.Corpus.subtract)
        trace = awaited(api.Corpus.trace)
        trace_arrays = awaited(api.Corpus.trace_arrays)
        update = awaited(api.Corpus.update)
        warm = awaited(api.Corpus.warm)
        where = awaited(api.Corpus.where)


class Result(Awaited):
    """The answer of a statement, whose rows are awaited; they are computed while they are read.

    ```python
    async for row in await corpus.kwic("natural language"):
        print(row)
    ```

    Cancelling a task that reads stops the statement: the rows after that cannot be read. Facts about the
    result (`columns`, `summary`, …) are those of `ngramdb.Result`.
    """

    sync: api.Result

    def __init__(self, sync: api.Result, team: Team, token: Stoppable) -> None:
        super().__init__(sync, team)
        self._token = token
        self._turn = asyncio.Lock()

    def _named(self) -> str:
        return ", ".join(self.sync.columns) or str(self.sync.summary.get("message", "no rows"))

    async def _answer(self, work: Callable[[], Any]) -> Any:
        async with self._turn:  # a token stops one thread's work
            return await self._team.run(work, self._token)

    def __aiter__(self) -> Result:
        """Read all unread rows. Those that are left when a loop ends early can still be read."""
        return self

    async def __anext__(self) -> Row:
        if self.sync.n_ready and not self._turn.locked():  # without a thread: nothing is computed
            row = self.sync.fetchone()
        else:
            row = await self._answer(self.sync.fetchone)
        if row is None:
            raise StopAsyncIteration
        return row

    async def batches(self, n_rows: int | None = None) -> AsyncGenerator[list[Row], None]:
        """Yield all unread rows in lists: as they are computed, or of `n_rows`."""
        batches = self.sync.batches(n_rows)
        while batch := await self._answer(lambda: next(batches, None)):
            yield batch

    async def close(self) -> None:
        """Release rows that are not yet read. Closing twice is a no-op."""
        await self._answer(self.sync.close)

    async def __aenter__(self) -> Result:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    if TYPE_CHECKING:
        columns: tuple[str, ...]
        types: tuple[ColumnType, ...]
        summary: dict[str, Any]
        n_rows: int | None
        exact: bool
        elapsed: float
        snapshot: int
        notes: tuple[str, ...]
        fetchone = awaited(api.Result.fetchone)
        fetchmany = awaited(api.Result.fetchmany)
        fetchall = awaited(api.Result.fetchall)
        to_dicts = awaited(api.Result.to_dicts)
        arrow = awaited(api.Result.arrow)
        df = awaited(api.Result.df)
        pl = awaited(api.Result.pl)


def attach(owner: type, source: Callable[[], type], names: Iterable[str]) -> None:
    """Give a class the verbs of the synchronous one that `source` returns, each when it is first used."""

    def load(name: str) -> Any:
        local = getattr(source(), name)
        steps = str(inspect.signature(local).return_annotation).startswith("Iterator[")
        return _stepped(name, local) if steps else _awaited(name, local)

    for name in names:
        setattr(owner, name, LazyVerb(owner, name, load))


def _awaited(name: str, local: Any) -> Any:
    @wraps(local)
    async def call(self: Awaited, *given: Any, **named: Any) -> Any:
        return await self._answer(lambda: getattr(self.sync, name)(*given, **named))

    return call


def _stepped(name: str, local: Any) -> Any:
    @wraps(local)
    def call(self: Awaited, *given: Any, **named: Any) -> Any:
        return self._team.steps(lambda: getattr(self.sync, name)(*given, **named))

    return call


FACTS = ("columns", "types", "summary", "n_rows", "exact", "elapsed", "snapshot", "notes")
for _name in FACTS:
    setattr(Result, _name, property(attrgetter(f"sync.{_name}")))
attach(Result, lambda: api.Result, ("fetchone", "fetchmany", "fetchall", "to_dicts", "arrow", "df", "pl"))
attach(
    Corpus,
    lambda: api.Corpus,
    (name for name in vars(api.Corpus) if not name.startswith("_") and name not in vars(Corpus)),
)
