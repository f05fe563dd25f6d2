"""The server: sockets and uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ngramdb.errors import ExecutionError, InvalidArgument
from ngramdb.serve.problem_details import Limits

if TYPE_CHECKING:
    from ngramdb.serve.app import Service

#: Seconds for sending answers after the last statement was stopped.
GRACE_S = 2.0
#: Seconds that an idle connection is kept. This is longer than proxies keep theirs; otherwise they would
#: send requests into connections that are being closed.
KEEP_ALIVE_S = 75
#: The maximum length of a request's head, in bytes.
MAX_HEAD = 64 * 1024
#: The number of connections that may wait to be accepted.
BACKLOG = 1024


@dataclass(frozen=True)
class Place:
    """An address to listen on: a host and a port (0 for any free port), or the path of a Unix socket."""

    host: str = "127.0.0.1"
    port: int = 8765
    uds: str | None = None


@contextlib.contextmanager
def listening(place: Place) -> Iterator[tuple[socket.socket, str]]:
    """Open a listening socket; yields it and its address as text. Raises ExecutionError."""
    if place.uds is not None:
        with _unix_socket(place.uds) as made:
            yield made, f"unix:{place.uds}"
        return
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    with socket.socket(family) as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((place.host, place.port))
            made.listen(BACKLOG)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ExecutionError(
                f"cannot listen on {place.host}, port {place.port}: {reason}; --port 0 chooses a free port"
            ) from error
        host = f"[{place.host}]" if family == socket.AF_INET6 else place.host
        yield made, f"http://{host}:{made.getsockname()[1]}"


@contextlib.contextmanager
def _unix_socket(path: str) -> Iterator[socket.socket]:
    """Open a socket that only this user can connect to; one that a stopped server left behind is replaced."""
    if os.path.lexists(path):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise InvalidArgument(f"{path} exists and is not a socket")
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(path) == 0:
                raise ExecutionError(f"{path}: another server is listening on it")
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as made:
        before = os.umask(0o177)
        try:
            made.bind(path)
        except OSError as error:
            raise ExecutionError(f"cannot listen on {path}: {error.strerror or error}") from error
        finally:
            os.umask(before)
        made.listen(BACKLOG)
        try:
            yield made
        finally:
            with contextlib.suppress(OSError):
                os.unlink(path)


@contextlib.contextmanager
def _ended_by_signals(server: Any) -> Iterator[None]:
    """Shut the server down at SIGTERM or SIGINT; at the second signal, at once."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, server.handle_exit) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def connection_class(limits: Limits) -> type[asyncio.Protocol]:
    """Return uvicorn's connection class, extended by a deadline for heads and a limit on connections.

    uvicorn has neither: it stops the timer of an idle connection at the first byte, and accepts connections
    until the process runs out of file descriptors.
    """
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    most = min(limits.connections, _file_limit() // 2)
    #: Connections without a request in progress; the first one has been idle longest.
    idle: dict[Any, None] = {}

    class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        head_timer: asyncio.TimerHandle | None = None
        n_head = n_unsent = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_head()
            for oldest in tuple(idle)[: max(0, len(self.connections) - most)]:
                oldest.transport.abort()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()
                return
            if self.head_timer is None:
                self._await_head()
            self.n_head += len(data)
            if self.n_head > MAX_HEAD:
                self.transport.abort()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle.response_complete:  # no pipelined request follows
                idle[self] = None
                if self.timeout_keep_alive_task is None:
                    self._look_again()

        def timeout_keep_alive_handler(self) -> None:
            # Keep connections of clients that read slowly, close those of clients that have stopped reading.
            n_unsent = self.transport.get_write_buffer_size()
            if n_unsent and n_unsent != self.n_unsent:
                self.n_unsent = n_unsent
                self._look_again()
            else:
                self.transport.abort()

        def _look_again(self) -> None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

        def _await_head(self) -> None:
            idle[self] = None
            self.head_timer = self.loop.call_later(limits.head_timeout, self.transport.abort)

        def _stop_waiting(self) -> None:
            idle.pop(self, None)
            self.n_head = 0
            if self.head_timer is not None:
                self.head_timer.cancel()
                self.head_timer = None

    return Connection


def _file_limit() -> int:
    """Return the maximum number of open files and connections of this process."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def serve(service: Service, listener: socket.socket, started: Callable[[], None]) -> None:
    """Answer requests until SIGTERM or SIGINT; `started` is called once the server accepts requests.

    Running statements are then allowed their time limit, and stopped after it.
    """
    import uvicorn

    limit = service.limits.time_limit
    config = uvicorn.Config(
        service,
        http=connection_class(service.limits),
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=True,
        lifespan="on",
        ws="none",
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(limit + GRACE_S)),
        h11_max_incomplete_event_size=MAX_HEAD,
    )
    server = uvicorn.Server(config)
    # uvicorn's method raises the signal again at its end, which would skip the cleanup below.
    server.capture_signals = lambda: _ended_by_signals(server)  # type: ignore[method-assign]

    def begin() -> None:
        while not (server.started or server.should_exit):
            ended.wait(0.005)
        if server.started:
            started()
        try:
            service.library.warm()
        finally:
            service.workers.ready.set()
        service.routes.warm()

    ended = threading.Event()
    service.workers.ready.clear()
    beginning = threading.Thread(target=begin, daemon=True)
    beginning.start()
    try:
        server.run(sockets=[listener])
    finally:
        server.should_exit = True
        ended.set()
        beginning.join()
        service.workers.close()
        service.library.close()
