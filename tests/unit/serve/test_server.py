"""The server as a process: its start, its sockets, its end; and one request without it."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ngramdb
from ngramdb.cli.main import main
from ngramdb.serve.app import log_to_standard_error

pytest.importorskip("uvicorn")

PATIENCE_S = 60


@contextlib.contextmanager
def server(*arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server, and the first line that it prints; it is ended by SIGTERM."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ngramdb", "serve", *arguments, "--setting", "time_limit", "20"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
        assert "Traceback" not in said


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


def got(connection: http.client.HTTPConnection, target: str, **headers: str) -> Any:
    connection.request("GET", target, headers=headers)
    return json.loads(connection.getresponse().read())


def test_a_server_answers_all_clients_and_ends_in_time(folder: Path) -> None:
    with server(str(folder), "--port", "0") as (process, address):
        host, _, port = address.removeprefix("http://").strip("/").partition(":")
        assert host == "127.0.0.1"
        answers: list[Any] = []

        def ask(number: int) -> None:
            connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
            for _ in range(5):
                answers.append(got(connection, "/sayings/count.json?q=flies")["rows"])
            if number % 2:  # some hang up amid their question
                connection.request("GET", "/sayings/generate.json?q=time&tokens=100000&model=kneser_ney")
            connection.close()

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert answers == [[{"count": 4}]] * 40
        # A body that does not come, a request that never ends: both hold up nobody.
        for begun in (
            b"POST /query.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n",
            b"GET /",
        ):
            slow = socket.create_connection((host, int(port)))
            slow.sendall(begun)
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
        assert got(connection, "/corpora.json")["n_rows"] == 2
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def test_unfinished_requests_do_not_keep_connections(folder: Path) -> None:
    limits = ("head_timeout", "0.2", "connections", "20")
    settings = [one for pair in zip(limits[::2], limits[1::2], strict=True) for one in ("--setting", *pair)]
    with server(str(folder), "--port", "0", *settings) as (_, address):
        host, _, port = address.removeprefix("http://").strip("/").partition(":")

        def opened(sent: bytes) -> socket.socket:
            made = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
            made.sendall(sent)
            return made

        for begun in (b"", b"GET /sayings", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "):
            with opened(begun) as slow, contextlib.suppress(ConnectionResetError):
                assert slow.recv(1) == b""  # closed by the server
        with opened(b"GET / HTTP/1.1\r\n") as endless, pytest.raises(OSError):
            while True:
                endless.sendall(b"X: " + b"x" * 5000 + b"\r\n")


def test_of_too_many_connections_the_idle_ones_are_closed(folder: Path) -> None:
    with server(str(folder), "--port", "0", "--setting", "connections", "20") as (_, address):
        host, _, port = address.removeprefix("http://").strip("/").partition(":")
        idle = [socket.create_connection((host, int(port)), timeout=PATIENCE_S) for _ in range(40)]
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
        for _ in range(3):
            assert got(connection, "/corpora.json")["ok"]
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as twice:
            twice.sendall(b"GET /corpora.json HTTP/1.1\r\nHost: localhost\r\nHost: 127.0.0.1\r\n\r\n")
            assert twice.recv(100).startswith(b"HTTP/1.1 400 ")
        with contextlib.suppress(ConnectionResetError):
            assert idle[0].recv(1) == b""
        for one in idle:
            one.close()


def test_a_unix_socket_is_for_its_user_alone(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with server(str(folder), "--uds", str(path), NGRAMDB_TOKEN="sesame") as (_, address):
        assert address == f"unix:{path}/"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        connection = UnixConnection(str(path))
        assert got(connection, "/corpora.json")["status"] == 401
        assert got(connection, "/corpora.json", Authorization="Bearer sesame")["ok"]
        busy = subprocess.run(
            [sys.executable, "-m", "ngramdb", "serve", str(folder), "--uds", str(path)],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert (busy.returncode, "another server is listening on it" in busy.stderr) == (1, True)
    assert not path.exists()


@pytest.mark.parametrize(
    ("address", "shown"),
    [("documents.csv", "x\\x1b[31mRED\\u202e\n"), ("documents.json", '"x\\u001b[31mRED\\u202e"')],
)
def test_one_request_does_not_steer_a_terminal(
    tmp_path: Path, capsys: Any, monkeypatch: Any, address: str, shown: str
) -> None:
    with ngramdb.connect(tmp_path / "t.ngdb") as db:
        db.create_corpus("c").append(["x\x1b[31mRED\u202e"])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["serve", str(tmp_path / "t.ngdb"), "--get", f"/c/{address}"]) == 0
    said = capsys.readouterr().out
    assert shown in said
    assert "\x1b" not in said and "\u202e" not in said


def test_one_request_without_a_server(folder: Path, capfd: Any, tmp_path: Path) -> None:
    assert main(["serve", str(folder), "--get", "/sayings/count.csv?q=flies"]) == 0
    assert capfd.readouterr().out == "count\n4\n"
    assert main(["serve", str(folder), "--get", "sayings/count.csv?q=flies", "--token", "x"]) == 0
    assert main(["serve", str(folder), "--get", "/nothing.json"]) == 1
    said = capfd.readouterr()
    assert said.out == "count\n4\n"
    assert said.err.startswith("error: 404: ")
    assert main(["serve", str(tmp_path / "missing"), "--get", "/"]) == 1
    for wrong in (["--port", "99999"], ["--token", ""]):
        assert main(["serve", str(folder), *wrong]) == 2
    assert main(["serve", str(folder), "--setting", "nothing", "1"]) == 1
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    assert main(["serve", str(folder), "--port", str(taken.getsockname()[1])]) == 1
    assert "Address already in use" in capfd.readouterr().err


def test_requests_are_logged_while_the_service_runs_only() -> None:
    log = logging.getLogger("ngramdb.serve")
    before = log.handlers[:]
    with log_to_standard_error():
        assert len(log.handlers) == len(before) + 1
    assert log.handlers == before
    assert log.propagate
