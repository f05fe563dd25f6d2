"""Commits without fsync (`durability` "normal"), and the version that a crash of the machine leaves.

The file UNSYNCED exists while there may be such commits. It contains the last durable version, and the
boot of the machine in which later ones were committed. The operating system writes files in any order. So
after another boot each later version is verified, oldest first; the first one that is damaged is lost, with
all that follow it. If the file itself is damaged, all versions are verified, and a damaged one is an error.
Old versions are removed only when all later ones are durable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ngramdb.engine.storage.directory.base import Directory, split_name
from ngramdb.engine.storage.files import (
    MANIFESTS,
    UNSYNCED,
    list_versions,
    manifest_name,
    read_version,
    temporary_name,
)
from ngramdb.engine.storage.manifest import FileRef
from ngramdb.errors import CorruptionError, StorageError
from ngramdb.segments.container import Container, ContainerWriter

KIND = "UNSY"


class SyncFailed(OSError):
    """The system could not make a file durable. It may report success for a retry, though data is lost."""


class Mark(NamedTuple):
    """The content of UNSYNCED: the last durable version, and the boot in which later ones were committed."""

    durable: int
    boot: str


# In place of a damaged mark: any version may be damaged, and none is known to be so by a crash.
UNKNOWN = Mark(-1, "")


def read_mark(directory: Directory) -> Mark | None:
    """Return the mark, None if all versions are durable, or UNKNOWN if the file is damaged."""
    if not directory.exists(UNSYNCED):
        return None
    try:
        container = Container.open(directory.open_read(UNSYNCED), directory.path_of(UNSYNCED), KIND)
        container.verify()
    except FileNotFoundError:  # a writer has removed it since
        return None
    except CorruptionError:
        return UNKNOWN
    durable, boot = container.properties.get("durable"), container.properties.get("boot")
    return Mark(durable, boot) if type(durable) is int and isinstance(boot, str) else UNKNOWN


class Durability:
    """The durability of a store's commits.

    `synced`: commits from now on are durable when they return. Only `versions` may be used by several
    threads.
    """

    def __init__(self, directory: Directory, database_id: str) -> None:
        self.synced = True
        self._directory = directory
        self._database_id = database_id
        self._sync_failed = False
        self._whole: tuple[object, list[int]] | None = None

    @property
    def is_synced(self) -> bool:
        """Return True if commits are durable when they return, as they always are in object stores."""
        return self.synced or not self._directory.has_locks

    def prepare(self, most: int) -> bool:
        """Run `_prepare`. Raises OSError, and StorageError if a sync has failed before."""
        path = self._directory.description
        if self._sync_failed:
            raise StorageError(
                f"{path}: earlier commits could not be written to the device; copy the database elsewhere",
                path=path,
            )
        try:
            return _prepare(self._directory, self._database_id, self.synced, most)
        except SyncFailed:
            self._sync_failed = True
            raise

    def versions(self) -> list[int]:
        """Return the versions, oldest first, without those that a crash of the machine has damaged."""
        versions = list_versions(self._directory)
        mark = read_mark(self._directory) if self._directory.has_locks else None
        if mark is None:
            return versions
        key, known = (mark, versions), self._whole
        if known is None or known[0] != key:
            self._whole = known = key, whole_versions(self._directory, versions, mark, self._database_id)
        return known[1]


def _prepare(directory: Directory, database_id: str, synced: bool, most: int) -> bool:
    """With the writer's lock held, drop what a crash has damaged, and make durable what is due.

    Parameters
    ----------
    synced : True if the next commits are synced; then all before are made durable, and the mark is removed
    most : versions that may be committed before they are made durable

    Returns True if all earlier versions were made durable, so that old ones may be removed. Raises OSError,
    SyncFailed.
    """
    mark = read_mark(directory)
    versions = list_versions(directory) if mark is not None or not synced else []
    settled = False
    if mark is not None:
        whole = whole_versions(directory, versions, mark, database_id)
        for version in reversed(versions[len(whole) :]):
            directory.remove(manifest_name(version))
        versions = whole
        if synced or mark.boot != directory.boot or versions[-1] - mark.durable >= most:
            _settle(directory, versions, mark, database_id)
            settled, mark = True, None
    if mark is None and not synced:
        _write_mark(directory, Mark(versions[-1], directory.boot))
    return settled


def whole_versions(directory: Directory, versions: list[int], mark: Mark, database_id: str) -> list[int]:
    """Return the versions, oldest first, without those that a crash of the machine has damaged.

    Raises CorruptionError and FileNotFoundError if the mark is UNKNOWN and a version is damaged.

    Cost: after another boot than that of the mark, all files of later versions are read and verified.
    """
    if mark.boot == directory.boot:
        return versions
    whole = [version for version in versions if version <= mark.durable]
    known = _files_of_last(directory, whole, database_id)
    for version in versions[len(whole) :]:
        if whole and version != whole[-1] + 1 and mark != UNKNOWN:
            break
        try:
            files = read_version(directory, version, database_id).manifest.files()
            for name, ref in files.items():
                if known.get(name) != ref:
                    path = directory.path_of(name)
                    Container.open(directory.open_read(name), path, None, ref.info).verify()
        except (CorruptionError, FileNotFoundError):
            if mark == UNKNOWN:
                raise
            break
        known.update(files)
        whole.append(version)
    return whole


def _settle(directory: Directory, versions: list[int], mark: Mark, database_id: str) -> None:
    """Make all versions durable, and remove the mark."""
    known = _files_of_last(directory, [v for v in versions if v <= mark.durable], database_id)
    later = [version for version in versions if version > mark.durable]
    manifests = [read_version(directory, version, database_id).manifest for version in later]
    _sync(directory, {name for manifest in manifests for name in manifest.files()} - known.keys())
    _sync(directory, {manifest_name(version) for version in later})
    directory.sync_folder(MANIFESTS)  # for removed manifests, too
    directory.remove(UNSYNCED)
    directory.sync_folder()


def _sync(directory: Directory, names: Iterable[str]) -> None:
    names = sorted(names)
    try:
        for name in names:
            directory.sync_file(name)
        for folder in sorted({split_name(name)[0] for name in names}):
            directory.sync_folder(folder)
    except OSError as error:
        raise SyncFailed(error.errno, error.strerror) from error


def _files_of_last(directory: Directory, versions: list[int], database_id: str) -> dict[str, FileRef]:
    """Return the files of the last version; none if its manifest is damaged."""
    files: Mapping[str, FileRef] = {}
    with contextlib.suppress(CorruptionError):
        if versions:
            files = read_version(directory, versions[-1], database_id).manifest.files()
    return dict(files)


def _write_mark(directory: Directory, mark: Mark) -> None:
    """Write the mark, durable on return."""
    temp = temporary_name(UNSYNCED)
    with contextlib.closing(directory.create(temp)) as file:
        ContainerWriter(file, KIND).finish(mark._asdict())
    directory.publish(temp, UNSYNCED)
    directory.sync_folder()
