"""The routes: the handler of each address, and the form and headers of its answer."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from ngramdb import __version__, errors
from ngramdb.api import Connection, wire
from ngramdb.interrupts import Interrupt
from ngramdb.lazy import lazy_module
from ngramdb.questions.requests import PATTERN_PARAMETERS, Given, Parameter
from ngramdb.questions.signatures import parse_value
from ngramdb.serve.database_pool import Library, Named
from ngramdb.serve.problem_details import Limits, Problem, body_of, problem_of
from ngramdb.serve.reading import Reader
from ngramdb.serve.requests import (
    COMMON,
    FORMATS,
    LIMIT,
    OF_STATEMENTS,
    OFFSET,
    PAGED_SEED,
    PAGED_VERSION,
    QUESTIONS,
    Address,
    given,
    json_object,
    once,
    parameters_of,
    shortened,
    written,
)
from ngramdb.serve.responses import WRITERS, Page, json_of, noted
from ngramdb.serve.running import Workers

if TYPE_CHECKING:
    from ngramdb.serve import attribution, batch, completions, infini_gram, openapi, verbs
else:
    attribution = lazy_module("ngramdb.serve.attribution")
    batch = lazy_module("ngramdb.serve.batch")
    completions = lazy_module("ngramdb.serve.completions")
    infini_gram = lazy_module("ngramdb.serve.infini_gram")
    openapi = lazy_module("ngramdb.serve.openapi")
    verbs = lazy_module("ngramdb.serve.verbs")

_AT_VERSION = re.compile(r"\bAT\s+VERSION\b", re.IGNORECASE)
#: Values of Cache-Control.
FOR_EVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"
NEVER = "no-store"
#: Suggests continuations of a statement: its text, the cursor, and the default corpus without FROM.
Completes = Callable[[Connection, str, int, "str | None"], list[dict[str, Any]]]
#: The maximum length in bytes of a body that is parsed on the event loop.
SHORT_BODY = 16 * 1024
Value = TypeVar("Value")
COMPLETION = (
    Parameter("q", "text", "the text typed so far", ""),
    Parameter("cursor", "integer", "the cursor, in characters; at the end by default"),
    Parameter("corpus", "text", "the corpus of a statement without FROM"),
    Parameter("db", "text", "the database"),
)


@dataclass
class Asking:
    """A request, its parsed address and body, and headers of its answer."""

    request: Request
    address: Address
    body: bytes | bytearray
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def is_post(self) -> bool:
        """True if the request was sent by POST."""
        return bool(self.request.method == "POST")


Handler = Callable[[Asking], Awaitable[Response]]


class Routes:
    """Answers requests that passed access control."""

    def __init__(
        self, library: Library, limits: Limits, workers: Workers, base: str, completes: Completes | None
    ) -> None:
        self.library = library
        self.limits = limits
        self.base = base
        self.reader = Reader(library, limits)
        self._workers = workers
        self._engines: infini_gram.Engines | None = None
        self._completes = completes
        self._tops: dict[tuple[str, ...], Handler] = {
            (): self._root,
            ("corpora",): self._corpora,
            ("query",): self._query,
            ("settings",): self._settings,
            ("openapi",): self._openapi,
            ("complete",): self._complete,
            ("batch",): self._batch,
            ("v1", "completions"): self._completions,
            ("v1", "models"): self._models,
        }

    def warm(self) -> None:
        """Request one suggestion, which loads the grammar."""
        if self._completes is not None:
            with contextlib.suppress(errors.NgramdbError):
                self._completes(self.library.database(None).connection, 'COUNT "', 7, None)

    def _handler_of(self, parts: tuple[str, ...]) -> Handler:
        key = parts[:2] if len(parts) == 3 and parts[:2] == ("v1", "models") else parts
        return self._tops.get(key) or self._of_corpus

    # ---- addresses --------------------------------------------------------------------------------------

    async def answered(self, asking: Asking) -> Response:
        """Return the answer to a request. Raises Problem, and errors of the database."""
        handler = self._handler_of(asking.address.parts)
        try:
            return await handler(asking)
        except errors.DatabaseGone:  # it has disappeared since it was looked up
            self.library.look_again()
            return await handler(asking)

    async def _of_corpus(self, asking: Asking) -> Response:
        name, *rest = asking.address.parts
        named = self._named(name)
        address = self._numbered(asking.address, named)
        asking = replace(asking, address=address)
        if not rest:
            return await self._table(
                asking, named, (), lambda got, paging, work: self.reader.describe(named, address.version)
            )
        if rest in (["batch"], ["attribution"]) and asking.is_post:
            return await (self._batch if rest == ["batch"] else self._attribution)(asking, named)
        if rest[0] == "verbs" and len(rest) == 2 and address.version is None:
            return await self._verb(asking, named, rest[1])
        if rest[0] == "documents" and len(rest) == 2:
            return await self._document(asking, named, rest[1])
        if rest[0] in ("versions", "removals") and len(rest) == 1 and address.version is None:
            table = self.reader.versions if rest[0] == "versions" else self.reader.removals
            return await self._table(asking, named, (), lambda got, paging, work: table(named, *paging))
        question = QUESTIONS.get(rest[0]) if len(rest) == 1 else None
        if question is None:
            known = ", ".join(sorted([*QUESTIONS, "versions", "removals"]))
            raise Problem(404, f"no such address; below a corpus there are {known}", type="NotFound")
        return await self._table(
            asking,
            named,
            question.parameters,
            lambda got, paging, work: self.reader.question(
                rest[0], named, address.version, got, paging, work
            ),
            question.is_drawn,
            is_of_version=True,
        )

    def _named(self, name: Any) -> Named:
        """Return a corpus by its name. Raises Problem."""
        if name is not None and not isinstance(name, str):
            raise Problem(400, "corpus must be a string")
        try:
            return self.library.corpus(name)
        except errors.BindError as error:
            raise Problem(404, error.message, type="NotFound") from None

    def _numbered(self, address: Address, named: Named) -> Address:
        """Return the address with the number of the version that it names. Raises Problem."""
        if address.version_name is None:
            return address
        try:
            number = named.hosted.connection.snapshot.manifest.number_of(address.version_name)
        except errors.BindError as error:
            raise Problem(404, error.message, type="NotFound") from None
        return replace(address, version=number)

    async def _document(self, asking: Asking, named: Named, number: str) -> Response:
        if not (number.isascii() and number.isdigit() and len(number) < 19):
            raise Problem(
                404, f"a document's number must be an integer, not {shortened(number)!r}", type="NotFound"
            )
        version = asking.address.version
        return await self._table(
            asking,
            named,
            PATTERN_PARAMETERS,
            lambda got, paging, work: self.reader.document(named, version, int(number), got, work),
        )

    async def _corpora(self, asking: Asking) -> Response:
        return await self._table(asking, None, (), lambda got, paging, work: self.reader.corpora(*paging))

    async def _settings(self, asking: Asking) -> Response:
        given((), self._values(asking))
        names = ("time_limit", "rows", "max_rows", "max_body", "max_batch")
        limits = {name: getattr(self.limits, name) for name in names}
        return json_response({"ngramdb": __version__, **limits})

    async def _openapi(self, asking: Asking) -> Response:
        given((), self._values(asking))
        return json_response(openapi.description(self.base))

    async def _root(self, asking: Asking) -> Response:
        return await (self._infini_gram if asking.is_post else self._corpora)(asking)

    async def _complete(self, asking: Asking) -> Response:
        got = await self._parsed(asking, lambda: given(COMPLETION, self._values(asking)))
        completes, text = self._completes, got["q"]
        if completes is None:
            raise Problem(404, "suggestions are not available on this server", type="NotFound")
        cursor = len(text) if got["cursor"] is None else min(got["cursor"], len(text))
        connection = self.library.database(got.text("db")).connection
        if got.text("corpus"):
            named = self._named(got["corpus"])
            connection, corpus = named.hosted.connection, named.corpus
        else:
            corpus = None
        found = await self._run(asking, lambda work: completes(connection, text, cursor, corpus))
        return json_response({"ok": True, "candidates": found})

    # ---- other programs' protocols ----------------------------------------------------------------------

    async def _infini_gram(self, asking: Asking) -> Response:
        _refuse_in_address(asking)

        def answer(work: Interrupt) -> Response:
            data = json_object(asking.body)
            return json_response(infini_gram.answer(self._known_engines(), data, work))

        return await self._run(asking, answer)

    def _known_engines(self) -> infini_gram.Engines:
        if self._engines is None:
            self._engines = infini_gram.Engines(self.library)
        return self._engines

    async def _attribution(self, asking: Asking, named: Named) -> Response:
        _refuse_in_address(asking)

        def answer(work: Interrupt) -> Response:
            data, opened = json_object(asking.body), self._known_engines().of(named)
            return json_response(attribution.attribution(opened, named.name, data, work))

        return await self._run(asking, answer)

    async def _completions(self, asking: Asking) -> Response:
        if not asking.is_post:
            raise Problem(405, "use POST for completions")

        def answer(work: Interrupt) -> Response:
            _refuse_in_address(asking)
            data = json_object(asking.body)
            found = completions.completions(self.library, data, work)
            if found.pop("_stream"):
                sent = completions.events(found, data.get("stream_options"))
                return Response(sent, media_type="text/event-stream")
            return json_response(found)

        return await _as_openai(self._run(asking, answer))

    async def _models(self, asking: Asking) -> Response:
        def answer(work: Interrupt) -> Response:
            given((), self._values(asking))
            if len(asking.address.parts) < 3:
                return json_response(completions.models(self.library))
            return json_response(completions.model(self.library, asking.address.parts[2]))

        return await _as_openai(self._run(asking, answer))

    async def _batch(self, asking: Asking, named: Named | None = None) -> Response:
        if not asking.is_post:
            raise Problem(405, "use POST for a batch")
        kind = asking.address.format or ("arrow" if batch.is_arrow(asking.body) else "json")
        if kind not in ("json", "arrow"):
            raise Problem(400, "unsupported format for a batch; use .json or .arrow")

        def answer(work: Interrupt) -> tuple[bytes, int, list[str]]:
            fields = batch.fields_of(asking.body, _in_address(asking))
            name = fields.pop("corpus", None)
            if named is not None and name not in (None, named.name):
                raise Problem(400, f"this address is for {named.name}, but the body names another corpus")
            asked = self._named(name) if named is None else named
            return batch.answered(asked, asking.address.version, fields, kind == "arrow", self.limits, work)

        body, version, notes = await self._run(asking, answer)
        headers = {"x-version": str(version), **noted(notes)}
        return Response(body, headers=headers, media_type=FORMATS[kind])

    async def _verb(self, asking: Asking, named: Named, verb: str) -> Response:
        """Run a verb of Python's `Corpus`."""
        if verb not in wire.VERBS and verb not in wire.PROPERTIES:
            raise Problem(404, f"no such verb: {shortened(verb)!r}", type="NotFound")
        if not asking.is_post:
            raise Problem(405, "use POST with the arguments of the verb")
        _refuse_in_address(asking)
        fields = await self._parsed(asking, lambda: json_object(asking.body))
        if unknown := fields.keys() - set(verbs.FIELDS):
            raise Problem(400, f"no field {shortened(min(unknown))!r}; known: {', '.join(verbs.FIELDS)}")
        _, _, seconds = self._paging(given(COMMON, {"timeout": fields.get("timeout")}))
        body, version = await self._workers.run(
            lambda work: verbs.answered(named, verb, fields, self.limits, work),
            seconds,
            asking.request.receive,
        )
        return Response(body, headers={"x-version": str(version)}, media_type=FORMATS["json"])

    async def _run(self, asking: Asking, work: Callable[[Interrupt], Value]) -> Value:
        return await self._workers.run(work, self.limits.time_limit, asking.request.receive)

    async def _parsed(self, asking: Asking, parse: Callable[[], Value]) -> Value:
        """Return what `parse` returns; long bodies are parsed off the event loop."""
        if len(asking.body) <= SHORT_BODY:
            return parse()

        def parsed(work: Interrupt) -> Value:
            with work:
                return parse()

        return await self._run(asking, parsed)

    async def _query(self, asking: Asking) -> Response:
        """Run a statement: `q`, its parameters by name, and options of the answer with a leading `_`."""
        got, params = await self._parsed(asking, lambda: self._of_statement(asking))
        limit, offset, seconds = self._paging(got)
        corpus = self._named(got["corpus"]) if got.text("corpus") else None
        if corpus and got.text("db") and self.library.database(got["db"]) is not corpus.hosted:
            raise Problem(400, f"corpus {corpus.name} is not in database {got['db']}", parameter="corpus")

        def answer(work: Interrupt) -> Response:
            page = self.reader.statement(got.text("db"), got["q"], params, (limit, offset), work, corpus)
            _check_same(page, got, got["q"])
            drawn = page.summary.get("seed")
            more = {f"_{PAGED_VERSION.name}": page.version, f"_{PAGED_SEED.name}": drawn}
            offset_name = "offset" if asking.is_post else "_offset"
            caching = ASK_AGAIN if drawn is None else NEVER
            return self._sent(asking, page, offset + limit, offset_name, caching, more)

        return await self._workers.run(answer, seconds, asking.request.receive)

    def _of_statement(self, asking: Asking) -> tuple[Given, Any]:
        """Return the parameters of a request to `/query`, and those of the statement. Raises Problem."""
        values = self._values(asking)
        if asking.is_post:
            own = {name: values.get(name) for name in ("q", "db", "corpus", "limit", "offset", "timeout")}
            params = values.get("params")
            if values.keys() - own.keys() - {"params"}:
                raise Problem(
                    400, "unknown field; the body may have q, params, db, corpus, limit, offset and timeout"
                )
            if params is not None and not isinstance(params, (list, dict)):
                raise Problem(400, "params must be a list or an object")
        else:
            own = {"q": values.pop("q", None)}
            own |= {one.name: values.pop(f"_{one.name}", None) for one in OF_STATEMENTS}
            params = {name: parse_value(value) for name, value in values.items()} or None
        got = given((Parameter("q", "text", "the statement"), *OF_STATEMENTS), own)
        if not got.text("q"):
            raise Problem(400, "missing statement: q=…")
        return got, params

    # ---- tables -----------------------------------------------------------------------------------------

    def _values(self, asking: Asking) -> dict[str, Any]:
        """Return the parameters of a request, from its address and a JSON body. Raises Problem."""
        given_ones: list[tuple[str, Any]] = [*_in_address(asking)]
        if asking.body:
            if not asking.is_post:
                raise Problem(400, "a body needs POST")
            given_ones += json_object(asking.body).items()
        return once(given_ones)

    def _paging(self, got: Given) -> tuple[int, int, float]:
        limits = self.limits
        limit = limits.rows_of(got["limit"])
        seconds = limits.time_limit
        if got["timeout"] is not None:
            if got["timeout"] <= 0:
                raise Problem(400, "timeout must be a number of seconds above 0")
            seconds = min(seconds, got["timeout"])
        return limit, got["offset"] or 0, seconds

    async def _table(
        self,
        asking: Asking,
        named: Named | None,
        parameters: tuple[Parameter, ...],
        read: Callable[[Given, tuple[int, int], Interrupt], Page],
        is_drawn: Callable[[Given], bool] = lambda got: False,
        is_of_version: bool = False,
    ) -> Response:
        got = await self._parsed(asking, lambda: given((*parameters, *COMMON), self._values(asking)))
        limit, offset, seconds = self._paging(got)
        caching = NEVER if is_drawn(got) else ASK_AGAIN
        if named is not None and caching == ASK_AGAIN:
            known = self._etag(asking, named)
            asking.headers["etag"] = known
            if asking.address.version is not None and asking.address.version_name is None:
                caching = FOR_EVER
            if known in asking.request.headers.get("if-none-match", ""):
                return Response(status_code=304, headers={"etag": known, "cache-control": caching})

        def answer(work: Interrupt) -> Response:
            page = read(got, (limit, offset), work)
            more = {"seed": page.summary.get("seed")} if is_drawn(got) else {}
            of = replace(asking.address, version=page.version) if is_of_version else asking.address
            return self._sent(replace(asking, address=of), page, offset + limit, "offset", caching, more)

        return await self._workers.run(answer, seconds, asking.request.receive)

    def _etag(self, asking: Asking, named: Named) -> str:
        """Return a tag that depends on the version, and on the form of the answer."""
        snapshot = named.hosted.connection.snapshot
        version = asking.address.version
        of = (snapshot.version if version is None else version, _created(named.hosted.connection, version))
        return _tag(snapshot.database_id, of, asking.address.format or "json", self.limits)

    def _sent(
        self,
        asking: Asking,
        page: Page,
        next_offset: int,
        offset_name: str,
        caching: str,
        more: Mapping[str, Any],
    ) -> Response:
        """Return a page in the requested form; `more` are further parameters of the next page."""
        kind = asking.address.format or "json"
        headers = {**asking.headers, "cache-control": caching}
        if asking.address.format is None:  # the web page has the same address
            headers["vary"] = "Accept"
        following = self._following(asking, page, next_offset, offset_name, more)
        if following is not None:
            headers["link"] = f'<{following}>; rel="next"'
        if page.truncated:
            headers["x-truncated"] = "true"
        headers |= noted(page.notes)
        status = 200
        if page.late is not None:
            status = 408
            headers["cache-control"] = NEVER
            headers.pop("etag", None)
            page.facts = {**body_of(problem_of(page.late)), **page.facts}
        elif kind == "json":
            page.facts = {"ok": True, **page.facts}
        page.facts["next"] = following
        return Response(WRITERS[kind](page), status, headers, media_type=FORMATS[kind])

    def _following(
        self, asking: Asking, page: Page, offset: int, name: str, more: Mapping[str, Any]
    ) -> str | None:
        """Return the address of the next page; None if it is the last one or cannot be an address."""
        if not page.truncated or page.late is not None or asking.is_post or not page.rows:
            return None
        query = dict(_in_address(asking))
        # A page that reaches its limit in bytes ends before `limit` rows.
        limit_name = LIMIT.name if name == OFFSET.name else f"_{LIMIT.name}"
        asked = self.limits.rows_of(int(query[limit_name]) if limit_name in query else None)
        query[name] = str(offset - asked + len(page.rows))
        query |= {key: str(value) for key, value in more.items() if value is not None}
        address = asking.address if asking.address.parts else replace(asking.address, parts=("corpora",))
        return written(self.base, address, query)


@lru_cache(maxsize=1024)
def _created(connection: Connection, version: int | None) -> float | None:
    """Return the time of a version, which differs between copies of a database; None if it is not kept."""
    try:
        return connection.snapshot.created(version)
    except errors.BindError:  # as the answer will report
        return None


def _tag(*what: object) -> str:
    return '"' + hashlib.sha256(repr((__version__, *what)).encode()).hexdigest()[:20] + '"'


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a value as a JSON response."""
    return Response(json_of(value) + b"\n", status, headers, media_type="application/json")


def _check_same(page: Page, got: Given, statement: str) -> None:
    """Raise Problem unless a page continues the rows of the previous pages."""
    version, seed = got[PAGED_VERSION.name], got[PAGED_SEED.name]
    if version not in (None, page.version) and not _AT_VERSION.search(statement):
        raise Problem(
            409,
            f"version {page.version} was committed while version {version} was being read; start again, or "
            f"use FROM … AT VERSION {version}",
        )
    if seed not in (None, page.summary.get("seed")):
        raise Problem(409, f"each page without a seed is a new sample; SEED {seed} continues this one")


def _in_address(asking: Asking) -> list[tuple[str, str]]:
    """Return the parameters of a request's address. Raises Problem."""
    return parameters_of(asking.request.scope.get("query_string", b""))


def _refuse_in_address(asking: Asking) -> None:
    """Raise Problem if the address has parameters, for requests whose parameters belong in the body."""
    for name, _ in _in_address(asking):
        raise Problem(400, f"parameters belong in the body, but {shortened(name)!r} is in the address")


async def _as_openai(answering: Awaitable[Response]) -> Response:
    """Return the answer, or its error in the form of OpenAI's service."""
    try:
        return await answering
    except (Problem, errors.NgramdbError) as error:
        problem = problem_of(error)
        said = {"message": problem.message, "type": problem.fields.get("type", "invalid_request_error")}
        shown = {**said, "param": problem.fields.get("parameter"), "code": problem.fields.get("code")}
        return json_response({"error": shown}, problem.status, problem.headers)
