"""A database in an object store: reads fetch ranges, and a version is put only if absent.

Objects appear as a whole, are read after they were written, and are never changed here; so nothing has to be
synced. There are no locks: if two writers commit the same version, the store accepts one (`publish`), and
nothing is ever removed that another writer may be about to refer to.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import os
import tempfile
import time
from collections.abc import Callable

from ngramdb import fork_safety, interrupts
from ngramdb.engine.storage.directory import object_store
from ngramdb.engine.storage.directory.base import (
    Directory,
    WritableFile,
    WriterLock,
    split_name,
    storage_errors,
)
from ngramdb.engine.storage.directory.memory import MemoryLock
from ngramdb.engine.storage.directory.object_store import (
    WRITABLE,
    BlockCache,
    CachedFile,
    ObjectStore,
    Stored,
)
from ngramdb.errors import InvalidArgument, LockedError
from ngramdb.segments.container import Scratch, Source

#: Seconds for which an absent object is assumed to be missing, and the newest version to be unchanged.
FRESH_S = 5.0
#: Objects of at most this many bytes are fetched as a whole. For larger ones, one request first fetches the
#: tail: table of contents, footer, the checksums (a 1,024th of the file), and the long keys of a far index (a
#: 2,560th at most).
WHOLE = 1 << 20
TAIL = 1 << 16
TAIL_SHARE = 700
MOST_TAIL = 1 << 26
#: Bytes of an array that is fetched in a fraction of a second.
TOGETHER = 1 << 22
_LOCK = "LOCK"
_TEMPORARY = ".tmp"


class RemoteDirectory(Directory):
    """The objects below a URL that fsspec opens. Nothing is requested before the first call that needs it."""

    is_remote = True
    has_locks = False

    def __init__(self, url: str, cache: BlockCache | None = None) -> None:
        self._store = ObjectStore(url)
        self.cache = BlockCache() if cache is None else cache
        # Objects known to exist, and those found absent, with the time.
        self._known: dict[str, Stored | None] = {}
        self._absent: dict[str, float] = {}
        self._looked = -FRESH_S  # the time of the last listing, or of `look_again`
        # A listing that has not been used yet: opening checks for the marker first.
        self._listed: builtins.list[str] | None = None
        # Files that have no name in the store until they are published.
        self._held: dict[str, bytes] = {}
        self._writer = fork_safety.lock()
        self._is_conditional = False
        self._is_made = False

    @property
    def description(self) -> str:
        return self._store.url

    def root_entries(self) -> builtins.list[str] | None:
        # A folder exists if objects are in it, or are about to be.
        entries = sorted({name.partition("/")[0] for name in self._names()})
        return entries if entries or self._is_made else None

    def make_root(self) -> None:
        self._require_writable()
        self._is_made = True

    def exists(self, name: str) -> bool:
        split_name(name)
        if name in self._known or name in self._held:
            return True
        if time.monotonic() - self._absent.get(name, -FRESH_S) < FRESH_S:
            return False
        if self._store.exists(name):
            self._known[name] = None
            return True
        self._absent[name] = time.monotonic()
        return False

    def look_again(self, name: str, at_once: bool) -> None:
        now = time.monotonic()
        if at_once or now - self._looked >= FRESH_S:
            self._looked = now
            self._absent.clear()
            self._known.pop(name, None)

    def size(self, name: str) -> int:
        return self._stored(name).size

    def identity(self, name: str) -> object | None:
        try:
            return self._stored(name)
        except FileNotFoundError:
            return None

    def list(self, prefix: str = "") -> builtins.list[str]:
        listed, self._listed = self._listed, None
        # A listing may be older than `_known`: then it lacks some.
        names = {*(self._names() if listed is None else listed), *self._known}
        return sorted(name for name in names if name.startswith(prefix) and _is_name(name))

    def open_read(self, name: str) -> memoryview:
        size = self._stored(name).size
        if not size:
            return memoryview(b"")
        return memoryview(self._read(name, lambda: self._store.read(name, 0, size)))

    def open_parts(self, name: str) -> tuple[memoryview, Source | None]:
        size, tag = self._stored(name)
        if not size:
            return memoryview(b""), None
        file = self.cache.open(self._store, name, size, tag)
        if size <= WHOLE:
            file.need((0, size))
        else:
            tail = min(size // TAIL_SHARE + TAIL, MOST_TAIL)
            file.need((size - tail, size), at_once=True)
        return file.view, _Source(file, self.path_of(name))

    def set_cache_limit(self, limit: Callable[[], int]) -> None:
        self.cache.limit = limit

    def evict(self) -> bool:
        if not self.cache.is_full:
            return False
        self.cache.evict()
        return True

    def create(self, name: str) -> WritableFile:
        self._require_writable()
        if self._is_there(name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        return _NewObject(self.cache.folder, lambda local: self._uploaded(name, local))

    def publish(self, temp: str, final: str) -> None:
        split_name(final)
        data = self._held[temp]
        self._store.write_new(final, data)
        del self._held[temp]
        self._know(final, None)

    def remove(self, name: str) -> None:
        split_name(name)
        if self._held.pop(name, None) is not None:
            return
        self._known.pop(name, None)
        self._store.remove(name)

    def sync_folder(self, folder: str = "") -> None:
        pass

    def lock_writer(self, timeout_s: float | None = 0.0) -> WriterLock:
        """Take a lock among this object's users; conflicts with other writers show in `publish`."""
        self._require_writable()
        if not interrupts.acquired(self._writer, timeout_s):
            raise LockedError(
                f"{self.description}: another thread is writing; wait for it, or pass a timeout",
                path=self.description,
                holder=os.getpid(),
            )
        lock = MemoryLock(self._writer)
        try:
            self._require_conditions()
        except BaseException:
            lock.release()
            raise
        return lock

    def _require_writable(self) -> None:
        if self._store.protocol not in WRITABLE:
            raise OSError(
                errno.EROFS,
                f"only {', '.join(sorted(WRITABLE))} are known to support put-if-absent; build "
                "on disk, and copy the database",
            )

    def _require_conditions(self) -> None:
        """Raise OSError if the store overwrites an object in spite of put-if-absent, as some do."""
        if self._is_conditional:
            return
        for _ in range(2):  # the first time it may be absent
            try:
                # Different content: the same would be mistaken for our own, after a lost answer.
                self._store.write_new(_LOCK, os.urandom(8).hex().encode())
            except FileExistsError:
                self._is_conditional = True
                return
        raise OSError(
            errno.ENOTSUP,
            "the store overwrites objects in spite of If-None-Match, so two writers could "
            "overwrite each other's versions; build on disk, and copy the database",
        )

    def _names(self) -> builtins.list[str]:
        """Return the names of all objects, and bring `_known` up to date."""
        found = self._store.stored()
        self._known.update(found)
        self._looked = time.monotonic()
        return builtins.list(found)

    def _stored(self, name: str) -> Stored:
        """Return what is known of an object, or can be found out. Raises FileNotFoundError."""
        split_name(name)
        known = self._known.get(name)
        if known is None and not self._known and self._listed is None:
            self._listed = self._names()
            known = self._known.get(name)
        if known is None:
            known = self._store.look(name)
            if known is None:
                self._known.pop(name, None)
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
            self._know(name, known)
        return known

    def _know(self, name: str, stored: Stored | None) -> None:
        self._known[name] = stored
        self._absent.pop(name, None)

    def _is_there(self, name: str) -> bool:
        split_name(name)
        return name in self._known or name in self._held

    def _read(self, name: str, read: Callable[[], bytes]) -> bytes:
        try:
            return self._store.done([read])[0]
        except FileNotFoundError:
            self._known.pop(name, None)
            raise

    def _uploaded(self, name: str, local: str) -> None:
        if name.endswith(_TEMPORARY):
            with open(local, "rb") as file:
                self._held[name] = file.read()
            return
        self._store.write(name, local)
        self._know(name, None)


class _Source:
    """The source from which a container fetches missing bytes."""

    def __init__(self, file: CachedFile, path: str) -> None:
        self._file = file
        self._path = path
        self.together = TOGETHER
        self.around = object_store.UNIT * object_store.AROUND

    def __call__(self, start: int, stop: int, table_start: int, table_stop: int, again: bool) -> None:
        with storage_errors("read", self._path):
            self._file.need((start, stop), (table_start, table_stop), again=again)

    def need(self, start: int, stop: int) -> None:
        with storage_errors("read", self._path):
            self._file.need((start, stop))

    def forget(self) -> None:
        self._file.forget()

    @property
    def n_present(self) -> int:
        return self._file.n_present


class _NewObject(WritableFile):
    """A file on the local disk that is uploaded when it is synced."""

    def __init__(self, folder: str, upload: Callable[[str], None]) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._file = tempfile.NamedTemporaryFile(dir=folder, prefix="upload-", suffix=_TEMPORARY)  # noqa: SIM115
        self._folder = folder
        self._upload = upload

    def scratch(self) -> Scratch:
        return tempfile.TemporaryFile(dir=self._folder)

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        self._file.write(data)

    def sync(self) -> None:
        self._file.flush()
        self._upload(self._file.name)

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._file.close()


def _is_name(name: str) -> bool:
    try:
        split_name(name)
    except InvalidArgument:
        return False
    return True
