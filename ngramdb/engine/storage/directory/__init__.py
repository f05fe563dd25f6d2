"""Storage for a database's files: on disk, in memory, or in an object store."""

from __future__ import annotations

import os

from ngramdb.engine.storage.directory.base import Directory, WritableFile, WriterLock
from ngramdb.engine.storage.directory.memory import MemoryDirectory
from ngramdb.engine.storage.directory.real import RealDirectory
from ngramdb.errors import StorageError
from ngramdb.lazy import lazy_module

__all__ = ["Directory", "MemoryDirectory", "RealDirectory", "WritableFile", "WriterLock", "directory_at"]

elsewhere = lazy_module("ngramdb.engine.storage.directory.remote")


def directory_at(path: str | os.PathLike[str]) -> Directory:
    """Return the folder at a path, or the objects below a URL.

    Raises
    ------
    StorageError
        No library opens such a URL, or nothing follows `://`.
    """
    if isinstance(path, str) and "://" in path:
        if not path.partition("://")[2].strip("/"):
            raise StorageError(
                f"{path} is not a path in the store; connect() alone makes a database in memory", path=path
            )
        found: Directory = elsewhere.RemoteDirectory(path)
        return found
    return RealDirectory(path)
