"""Requests that questions make to an object store, counted at the interface that all of them go through."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ngramdb
from ngramdb.engine.storage.directory.object_store import ObjectStore


@dataclass(frozen=True)
class Sample:
    """Opening a database and one count, nothing of it fetched before."""

    to_open: int
    to_count: int
    n_bytes: int
    is_right: bool


class Counting:
    """Requests to a store, and the bytes that they brought, while it is entered."""

    def __init__(self) -> None:
        self.requests = self.bytes = 0

    def __enter__(self) -> Counting:
        self._before = {name: getattr(ObjectStore, name) for name in ("read", "stored", "exists", "look")}
        for name, method in self._before.items():
            setattr(ObjectStore, name, self._counted(method))
        return self

    def __exit__(self, *_: object) -> None:
        for name, method in self._before.items():
            setattr(ObjectStore, name, method)

    def _counted(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            answer = method(*arguments)
            self.requests += 1
            self.bytes += len(answer) if isinstance(answer, bytes) else 0
            return answer

        return counted


def cold_counts(path: Path, name: str, grams: list[list[int]]) -> Iterator[Sample]:
    """Each n-gram counted in a database in a folder as if that was a store's, by a connection of its own."""
    with ngramdb.connect(path, read_only=True) as db:
        expected = db.corpus(name).count_many(grams).tolist()
    for gram, count in zip(grams, expected, strict=True):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["NGRAMDB_CACHE"] = cache
            with Counting() as opening, ngramdb.connect(f"file://{path}", read_only=True) as db:
                db.refresh()
                with Counting() as counting:
                    found = db.corpus(name).count(gram)
                yield Sample(
                    opening.requests - counting.requests, counting.requests, counting.bytes, found == count
                )
