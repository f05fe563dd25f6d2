"""`ngramdb.aio`: verbs that are awaited, stopped with their task, and read while they are computed."""

from __future__ import annotations

import ast
import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import ngramdb
from ngramdb import aio, interrupts
from ngramdb.aio import connecting, verbs

TEXTS = ["time flies like an arrow", "fruit flies like a banana"]
PATIENCE_S = 60


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, PATIENCE_S))


@asynccontextmanager
async def sayings(**options: Any) -> AsyncIterator[tuple[aio.Connection, aio.Corpus]]:
    async with aio.connect(**options) as db:
        corpus = await db.create_corpus("sayings")
        await corpus.append(TEXTS)
        yield db, corpus


def declared(module: Any) -> dict[str, dict[str, str]]:
    """The verbs that type checkers see in the classes of a module, each with the name of its wrapper."""
    found: dict[str, dict[str, str]] = {}
    for owner in ast.parse(inspect.getsource(module)).body:
        if isinstance(owner, ast.ClassDef):
            found[owner.name] = {
                node.targets[0].id: node.value.func.id
                for node in ast.walk(owner)
                if isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and isinstance(node.value, ast.Call)
                and isinstance(node.value.func, ast.Name)
            }
    return found


def verbs_of(source: type, left_out: set[str]) -> dict[str, str]:
    """The verbs of a synchronous class, each with the wrapper that it needs."""
    names = {name for name, value in vars(source).items() if not isinstance(value, property)}
    return {
        name: "stepped"
        if str(inspect.signature(getattr(source, name)).return_annotation).startswith("Iterator[")
        else "awaited"
        for name in names - left_out
        if not name.startswith("_")
    }


#: Names that are written in the classes themselves, or that no coroutine has.
OF_CONNECTIONS = {"close", "commit", "cursor", "interrupt", "rollback", "timeout", "trial"}
OF_RESULTS = {"close", "batches", "arrow_batches", "of_rows"}


def test_type_checkers_see_every_verb() -> None:
    """A new verb of `ngramdb.Corpus` also needs a line in `ngramdb/aio/verbs.py`."""
    of_verbs, of_connections = declared(verbs), declared(connecting)
    assert of_verbs["Corpus"] == verbs_of(ngramdb.Corpus, {"batch"})
    assert of_verbs["Result"] == verbs_of(ngramdb.Result, OF_RESULTS)
    assert of_connections["Connection"] == verbs_of(ngramdb.Connection, OF_CONNECTIONS)
    for owner in (aio.Corpus, aio.Connection, aio.RemoteConnection, aio.Result):
        for name in (of_verbs | of_connections)[owner.__name__]:
            assert callable(getattr(owner, name)), name


def test_answers_are_those_of_the_synchronous_verbs() -> None:
    async def ask() -> None:
        async with sayings() as (db, corpus):
            here = db.sync.corpus("sayings")
            assert await corpus.count("flies like") == here.count("flies like") == 2
            assert (await corpus.count_many(["flies", "time"])).tolist() == [2, 1]
            assert await corpus.prob("an", given="like") == here.prob("an", given="like")
            assert (await corpus.n_documents, await corpus.n_tokens) == (2, 10)
            assert (await corpus.tokenizer).kind == here.tokenizer.kind
            assert await (await corpus.kwic("flies")).fetchall() == here.kwic("flies").fetchall()
            part = await corpus.where("doc_id = ?", params=[1])
            assert await part.count("flies") == 1
            streamed = [piece async for piece in corpus.stream("time", tokens=2)]
            assert streamed == list(here.stream("time", tokens=2))
            assert (await db.corpora(), await db.current_corpus, await db.version) == (
                ["sayings"],
                "sayings",
                db.sync.version,
            )
            assert await (await db.execute("COUNT ?", ["flies"])).fetchall() == [(2,)]
            assert repr(corpus) == "<ngramdb.aio.Corpus of sayings>"
            with pytest.raises(ngramdb.ParseError):
                await db.execute("COUNT FROM")
            with pytest.raises(TypeError, match="unexpected"):
                await corpus.count("a", wrong=1)  # type: ignore[call-arg]
            await db.drop_corpus("sayings")
            with pytest.raises(ngramdb.BindError):
                await corpus.count("flies")

    run(ask())


def test_rows_are_read_while_they_are_computed() -> None:
    async def ask() -> None:
        async with sayings() as (db, corpus):
            expected = db.sync.corpus("sayings").ngrams(1).fetchall()
            result = await corpus.ngrams(1)
            assert "ngram" in result.columns
            async for row in result:
                assert row == expected[0]
                break
            assert await result.fetchone() == expected[1]  # those left by the loop
            assert await result.fetchmany(2) == expected[2:4]
            assert [batch async for batch in result.batches(2)] == [expected[4:6], expected[6:]]
            assert await result.fetchone() is None and result.n_rows == len(expected)
            assert (await (await corpus.docs()).arrow()).num_rows == 2
            async with await corpus.docs() as closed:
                assert repr(closed).startswith("<ngramdb.aio.Result of doc_id")
            with pytest.raises(ngramdb.ExecutionError, match="closed"):
                await closed.fetchall()

    run(ask())


def spin(begun: threading.Event) -> None:
    """Work that ends only when it is stopped, as a kernel does."""
    begun.set()
    while True:
        interrupts.check()


async def begun(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.001)


def endless(event: threading.Event) -> Iterator[str]:
    while True:
        yield "time flies"
        event.set()


def test_cancelling_a_task_stops_its_work() -> None:
    async def ask() -> None:
        async with sayings() as (_, corpus):
            event = threading.Event()
            task = asyncio.create_task(corpus.append(endless(event)))
            await begun(event)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # The work has ended with the task: nothing was committed, and nobody holds the lock.
            assert await corpus.n_documents == 2
            await corpus.append(["one more"])
            assert await corpus.n_documents == 3
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(corpus.append(endless(event)), 0.01)

    run(ask())


def test_interrupting_a_connection_and_closing_it_stop_all_work() -> None:
    async def ask() -> None:
        async with sayings(threads=2) as (db, corpus):
            event = threading.Event()
            task = asyncio.create_task(corpus.append(endless(event)))
            await begun(event)
            db.interrupt()
            with pytest.raises(ngramdb.Interrupted):
                await task
            event.clear()
            tasks = [asyncio.create_task(corpus.append(endless(event))) for _ in range(3)]
            await begun(event)
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(error) for error in found} == {ngramdb.Interrupted, ngramdb.ExecutionError}
        with pytest.raises(ngramdb.ExecutionError, match="closed"):
            await corpus.count("flies")

    run(ask())


def test_work_that_waits_for_a_thread_never_begins_if_its_task_is_cancelled() -> None:
    async def ask() -> None:
        team = aio.team.Team(1)
        event, other = threading.Event(), threading.Event()
        first = asyncio.create_task(team.run(lambda: spin(event)))
        second = asyncio.create_task(team.run(lambda: spin(other)))
        await begun(event)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        first.cancel()
        await team.close()
        assert not other.is_set()

    run(ask())


def test_questions_of_one_connection_run_at_once() -> None:
    async def ask() -> None:
        async with sayings(threads=2) as (_, corpus):
            together = threading.Barrier(2, timeout=PATIENCE_S)

            def documents() -> Iterator[str]:
                together.wait()
                yield "time"

            # One waits within `append` until the other has begun.
            await asyncio.gather(corpus.append(documents()), asyncio.to_thread(together.wait))
            counts = await asyncio.gather(*(corpus.count("time") for _ in range(50)))
            assert len({*counts}) == 1 and counts[0] > 1

    run(ask())


def test_a_warning_names_the_line_that_awaits() -> None:
    async def ask() -> None:
        async with sayings() as (_, corpus):
            with pytest.warns(ngramdb.PhraseWarning) as found:
                assert await corpus.count("time * like") == 0
            assert Path(found[0].filename) == Path(__file__)

    run(ask())


def test_a_connection_that_cannot_be_opened() -> None:
    async def ask() -> None:
        with pytest.raises(ngramdb.StorageError):
            await aio.connect("/nowhere/at/all", read_only=True)
        db = await aio.connect()
        await db.close()
        await db.close()

    run(ask())
