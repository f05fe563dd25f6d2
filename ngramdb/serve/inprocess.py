"""One request to an application in this process: `--get`, and tests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp


@dataclass
class Answered:
    """The answer: `headers` by their names in small letters."""

    status: int
    headers: dict[str, str]
    body: bytes


async def answered(
    app: ASGIApp,
    target: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answered:
    """Ask the application for `target`, a path with its query string."""
    path, _, query = target.partition("?")
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("utf-8", "surrogateescape"),
        "query_string": query.encode("utf-8", "surrogateescape"),
        "root_path": "",
        "headers": [
            (name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()
        ],
        "client": ("127.0.0.1", 0),
        "server": ("localhost", 80),
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    never = asyncio.Event()
    sent: list[Any] = []

    async def receive() -> Any:
        if waiting:
            return waiting.pop()
        await never.wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Answered(start["status"], names, b"".join(message.get("body", b"") for message in sent[1:]))


def ask(
    app: ASGIApp,
    target: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answered:
    """The same outside of an event loop."""
    return asyncio.run(answered(app, target, method, headers, body))
