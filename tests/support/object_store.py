"""An S3 server for tests: it records requests, and fails on demand."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

from ngramdb.engine.storage.directory import object_store, remote

BUCKET = "bucket"


class Request(NamedTuple):
    method: str
    path: str
    query: str
    range: str


# The effect of a fault on a request: None lets it pass, an int answers with that status, "reset" ends the
# connection, "short" cuts the answer, "lost" executes it and then ends the connection; a float waits
# that many seconds.
Fault = Callable[[Request], "int | str | float | None"]


class Server:
    """The server; `requests` are those since the last `clear`, `fault` decides how each is answered."""

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Quiet(WSGIRequestHandler):
            def log(self, *_: Any) -> None:
                pass

        self._app = DomainDispatcherApplication(create_backend_app)
        self.requests: list[Request] = []
        self.fault: Fault | None = None
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=Quiet)
        self.address = f"http://127.0.0.1:{self._server.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def failing(self, fault: Fault) -> Iterator[None]:
        self.fault = fault
        try:
            yield
        finally:
            self.fault = None

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        names = ("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "HTTP_RANGE")
        request = Request(*(environ.get(name, "") for name in names))
        self.requests.append(request)
        kind = None if self.fault is None else self.fault(request)
        if isinstance(kind, float):
            time.sleep(kind)
        elif isinstance(kind, int):
            start(f"{kind} Failed", [("Content-Length", "0")])
            return [b""]
        elif kind == "reset":
            _end(environ)
        body = self._app(environ, start)
        if kind == "short":
            return [b"".join(body)[:-1]]  # the length that was promised is another
        if kind == "lost":
            b"".join(body)
            _end(environ)
        return body


def _end(environ: dict[str, Any]) -> NoReturn:
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionAbortedError


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[Server]:
    """A server that s3://bucket leads to, and a cache of its own. Skips without moto or s3fs."""
    pytest.importorskip("moto")
    s3fs = pytest.importorskip("s3fs")
    server = Server()
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", server.address),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("NGRAMDB_CACHE", str(cache)),
    ):
        monkeypatch.setenv(name, value)
    for name in [name for name in os.environ if re.fullmatch("https?_proxy|all_proxy", name, re.IGNORECASE)]:
        monkeypatch.delenv(name)
    system = s3fs.S3FileSystem(skip_instance_cache=True)
    if not system.exists(BUCKET):
        system.mkdir(BUCKET)
    server.requests.clear()
    try:
        yield server
    finally:
        server.close()


def put(folder: Path, name: str) -> str:
    """Copy a database into the bucket; returns its URL."""
    import s3fs

    system = s3fs.S3FileSystem(skip_instance_cache=True)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            system.pipe_file(f"{BUCKET}/{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())
    return f"s3://{BUCKET}/{name}"


def in_small_parts(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Parts so small that a database of some kilobytes has many, in a cache of its own."""
    monkeypatch.setenv("NGRAMDB_CACHE", str(cache))
    for name, value in (("UNIT", 4096), ("AROUND", 1), ("MOST", 4)):
        monkeypatch.setattr(object_store, name, value)
    for name, value in (("WHOLE", 4096), ("TOGETHER", 4096), ("TAIL", 1024)):
        monkeypatch.setattr(remote, name, value)
