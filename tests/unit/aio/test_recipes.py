"""The recipes of docs/concurrency.md in the programs that they are for, where these are installed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import ngramdb
from ngramdb import aio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "sayings.ngdb"
    with ngramdb.connect(found) as db:
        db.create_corpus("sayings").append(["time flies like an arrow", "fruit flies like a banana"])
    return found


def test_fastapi(path: Path) -> None:
    fastapi = pytest.importorskip("fastapi")
    httpx = pytest.importorskip("httpx2")

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with aio.connect(path, read_only=True) as db:
            app.state.sayings = await db.corpus("sayings")
            yield

    app = fastapi.FastAPI(lifespan=lifespan)

    @app.get("/count")
    async def count(q: str) -> int:
        return int(await app.state.sayings.count(q))

    @app.get("/kwic")
    async def kwic(q: str) -> Any:
        result = await app.state.sayings.kwic(q)

        async def lines() -> AsyncIterator[str]:
            async with result:
                async for row in result:
                    yield json.dumps(row) + "\n"

        return fastapi.responses.StreamingResponse(lines(), media_type="application/jsonl")

    async def ask() -> None:
        transport = httpx.ASGITransport(app=app)
        async with (
            lifespan(app),
            httpx.AsyncClient(transport=transport, base_url="http://corpora") as client,
        ):
            answers = await asyncio.gather(*(client.get("/count", params={"q": "flies"}) for _ in range(20)))
            assert [answer.json() for answer in answers] == [2] * 20
            lines = (await client.get("/kwic", params={"q": "an"})).text.splitlines()
            assert [json.loads(line)[:2] for line in lines] == [[0, 3]]

    asyncio.run(ask())


CELLS = [
    "import ngramdb\ndb = await ngramdb.aio.connect(PATH, read_only=True)\nsayings = await db.corpus()",
    "counts = [await sayings.count(word) for word in ('flies', 'time')]",
    "rows = [row async for row in await sayings.kwic('arrow')]\ntable = (await sayings.docs()).sync",
    "await db.close()",
]


def test_cells_of_a_notebook(path: Path) -> None:
    """A notebook runs its cells in an event loop that runs, and shows results as HTML."""
    shells = pytest.importorskip("IPython.core.interactiveshell")
    shell = shells.InteractiveShell()
    shell.push({"PATH": str(path)})

    async def run() -> None:
        for cell in CELLS:
            done = await shell.run_cell_async(cell, transformed_cell=cell)
            done.raise_error()

    asyncio.run(run())
    assert shell.user_ns["counts"] == [2, 1]
    assert [row[:2] for row in shell.user_ns["rows"]] == [(0, 4)]
    assert "arrow" in shell.user_ns["table"]._repr_html_()


def test_a_forked_child_of_a_program_with_a_loop_opens_its_own(path: Path) -> None:
    """As workers of gunicorn do with `preload_app`: the parent has had a loop and a connection of its own."""
    import multiprocessing

    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork")

    async def counted() -> int:
        async with aio.connect(path, read_only=True) as db:
            return await (await db.corpus("sayings")).count("flies")

    assert asyncio.run(counted()) == 2
    answers = multiprocessing.get_context("fork").SimpleQueue()
    child = multiprocessing.get_context("fork").Process(target=lambda: answers.put(asyncio.run(counted())))
    child.start()
    assert answers.get() == 2
    child.join()
    assert child.exitcode == 0
