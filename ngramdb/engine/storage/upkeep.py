"""Upkeep of a database: verifying all its files, and removing versions and files that nobody needs."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Protocol

from ngramdb import interrupts
from ngramdb.engine.storage.directory.base import Directory, split_name
from ngramdb.engine.storage.files import (
    CACHE,
    KINDS,
    MANIFESTS,
    MARKER_KIND,
    SEGMENTS,
    UNSYNCED,
    LoadedVersion,
    is_data_file,
    is_temporary,
    list_versions,
    manifest_name,
    read_version,
)
from ngramdb.engine.storage.manifest import FileRef, Manifest
from ngramdb.errors import CorruptionError, StorageError
from ngramdb.formats import MARKER
from ngramdb.lazy import WARNING, log
from ngramdb.segments.container import Container, FileInfo

#: Default number of versions that are kept, including the current one. Their manifests take a few
#: kilobytes each; they also keep files that merging and removing have replaced since.
DEFAULT_KEEP_VERSIONS = 100


class Store(Protocol):
    """The store that is checked."""

    @property
    def directory(self) -> Directory: ...
    @property
    def database_id(self) -> str: ...
    @property
    def manifest(self) -> Manifest: ...
    def listed_versions(self) -> list[int]: ...
    def open_file(self, name: str, kind: str | None, info: FileInfo | None) -> Container: ...


class CheckFinding(NamedTuple):
    """One problem: the file, the byte (None if unknown) and what is wrong."""

    file: str
    offset: int | None
    message: str


def findings(store: Store) -> Iterator[CheckFinding]:
    """Yield the findings of `Store.check`."""
    for name, verify in _verifications(store):
        try:
            verify()
        except CorruptionError as error:
            yield CheckFinding(name, error.offset, str(error))
        except (StorageError, OSError) as error:
            yield CheckFinding(name, None, str(error))


def _verifications(store: Store) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every file's name, and a function that raises if something is wrong with it."""
    yield MARKER, lambda: store.open_file(MARKER, MARKER_KIND, None).verify()
    manifest = store.manifest
    versions = {manifest.version}
    with contextlib.suppress(OSError):  # only the newest version is known then
        versions.update(store.listed_versions())
    for version in sorted(versions):
        yield manifest_name(version), partial(_verify_version, store, version, version == manifest.version)
    for before, after in pairwise(sorted(versions)):
        if after > before + 1:
            yield manifest_name(before + 1), partial(_verify_hole, store, before, after)
    for ref in manifest.files().values():
        yield ref.name, partial(_verify, store, ref)


def _verify_version(store: Store, version: int, is_needed: bool) -> None:
    try:
        read_version(store.directory, version, store.database_id)
    except FileNotFoundError:
        if is_needed:
            raise
        # A writer has removed it meanwhile.


def _verify_hole(store: Store, before: int, after: int) -> None:
    """Raise if versions in between are missing: only the oldest ones expire."""
    name = manifest_name(before + 1)
    # In this order: if the older one exists after the other was found missing, no writer has removed that.
    if store.directory.exists(name) or not store.directory.exists(manifest_name(before)):
        return
    path = store.directory.path_of(name)
    if after == before + 2:
        gone, what = f"the manifest of version {before + 1} is gone", "it"
    else:
        gone, what = f"the manifests of versions {before + 1} to {after - 1} are gone", "them"
    raise StorageError(
        f"{path}: {gone}, though the older version {before} is kept; restore {what} from a backup",
        path=path,
    )


def _verify(store: Store, ref: FileRef) -> None:
    # Opened again: a file that was replaced since it was first opened must be found too. The letters of
    # a segment's file are those of its kind, which are compared when the segment is opened.
    folder = split_name(ref.name)[0]
    store.open_file(ref.name, None if folder == SEGMENTS else KINDS[folder], ref.info).verify()


# ---- Removing versions beyond those to keep, and files that crashed writers left.


class KeptVersions(ABC):
    """The versions of a database that are kept, and the removal of the others: the base of `Store`."""

    def __init__(self, directory: Directory, database_id: str) -> None:
        self.directory = directory
        #: 32 hexadecimal digits that were drawn when the database was created.
        self.database_id = database_id
        # Versions that were read or written here, while they are kept.
        self._known: dict[int, LoadedVersion] = {}
        #: Versions that a commit leaves, including its own; older ones are removed, with files that only they
        #: need.
        self.keep_versions = DEFAULT_KEEP_VERSIONS
        self._tidying = threading.Lock()  # for removing what a commit had to leave because it was in use
        # The oldest of the versions beyond those that was in use when it was to be removed.
        self._in_use: int | None = None
        # False while there may be files that no version needs, left by transactions and removals of versions.
        self._is_clean = False
        self._let_all_go = True
        self._closed = False

    @property
    @abstractmethod
    def manifest(self) -> Manifest:
        """The newest version that this store knows of."""

    def _read_versions(self, versions: list[int]) -> Iterator[Manifest]:
        for version in versions:
            yield self._read_version(version)

    def _read_version(self, version: int) -> Manifest:
        """Return a kept version's manifest, read once while its file stays the same."""
        known = self._known.get(version)
        if (
            known is not None
            and known.identity is not None
            and known.identity == self.directory.identity(known.name)
        ):
            return known.manifest
        loaded = read_version(self.directory, version, self.database_id)
        self._known[version] = loaded
        return loaded.manifest

    def let_go(self) -> bool:
        """Remove versions that were in use when a commit of this store would have removed them.

        The one before a commit is usually in use, by the connection that commits: until that has switched to
        the new version, its statement has ended and its results are read. The writer's lock is taken once
        nobody reads the oldest one; another writer, if active, removes it instead. Returns False while some
        are in use.

        Cost: usually nothing, one file lookup if a version was in use.
        """
        if self._in_use is None or self._closed:
            return True
        with interrupts.Deferred():
            return self._let_go_in_turn()

    def _let_go_in_turn(self) -> bool:
        if not self._tidying.acquire(blocking=False):
            return False  # another thread does it, or begins to write and will do it
        try:
            oldest = self._in_use
            if oldest is None:  # another thread has removed it meanwhile
                return True
            with contextlib.suppress(OSError, StorageError):
                with contextlib.suppress(FileNotFoundError):
                    if self.directory.is_held(manifest_name(oldest)):
                        return False
                lock = self.directory.lock_writer(0.0)
                self._is_clean &= lock.was_ours
                try:
                    if not self.directory.exists(UNSYNCED):
                        self._let_go()
                        self._is_clean &= self._let_all_go
                finally:
                    lock.release()
        finally:
            self._tidying.release()
        return self._in_use is None

    def _let_go(self) -> None:
        """After a commit, with the lock held, remove versions beyond those to keep, the oldest first.

        Versions in use stay, and so do those after them; files that only removed versions needed are removed.

        Failures are ignored: the next writer tries again.
        """
        self._in_use = None
        before, self._let_all_go = self._let_all_go, False  # unless all succeeds
        with contextlib.suppress(OSError, StorageError):
            versions = list_versions(self.directory)
            beyond = versions[: max(len(versions) - max(self.keep_versions, 1), 0)]
            files: set[str] | None = set()
            for i, version in enumerate(beyond):
                # Only oldest first, so one that is still read keeps those after it.
                if self.directory.is_held(manifest_name(version)):
                    self._in_use = version
                    beyond = beyond[:i]
                    break
                if i > 0:  # even after a crash, none may exist without those after it
                    self.directory.sync_folder(MANIFESTS)
                files = self._with_files_of(version, files)
                self.directory.remove(manifest_name(version))
                self._known.pop(version, None)
            kept = versions[len(beyond) :]
            self._let_all_go = before and (not beyond or self._collect_orphans(self.manifest, kept, files))

    def _with_files_of(self, version: int, files: set[str] | None) -> set[str] | None:
        """Add the files of a version; return None if its manifest is damaged: any file may be its own."""
        with contextlib.suppress(CorruptionError):
            return None if files is None else files | self._read_version(version).files().keys()
        return None

    def _collect_orphans(self, newest: Manifest, versions: list[int], files: set[str] | None = None) -> bool:
        older = [version for version in versions if version != newest.version]
        removed, is_clean = collect_orphans(self.directory, newest, lambda: self._read_versions(older), files)
        if files is None and removed:
            message = "repaired %s: removed %d files that an interrupted writer left"
            log(WARNING, message, self.directory.description, len(removed))
        return is_clean


def collect_orphans(
    directory: Directory,
    newest: Manifest,
    read_older: Callable[[], Iterator[Manifest]],
    files: set[str] | None = None,
) -> tuple[list[str], bool]:
    """Remove orphans. Return their names, and True unless one could not be removed.

    Parameters
    ----------
    newest : the newest version.
    read_older : the other kept versions, oldest first; read only while files remain to be
     accounted for.
    files : data files that may be orphans; None checks all files of the database, temporary ones included
    Failures to remove a file are ignored: the next writer tries again.
    Cost: listing the folders without `files`; in the common case no file is read.
    """
    temporary = set()
    if files is None:
        files = {name for folder in KINDS for name in directory.list(f"{folder}/") if is_data_file(name)}
        for prefix in (f"{MANIFESTS}/", f"{CACHE}/", f"{MARKER}.", f"{UNSYNCED}."):
            temporary |= {name for name in directory.list(prefix) if is_temporary(name)}
    orphans = temporary | _unreferenced(files, newest, read_older)
    if not orphans:
        return [], True
    removed = []
    with contextlib.suppress(OSError):
        # A retracted manifest may reappear after a power failure, and refer to these files,
        # unless its removal is made durable before theirs.
        directory.sync_folder(MANIFESTS)
        for name in sorted(orphans):
            with contextlib.suppress(OSError):
                directory.remove(name)
                removed.append(name)
        _remove_derived(directory, removed)
    return removed, len(removed) == len(orphans)


def _remove_derived(directory: Directory, removed: list[str]) -> None:
    """Remove the files that were derived from removed segments; they are named after them."""
    stems = {last.partition(".")[0] for folder, last in map(split_name, removed) if folder == SEGMENTS}
    for name in directory.list(f"{CACHE}/") if stems else ():
        if split_name(name)[1].partition(".")[0] in stems:
            with contextlib.suppress(OSError):
                directory.remove(name)


def _unreferenced(
    files: set[str], newest: Manifest, read_older: Callable[[], Iterator[Manifest]]
) -> set[str]:
    left = files - newest.files().keys()
    if not left:
        return left
    try:
        for manifest in read_older():
            left -= manifest.files().keys()
            if not left:
                break
    except (StorageError, OSError):
        # A version that cannot be read now may need any of these files.
        return set()
    return left
