"""Detecting whether a directory holds a database, and creating one if it is empty.

The file NGRAMDB makes a directory a database. It is written last, after version 1 is complete, so that an
interrupted creation leaves no database, and the next attempt cleans up and starts over. Nothing is ever
written into a directory that holds anything else.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from ngramdb.engine.storage.directory.base import Directory
from ngramdb.engine.storage.layout import (
    LOCK,
    MANIFESTS,
    MARKER_KIND,
    is_temporary,
    manifest_name,
    temporary_name,
)
from ngramdb.engine.storage.manifest import Manifest
from ngramdb.engine.storage.versions import author, now, write_version
from ngramdb.errors import ConflictError, CorruptionError, NotADatabase, StorageError
from ngramdb.formats import MARKER
from ngramdb.interrupts import Deferred
from ngramdb.segments.container import Container, ContainerWriter

#: Seconds to wait for another process that creates the same database; it takes a few syncs.
_PATIENCE_S = 10.0


class Marker(NamedTuple):
    """The content of NGRAMDB: the database's id (32 hexadecimal digits) and the writer's feature flags.

    `identity` is that of the file, which differs in a copy of the database (`Directory.identity`).
    """

    database_id: str
    writer_flags: int
    identity: object | None


def read_marker(directory: Directory) -> Marker | None:
    """Return the marker, or None if it does not exist.

    Raises CorruptionError, FormatVersionError, or NotADatabase if the path is a file.
    """
    try:
        identity = directory.identity(MARKER)
        buffer = directory.open_read(MARKER)
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise _not_a_folder(directory) from error
    path = directory.path_of(MARKER)
    container = Container.open(buffer, path, MARKER_KIND)
    container.verify()
    database_id = container.properties.get("database")
    if not isinstance(database_id, str):
        raise CorruptionError(f"{path}: invalid database id", path=path, found=database_id)
    return Marker(database_id, container.writer_flags, identity)


def require_database(directory: Directory) -> Marker:
    """Return the marker. Raises NotADatabase for another kind of directory, StorageError if it is missing."""
    marker = read_marker(directory)
    if marker is not None:
        return marker
    path = directory.description
    if directory.root_entries() is None:
        raise StorageError(f"{path}: no database here, and no such folder; check the path", path=path)
    _check_free(directory)
    raise NotADatabase(
        f"{path}: the folder holds no database yet; open it for writing to make one", path=path
    )


def create_database(directory: Directory) -> Marker:
    """Create an empty database and return its marker, durably; or wait for the process that creates it.

    Raises NotADatabase if the directory holds anything else; then nothing has been written.
    """
    import uuid

    _check_free(directory)
    try:
        directory.make_root()
    except FileNotFoundError as error:
        path = directory.description
        raise StorageError(f"{path}: the parent folder does not exist; make it first", path=path) from error
    if directory.root_entries() is None:
        path = directory.description
        raise StorageError(
            f"{path}: this is a link that leads nowhere; make the folder that it names, or remove it",
            path=path,
        )
    with Deferred(), directory.lock_writer(_PATIENCE_S):
        marker = read_marker(directory)
        if marker is not None:
            return marker
        leftovers = _check_free(directory)
        if leftovers and not directory.has_locks:
            path = directory.description
            raise ConflictError(
                f"{path}: a database is being created here, or creating it was stopped; try again, and if no "
                f"other process is creating it, remove {leftovers[0]} first",
                path=path,
            )
        for name in leftovers:
            directory.remove(name)
        database_id = uuid.uuid4().hex
        _write_first_version(directory, database_id)
        _write_marker(directory, database_id)
        return Marker(database_id, 0, directory.identity(MARKER))


def _check_free(directory: Directory) -> list[str]:
    """Return the files that an unfinished creation left. Raises NotADatabase if anything else is there."""
    path = directory.description
    try:
        entries = set(directory.root_entries() or [])
    except NotADirectoryError as error:
        raise _not_a_folder(directory) from error
    foreign = sorted(entry for entry in entries - {LOCK, MANIFESTS} if not is_temporary(entry))
    if foreign:
        raise NotADatabase(
            f"{path}: the folder holds no database (no file {MARKER}), but other things, such as "
            f"{foreign[0]!r}; choose another folder, or one that is empty or does not exist yet",
            path=path,
        )
    if not entries:
        return []
    leftovers = [name for name in directory.list() if name != LOCK]
    for name in leftovers:
        if name != manifest_name(1) and not is_temporary(name):
            raise NotADatabase(
                f"{path}: the file {MARKER} is missing, but the folder holds parts of a database, such as "
                f"{name}; restore {MARKER} from a backup",
                path=path,
            )
    return leftovers


def _write_first_version(directory: Directory, database_id: str) -> None:
    manifest = Manifest(1, now(), "create database", {}, author())
    final = manifest_name(1)
    temp = temporary_name(final)
    write_version(directory, temp, manifest, database_id)
    directory.publish(temp, final)
    directory.sync_folder(MANIFESTS)


def _write_marker(directory: Directory, database_id: str) -> None:
    temp = temporary_name(MARKER)
    file = directory.create(temp)
    with contextlib.closing(file):
        ContainerWriter(file, MARKER_KIND).finish({"database": database_id})
    directory.publish(temp, MARKER)
    directory.sync_folder()


def _not_a_folder(directory: Directory) -> NotADatabase:
    path = directory.description
    return NotADatabase(f"{path}: this is a file, but a database is a folder; check the path", path=path)
