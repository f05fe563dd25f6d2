"""The files of a database: names, manifests, the marker, and creating an empty database.

FORMAT.md, "The folder", describes them in prose.
"""

from __future__ import annotations

import contextlib
import os
import time
from functools import cache
from typing import NamedTuple

from ngramdb.engine.storage.directory.base import Directory
from ngramdb.engine.storage.manifest import MAX_TIME, Manifest
from ngramdb.errors import ConflictError, CorruptionError, ExecutionError, NotADatabase, StorageError
from ngramdb.formats import MARKER
from ngramdb.interrupts import Deferred
from ngramdb.lazy import lazy_pattern
from ngramdb.segments.container import Container, ContainerWriter

MARKER_KIND = "ROOT"
MANIFEST_KIND = "MNFT"
LOCK = "LOCK"
UNSYNCED = "UNSYNCED"
MANIFESTS = "manifests"
SEGMENTS = "segments"
#: Derived data that belong to no version (`ngramdb.engine.corpus.caches`).
CACHE = "cache"
#: Folders of data files, and the kind of container in each (in the folder of segments: native ones).
KINDS = {
    SEGMENTS: "SEGM",
    "fields": "FLDS",
    "vocabularies": "VOCB",
    "tokenizers": "TOKZ",
    "audits": "AUDT",
}

#: Default limit, in bytes, of the local disk cache for databases in object stores.
DEFAULT_CACHE_LIMIT = 20 << 30

_MANIFEST = lazy_pattern(rf"{MANIFESTS}/([0-9]{{10}})\.manifest")
_TEMPORARY = lazy_pattern(
    rf"(?:{MARKER}|{UNSYNCED}|{MANIFESTS}/[0-9]{{10}}\.manifest|{CACHE}/[0-9a-f]{{32}}\.[a-z0-9-]+)"
    r"\.[0-9a-f]{8}\.tmp"
)
_DATA_FILE = lazy_pattern(rf"(?:{'|'.join(KINDS)})/[0-9a-f]{{32}}\.[a-z]{{1,20}}")


def manifest_name(version: int) -> str:
    """Return the name of a version's manifest."""
    return f"{MANIFESTS}/{version:010d}.manifest"


def version_of(name: str) -> int | None:
    """Return the version in a manifest's name; None for other names."""
    match = _MANIFEST.fullmatch(name)
    return int(match[1]) if match else None


def temporary_name(final: str) -> str:
    """Return a name under which the file to be called `final` is written; different each time."""
    return f"{final}.{os.urandom(4).hex()}.tmp"


def is_temporary(name: str) -> bool:
    """Return True if writers use this name for incomplete files."""
    return _TEMPORARY.fullmatch(name) is not None


def new_data_name(folder: str, suffix: str) -> str:
    """Return a name that no other file has: 128 random bits."""
    return f"{folder}/{os.urandom(16).hex()}.{suffix}"


def is_data_file(name: str) -> bool:
    """Return True if our writers could have chosen this name; all other files in a folder are left alone."""
    return _DATA_FILE.fullmatch(name) is not None


# ---- The files in manifests/: listing the versions, reading one, writing one.


_SECTION = "manifest"


class LoadedVersion(NamedTuple):
    """A manifest together with the file that it was read from."""

    manifest: Manifest
    name: str
    identity: object | None
    writer_flags: int


def list_versions(directory: Directory) -> list[int]:
    """Return the versions that have a manifest, oldest first. Reads one folder and no file."""
    versions = (version_of(name) for name in directory.list(f"{MANIFESTS}/"))
    return sorted(version for version in versions if version is not None)


def read_version(directory: Directory, version: int, database_id: str) -> LoadedVersion:
    """Read and verify one manifest.

    Raises FileNotFoundError, CorruptionError, or FormatVersionError; also CorruptionError for a manifest that
    is sound but belongs elsewhere: to another database or another version.
    """
    name = manifest_name(version)
    path = directory.path_of(name)
    # Before the file is opened: if it is replaced in between, the next lookup notices.
    identity = directory.identity(name)
    container = Container.open(directory.open_read(name), path, MANIFEST_KIND)
    container.verify()
    found_id = container.properties.get("database")
    if found_id != database_id:
        raise CorruptionError(
            f"{path}: the manifest belongs to database {found_id}, not to this one, {database_id}; "
            "restore the file from a backup",
            path=path,
            offset=0,
            expected=database_id,
            found=found_id,
        )
    manifest = Manifest.from_json(bytes(container.section(_SECTION)), path)
    if manifest.version != version:
        raise CorruptionError(
            f"{path}: the file holds version {manifest.version}, but its name is that of version {version}; "
            "restore the file from a backup",
            path=path,
            offset=0,
            expected=version,
            found=manifest.version,
        )
    return LoadedVersion(manifest, name, identity, container.writer_flags)


def write_version(
    directory: Directory, name: str, manifest: Manifest, database_id: str, synced: bool = True
) -> None:
    """Write a manifest to a new file `name`; its content is durable on return if `synced`, not its name."""
    file = directory.create(name)
    try:
        writer = ContainerWriter(
            file, MANIFEST_KIND, reader_flags=manifest.flags, writer_flags=manifest.writer_flags
        )
        writer.add(_SECTION, manifest.to_json())
        writer.finish({"database": database_id}, synced)
    finally:
        file.close()


# ---- The time and the author of versions and audit records.


def now() -> float:
    """Return seconds since 1970 (UTC). Raises ExecutionError if the system's clock is before that."""
    seconds = time.time()
    if not 0 <= seconds <= MAX_TIME:
        raise ExecutionError(
            f"the system's clock is wrong: {seconds:.0f} seconds since 1970, expected from 0 to {MAX_TIME}; "
            "set it, then try again"
        )
    return seconds


@cache
def author() -> str:
    """Return user@host, as far as the system knows them, else ""."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (
        OSError,
        KeyError,
        ImportError,
    ):  # the system does not list the user, as in some containers
        user = ""
    try:
        host = socket.gethostname()
    except OSError:
        host = ""
    # Characters that UTF-8 cannot encode must not make a commit fail.
    name = f"{user}@{host}" if user and host else user or host
    return name.encode("utf-8", "replace").decode("utf-8")


# ---- Detecting whether a directory holds a database, and creating one if it is empty. The file NGRAMDB makes
# a directory a database. It is written last, after version 1 is complete, so that an interrupted creation
# leaves no database, and the next attempt cleans up and starts over. Nothing is ever written into a directory
# that holds anything else.


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
        raise StorageError(f"{path}: no such database or folder; check the path", path=path)
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
            f"{path}: a dangling symbolic link; create its target, or remove it",
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
            f"{path}: the folder holds no database (no file {MARKER}), but other files, such as "
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
