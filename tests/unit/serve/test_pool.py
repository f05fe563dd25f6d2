"""Connections to a server: kept, shared by threads, and requests that are sent again."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

import ngramdb
from ngramdb import aio
from ngramdb.api import pool as pools

ROWS = {"version": 1, "rows": [{"corpus": "web", "database": "d"}], "columns": ["corpus"], "truncated": False}
BODY = json.dumps({"ok": True, **ROWS}).encode()


def answer(status: str = "200 OK", *headers: str, body: bytes = BODY) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers])
    return f"{head}\r\n\r\n".encode() + body


#: Instead of an answer: close the connection, or send nothing until the client hangs up.
HANG_UP, WAIT = b"", None


@dataclass
class Server:
    """A server that sends prepared answers, one per request; the last one to all further requests."""

    answers: list[bytes | None]
    n_connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.n_connections += 1
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        with connection:
            while request := connection.recv(1 << 16):
                self.requests.append(request)
                self.asked.set()
                found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if found is WAIT:
                    connection.recv(1)
                    self.hung_up.set()
                    return
                if found == HANG_UP:
                    return
                connection.sendall(found)


@contextmanager
def serving(*answers: bytes | None) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(list(answers), port=listener.getsockname()[1])
        thread = threading.Thread(target=server.serve, args=(listener,), daemon=True)
        thread.start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits are recorded, and do not take place."""
    waits: list[float] = []
    monkeypatch.setattr(pools, "pause", waits.append)
    return waits


def test_a_connection_is_kept_and_used_by_the_next_thread() -> None:
    with serving(answer()) as server, ngramdb.connect_remote(server.address) as db:
        for _ in range(5):
            thread = threading.Thread(target=db.corpora)
            thread.start()
            thread.join()
        assert (len(server.requests), server.n_connections) == (5, 1)
        db.close()
        assert db.corpora() == ["web"] and server.n_connections == 2


def test_threads_that_send_requests_at_once_have_their_own_connections() -> None:
    with serving(answer()) as server, ngramdb.connect_remote(server.address) as db:
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: db.corpora(), range(200)))
        assert found == [["web"]] * 200
        assert server.n_connections <= 8 and len(server.requests) == 200


def test_a_kept_connection_that_the_server_has_closed_is_replaced(impatient: list[float]) -> None:
    with serving(answer(), HANG_UP, answer()) as server:
        db = ngramdb.connect_remote(server.address, retries=0)
        assert db.corpora() == db.corpora() == ["web"]
        assert (server.n_connections, impatient) == (2, [])
    with serving(answer("200 OK", "Connection: close")) as server:
        db = ngramdb.connect_remote(server.address)
        assert db.corpora() == db.corpora() == ["web"]
        assert server.n_connections == 2


BUSY = answer("503 Service Unavailable", "Retry-After: 2", body=b'{"error": "busy", "type": "Busy"}')


def test_requests_are_repeated_with_growing_waits(impatient: list[float]) -> None:
    with serving(HANG_UP, HANG_UP, BUSY, answer()) as server:
        assert ngramdb.connect_remote(server.address).corpora() == ["web"]
        assert [round(wait, 1) for wait in impatient] == [pytest.approx(w, rel=0.3) for w in (0.1, 0.2, 2.0)]
        assert len(server.requests) == 4


@pytest.mark.parametrize("retries", [0, 2])
def test_repetitions_end(retries: int, impatient: list[float]) -> None:
    with serving(BUSY) as server, pytest.raises(ngramdb.ExecutionError, match="busy"):
        ngramdb.connect_remote(server.address, retries=retries).corpora()
    assert len(server.requests) == retries + 1 == len(impatient) + 1
    times = rf" \({retries + 1} attempts\)" if retries else "[^()]"
    with pytest.raises(ngramdb.ExecutionError, match=f"{server.address} does not answer: .*{times}$"):
        ngramdb.connect_remote(server.address, retries=retries).corpora()


def test_errors_are_not_repeated() -> None:
    wrong = answer("400 Bad Request", body=b'{"error": "wrong", "type": "InvalidArgument"}')
    with serving(wrong) as server, pytest.raises(ngramdb.InvalidArgument, match="wrong"):
        ngramdb.connect_remote(server.address).corpora()
    assert len(server.requests) == 1
    for retries in (-1, True, "1"):
        with pytest.raises(ngramdb.InvalidArgument, match="retries"):
            ngramdb.connect_remote(server.address, retries=retries)  # type: ignore[arg-type]


def test_a_server_that_is_silent_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "PATIENCE_S", 0.05)
    with serving(WAIT) as server, pytest.raises(ngramdb.ExecutionError, match="does not answer within"):
        ngramdb.connect_remote(server.address).corpora()
    assert len(server.requests) == 1


def test_a_block_with_a_timeout_limits_the_waits(impatient: list[float]) -> None:
    with serving(BUSY) as server:
        db = ngramdb.connect_remote(server.address)
        with db.timeout(1.0), pytest.raises(ngramdb.ExecutionError):
            db.execute("SHOW CORPORA")
    assert max(impatient) < 1.0


def in_child(act: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            act()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_opens_its_own_connections() -> None:
    with serving(answer()) as server, ngramdb.connect_remote(server.address) as db:
        assert db.corpora() == ["web"]
        assert in_child(db.corpora) == 0
        assert db.corpora() == ["web"]
        assert server.n_connections == 2


def test_cancelling_a_task_hangs_up() -> None:
    async def ask(server: Server) -> float:
        async with aio.connect_remote(server.address) as db:
            task = asyncio.create_task(db.corpora())
            while not server.asked.is_set():
                await asyncio.sleep(0.001)
            task.cancel()
            started = time.perf_counter()
            with pytest.raises(asyncio.CancelledError):
                await task
            return time.perf_counter() - started

    with serving(WAIT) as server:
        assert asyncio.run(ask(server)) < pools.PATIENCE_S / 2
        assert server.hung_up.wait(60)
        assert len(server.requests) == 1
