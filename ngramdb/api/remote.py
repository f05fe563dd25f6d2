"""A database that another machine serves (`ngramdb serve`): the same queries over HTTP.

```python
db = ngramdb.connect("http://corpora.example.org:8765")
db.corpus("web").count("natural language")
```

Statements are sent to `/query`; the verbs of a corpus, with their arguments, to `/CORPUS/verbs/`. Nothing is
written.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar
from urllib.parse import quote, urlsplit

import numpy as np

from ngramdb import errors
from ngramdb.api import wire
from ngramdb.api.corpus import Corpus
from ngramdb.api.cursor import Cursor
from ngramdb.api.pool import Pool
from ngramdb.api.settings import checked_timeout
from ngramdb.display import visible
from ngramdb.errors import ExecutionError, HasErrors, InvalidArgument, NgramdbError, NotSupportedError
from ngramdb.executor.display import drawn
from ngramdb.executor.result import Result, Row
from ngramdb.ingest.readers import arrow_data
from ngramdb.interrupts import ProgressCallback, check
from ngramdb.planner.cautions import Caution
from ngramdb.planner.parameters import ParameterValues
from ngramdb.questions import verbs
from ngramdb.questions.verbs import LazyVerb
from ngramdb.types import array_of, check_flags

if TYPE_CHECKING:
    _Verbs = Corpus  # for type checkers: the verbs below are made from its methods
else:
    _Verbs = object

#: Items of a batch in one request.
MOST_AT_ONCE = 256
#: The number of times that a request is repeated.
RETRIES = 3
Item = TypeVar("Item")
Given = ParamSpec("Given")
Answer = TypeVar("Answer")

#: Rows per request: as many as a server sends at a time.
MOST_ROWS = 1_000_000
#: Names of `Connection` that change a database, or are state of this process.
OF_CONNECTIONS = (
    *("create_corpus", "drop_corpus", "commit_parts", "attach", "detach", "keep_version", "drop_version"),
    "trial",
    *("rollback", "use", "current_corpus", "refresh", "interrupt", "progress", "snapshot"),
)
NO_PROGRESS = "a server does not report its progress; leave it out"
#: Advice for verbs that a server does not answer.
INSTEAD = {
    "refresh": "new versions are seen with the next query",
    "interrupt": "a query has its timeout",
    "progress": "statements there do not report their progress",
    "snapshot": "version has its number",
    "use": "corpus(name) and FROM select the corpus",
    "current_corpus": "corpus(name) and FROM select the corpus",
    "rollback": "nothing is written",
    "tokenizer": "it stays where its corpus is; document(doc_id).ids has the tokens of a document",
    "language_model": "score, prob_many, dist and perplexity take model=…, and are answered there",
    "matcher": "score, draft and trace are answered there",
    "quotations": "docs('TEXT ~ ? IGNORE CASE', params=[…]) searches for one of them",
    "removals": "the service's page CORPUS/removals.json lists them",
    "export": "docs(where).arrow() returns the documents as a table, to be written here",
}


class RemoteConnection(HasErrors):
    """A server's database. May be shared by threads; made by `connect`.

    `execute` runs every statement that reads, `corpus` offers the reading verbs of a corpus. Versions that
    are committed there are seen with the next query.

    Connections to the server are kept and used again, one per request at a time. As all requests only read,
    one that fails is repeated: at once if the server has closed a kept connection, and otherwise `retries`
    times, after 0.1, 0.2, 0.4 … seconds, or the time in Retry-After of a busy server (503).
    """

    def __init__(self, address: str, token: str | None = None, retries: int = RETRIES) -> None:
        parts = urlsplit(address)
        if parts.hostname is None or parts.query or parts.fragment:
            raise InvalidArgument(f"{address} is not the address of a server, such as http://localhost:8765")
        self._address = address
        self._base = parts.path.rstrip("/") + "/"
        self._where = (parts.hostname, parts.port)
        self._retries = _checked_retries(retries)
        self._pool = Pool(*self._where, parts.scheme == "https", self._retries)
        self._token = token if token is not None else os.environ.get(wire.TOKEN_VARIABLE)
        self._local = threading.local()

    def __repr__(self) -> str:
        return visible(f"<ngramdb.RemoteConnection {self._address}>")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the address; also the token, if it was passed and not read from the environment."""
        token = None if self._token == os.environ.get(wire.TOKEN_VARIABLE) else self._token
        return type(self), (self._address, token, self._retries)

    def __enter__(self) -> RemoteConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the server; they are reopened on demand."""
        self._pool.close()

    @contextmanager
    def timeout(self, seconds: float) -> Iterator[None]:
        """Limit the time of all statements and verbs of a block in this thread, as `Connection.timeout`.

        Each request gets the remaining time, up to the server's limit.
        """
        allowed = checked_timeout("timeout", seconds)
        before = getattr(self._local, "deadline", None)
        self._local.deadline = time.monotonic() + allowed if allowed else None
        try:
            yield
        finally:
            self._local.deadline = before

    def _within_block(self, sent: dict[str, Any]) -> dict[str, Any]:
        """Return a request with the time that is left of a block. Raises TimeoutExceeded if there is none."""
        left = self._left()
        if left == math.inf:
            return sent
        if left <= 0:
            raise errors.TimeoutExceeded
        return {**sent, "timeout": min(left, sent.get("timeout", left))}

    def _left(self) -> float:
        """Return the number of seconds that are left of a block."""
        deadline = getattr(self._local, "deadline", None)
        return math.inf if deadline is None else max(0.0, deadline - time.monotonic())

    def cursor(self) -> Cursor[RemoteConnection]:
        """Return a PEP 249 cursor on this connection."""
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing, for PEP 249: nothing is written."""

    @property
    def version(self) -> int:
        """The number of the server's newest version; that of the newest database, if there are several."""
        return int(self.asked("corpora.json?limit=0")["version"])

    def describe(self, name: str, version: int | str | None = None) -> Result:
        """Return the properties of a corpus, at this version or an earlier one: DESCRIBE."""
        at = "" if version is None else f"/@{quote(str(version), safe='')}"
        target = f"{quote(name, safe='')}{at}.json"
        return _result(self.asked(target), lambda offset: self.asked(target))

    def corpora(self) -> list[str]:
        """Return the names of all corpora."""
        return [row["corpus"] for row in self.asked("corpora.json")["rows"]]

    def corpus(self, name: str | None = None) -> RemoteCorpus:
        """Return a corpus by name; without a name, the only one.

        Raises
        ------
        BindError
            The corpus does not exist, or there are several.
        """
        known = {row["corpus"]: row["database"] for row in self.asked("corpora.json")["rows"]}
        if name is None and len(known) == 1:
            name = next(iter(known))
        if name not in known:
            raise errors.BindError(f"no corpus {name!r}; known: {', '.join(known) or 'none'}")
        return RemoteCorpus(self, str(name), known[str(name)])

    def execute(
        self,
        sql: str,
        params: ParameterValues = None,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        database: str | None = None,
        corpus: str | None = None,
    ) -> Result:
        """Run one read-only statement; its rows are fetched in pages, while they are read.

        Parameters
        ----------
        sql, params : as in `Connection.execute`
        timeout : seconds, up to the server's limit; 0 for that limit
        database : the name of the database, if the server has several
        corpus : the corpus of a statement without FROM; by default the only one

        Raises
        ------
        NgramdbError
            The server's error, as it was raised there; ExecutionError without an answer.
        """
        if progress is not None:
            raise NotSupportedError(f"progress: {NO_PROGRESS}")
        asked: dict[str, Any] = {"q": sql, "limit": MOST_ROWS}
        if params is not None:
            is_named = isinstance(params, Mapping)
            asked["params"] = dict(params) if is_named else list(params)
        if timeout is not None and checked_timeout("timeout", timeout):
            asked["timeout"] = timeout
        if database is not None:
            asked["db"] = database
        if corpus is not None:
            asked["corpus"] = corpus
        first = self.asked("query.json", asked)
        return _result(first, lambda offset: self.asked("query.json", {**asked, "offset": offset}))

    ask = execute

    def asked(self, target: str, sent: Any = None) -> dict[str, Any]:
        """Send a request and return the object of the answer. Raises NgramdbError."""
        headers = {"Content-Type": "application/json"} if sent is not None else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"

        def body() -> bytes | None:
            within = None if sent is None else self._within_block(sent)
            return None if within is None else json.dumps(within, default=_plain).encode()

        try:
            status, answered = self._pool.answered(self._base + target, body, headers, self._left)
        except ExecutionError as error:
            raise ExecutionError(f"{self._address} {error}") from error.__cause__
        try:
            found: dict[str, Any] = json.loads(answered)
        except ValueError as error:
            raise ExecutionError(f"{self._address} answered with status {status}, without JSON") from error
        if status >= 400:
            raise _error(found, status)
        return found


class RemoteCorpus(_Verbs):
    """A corpus of a server, with the reading verbs of `Corpus`; made by `RemoteConnection`.

    Parameters and return values are those of `Corpus`. Verbs that change a corpus, or need
    its files, raise NotSupportedError.
    """

    def __init__(
        self, connection: RemoteConnection, name: str, database: str, conditions: tuple[Any, ...] = ()
    ) -> None:
        self.name = name
        self._connection = connection
        self._database = database
        self._conditions = conditions
        self._told: frozenset[tuple[str, str]] = (
            frozenset()
        )  # warnings about the conditions, as `where` gave them

    def __repr__(self) -> str:
        return visible(f"<ngramdb.RemoteCorpus {self.name} of {self._connection!r}>")

    n_documents = property(lambda self: self._asked("n_documents", {}))
    n_tokens = property(lambda self: self._asked("n_tokens", {}))

    def where(self, condition: str | None, *, params: ParameterValues = None) -> RemoteCorpus:
        """Return the documents that meet a condition, as a corpus for reading: as `Corpus.where`."""
        if condition is None and params is None:
            return self
        conditions = (*self._conditions, [condition, wire.sent(params)])
        part = RemoteCorpus(self._connection, self.name, self._database, conditions)
        part._told = self._told
        told: list[tuple[str, str]] = []
        with verbs.collected(told):
            _ = part.n_documents  # raises an error of the condition here, and not in the first verb
        part._told |= frozenset(told)
        _warn(told)
        return part

    def stream(self, *args: Any, **named: Any) -> Iterator[str]:
        """Generate one continuation, as `Corpus.stream` does; its text comes in one piece."""
        bound = inspect.signature(Corpus.stream).bind(self, *args, **named)
        arguments = dict(list(bound.arguments.items())[1:])
        yield str(self._asked("generate", arguments)[0])

    def batch(
        self,
        verb: Callable[Concatenate[Any, Item, Given], Answer],
        items: Iterable[Item],
        *args: Given.args,
        **named: Given.kwargs,
    ) -> list[Answer]:
        """Call a verb for each of many texts or n-grams, as `Corpus.batch`: 256 of them in a request."""
        name = verb.__name__
        if name not in wire.VERBS:
            raise NotSupportedError(f"{name} cannot be called in a batch on a server")
        signature = inspect.signature(verb)
        every = iter(items)
        found: list[Answer] = []
        while some := list(islice(every, MOST_AT_ONCE)):
            check()
            _, (varied, _), *common = signature.bind(self, some[0], *args, **named).arguments.items()
            found += self._batch(name, varied, some, dict(common), len(found))
        return found

    def _batch(
        self, verb: str, varied: str, items: list[Any], common: Mapping[str, Any], before: int
    ) -> Iterator[Any]:
        """Yield the answers for some items of a batch, after the `before` of earlier requests."""
        body, target = self._request(common), self._target(verb)
        each = [self._sent(varied, item) for item in items]
        answered = self._connection.asked(target, {**body, "each": {varied: each}})["answers"]
        for index, (value, answer) in enumerate(zip(each, answered, strict=True), before):
            if not answer["ok"]:
                error = _error(answer, answer["status"])
                errors.name_item(error, index)
                raise error
            yield self._received(answer, target, {**body, "arguments": {**body["arguments"], varied: value}})

    def _target(self, verb: str) -> str:
        return f"{quote(self.name, safe='')}/verbs/{verb}.json"

    def _request(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: self._sent(name, value) for name, value in arguments.items()}
        return {"arguments": values, "where": list(self._conditions)}

    def _asked(self, verb: str, arguments: Mapping[str, Any]) -> Any:
        """Return the answer of the server's corpus."""
        target, body = self._target(verb), self._request(arguments)
        return self._received(self._connection.asked(target, body), target, body)

    def _received(self, first: Mapping[str, Any], target: str, body: Mapping[str, Any]) -> Any:
        """Return the value of an answer to a request."""
        _warn(said for said in map(tuple, first["warnings"]) if said not in self._told)
        if "columns" not in first:
            return wire.received(first["value"])
        return _result(first, lambda offset: self._connection.asked(target, {**body, "offset": offset}))

    def _sent(self, name: str, value: Any) -> Any:
        if isinstance(value, RemoteCorpus):
            one, two = value._connection, self._connection
            is_here = (one._where, one._base, value._database) == (two._where, two._base, self._database)
            if not is_here or value._conditions:
                raise NotSupportedError(f"{name} must be a whole corpus of the same database")
            return {"kind": "corpus", "name": value.name.removeprefix(f"{value._database}.")}
        if callable(value):
            raise NotSupportedError(f"{name}: {NO_PROGRESS}")
        return wire.sent(value)


def _checked_retries(retries: int) -> int:
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InvalidArgument(f"retries must be an integer of at least 0, not {retries!r}")
    return retries


def _warn(said: Iterable[tuple[str, str]]) -> None:
    """Warn the caller with the messages of a server, each with the name of its category."""
    verbs.warn(Caution(message, getattr(errors, category)) for message, category in said)


def _verb(name: str) -> Callable[..., Any]:
    """Return a function that calls a verb of `Corpus` on the server."""
    local = getattr(Corpus, name)
    signature = inspect.signature(local)
    of_ngrams = {one.name for one in signature.parameters.values() if "Ngram" in str(one.annotation)}

    @wraps(local)
    def ask(self: RemoteCorpus, *args: Any, **named: Any) -> Any:
        arguments = signature.bind(self, *args, **named).arguments
        check_flags(inspect.unwrap(local), arguments)
        for one in of_ngrams.intersection(arguments):
            if arrow_data.is_table(arguments[one]):  # a column of a frame: its values, not rows of a table
                arguments[one] = list(arguments[one])
        return self._asked(name, {one: value for one, value in arguments.items() if one != "self"})

    return ask


def _refused(name: str) -> Any:
    """Return a function for a verb that a server does not offer, which raises with advice."""
    local = getattr(Corpus, name, None)

    def refuse(self: object, *_: Any, **__: Any) -> NoReturn:
        way = INSTEAD.get(name, "it is for reading; connect to the database where its files are")
        raise NotSupportedError(f"{name} is not available on a server: {way}")

    if isinstance(local, property):
        return property(refuse)
    # `inspect.signature` follows `__wrapped__`: a function that wrapped itself would be an endless chain.
    return wraps(local)(refuse) if local is not None else refuse


for _name in (one for one in vars(Corpus) if not one.startswith("_")):
    if _name in wire.VERBS:
        setattr(RemoteCorpus, _name, LazyVerb(RemoteCorpus, _name, _verb))
    elif _name not in vars(RemoteCorpus):
        setattr(RemoteCorpus, _name, _refused(_name))
for _name in OF_CONNECTIONS:
    setattr(RemoteConnection, _name, _refused(_name))


def _plain(value: Any) -> Any:
    """Convert numbers and arrays of numpy, and other sequences, for JSON. Raises NotSupportedError."""
    if isinstance(value, np.generic):
        return value.item()
    array = array_of(value)
    if array is not None:
        return array.tolist()
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview, set)):
        return list(value)
    raise NotSupportedError(f"a {type(value).__name__} cannot be sent to a service")


def _result(first: Mapping[str, Any], page: Any) -> Result:
    """Return a result of pages; each is requested when the rows of the one before have been read."""
    columns = tuple(first["columns"])
    types = tuple(wire.TYPES.get(name) for name in first.get("types", ()))

    def rows_of(answer: Mapping[str, Any]) -> list[Row]:
        rows = [tuple(row[name] for name in columns) for row in answer["rows"]]
        if float not in types:
            return rows
        return [tuple(map(_typed, types, row)) for row in rows]

    def batches() -> Iterator[list[Row]]:
        answer, offset = first, 0
        seed = first["summary"].get("seed")
        while True:
            rows = rows_of(answer)
            yield rows
            offset += len(rows)
            if not (answer["truncated"] and rows):
                return
            answer = page(offset)
            if answer["version"] != first["version"]:
                raise ExecutionError(
                    f"version {answer['version']} was committed while rows of version {first['version']} "
                    f"were read; run the query again, or FROM … AT VERSION {first['version']}"
                )
            if answer["summary"].get("seed") != seed:
                raise ExecutionError("each page of rows is drawn separately; give a seed")

    summary = {
        name: wire.NOT_FINITE.get(value, value) if isinstance(value, str) else value
        for name, value in first["summary"].items()
    }
    said = drawn(summary, first["exact"])  # made from the summary, as in the server
    notes = [note for note in first["notes"] if note != said]
    if notes:
        summary["note"] = "; ".join(notes)
    n_rows = None if first["truncated"] else len(first["rows"])
    return Result(
        columns,
        batches(),
        summary=summary,
        n_rows=n_rows,
        types=types,
        exact=first["exact"],
        snapshot=first["version"],
        elapsed=first["elapsed_ms"] / 1e3,
    )


def _typed(kind: type | None, value: Any) -> Any:
    """Convert a value of a column; numbers that JSON cannot represent are sent as texts."""
    return wire.NOT_FINITE.get(value, value) if kind is float and isinstance(value, str) else value


def _error(said: Mapping[str, Any], status: int) -> NgramdbError:
    """Return an error of the server as the same error here."""
    message = str(said.get("error") or f"status {status}")
    kind = getattr(errors, str(said.get("type")), None)
    if isinstance(kind, type) and issubclass(kind, errors.QueryError):
        return kind(message, text=said.get("statement"), start=said.get("start"), stop=said.get("stop"))
    if isinstance(kind, type) and issubclass(kind, errors.QueryCancelled):
        return kind(
            message.partition(" after ")[0], fraction=said.get("fraction"), elapsed=said.get("elapsed")
        )
    if isinstance(kind, type) and issubclass(kind, NgramdbError):
        return kind(message)
    return ExecutionError(message)
