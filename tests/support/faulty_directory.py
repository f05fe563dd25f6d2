"""A directory in memory that fails, or loses power, at the k-th operation.

It is as harsh as a file system may be: data that was not synced can be lost, torn or turned to noise, names
that were not synced can be lost in any combination, a failed sync loses its data for good (a second one
reports success and does nothing), a failed write has written half. It never loses what was
guaranteed.

>>> directory = FaultyDirectory(crash_at=7)
>>> with contextlib.suppress(SimulatedCrash):
...     do_something(directory)
>>> after_restart = directory.crash(random.Random(1), drop="random")
"""

from __future__ import annotations

import builtins
import errno
import os
import random
from collections.abc import Collection
from typing import Literal

from ngramdb.engine.storage.directory.base import Directory, WritableFile, WriterLock, split_name
from ngramdb.engine.storage.directory.memory import MemoryDirectory, StoredFile

#: Bytes that a disk writes in one step: within such a sector, data is old or new, not a mixture.
_SECTOR = 512


class SimulatedCrash(BaseException):
    """The process ends here. Not an Exception, so that no handler can catch it by mistake."""


class _Disk:
    """The part of one file that would survive: `durable` bytes from its start; `lost` after a failed sync."""

    def __init__(self, durable: bytes = b"") -> None:
        self.durable = durable
        self.lost = False


class FaultyDirectory(Directory):
    """A directory that counts its operations and breaks at a given one.

    Parameters
    ----------
    start : the files at the beginning, all durable; the object itself is not changed.
    fail_at : the operation, or operations, counted from 1, that raise OSError instead of succeeding.
    error : the errno of that OSError.
    persistent : all later operations fail as well, except those that only read.
    crash_at : the operation before which the process dies (SimulatedCrash, then and from then on).
    `operations` lists the operations so far, such as "sync segments/ab12.segment".
    """

    def __init__(
        self,
        start: MemoryDirectory | None = None,
        *,
        fail_at: int | Collection[int] = (),
        error: int = errno.EIO,
        persistent: bool = False,
        crash_at: int | None = None,
    ) -> None:
        files = {} if start is None else {name: bytes(start.open_read(name)) for name in start.list()}
        self._now = MemoryDirectory(files)
        self._disks = {self._now.stored(name): _Disk(data) for name, data in files.items()}
        self._names = {name: self._now.stored(name) for name in files}
        self._pending: builtins.list[tuple[str, StoredFile | None]] = []
        self._folders = {split_name(name)[0] for name in files} | {""}
        self._durable_folders = set(self._folders)
        self._fail_at = {fail_at} if isinstance(fail_at, int) else set(fail_at)
        self._error = error
        self._persistent = persistent
        self._crash_at = crash_at
        self.operations: builtins.list[str] = []

    def crash(
        self, rng: random.Random | None = None, drop: Literal["all", "random"] = "all"
    ) -> MemoryDirectory:
        """Return the directory that a restart would find if the power failed now.

        With drop="all" everything not synced is gone; with "random" `rng` decides for each name and each
        sector.
        """
        if drop == "random" and rng is None:
            rng = random.Random(0)
        kept_names = dict(self._names)
        for name, stored in self._pending:
            if drop == "random" and rng is not None and rng.random() < 0.5:
                _apply(kept_names, name, stored)
        folders = self._folders if drop == "random" else self._durable_folders
        survivors: dict[str, bytes] = {}
        for name, stored in kept_names.items():
            if split_name(name)[0] in folders:
                durable = self._disks[stored].durable
                torn = drop == "random" and rng is not None
                survivors[name] = _tear(durable, bytes(stored.data), rng) if torn and rng else durable
        return MemoryDirectory(survivors)

    def heal(self) -> None:
        """Stop failing from now on."""
        self._fail_at = set()
        self._crash_at = None

    def fail_next(self) -> None:
        """Make the next operation fail."""
        self._fail_at.add(len(self.operations) + 1)

    @property
    def description(self) -> str:
        return "memory"

    def root_entries(self) -> builtins.list[str] | None:
        self._look("root_entries")
        return self._now.root_entries()

    def make_root(self) -> None:
        self._change("make_root")

    def exists(self, name: str) -> bool:
        self._look(f"exists {name}")
        return self._now.exists(name)

    def size(self, name: str) -> int:
        self._look(f"size {name}")
        return self._now.size(name)

    def identity(self, name: str) -> object | None:
        self._look(f"identity {name}")
        return self._now.identity(name)

    def list(self, prefix: str = "") -> builtins.list[str]:
        self._look(f"list {prefix}")
        return self._now.list(prefix)

    def open_read(self, name: str) -> memoryview:
        self._look(f"open_read {name}")
        return self._now.open_read(name)

    def create(self, name: str) -> WritableFile:
        folder, _ = split_name(name)
        if folder not in self._folders:
            self._change(f"make_folder {folder}")
            self._folders.add(folder)
            self.sync_folder()
        self._change(f"create {name}")
        file = self._now.create(name)
        stored = self._now.stored(name)
        self._disks[stored] = _Disk()
        self._pending.append((name, stored))
        return _FaultyFile(self, name, file, stored)

    def publish(self, temp: str, final: str) -> None:
        self._change(f"link {final}")
        stored = self._now.stored(temp)
        self._now.link(final, stored)
        self._pending.append((final, stored))
        try:
            self.remove(temp)
        except OSError:
            return  # as documented: the file is published, and `temp` may stay

    def remove(self, name: str) -> None:
        self._change(f"remove {name}")
        self._now.remove(name)
        self._pending.append((name, None))

    def sync_folder(self, folder: str = "") -> None:
        self._change(f"sync_folder {folder}")
        for name, stored in self._pending:
            if split_name(name)[0] == folder:
                _apply(self._names, name, stored)
        self._pending = [entry for entry in self._pending if split_name(entry[0])[0] != folder]
        if not folder:
            self._durable_folders |= self._folders

    def sync_file(self, name: str) -> None:
        self.sync(name, self._now.stored(name))

    @property
    def boot(self) -> str:
        return self._now.boot

    def lock_writer(self, timeout_s: float | None = 0.0) -> WriterLock:
        self._change("lock_writer")
        return self._now.lock_writer(timeout_s)

    def write(self, name: str, file: WritableFile, data: bytes | bytearray | memoryview) -> None:
        """For files of this directory: append, or append half and fail."""
        try:
            self._change(f"write {name}")
        except OSError:
            file.write(memoryview(data)[: len(data) // 2])
            raise
        file.write(data)

    def sync(self, name: str, stored: StoredFile) -> None:
        """For files of this directory: make the data durable, or lose it for good and fail."""
        disk = self._disks[stored]
        try:
            self._change(f"sync {name}")
        except OSError:
            disk.lost = True
            raise
        if not disk.lost:
            disk.durable = bytes(stored.data)

    def _look(self, operation: str) -> None:
        """Count an operation that changes nothing; it fails only if it is the chosen one."""
        self._count(operation)
        if len(self.operations) in self._fail_at:
            raise OSError(self._error, os.strerror(self._error), operation)

    def _change(self, operation: str) -> None:
        """Count an operation that changes something; with `persistent`, all later ones fail, too."""
        self._look(operation)
        if self._persistent and len(self.operations) > min(self._fail_at, default=len(self.operations)):
            raise OSError(self._error, os.strerror(self._error), operation)

    def _count(self, operation: str) -> None:
        self.operations.append(operation)
        if self._crash_at is not None and len(self.operations) >= self._crash_at:
            raise SimulatedCrash(f"operation {len(self.operations)}: {operation}")


class _FaultyFile(WritableFile):
    """A file that passes every call on to the directory, which decides whether it works."""

    def __init__(self, directory: FaultyDirectory, name: str, file: WritableFile, stored: StoredFile) -> None:
        self._directory = directory
        self._name = name
        self._file = file
        self._stored = stored

    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        self._directory.write(self._name, self._file, data)

    def sync(self) -> None:
        self._directory.sync(self._name, self._stored)

    def close(self) -> None:
        self._file.close()


def _apply(names: dict[str, StoredFile], name: str, stored: StoredFile | None) -> None:
    if stored is None:
        names.pop(name, None)
    else:
        names[name] = stored


def _tear(durable: bytes, written: bytes, rng: random.Random) -> bytes:
    """Return `durable` and any part of later writes, each sector of which is new, zero or noise."""
    length = rng.randint(len(durable), len(written))
    torn = bytearray(durable)
    while len(torn) < length:
        stop = min(length, len(torn) + _SECTOR)
        size = stop - len(torn)
        torn += rng.choice((written[len(torn) : stop], bytes(size), rng.randbytes(size)))
    return bytes(torn)
