"""A database that another machine serves (`ngramdb serve`): the same questions, asked over HTTP.

```python
db = ngramdb.connect("http://corpora.example.org:8765")
db.corpus("web").count("natural language")
```

Everything is a statement that is sent to `/query`; batches of n-grams go to `/batch`. Nothing is written.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import NDArray

from ngramdb import errors
from ngramdb.api import patterns
from ngramdb.api.arguments.texts import Pattern, Statement, fields_of
from ngramdb.api.results import Probability, Scores
from ngramdb.errors import ExecutionError, InvalidArgument, NgramdbError
from ngramdb.executor.results.result import Result, Row
from ngramdb.language.highlight import lex
from ngramdb.planner.parameters import ParameterValues

Ngram = Any
#: The variable that has the token where none is given.
TOKEN_VARIABLE = "NGRAMDB_TOKEN"
#: Seconds in which a server has to answer, besides what a statement may take there.
PATIENCE_S = 60.0
#: As many rows as a server sends at a time are asked for.
MOST_ROWS = 1_000_000
#: The types of columns by their names in answers, and numbers that JSON has no form for.
TYPES: dict[str | None, Any] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "string": str,
    "array": list,
    "object": dict,
}
NOT_FINITE = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}


class RemoteConnection:
    """A server's database. May be shared by threads; made by `connect`.

    `execute` takes every statement that reads, `corpus` gives the verbs of a corpus that read. Versions that
    are committed there are seen with the next question.
    """

    def __init__(self, address: str, token: str | None = None) -> None:
        parts = urlsplit(address)
        if parts.hostname is None or parts.query or parts.fragment:
            raise InvalidArgument(f"{address} is no address of a server, as http://localhost:8765")
        self._address = address
        self._base = parts.path.rstrip("/") + "/"
        self._where = (parts.hostname, parts.port)
        self._is_safe = parts.scheme == "https"
        self._token = token if token is not None else os.environ.get(TOKEN_VARIABLE)
        self._local = threading.local()

    def __repr__(self) -> str:
        return f"<ngramdb.RemoteConnection {self._address}>"

    def __enter__(self) -> RemoteConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End this thread's connection to the server; it is made anew when it is needed."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def corpora(self) -> list[str]:
        """The names of all corpora."""
        return [row["corpus"] for row in self.asked("corpora.json")["rows"]]

    def corpus(self, name: str | None = None) -> RemoteCorpus:
        """A corpus by name; the only one without a name.

        Raises
        ------
        BindError
            There is no such corpus, or there are several.
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
        database: str | None = None,
    ) -> Result:
        """Run one statement that only reads; its rows come page by page, while they are read.

        Parameters
        ----------
        sql, params : as `Connection.execute` takes them
        timeout : seconds, as far as the server allows them
        database : which one, where the server has several

        Raises
        ------
        NgramdbError
            What the server says, as the error that it is there; ExecutionError where there is no answer.
        """
        asked: dict[str, Any] = {"q": sql, "limit": MOST_ROWS}
        if params is not None:
            is_named = isinstance(params, Mapping)
            asked["params"] = dict(params) if is_named else list(params)
        if timeout is not None:
            asked["timeout"] = timeout
        if database is not None:
            asked["db"] = database
        first = self.asked("query.json", asked)
        return _result(first, lambda offset: self.asked("query.json", {**asked, "offset": offset}))

    ask = execute

    def asked(self, target: str, sent: Any = None) -> dict[str, Any]:
        """The object that the server answers with. Raises NgramdbError."""
        body = None if sent is None else json.dumps(sent, default=_plain).encode()
        status, answered = self._sent(target, body)
        try:
            found: dict[str, Any] = json.loads(answered)
        except ValueError as error:
            raise ExecutionError(f"{self._address} answers {status}, and with no JSON") from error
        if status >= 400:
            raise _error(found, status)
        return found

    def _sent(self, target: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        for attempt in range(2):
            connection = getattr(self._local, "connection", None)
            is_new = connection is None
            if connection is None:
                kind = http.client.HTTPSConnection if self._is_safe else http.client.HTTPConnection
                connection = self._local.connection = kind(*self._where, timeout=PATIENCE_S)
            try:
                connection.request("GET" if body is None else "POST", self._base + target, body, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if is_new or attempt:  # one that was kept may have been ended by the server meanwhile
                    raise ExecutionError(f"{self._address} does not answer: {error}") from error
        raise AssertionError("unreachable")


class RemoteCorpus:
    """A corpus of a server, with the verbs of `Corpus` that read and send little; made by `RemoteConnection`.

    Their parameters are those of `Corpus`, and so is what they return.
    """

    def __init__(self, connection: RemoteConnection, name: str, database: str) -> None:
        self.name = name
        self._connection = connection
        self._database = database
        self._own = name.removeprefix(f"{database}.")

    def __repr__(self) -> str:
        return f"<ngramdb.RemoteCorpus {self.name} of {self._connection!r}>"

    @property
    def n_documents(self) -> int:
        """How many documents there are."""
        return int(self._described()["documents"])

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return int(self._described()["tokens"])

    def _described(self) -> dict[str, Any]:
        return self._connection.asked(f"{quote(self.name, safe='')}.json")

    def count(self, ngram: Ngram, match_text: bool = False, ignore_case: bool = False) -> int:
        """The number of occurrences of an n-gram: COUNT."""
        statement = self._from(Statement("COUNT", "COUNT").pattern(_pattern(ngram, match_text, ignore_case)))
        return self._number(statement)

    def count_docs(self, where: str | None = None, *, params: ParameterValues = None) -> int:
        """The number of documents that meet a condition: COUNT DOCS."""
        return self._number(_where(self._from(Statement("COUNT DOCS", "COUNT DOCS")), where, params))

    def count_many(self, ngrams: Iterable[Ngram]) -> NDArray[np.int64]:
        """The counts of many n-grams, in one request."""
        sent = {"ngrams": [one if isinstance(one, str) else _plain(one) for one in ngrams]}
        found = self._connection.asked(f"{quote(self.name, safe='')}/batch.json", sent)
        return np.array(found["counts"], dtype=np.int64)

    def docs(
        self,
        where: str | None = None,
        *,
        order_by: str | Sequence[str] | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        returning: str | Sequence[str] | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The documents that meet a condition: DOCS."""
        statement = _where(self._from(Statement("DOCS", "DOCS")), where, params)
        statement.order(_fields(order_by), descending).number("LIMIT", limit)
        return self._run(statement.number("OFFSET", offset or None).returning(_fields(returning)))

    def sample(
        self, size: int, where: str | None = None, *, seed: int | None = None, params: ParameterValues = None
    ) -> Result:
        """Draw documents at random: DOCS … SAMPLE."""
        statement = _where(self._from(Statement("DOCS", "DOCS")), where, params)
        return self._run(statement.sample(size, seed))

    def kwic(
        self,
        pattern: Ngram,
        where: str | None = None,
        *,
        window: int | None = None,
        order_by: str | None = None,
        descending: bool = False,
        limit: int | None = None,
        offset: int = 0,
        sample: int | None = None,
        seed: int | None = None,
        returning: str | Sequence[str] | None = None,
        match_text: bool = False,
        ignore_case: bool = False,
        params: ParameterValues = None,
    ) -> Result:
        """The occurrences of an n-gram in their contexts: KWIC."""
        statement = Statement("KWIC", "KWIC").pattern(_pattern(pattern, match_text, ignore_case))
        _where(self._from(statement), where, params).number("WINDOW", window)
        statement.order(_fields(order_by), descending).number("LIMIT", limit)
        statement.number("OFFSET", offset or None).sample(sample, seed)
        return self._run(statement.returning(_fields(returning)))

    def ngrams(
        self,
        n: int | tuple[int, int],
        where: str | None = None,
        *,
        top: int | None = None,
        min_count: int = 1,
        params: ParameterValues = None,
    ) -> Result:
        """The n-grams of `n` tokens, the most frequent first: NGRAMS."""
        lengths = f"{n[0]}..{n[1]}" if isinstance(n, tuple) else str(n)
        statement = _where(self._from(Statement("NGRAMS", "NGRAMS").add(lengths)), where, params)
        return self._run(statement.number("MIN COUNT", min_count).number("TOP", top))

    def collocates(
        self,
        pattern: Ngram,
        where: str | None = None,
        *,
        window: int = 5,
        by: str = "logdice",
        min_count: int = 1,
        top: int | None = None,
        params: ParameterValues = None,
    ) -> Result:
        """The tokens near an n-gram, the most closely associated first: COLLOCATES."""
        statement = self._from(Statement("COLLOCATES OF", "COLLOCATES OF").pattern(_pattern(pattern)))
        _where(statement, where, params).number("WINDOW", window).add(f"BY {by.upper()}")
        return self._run(statement.number("MIN COUNT", min_count).number("TOP", top))

    def trace(self, text: Ngram, min_length: int = 1) -> Result:
        """The maximal spans of a text that occur verbatim: TRACE."""
        statement = self._from(Statement("TRACE", "TRACE").ngram(text))
        return self._run(statement.number("MIN LENGTH", min_length))

    def dist(self, given: Ngram = "", model: str = "ngram", top: int | None = None) -> Result:
        """The next-token distribution of a context: DIST."""
        statement = self._from(Statement("DIST", "DIST").ngram(given, "GIVEN"))
        return self._run(statement.using(model).number("TOP", top))

    def dist_before(self, ngram: Ngram, top: int | None = None) -> Result:
        """The distribution of the token before an n-gram: DIST BEFORE."""
        statement = self._from(Statement("DIST", "DIST").ngram(ngram, "BEFORE"))
        return self._run(statement.number("TOP", top))

    def prob(self, continuation: Ngram | int, given: Ngram = "", model: str = "ngram") -> Probability | None:
        """P(continuation | given): a float with its counts, or None where the context is unseen: PROB."""
        wanted = [continuation] if isinstance(continuation, int) else continuation
        statement = self._from(Statement("PROB", "PROB").ngram(wanted).ngram(given, "GIVEN"))
        row = self._run(statement.using(model)).fetchone()
        if row is None or row[0] is None:
            return None
        return Probability(row[0], (row[1], row[2], row[3], row[4]))

    def score(self, ngram: Ngram, model: str = "ngram", *, sentence: bool = False) -> Scores:
        """Score every token of a text given the tokens before it, as arrays: SCORE."""
        statement = self._from(Statement("SCORE", "SCORE").ngram(ngram)).using(model)
        result = self._run(statement.add("SENTENCE") if sentence else statement)
        columns = dict(zip(result.columns, zip(*result.fetchall(), strict=True), strict=False))

        def column(name: str, kind: type) -> Any:
            return np.array([kind() if one is None else one for one in columns.get(name, ())], dtype=kind)

        prob = [np.nan if one is None else one for one in columns.get("prob", ())]
        return Scores(
            np.array(prob, dtype=np.float64),
            column("count", np.int64),
            column("context_count", np.int64),
            column("effective_n", np.int32),
            column("sparse", np.bool_),
        )

    def _from(self, statement: Statement) -> Statement:
        return statement.source(self._own)

    def _run(self, statement: Statement) -> Result:
        return self._connection.execute(statement.text, statement.values or None, database=self._database)

    def _number(self, statement: Statement) -> int:
        row = self._run(statement).fetchone()
        return int(row[0]) if row else 0


def _pattern(ngram: Ngram, match_text: bool = False, ignore_case: bool = False) -> Pattern:
    if not isinstance(ngram, patterns.Pattern):
        return Pattern(ngram, None, match_text, ignore_case)
    modifiers = " MATCH TEXT" * match_text + " IGNORE CASE" * ignore_case
    # A comment in it ends with its line.
    return Pattern(expression=f"({ngram.text}\n){modifiers}" if modifiers else ngram.text)


def _fields(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return fields_of(names) if isinstance(names, str) else tuple(names or ())


def _where(statement: Statement, where: str | None, params: ParameterValues) -> Statement:
    """A condition with its values: `?` is written as a name, beside those of the statement."""
    if where is None:
        return statement
    if isinstance(params, Mapping):
        statement.values.update({str(name): value for name, value in params.items()})
        return statement.where(where)
    values = list(params or ())
    written, n = "", 0
    for start, stop, kind in lex(where):
        piece = where[start:stop]
        if kind == "parameter" and piece == "?":
            if n == len(values):
                raise errors.PlanError(f"no value was given for parameter {n + 1}", text=where, start=start)
            piece = f":_w{n}"
            statement.values[piece[1:]] = values[n]
            n += 1
        written += piece
    if n < len(values):
        raise errors.PlanError(f"{len(values)} values were given, and the condition has {n} placeholders")
    return statement.where(written)


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy, and other sequences, as JSON has them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return list(value)


def _result(first: Mapping[str, Any], page: Any) -> Result:
    """A result of pages, each asked for when the rows of the one before it have been read."""
    columns = tuple(first["columns"])
    types = tuple(TYPES.get(name) for name in first.get("types", ()))

    def rows_of(answer: Mapping[str, Any]) -> list[Row]:
        rows = [tuple(row[name] for name in columns) for row in answer["rows"]]
        if float not in types:
            return rows
        return [tuple(map(_typed, types, row)) for row in rows]

    def batches() -> Iterator[list[Row]]:
        answer, offset = first, 0
        while True:
            rows = rows_of(answer)
            yield rows
            offset += len(rows)
            if not (answer["truncated"] and rows):
                return
            answer = page(offset)

    summary = {
        name: NOT_FINITE.get(value, value) if isinstance(value, str) else value
        for name, value in first["summary"].items()
    }
    if first["notes"] and "seed" not in summary:
        summary["note"] = "; ".join(first["notes"])
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
    """A value of a column; of numbers, those that JSON has no form for are texts there."""
    return NOT_FINITE.get(value, value) if kind is float and isinstance(value, str) else value


def _error(said: Mapping[str, Any], status: int) -> NgramdbError:
    """The error of a server as the one that it would be here."""
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
