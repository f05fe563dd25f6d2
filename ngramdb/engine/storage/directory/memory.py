"""A directory in memory: for databases that need not outlive the process, and for tests."""

from __future__ import annotations

import builtins
import errno
import os
import threading
from weakref import WeakValueDictionary

from ngramdb import fork_safety, interrupts
from ngramdb.engine.storage.directory.base import Directory, WritableFile, WriterLock, split_name
from ngramdb.errors import LockedError


class StoredFile:
    """The contents of one file, apart from its names. `closed` files are never written again."""

    def __init__(self, data: bytes = b"", closed: bool = False) -> None:
        self.data = bytearray(data)
        self.closed = closed

    def view(self) -> memoryview:
        """Return a finished file in place, an unfinished one as a copy, since a view would fix its size."""
        return memoryview(self.data if self.closed else bytes(self.data)).toreadonly()


class MemoryFile(WritableFile):
    """A file that appends to a `StoredFile`; memory is as durable as it gets, so `sync` does nothing."""

    def __init__(self, stored: StoredFile) -> None:
        self._stored = stored

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        if self._stored.closed:
            raise ValueError("write to a closed file")
        self._stored.data += data

    def sync(self) -> None:
        pass

    def close(self) -> None:
        self._stored.closed = True


class MemoryLock(WriterLock):
    """The writer's lock of a directory in memory."""

    was_ours = True

    def __init__(self, lock: threading.Lock) -> None:
        self._lock: threading.Lock | None = lock

    def release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


class _Hold:
    """One use of a file."""

    def __init__(self, stored: StoredFile) -> None:
        self.stored = stored


class MemoryDirectory(Directory):
    """Files in a dictionary. Every change is visible, and as durable as the process, at once."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self._files: dict[str, StoredFile] = {
            name: StoredFile(data, closed=True) for name, data in (files or {}).items()
        }
        # The holders of each file.
        self._holds: WeakValueDictionary[int, _Hold] = WeakValueDictionary()
        self._boot = os.urandom(16).hex()
        self._guard = fork_safety.lock()
        self._writer = fork_safety.lock()

    @property
    def description(self) -> str:
        return "memory"

    def root_entries(self) -> builtins.list[str] | None:
        with self._guard:
            return sorted({name.partition("/")[0] for name in self._files})

    def make_root(self) -> None:
        pass

    def exists(self, name: str) -> bool:
        return name in self._files

    def size(self, name: str) -> int:
        return len(self.stored(name).data)

    def identity(self, name: str) -> object | None:
        # The object itself: unlike its id(), it cannot be given to another file while it is compared
        # with.
        return self._files.get(name)

    def list(self, prefix: str = "") -> builtins.list[str]:
        with self._guard:
            return sorted(name for name in self._files if name.startswith(prefix))

    def open_read(self, name: str) -> memoryview:
        return self.stored(name).view()

    def create(self, name: str) -> WritableFile:
        stored = StoredFile()
        self.link(name, stored)
        return MemoryFile(stored)

    def publish(self, temp: str, final: str) -> None:
        self.link(final, self.stored(temp))
        self.remove(temp)

    def remove(self, name: str) -> None:
        split_name(name)
        with self._guard:
            if self._files.pop(name, None) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)

    def hold(self, name: str) -> object | None:
        hold = _Hold(self.stored(name))
        self._holds[id(hold)] = hold
        return hold

    def is_held(self, name: str) -> bool:
        stored = self.stored(name)
        return any(hold.stored is stored for hold in list(self._holds.values()))

    def sync_folder(self, folder: str = "") -> None:
        pass

    @property
    def boot(self) -> str:
        return self._boot

    def lock_writer(self, timeout_s: float | None = 0.0) -> WriterLock:
        if not interrupts.acquired(self._writer, timeout_s):
            raise LockedError(
                "the database in memory is being written by another thread; wait for it, or pass a timeout",
                path=self.description,
                holder=os.getpid(),
            )
        return MemoryLock(self._writer)

    def stored(self, name: str) -> StoredFile:
        """Return the file of this name. Raises FileNotFoundError."""
        split_name(name)
        try:
            return self._files[name]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from None

    def link(self, name: str, stored: StoredFile) -> None:
        """Give a file another name. Raises FileExistsError."""
        split_name(name)
        with self._guard:
            if name in self._files:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
            self._files[name] = stored
