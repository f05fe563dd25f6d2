"""Connections whose statements are awaited: `ngramdb.aio.connect`."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from ngramdb import api
from ngramdb.aio.team import Team
from ngramdb.aio.verbs import Awaited, Waiting, attach
from ngramdb.lazy import lazy_module

if TYPE_CHECKING:
    from ngramdb.aio.verbs import awaited
    from ngramdb.api import remote
else:
    remote = lazy_module("ngramdb.api.remote")

ConnectionT = TypeVar("ConnectionT", bound="Connection | RemoteConnection")


class _Reading(Awaited):
    """The base of both kinds of connections."""

    def _named(self) -> str:
        return repr(self.sync)

    @property
    def version(self) -> Waiting[int]:
        """The number of the version that is read."""
        return self._read("version")

    def interrupt(self) -> None:
        """Stop all that is awaited on this connection now: it raises `Interrupted`. Not awaited itself."""
        self._team.interrupt()

    async def close(self) -> None:
        """Stop what is running, and close the connection. Closing twice is a no-op."""
        await self._team.close()
        self.sync.close()

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Connection(_Reading):
    """An open database whose statements are awaited; made by `ngramdb.aio.connect`.

    Tasks of one event loop share it, and as many of its questions run at once as it has threads. A task that
    is cancelled, also by `asyncio.timeout`, stops its question. The verbs, with their arguments and errors,
    are those of `ngramdb.Connection`; `sync` is that connection, with `settings`.
    """

    sync: api.Connection

    async def __aenter__(self) -> Connection:
        return self

    @property
    def current_corpus(self) -> Waiting[str | None]:
        """The name of the corpus that statements without FROM read; None if ambiguous."""
        return self._read("current_corpus")

    if TYPE_CHECKING:
        ask = awaited(api.Connection.ask)
        attach = awaited(api.Connection.attach)
        commit_parts = awaited(api.Connection.commit_parts)
        corpora = awaited(api.Connection.corpora)
        corpus = awaited(api.Connection.corpus)
        create_corpus = awaited(api.Connection.create_corpus)
        describe = awaited(api.Connection.describe)
        detach = awaited(api.Connection.detach)
        drop_corpus = awaited(api.Connection.drop_corpus)
        drop_version = awaited(api.Connection.drop_version)
        execute = awaited(api.Connection.execute)
        keep_version = awaited(api.Connection.keep_version)
        refresh = awaited(api.Connection.refresh)
        use = awaited(api.Connection.use)


class RemoteConnection(_Reading):
    """A server's database whose statements are awaited; made by `ngramdb.aio.connect_remote`.

    A task that is cancelled hangs up, which stops its question on the server.
    """

    sync: remote.RemoteConnection

    async def __aenter__(self) -> RemoteConnection:
        return self

    if TYPE_CHECKING:
        ask = awaited(remote.RemoteConnection.execute)
        corpora = awaited(remote.RemoteConnection.corpora)
        corpus = awaited(remote.RemoteConnection.corpus)
        describe = awaited(remote.RemoteConnection.describe)
        execute = awaited(remote.RemoteConnection.execute)


attach(
    Connection,
    lambda: api.Connection,
    (
        *("ask", "attach", "commit_parts", "corpora", "corpus", "create_corpus", "describe", "detach"),
        *("drop_corpus", "drop_version", "execute", "keep_version", "refresh", "use"),
    ),
)
attach(
    RemoteConnection,
    lambda: remote.RemoteConnection,
    ("ask", "corpora", "corpus", "describe", "execute"),
)


class Connecting(Generic[ConnectionT]):
    """A connection to be opened: by `await`, or by `async with`, which also closes it."""

    def __init__(self, opened: Callable[[], Any], threads: int | None) -> None:
        self._opened = opened
        self._threads = threads
        self._made: ConnectionT | None = None

    async def _connect(self) -> ConnectionT:
        team = Team(self._threads)
        try:
            sync = await team.run(self._opened)
        except BaseException:
            await team.close()
            raise
        kind = Connection if isinstance(sync, api.Connection) else RemoteConnection
        return cast(ConnectionT, kind(sync, team))

    def __await__(self) -> Generator[Any, None, ConnectionT]:
        return self._connect().__await__()

    async def __aenter__(self) -> ConnectionT:
        self._made = await self._connect()
        return self._made

    async def __aexit__(self, *_: object) -> None:
        if self._made is not None:
            await self._made.close()


@overload
def connect(
    path: str | os.PathLike[str] | None = None,
    *,
    read_only: bool = False,
    token: None = None,
    threads: int | None = None,
) -> Connecting[Connection]: ...
@overload
def connect(
    path: str, *, read_only: bool = False, token: str, threads: int | None = None
) -> Connecting[RemoteConnection]: ...
def connect(
    path: Any = None, *, read_only: bool = False, token: Any = None, threads: int | None = None
) -> Any:
    """Open a database for asyncio.

    ```
    async with ngramdb.aio.connect("corpora.ngdb", read_only=True) as db:
        ...
    db = await ngramdb.aio.connect("corpora.ngdb")      # and `await db.close()` at the end
    ```

    Parameters
    ----------
    path, read_only, token : as in `ngramdb.connect`
    threads : the number of questions that run at once, others wait for their turn; by default four more than
        the machine has cores, at most 32

    Raises
    ------
    NgramdbError
        When it is awaited: as from `ngramdb.connect`.

    Notes
    -----
    Cost: a question takes some 0.1 ms longer than without asyncio, the way to a thread and back. Verbs such
    as `count_many` and `score_many` take it once for all their n-grams or texts.
    """
    return Connecting(lambda: api.connect(path, read_only=read_only, token=token), threads)


def connect_remote(
    address: str, *, token: str | None = None, retries: int | None = None, threads: int | None = None
) -> Connecting[RemoteConnection]:
    """Connect to the databases of `ngramdb serve` at an address, for asyncio.

    Parameters
    ----------
    address, token, retries : as in `ngramdb.connect_remote`
    threads : the number of requests at once; by default four more than the machine has cores, at most 32
    """
    return Connecting(lambda: api.connect_remote(address, token=token, retries=retries), threads)
