"""A small library, and requests to it within this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ngramdb

pytest.importorskip("starlette")

from ngramdb.serve.app import Access, Service
from ngramdb.serve.database_pool import open_library
from ngramdb.serve.problem_details import Limits
from ngramdb.serve.running import Answered, ask

SAYINGS = [
    {"text": "time flies like an arrow", "kind": "proverb", "year": 1930, "day": "1930-05-01"},
    {"text": "fruit flies like a banana", "kind": "joke", "year": 1966, "day": "1966-01-02"},
    {"text": "time flies when you read a book", "kind": "proverb"},
    {"text": "fruit flies like an apple", "kind": "joke", "year": 1961, "day": "1966-01-30"},
]
#: Busy machines take their time for the first statement.
PATIENT = Limits(time_limit=20.0)


@dataclass
class Client:
    """Asks a service."""

    service: Service

    def ask(self, target: str, method: str = "GET", body: Any = b"", **headers: str) -> Answered:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if sent:
            named.setdefault("content-length", str(len(sent)))
        return ask(self.service, target, method, named, sent)

    def json(self, target: str, method: str = "GET", body: Any = b"", **headers: str) -> Any:
        answer = self.ask(target, method, body, **headers)
        assert answer.headers["content-type"] == "application/json", answer
        return {**json.loads(answer.body), "status": answer.status}

    def rows(self, target: str) -> list[tuple[Any, ...]]:
        found = self.json(target)
        assert found["status"] == 200, found
        return [tuple(row[name] for name in found["columns"]) for row in found["rows"]]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of two corpora on disk."""
    path = tmp_path_factory.mktemp("served") / "web.ngdb"
    with ngramdb.connect(path) as db:
        db.create_corpus("sayings").append(SAYINGS)
        db.create_corpus("letters", "chars").append(["abracadabra"])
    return path


Opens = Callable[..., Client]


@pytest.fixture
def served(folder: Path) -> Iterator[Opens]:
    """Services over that database, with limits and access of the test's."""
    opened: list[Service] = []

    def serve(limits: Limits = PATIENT, *paths: Path, **access: Any) -> Client:
        library = open_library([str(path) for path in paths or (folder,)], limits, {})
        opened.append(Service(library, limits, Access(**access)))
        return Client(opened[-1])

    yield serve
    for service in opened:
        service.workers.close()
        service.library.close()


@pytest.fixture
def client(served: Opens) -> Client:
    return served()
