"""Opening databases: `ngramdb.connect` and its variants, and `ngramdb.commit`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, overload

from ngramdb.api.connection import Connection
from ngramdb.api.database import Database
from ngramdb.engine.storage.directory import MemoryDirectory, RealDirectory, directory_at
from ngramdb.engine.storage.store import Store
from ngramdb.errors import InvalidArgument
from ngramdb.lazy import lazy_module
from ngramdb.types import checked_flags

if TYPE_CHECKING:
    from ngramdb.api import building, remote
    from ngramdb.api.remote import RemoteConnection
    from ngramdb.engine.loading.committing import CommitReport
    from ngramdb.ingest.sources import PathLike
else:
    building = lazy_module("ngramdb.api.building")
    remote = lazy_module("ngramdb.api.remote")


@overload
def connect(
    path: str | os.PathLike[str] | None = None, *, read_only: bool = False, token: None = None
) -> Connection: ...
@overload
def connect(path: str, *, read_only: bool = False, token: str) -> RemoteConnection: ...
@checked_flags
def connect(
    path: str | os.PathLike[str] | None = None, *, read_only: bool = False, token: str | None = None
) -> Connection | RemoteConnection:
    """Open a database.

    ```
    db = ngramdb.connect("corpora.ngdb")            # a folder, created if missing
    db = ngramdb.connect("corpora.ngdb", read_only=True)
    db = ngramdb.connect()                          # in memory
    db = ngramdb.connect("http://localhost:8765")   # the databases of `ngramdb serve`
    db = ngramdb.connect("s3://bucket/corpora.ngdb", read_only=True)    # in an object store
    ```

    Parameters
    ----------
    path : the database's folder; None or ":memory:" for a database in memory, which ends with the connection.
        An address (`http://…`) returns a `RemoteConnection`, which has `execute`, `corpora` and `corpus`, for
        reading; type checkers cannot distinguish addresses from paths and assume a `Connection`, unless there
        is a token: `connect_remote` has the right type. Any other URL is that of a database in an object
        store, opened by the library fsspec; fetched blocks are cached on the local disk (docs/scale.md,
        "Object stores"). `memory://name` is one in this process's memory, for tests: it can be opened again
        until the process ends
    read_only : reject every statement that writes; the database must exist
    token : the server's token; by default the variable NGRAMDB_TOKEN

    Raises
    ------
    StorageError
        The folder is not a database, was written by a newer version, is damaged, or cannot be created.
    InvalidArgument
        `path` is not a path, or a database in memory is to be opened read-only.

    Notes
    -----
    Cost: independent of the size of the database.
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        raise InvalidArgument(f"a database's path must be a str or a path object, not {type(path).__name__}")
    if isinstance(path, str) and path.startswith(("http://", "https://")):
        return connect_remote(path, token=token)
    if token is not None:
        raise InvalidArgument("a token applies to a server's address only")
    if path is None or path == ":memory:":
        if read_only:
            raise InvalidArgument("a database in memory is new and empty; it cannot be opened read-only")
        return Connection(Database(Store.open(MemoryDirectory(), read_only=False, create=True)))
    directory = directory_at(os.fspath(path))
    return Connection(Database(Store.open(directory, read_only=read_only, create=not read_only)))


def connect_remote(address: str, *, token: str | None = None, retries: int | None = None) -> RemoteConnection:
    """Connect to the databases of `ngramdb serve` at an address, for reading.

    Parameters
    ----------
    address : such as `http://localhost:8765`
    token : the server's token; by default the variable NGRAMDB_TOKEN
    retries : the number of times that a request is repeated if the server does not answer or is too busy
        (status 503), 3 by default; 0 to fail at once

    Raises
    ------
    InvalidArgument
        `address` is not the address of a server. Whether a server answers there is known after the first
        query.
    """
    return remote.RemoteConnection(address, token, remote.RETRIES if retries is None else retries)


def connect_later(path: str | os.PathLike[str]) -> Connection:
    """Connect as `connect`, but let the first write create a missing database; not in an object store."""
    directory = directory_at(path)
    if not isinstance(directory, RealDirectory):
        return Connection(Database(Store.open(directory, create=False)))
    parent, _ = os.path.split(directory.description)
    if not os.path.isdir(parent) or os.path.lexists(directory.description):
        return connect(path)
    return Connection(Database(Store.open(MemoryDirectory()), absent=directory))


def commit(database: str | os.PathLike[str], corpus: str, out: PathLike | Iterable[PathLike]) -> CommitReport:
    """Commit the parts of a build to the database at that path, as `Connection.commit_parts` does.

    A missing database is created, but not if the parts cannot be committed.
    """
    building.collected(out)
    with connect(database) as connection:
        return connection.commit_parts(corpus, out)
