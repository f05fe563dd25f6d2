"""Connections and corpora in other processes: pickled is the database's path, and it is opened anew there.

So they go to the workers of joblib, multiprocessing and data loaders. What is unpickled reads the newest
version, which is the one that was pickled or a later one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ngramdb.engine.directory import RealDirectory
from ngramdb.engine.store import Store
from ngramdb.errors import NotSupportedError, StorageError

if TYPE_CHECKING:
    from ngramdb.api.connection import Connection


def described(
    connection: Connection,
) -> tuple[type[Connection], str, int, bool, dict[str, Any], str | None]:
    """What `reopened` takes: class, path, version, whether it is only read, settings, the current corpus.

    Raises
    ------
    NotSupportedError
        The database is in memory.
    """
    version, store = connection.version, connection._store
    if not isinstance(store.directory, RealDirectory):
        raise NotSupportedError(
            "a database in memory lives in one process and cannot be pickled; connect to a folder instead"
        )
    path, settings = store.directory.description, dict(connection.settings)
    return type(connection), path, version, store.read_only, settings, connection._current


def reopened(
    kind: type[Connection],
    path: str,
    version: int,
    read_only: bool,
    settings: dict[str, Any],
    current: str | None,
) -> Connection:
    """The connection that was pickled, opened anew.

    Raises
    ------
    StorageError
        The database is not there, or an older one is.
    """
    store = Store.open(RealDirectory(path), read_only=read_only, create=False)
    connection = kind(store)
    if connection.version < version:
        raise StorageError(
            f"{path}: the database is at version {connection.version}, and what was pickled read version "
            f"{version}; this is an older copy",
            path=path,
        )
    for name, value in settings.items():
        connection.settings[name] = value
    connection._current = current
    return connection
