"""The files in manifests/: listing the versions, reading one, writing one."""

from __future__ import annotations

import time
from functools import cache
from typing import NamedTuple

from ngramdb.engine.storage.directory.base import Directory
from ngramdb.engine.storage.layout import MANIFEST_KIND, MANIFESTS, manifest_name, version_of
from ngramdb.engine.storage.manifest import MAX_TIME, Manifest
from ngramdb.errors import CorruptionError, ExecutionError
from ngramdb.segments.container import Container, ContainerWriter

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
