"""A program of a user: type checkers accept it without casts, and see the types that it asserts.

`test_typing.py` runs mypy (and pyright, where it is installed) on it; the function `run` also runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import ngramdb
from ngramdb import aio


def counts(corpus: ngramdb.Corpus) -> dict[str, int]:
    """Verbs and results of a local corpus, or of a part."""
    assert_type(corpus.count("natural language"), int)
    assert_type(corpus.count([1, 2]), int)
    assert_type(corpus.count_many(["natural", "language"]), NDArray[np.int64])
    assert_type(corpus.where("year > ?", params=[2000]), ngramdb.Corpus)
    assert_type(corpus.stream("natural", tokens=3), Iterator[str])
    assert_type(corpus.batch(ngramdb.Corpus.count, ["natural", "language"], ignore_case=True), list[int])
    result = corpus.kwic("language", window=3, order_by="right")
    assert_type(result, ngramdb.Result)
    assert_type(result.columns, tuple[str, ...])
    for row in result:
        assert_type(row, tuple[Any, ...])
    found = corpus.prob("language", given="natural")
    return {} if found is None else {"count": found.cont_count}


def statements(path: Path) -> list[dict[str, Any]]:
    with ngramdb.connect(path) as db:
        assert_type(db, ngramdb.Connection)
        corpus = db.create_corpus("wiki", if_not_exists=True, segment_tokens=1_000_000)
        assert_type(corpus, ngramdb.Corpus)
        corpus.append(["natural language", {"text": "a language", "year": 2001}])
        counts(corpus)
        with db.timeout(10):
            db.execute("COUNT ? FROM wiki", ["language"], timeout=5.0)
        assert_type(db.corpora(), list[str])
        return db.execute("DOCS FROM wiki WHERE year > :year", {"year": 2000}).to_dicts()


def remote(address: str) -> int:
    with ngramdb.connect_remote(address, token="sesame", retries=5) as db:
        assert_type(db, ngramdb.RemoteConnection)
        corpus = db.corpus("wiki")
        assert_type(corpus, ngramdb.RemoteCorpus)
        assert_type(corpus.batch(ngramdb.Corpus.trace, ["a", "b"], min_length=2), list[ngramdb.Result])
        assert_type(db.execute("SHOW CORPORA", database="web").fetchall(), list[tuple[Any, ...]])
        return corpus.count("language", where="year > 2000")


async def awaited(path: Path) -> list[str]:
    async with aio.connect(path, threads=4) as db:
        assert_type(db, aio.Connection)
        corpus = await db.corpus("wiki")
        assert_type(corpus, aio.Corpus)
        assert_type(await corpus.n_tokens, int)
        one, two = await asyncio.gather(corpus.count("natural"), corpus.count("language", where="year > 1"))
        assert_type(one + two, int)
        assert_type(await corpus.count_many(["natural"]), NDArray[np.int64])
        assert_type(await corpus.prob("language", given="natural"), "ngramdb.Probability | None")
        assert_type(await corpus.where("year > ?", params=[2000]), aio.Corpus)
        assert_type(await corpus.batch(ngramdb.Corpus.count, ["a"], where="year > 2000"), list[int])
        assert_type(corpus.stream("natural"), AsyncGenerator[str, None])
        result = await db.execute("KWIC ? FROM wiki", ["language"], timeout=5)
        assert_type(result, aio.Result)
        assert_type(result.columns, tuple[str, ...])
        found = []
        async for row in result:
            assert_type(row, tuple[Any, ...])
            found.append(str(row[0]))
        async for batch in result.batches(100):
            assert_type(batch, list[tuple[Any, ...]])
        assert_type(await result.fetchall(), list[tuple[Any, ...]])
        return found


async def awaited_remote(address: str) -> int:
    db = await aio.connect_remote(address, retries=1)
    assert_type(db, aio.RemoteConnection)
    assert_type(await db.execute("SHOW CORPORA", database="web"), aio.Result)
    corpus = await db.corpus("wiki")
    assert_type(corpus, aio.Corpus)
    await db.close()
    return await corpus.count("language")


def run(path: Path) -> None:
    assert [row["year"] for row in statements(path)] == [2001]
    assert asyncio.run(awaited(path)) == ["0", "1"]


async def mistakes(corpus: aio.Corpus, db: ngramdb.Connection) -> None:
    """Each line has an error: mypy reports an ignored one that is not there."""
    await corpus.count(1.5)  # type: ignore[arg-type]
    await corpus.count("a", wher="b")  # type: ignore[call-arg]
    await corpus.sync.count("a")  # type: ignore[misc]
    corpus.count("a") + 1  # type: ignore[operator]
    db.execute(1)  # type: ignore[arg-type]
    db.corpus("wiki").kwic("a", windo=1)  # type: ignore[call-arg]
