"""The database as versions of a set of files: opening, snapshots, reading, beginning to write, checking.

The content of the files is defined elsewhere. Immutable files make this simple: a reader opens the newest
manifest and needs nothing else ever after; a writer adds files and one manifest. Readers take no lock, in any
number of threads and processes; one writer at a time holds the lock. Everything here may be shared by
threads.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ngramdb import interrupts
from ngramdb.engine.storage import unsynced
from ngramdb.engine.storage.directory.base import Directory, storage_error, storage_errors
from ngramdb.engine.storage.files import (
    LoadedVersion,
    Marker,
    create_database,
    list_versions,
    manifest_name,
    read_marker,
    read_version,
    require_database,
)
from ngramdb.engine.storage.manifest import FileRef, Manifest
from ngramdb.engine.storage.transaction import Transaction
from ngramdb.engine.storage.upkeep import CheckFinding, KeptVersions, findings
from ngramdb.errors import (
    BindError,
    CorruptionError,
    DatabaseGone,
    LockedError,
    NotADatabase,
    ReadOnlyError,
    StorageError,
)
from ngramdb.formats import MARKER
from ngramdb.lazy import DEBUG, WARNING, log
from ngramdb.segments.container import KNOWN_WRITER_FLAGS, Container, FileInfo, check_flags

__all__ = ["CheckFinding", "Store", "Transaction"]

#: When an index is read into memory: once it is in use, if it fits; at the first query; never.
PREWARM = ("auto", "on", "off")

#: Values of the setting: commits are synced, or not (`unsynced`).
DURABILITY = ("full", "normal")

#: Times that the newest manifest may vanish between listing and opening it before that is an error.
_TRIES = 20


class _State(NamedTuple):
    """The state for detecting newer versions, replaced as a whole: one assignment, no lock for readers."""

    loaded: LoadedVersion
    next_name: str
    hold: object | None


class Store(KeptVersions):
    """An open database. Use `Store.open`."""

    def __init__(self, directory: Directory, marker: Marker, read_only: bool) -> None:
        super().__init__(directory, marker.database_id)
        self.read_only = read_only
        self._marker = marker
        self._containers: dict[str, Container] = {}
        self._loading = threading.Lock()
        self._durability = unsynced.Durability(directory, marker.database_id)
        self._has_unsynced = False
        #: Returns when an index is read into memory, one of `PREWARM`.
        self.prewarm: Callable[[], str] = lambda: "auto"
        self._state: _State | None = None
        self._load_newest()

    @classmethod
    def open(cls, directory: Directory, read_only: bool = False, create: bool = True) -> Store:
        """Open the database in `directory` at its newest version.

        Create a database if none exists and `create` is set.

        With `read_only` nothing is ever written, not even a lock: it works on a read-only file system.
        Raises NotADatabase if something else is there; FormatVersionError if a newer program wrote it;
        CorruptionError if its newest version is damaged; StorageError otherwise.
        Cost: one listing of the manifests and two small files, whatever the size of the database.
        """
        with storage_errors("open the database", directory.description):
            if read_only or not create:
                marker = require_database(directory)
            else:
                marker = read_marker(directory) or create_database(directory)
            store = cls(directory, marker, read_only)
        log(DEBUG, "opened %s at version %d", directory.description, store.manifest.version)
        return store

    def has_replaced(self, other: Store) -> bool:
        """Return True if this database, opened later at the same path, is another one, or a copy."""
        return self._marker != other._marker

    @property
    def synced(self) -> bool:
        """True if commits are durable when they return (`unsynced`)."""
        return self._durability.synced

    @synced.setter
    def synced(self, value: bool) -> None:
        self._durability.synced = value

    def close(self) -> None:
        """Release all files. Containers and arrays that were handed out stay valid while they are used.

        Unsynced commits are made durable, unless another writer holds the lock. Raises StorageError.
        """
        try:
            if self._has_unsynced and not self._closed:
                self._make_durable()
        finally:
            self._close()

    def _make_durable(self) -> None:
        with contextlib.suppress(LockedError, DatabaseGone):
            self.synced = True
            with self.begin():
                pass

    def _close(self) -> None:
        self._closed = True
        self._containers = {}
        self._state = None  # others may remove the version now, if nobody else reads it

    @property
    def manifest(self) -> Manifest:
        """The newest version that this store knows of. Costs nothing; `refresh` looks for newer ones."""
        return self._current().loaded.manifest

    def refresh(self, at_once: bool = False) -> bool:
        """Switch to a newer version, if one has been committed.

        Returns True if the version changed. `at_once`: look even if this was done a moment ago,
        which takes two requests if the database is in an object store.

        Cost: two lookups of file names (a few microseconds) if nothing changed.
        Raises CorruptionError or FormatVersionError if the newest version cannot be read; then the old one
        stays. Raises DatabaseGone if the database is no longer at its path, or a copy with other contents is.
        """
        state = self._current()
        directory, loaded = self.directory, state.loaded
        try:  # before each statement: a `with` would take as long as the lookup
            if at_once or directory.is_remote:
                directory.look_again(loaded.name, at_once)
            # A manifest is retracted if its commit fails halfway, hence the check of our own; and old ones
            # are removed oldest first, so that the next number cannot be missing while a later one exists.
            if directory.identity(loaded.name) != loaded.identity:
                self._require_there()
            elif not directory.exists(state.next_name):
                return False
            return self._load_newest().loaded.manifest is not loaded.manifest
        except (StorageError, OSError) as error:
            self._require_there()
            if isinstance(error, OSError):
                raise storage_error(error, "look for newer versions", self.directory.description) from error
            raise

    def evict(self) -> bool:
        """Evict cached blocks of an object store until the local cache fits its limit.

        Returns True if files were evicted: then files must be opened again; those in use are not affected.
        """
        if not self.directory.evict():
            return False
        self._containers = {}
        return True

    def listed_versions(self) -> list[int]:
        """Return the kept versions, oldest first, without reading them."""
        return self._durability.versions()

    def versions(self) -> list[Manifest]:
        """Return all kept versions, oldest first. Raises CorruptionError if one of them is damaged."""
        found = {one.version: one for one in self.manifest.kept.values()}
        with storage_errors("list the versions", self.directory.description), self._while_there():
            listed = self._durability.versions()
            for version in listed:
                # A version that a writer removes meanwhile is no longer kept.
                with contextlib.suppress(FileNotFoundError):
                    found[version] = self._read_version(version)
            if not listed:
                self._require_there()
        return [found[version] for version in sorted(found)]

    def version(self, number: int) -> Manifest:
        """Return a kept version. Raises BindError if it is not kept, CorruptionError if it is damaged."""
        current = self.manifest
        if number == current.version:
            return current
        with storage_errors("read the version", self.directory.description), self._while_there():
            with contextlib.suppress(FileNotFoundError):
                return self._read_version(number)
            self._require_there()
            named = current.kept_version(number)
            if named is not None:
                return named
            kept = self._durability.versions()
        span = f"{kept[0]} to {kept[-1]}" if len(kept) > 1 else str(kept[0]) if kept else "none"
        named_too = "".join(f", {one.version} ({name})" for name, one in current.kept.items())
        raise BindError(
            f"version {number} is not kept; kept versions: {span}{named_too} (SHOW VERSIONS lists them)"
        )

    def is_kept(self, number: int) -> bool:
        """Return True if a version can still be read. Cost: one lookup of a file name."""
        return self.directory.exists(manifest_name(number)) or (
            self.manifest.kept_version(number) is not None
        )

    def read(self, ref: FileRef, kind: str) -> Container:
        """Return the container that `ref` names, opened at first use and cached.

        Raises CorruptionError if the file is not the one that `ref` describes; StorageError if it is gone.
        """
        self._current()
        container = self._containers.get(ref.name)
        if container is not None and container.info == ref.info and container.kind == kind:
            return container
        # Two threads may both open the file; one of the two containers is kept.
        with self._while_there():
            opened = self.open_file(ref.name, kind, ref.info)
        return self._containers.setdefault(ref.name, opened) if container is None else opened

    @interrupts.guarded
    def begin(self, timeout_s: float | None = 0.0) -> Iterator[Transaction]:
        """Take the writer's lock and return a transaction on the newest version; use it in a `with` block.

        Waits up to `timeout_s` seconds for another writer (None: no limit). Orphans of earlier crashes are
        removed on the way. Raises LockedError, ReadOnlyError, or any error of `refresh`.
        """
        self._current()
        path = self.directory.description
        if self.read_only:
            raise ReadOnlyError(f"{path}: the database was opened read-only; open it for writing", path=path)
        self.refresh()  # before anything, even the lock, is written into a folder that may have replaced it
        with storage_errors("begin to write", path), self._while_there():
            # Otherwise a reader that removes unused versions would be mistaken for another writer.
            with self._tidying:
                lock = self.directory.lock_writer(timeout_s)
            try:
                is_clean, self._is_clean = self._is_clean and lock.was_ours, False
                base, is_clean = self._prepare_to_write(is_clean)
                transaction = Transaction(
                    self.directory,
                    lock,
                    base.manifest,
                    self.database_id,
                    functools.partial(self._require_base, base),
                    self._adopt,
                    self._end,
                    is_clean,
                    self._durability.is_synced,
                )
            except BaseException:
                lock.release()
                raise
        with transaction:
            yield transaction

    def check(self) -> Iterator[CheckFinding]:
        """Verify every byte of every file that the newest version needs, and of all manifests.

        A missing manifest is noticed if an older one exists: the oldest ones may have expired.
        Yields what is wrong and raises nothing; a sound database yields nothing.
        Cost: reads the whole database once.
        """
        return findings(self)

    def open_file(self, name: str, kind: str | None, info: FileInfo | None) -> Container:
        """Open a file that the database needs, whether or not it was opened before.

        Raises CorruptionError, StorageError.
        """
        path = self.directory.path_of(name)
        try:
            buffer, source = self.directory.open_parts(name)
        except FileNotFoundError as error:
            raise StorageError(
                f"{path}: the file is missing, but the database needs it; restore it from a backup", path=path
            ) from error
        except OSError as error:
            raise storage_error(error, "open the file", path) from error
        try:
            return Container.open(buffer, path, kind, info, source)
        except CorruptionError:
            if source is None:
                raise
            source.forget()  # the cached copy may be damaged while the file itself is not
            log(WARNING, "repaired the local copy of %s: it was damaged and is read again", path)
            return Container.open(buffer, path, kind, info, source)

    @contextlib.contextmanager
    def _while_there(self) -> Iterator[None]:
        """Raise DatabaseGone instead of an error in the block that is due to the database's absence."""
        try:
            yield
        except (StorageError, OSError):
            self._require_there()
            raise

    def _require_there(self, known: LoadedVersion | None = None) -> None:
        """Raise DatabaseGone if the database that was opened is no longer at its path.

        `known` is a version that it must have; None for the one in use.
        """
        path = self.directory.description
        try:
            marker = read_marker(self.directory)
        except NotADatabase:  # a file
            marker = None
        except (StorageError, OSError):
            return  # nothing is known
        if marker is None:
            raise DatabaseGone(
                f"{path}: the database that was opened is no longer here: it was moved or removed; put it "
                "back, or connect to its new location",
                path=path,
            )
        if marker.database_id != self.database_id or not self._is_continued(marker, known):
            raise DatabaseGone(
                f"{path}: the database here is not the one that was opened: it was replaced; connect again",
                path=path,
            )

    def _is_continued(self, marker: Marker, known: LoadedVersion | None) -> bool:
        """Return True if the database at the path is the one in use, or a copy that contains the version.

        If there are locks, the version of the same database can also differ: its commit was retracted.
        """
        if marker.identity == self._marker.identity and self.directory.has_locks:
            return True
        known = known or self._current().loaded
        self.directory.look_again(known.name, at_once=True)
        try:
            found = read_version(self.directory, known.manifest.version, self.database_id)
        except FileNotFoundError:
            return False
        except (StorageError, OSError):
            return True  # nothing is known
        return found.manifest == known.manifest

    def _require_base(self, base: LoadedVersion) -> None:
        """Raise DatabaseGone if the version that is about to be succeeded is no longer at the path.

        The store may have been closed since the transaction began.
        """
        self.directory.look_again(base.name, at_once=True)
        with storage_errors("commit", self.directory.description):
            if self.directory.identity(base.name) != base.identity:
                self._require_there(base)

    def _current(self) -> _State:
        if self._closed or self._state is None:
            path = self.directory.description
            raise StorageError(f"{path}: the database has been closed; open it again", path=path)
        return self._state

    def _prepare_to_write(self, is_clean: bool) -> tuple[LoadedVersion, bool]:
        """With the lock held, return the newest version, after checking that this program may succeed it.

        Unless the database `is_clean`, orphans are removed; listing all files takes as long as writing a
        small one. Also returns whether it is clean now.
        """
        if self.directory.has_locks:
            settled = self._durability.prepare(self.keep_versions)
            self.refresh()
            if settled:
                self._let_go()
        else:
            self.refresh(at_once=True)
        loaded = self._current().loaded
        for name, flags in ((MARKER, self._marker.writer_flags), (loaded.name, loaded.writer_flags)):
            check_flags(self.directory.path_of(name), "write a successor of", flags, KNOWN_WRITER_FLAGS)
        if self.directory.has_locks and not is_clean:
            self._let_all_go = True
            is_clean = self._collect_orphans(loaded.manifest, list_versions(self.directory))
        return loaded, is_clean

    def current_hold(self) -> object | None:
        """Return an object that keeps the newest version that this store knows of; see `hold`."""
        return self._current().hold

    def hold(self, version: int) -> object | None:
        """Keep writers from removing a version, and files that it needs, as long as the result lives.

        None if it is gone already, or the file system does not support locks.
        """
        state = self._state
        if state is not None and state.loaded.manifest.version == version:
            return state.hold
        with contextlib.suppress(OSError):
            return self.directory.hold(manifest_name(version))
        return None

    def _hold_file(self, name: str) -> object | None:
        """Raise FileNotFoundError if the manifest is gone; other failures leave it unprotected."""
        try:
            hold = self.directory.hold(name)
            if hold is None or self.directory.exists(name):
                return hold
        except FileNotFoundError:
            raise
        except OSError:
            return None
        raise FileNotFoundError(name)  # removed before it was held

    def _load_newest(self) -> _State:
        """Make the newest version on disk the current one; return the old state if nothing changed."""
        with self._loading:
            for _ in range(_TRIES):
                versions = self._durability.versions()
                if not versions:
                    break
                try:
                    return self._install(self._read_newest(versions))
                except FileNotFoundError:
                    continue  # a commit was retracted, or an old version removed, since the listing
            path = self.directory.description
            raise CorruptionError(
                f"{path}: the database has lost its manifests; restore the folder manifests from a backup",
                path=path,
            )

    def _read_newest(self, versions: list[int]) -> LoadedVersion:
        newest = versions[-1]
        known = None if self._state is None else self._state.loaded
        if (
            known is not None
            and known.manifest.version == newest
            and known.identity == self.directory.identity(known.name)
        ):
            return known
        try:
            found = read_version(self.directory, newest, self.database_id)
        except CorruptionError as error:
            earlier = ", ".join(map(str, versions[:-1])) or "none"
            raise CorruptionError(
                f"{error}. This is the newest version; earlier ones that are kept: {earlier}. Moving the "
                "damaged file out of the folder returns to the version before it, permanently",
                path=error.path,
                offset=error.offset,
                expected=error.expected,
                found=error.found,
            ) from error
        if known is not None and found.manifest == known.manifest:  # in a copy of the file
            return found._replace(manifest=known.manifest)
        return found

    def _adopt(self, loaded: LoadedVersion) -> None:
        """Switch to a version that a transaction of this store has committed."""
        with self._loading, contextlib.suppress(FileNotFoundError):
            self._install(loaded)
        if self._durability.is_synced:
            self._has_unsynced = False
            if self.directory.has_locks:
                self._let_go()
            return
        self._has_unsynced = True
        # The commit is done; a failure is reported to the next writer.
        with contextlib.suppress(OSError, StorageError):
            if self._durability.prepare(self.keep_versions):
                self._let_go()

    def _end(self, is_clean: bool) -> None:
        """Note that a transaction of this store is over, and whether it left nothing behind."""
        self._is_clean = is_clean and self._let_all_go

    def _install(self, loaded: LoadedVersion) -> _State:
        state = self._state
        if state is not None and state.loaded is loaded:
            return state
        state = _State(
            loaded,
            manifest_name(loaded.manifest.version + 1),
            self._hold_file(loaded.name),
        )
        self._state = state
        self._known[loaded.manifest.version] = loaded
        while len(self._known) > self.keep_versions + 1:  # the one beyond is about to be removed
            del self._known[min(self._known)]
        needed = loaded.manifest.files()
        for name in list(self._containers):
            if name not in needed:
                self._containers.pop(name, None)
        return state
