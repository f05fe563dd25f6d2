"""The service as an ASGI application: access control, dispatch, and the headers of answers.

Everything that reads a corpus runs in a worker thread (`running`); this module only does what is instant.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import hmac
import logging
import mimetypes
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ngramdb import errors
from ngramdb.serve.database_pool import Library
from ngramdb.serve.problem_details import Gone, Limits, Problem, body_of, busy, is_ours, problem_of
from ngramdb.serve.requests import Address, address_of, base_of, shortened
from ngramdb.serve.routes import FOR_EVER, NEVER, Asking, Completes, Routes, json_response
from ngramdb.serve.running import Workers

log = logging.getLogger("ngramdb.serve")

#: Headers of every answer that restrict what browsers may do with it.
HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    (
        "content-security-policy",
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
)
#: Host names of the local machine, which no other website's name can resolve to.
OWN_HOSTS = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
METHODS = "GET, HEAD, POST, OPTIONS"
#: Headers of answers that scripts of other websites may read.
EXPOSED = "etag, link, retry-after, x-notes, x-truncated, x-version"


@dataclass(frozen=True)
class Access:
    """Who may use the service.

    token : the token that `Authorization: Bearer …` must carry; None if no token is needed
    cors : the website whose scripts may send requests, or `*` for all; None for no other website
    base_url : the path or the full URL under which clients see the service
    hosts : the host names that requests may be for; None for any
    """

    token: str | None = None
    cors: str | None = None
    base_url: str = "/"
    hosts: frozenset[str] | None = None


class Service:
    """The application. `completes` suggests continuations of statements, if given."""

    def __init__(
        self,
        library: Library,
        limits: Limits,
        access: Access | None = None,
        completes: Completes | None = None,
    ) -> None:
        self.library = library
        self.limits = limits
        self.access = access or Access()
        self.base = base_of(self.access.base_url)
        self.workers = Workers(limits)
        self.routes = Routes(library, limits, self.workers, self.base, completes)
        self._digest = None if self.access.token is None else _digest(self.access.token.encode())
        self._body_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI servers call it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        started = time.perf_counter()
        request = Request(scope, receive)
        try:
            response = await self._answered(request)
        except (Gone, ClientDisconnect):
            self._log(request, 499, 0, started)
            return
        except Exception as error:
            if not is_ours(error):
                log.error("%s", traceback.format_exc())
            elif isinstance(error, (errors.StorageError, MemoryError)):
                log.error("%s: %s", type(error).__name__, error)
            response = self._problem(problem_of(error))
        self._finish(request, response)
        await response(scope, receive, send)
        self._log(request, response.status_code, len(response.body), started)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                self.workers.interrupt()
                await send({"type": "lifespan.shutdown.complete"})
                return

    # ---- checks of all requests -------------------------------------------------------------------------

    async def _answered(self, request: Request) -> Response:
        scope = request.scope
        self._check_host(request)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"allow": METHODS})
        if request.method not in ("GET", "HEAD", "POST"):
            problem = Problem(
                405, f"method {shortened(request.method)} is not allowed; this service is read-only"
            )
            problem.headers["Allow"] = METHODS
            raise problem
        self._check_origin(request)
        address = address_of(scope.get("raw_path") or scope["path"].encode(), self.base)
        if request.method != "POST" and (file := self._file(request, address)) is not None:
            return file
        self._check_token(request)
        body = bytearray()
        try:
            await self._read(request, body)
            return await self.routes.answered(Asking(request, address, body))
        finally:
            self._body_bytes -= len(body)
            body.clear()  # at once: an exception's traceback keeps the object until the next collection

    def _check_host(self, request: Request) -> None:
        """Reject other host names, so that a website cannot point its own name here and read answers."""
        if len(request.headers.getlist("host")) > 1:
            raise Problem(400, "more than one Host header")
        hosts = self.access.hosts
        if hosts is None:
            return
        host = request.headers.get("host", "localhost")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name.lower() not in hosts:
            raise Problem(
                421, "this service does not serve that host name; --base-url sets the name it accepts"
            )

    def _check_origin(self, request: Request) -> None:
        """Reject requests of other websites' scripts before anything runs.

        Browsers report where a request comes from in `Sec-Fetch-Site`, or, without TLS, at least in the
        `Origin` of a POST; scripts cannot set either. Following a link to this service is allowed.
        """
        headers, cors = request.headers, self.access.cors
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if cors == "*" or (origin is not None and origin == cors):
            return
        if site is None:
            own = (headers.get("host"), urlsplit(self.access.base_url).netloc)
            netloc = urlsplit(origin).netloc if origin is not None else None
            is_foreign = origin is not None and (not netloc or netloc not in own)  # none: `null`, a sandbox's
        else:
            is_foreign = site not in ("same-origin", "none") and not _is_link(request)
        if is_foreign:
            raise Problem(403, "requests by scripts of other websites are not allowed; --cors allows them")

    def _check_token(self, request: Request) -> None:
        if self._digest is None:
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        found = _digest(token.strip().encode("utf-8", "surrogatepass"))
        if not hmac.compare_digest(found, self._digest) or scheme.lower() != "bearer":
            problem = Problem(401, "missing or invalid token; send Authorization: Bearer TOKEN")
            problem.headers["WWW-Authenticate"] = 'Bearer realm="ngramdb"'
            raise problem

    async def _read(self, request: Request, body: bytearray) -> None:
        """Append the request's body to `body`, whose length counts towards `all_bodies`.

        Raises Problem for a body that is too long, arrives too late, or exceeds that budget.
        """
        headers = request.headers
        if "content-length" not in headers and "transfer-encoding" not in headers:
            return
        most = self.limits.max_body
        too_long = Problem(413, f"the body is longer than {most:,} bytes")
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length[:20]) > most:
            raise too_long

        async def read() -> None:
            async for part in request.stream():
                if len(body) + len(part) > most:
                    raise too_long
                if self._body_bytes + len(part) > self.limits.all_bodies:
                    raise busy("too many requests with long bodies are in progress; retry in a moment")
                self._body_bytes += len(part)
                body.extend(part)

        try:
            await asyncio.wait_for(read(), self.limits.body_timeout)
        except asyncio.TimeoutError:
            raise Problem(408, "the request body did not arrive in time") from None

    def _file(self, request: Request, address: Address) -> Response | None:
        """Return a file of the page, or None for any other address."""
        if address.first == "static":
            return static_file(address, request.headers)
        wants_page = address.format is None and "text/html" in request.headers.get("accept", "")
        return page_file(self.base) if wants_page else None

    def _problem(self, problem: Problem) -> Response:
        return json_response(body_of(problem), problem.status, problem.headers)

    def _finish(self, request: Request, response: Response) -> None:
        """Set the headers of every answer."""
        for name, value in HEADERS:
            response.headers.setdefault(name, value)
        response.headers.setdefault("cache-control", NEVER)
        if self._digest is not None and response.headers["cache-control"] == FOR_EVER:
            response.headers["cache-control"] = FOR_EVER.replace("public", "private")
        if self.access.cors is not None:
            response.headers["access-control-allow-origin"] = self.access.cors
            response.headers["access-control-allow-methods"] = METHODS
            response.headers["access-control-allow-headers"] = "authorization, content-type"
            response.headers["access-control-expose-headers"] = EXPOSED
            if self.access.cors != "*":
                response.headers.add_vary_header("Origin")
        else:
            response.headers["cross-origin-resource-policy"] = "same-origin"

    def _log(self, request: Request, status: int, n_bytes: int, started: float) -> None:
        scope = request.scope
        raw = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0]
        query = scope.get("query_string", b"")
        target = (raw + (b"?" + query if query else b"")).decode("ascii", "backslashreplace")
        client = scope.get("client") or ("-", 0)
        shown = "".join(
            c if c.isprintable() else f"\\x{ord(c):02x}" for c in f"{request.method} {target[:2000]}"
        )
        log.info(
            "%s %s %d %d B %.1f ms", client[0], shown, status, n_bytes, 1e3 * (time.perf_counter() - started)
        )


def _is_link(request: Request) -> bool:
    """Return True if a person follows a link or types an address: a top-level navigation by GET."""
    headers = request.headers
    is_page = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return is_page and request.method in ("GET", "HEAD")


def _digest(token: bytes) -> bytes:
    """Return a hash, so that the comparison does not reveal the length of the token."""
    return hashlib.sha256(token).digest()


def hosts_of(host: str, base_url: str) -> frozenset[str] | None:
    """Return the host names that requests may be for, if only this machine can connect; else None."""
    if host not in OWN_HOSTS:
        return None
    outside = urlsplit(base_url).hostname
    return OWN_HOSTS | ({outside} if outside else set())


@contextlib.contextmanager
def log_to_standard_error() -> Iterator[None]:
    """Log a line per request, with its duration, to standard error while the block runs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.propagate = True
        log.removeHandler(handler)


# ---- The files of the page: exactly those in the folder `static`.


FOLDER = Path(__file__).parent / "static"
PAGE = "index.html"
#: The placeholder in the page for the base path, so that its links work.
BASE = "{{base}}"


@lru_cache(maxsize=1)
def _files() -> dict[str, Path]:
    """Return every file by its path below the folder. Addresses are only keys of it, never used as paths."""
    return {str(path.relative_to(FOLDER)): path for path in sorted(FOLDER.rglob("*")) if path.is_file()}


@lru_cache(maxsize=64)
def _contents(path: Path, changed_ns: int) -> tuple[bytes, bytes, str]:
    """Return a file's content, compressed content and tag; `changed_ns` is part of the cache's key."""
    plain = path.read_bytes()
    return plain, gzip.compress(plain, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:20]}"'


def static_file(address: Address, headers: Mapping[str, str]) -> Response:
    """Return a file by its address, compressed if the client accepts it. Raises Problem if it is missing."""
    name = "/".join(address.parts[1:]) + ("" if address.format is None else f".{address.format}")
    path = _files().get(name)
    if path is None:
        raise Problem(404, "no such file", type="NotFound")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    plain, small, tag = _contents(path, path.stat().st_mtime_ns)
    said = {"cache-control": "no-cache", "etag": tag, "vary": "Accept-Encoding"}
    if tag in headers.get("if-none-match", ""):
        return Response(status_code=304, headers=said)
    if "gzip" in headers.get("accept-encoding", ""):
        return Response(small, media_type=kind, headers={**said, "content-encoding": "gzip"})
    return Response(plain, media_type=kind, headers=said)


def page_file(base: str) -> Response | None:
    """Return the page, which is the same at all addresses, or None if it is not installed."""
    path = _files().get(PAGE)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8").replace(BASE, base)
    headers = {"cache-control": "no-cache", "vary": "Accept"}
    return Response(text, media_type="text/html", headers=headers)
