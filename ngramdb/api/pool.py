"""Connections to a server that are kept between requests and shared by threads, and requests sent again."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import socket
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ngramdb.errors import ExecutionError
from ngramdb.interrupts import check, ended_by, pause, waited_for

#: Seconds in which a server must answer, in addition to the time of a statement.
PATIENCE_S = 60.0
#: The number of connections that are kept; more are opened when more threads send requests.
MOST_KEPT = 32
#: The seconds before the first repetition; each further one waits twice as long.
FIRST_WAIT_S = 0.1
#: The longest wait, even if Retry-After is longer.
LONGEST_WAIT_S = 10.0
BUSY = 503

_Failure = (OSError, http.client.HTTPException)


class _Connection(http.client.HTTPConnection):
    """Sends the head and the body of a request at once, so that the server wakes up once."""

    _unsent = b""

    def send(self, data: Any) -> None:
        self._unsent += data

    def flush(self) -> None:
        """Send the request."""
        unsent, self._unsent = self._unsent, b""
        super().send(unsent)


class _SafeConnection(_Connection, http.client.HTTPSConnection):
    """The same with TLS."""


class Pool:
    """Sends requests that only read, so that each may be sent again. May be shared by threads.

    Parameters
    ----------
    host, port : the server
    is_safe : whether to use TLS
    retries : how often a request is repeated if the server does not answer, or is too busy (503)
    """

    def __init__(self, host: str, port: int | None, is_safe: bool, retries: int) -> None:
        self._host, self._port = host, port
        self._retries = retries
        self._tls = ssl.create_default_context() if is_safe else None
        # The last one used is used next: the others become old, and are closed by the server.
        self._idle: deque[_Connection] = deque(maxlen=MOST_KEPT)
        self._process = os.getpid()

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            with contextlib.suppress(IndexError):  # another thread has taken it
                self._idle.pop().close()

    def answered(
        self,
        path: str,
        body: Callable[[], bytes | None],
        headers: Mapping[str, str],
        left: Callable[[], float],
    ) -> tuple[int, bytes]:
        """Send a request, and return the status and the body of the answer.

        Parameters
        ----------
        path, headers : of the request
        body : called before each attempt; returns what to send by POST, or None for GET
        left : returns the seconds that are left for waiting

        Raises
        ------
        ExecutionError
            The server does not answer.
        Interrupted
            The current work was stopped, and so was the request on the server.
        """
        for attempt in range(self._retries + 1):
            failure = None
            asked_s = 0.0
            try:
                status, answer, asked_s = self._sent(path, body(), headers)
            except TimeoutError as error:
                raise ExecutionError(f"does not answer within {PATIENCE_S:.0f} s") from error
            except _Failure as error:
                failure = error
            else:
                if status != BUSY:
                    return status, answer
            if attempt < self._retries:
                wait_s = max(asked_s, FIRST_WAIT_S * 2**attempt) * random.uniform(0.75, 1.25)
                pause(min(wait_s, LONGEST_WAIT_S, left()))
        if failure is not None:
            times = f" ({self._retries + 1} attempts)" if self._retries else ""
            raise ExecutionError(f"does not answer: {failure}{times}") from failure
        return status, answer

    def _sent(self, path: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes, float]:
        kept = self._kept()
        if kept is not None:
            try:
                return self._exchanged(kept, path, body, headers)
            except TimeoutError:
                raise
            except _Failure:
                pass  # the server has closed it meanwhile
        return self._exchanged(self._new(), path, body, headers)

    def _kept(self) -> _Connection | None:
        if self._process != os.getpid():  # these connections are the parent's
            self._idle, self._process = deque(maxlen=MOST_KEPT), os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _new(self) -> _Connection:
        made: _Connection
        if self._tls is None:
            made = _Connection(self._host, self._port, timeout=PATIENCE_S)
        else:
            made = _SafeConnection(self._host, self._port, timeout=PATIENCE_S, context=self._tls)
        waited_for(made.connect)
        return made

    def _exchanged(
        self,
        connection: _Connection,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[int, bytes, float]:
        """Return status and body of the answer, and the seconds to wait for the next attempt."""
        try:
            with ended_by(lambda: _hang_up(connection)):
                connection.request("GET" if body is None else "POST", path, body, dict(headers))
                connection.flush()
                response = connection.getresponse()
                answer = response.read()
        except BaseException:
            connection.close()
            check()  # work that was stopped ends as such
            raise
        if not response.will_close:
            self._idle.append(connection)
        asked = response.getheader("Retry-After") or "0"
        return response.status, answer, float(asked) if asked.isdecimal() else 0.0


def _hang_up(connection: _Connection) -> None:
    """End a connection that another thread uses: its reads return at once, and the server stops working."""
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
