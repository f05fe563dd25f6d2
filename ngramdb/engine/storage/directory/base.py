"""The interface between the engine and a place for files, with the guarantees of each call.

A directory holds files under names such as "NGRAMDB" or "segments/0af3.segment": at most one folder deep.
Files are written once, front to back, and never changed. Two facts about file systems shape this interface:
data is safe from a power failure only after the file was synced, and a name (new, moved or removed) only
after its folder was. So "visible" and "durable" are different guarantees, and each method states which one it
gives.

Methods raise OSError and its subclasses, as the system reports them; the store translates them for a
database. Only the lock raises LockedError itself, and an invalid name raises InvalidArgument.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TypeVar

from ngramdb import interrupts
from ngramdb.errors import InvalidArgument, StorageError
from ngramdb.segments.container import Ahead, Scratch, Source

# No leading dot (so neither "." nor ".."), no leading "/", at most one folder: a name cannot escape the
# database.
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}"
_NAME = re.compile(rf"(?:{_PART}/)?{_PART}")

# Bytes that are copied between two interrupt checks.
_COPIED_BYTES = 1 << 26

_Self = TypeVar("_Self", bound="WriterLock")


@functools.lru_cache(maxsize=4096)
def split_name(name: str) -> tuple[str, str]:
    """Return the folder ("" for the top) and the last part of a file's name.

    Raises InvalidArgument unless it is a relative name with at most one folder: no name may escape the
    database.
    """
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"{name!r} cannot be a file's name in a database")
    folder, _, last = name.rpartition("/")
    return folder, last


class WritableFile(ABC):
    """A new file, filled front to back. Its name is visible at once; nothing is durable before `sync`."""

    @abstractmethod
    def write(self, data: bytes | bytearray | memoryview, /) -> None:
        """Append all of `data`, perhaps to a buffer at first. After an OSError, part of it may be written."""

    @abstractmethod
    def sync(self) -> None:
        """Make everything written so far durable, but not the file's name (`Directory.sync_folder`).

        After an OSError the file is lost: the system may have dropped the data and would report success for a
        second attempt.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the descriptor; a second call does nothing. Buffered data is written, but not made durable."""

    def ahead(self, offset: int) -> Ahead | None:
        """Return a writer for what begins at `offset`, ahead of `write`, for any thread; None if unsupported.

        It must end before `pass_over` and `sync`.
        """
        return None

    def pass_over(self, n_bytes: int) -> None:
        """Skip the next bytes, which have been written ahead."""
        raise NotImplementedError("a file that writes ahead must implement pass_over")

    def scratch(self) -> Scratch:
        """Return an unnamed file, removed when closed, for data that is needed while this one is written.

        It is on the same disk if this file is local.
        """
        import tempfile

        return tempfile.TemporaryFile()


class WriterLock(ABC):
    """The right to write, held until `release`. Ends with the process, however the process ends.

    `was_ours`: the last writer was this process, so no other one can have left files behind since.
    """

    was_ours = False

    @abstractmethod
    def release(self) -> None:
        """Release the lock; a second call does nothing."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Directory(ABC):
    """A place for the files of one database. Safe to share between threads.

    `is_remote` if each access to a file means waiting for a network; `has_locks` is False if writers and
    readers cannot be detected: nothing is removed there.
    """

    is_remote = False
    has_locks = True

    @property
    @abstractmethod
    def description(self) -> str:
        """The name of the directory in messages: its path, or "memory"."""

    def path_of(self, name: str) -> str:
        """Return the name of a file in messages."""
        return f"{self.description}/{name}"

    @abstractmethod
    def root_entries(self) -> list[str] | None:
        """Return sorted names of all files and folders at the top, of any origin; None without a directory.

        Raises NotADirectoryError if the path is a file.
        """

    @abstractmethod
    def make_root(self) -> None:
        """Make the directory, durable on return. Raises FileNotFoundError if its parent is missing."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Return True if a file of this name is visible."""

    @abstractmethod
    def size(self, name: str) -> int:
        """Return the file's length in bytes. Raises FileNotFoundError."""

    @abstractmethod
    def identity(self, name: str) -> object | None:
        """Return a value that is equal as long as the same file has this name; None if it does not exist."""

    @abstractmethod
    def list(self, prefix: str = "") -> list[str]:
        """Return sorted names of files that begin with `prefix`; if that has a "/", only one folder is read.

        Files whose names no database would assign are left out. A missing folder has no files.
        """

    @abstractmethod
    def open_read(self, name: str) -> memoryview:
        """Return the whole file as read-only bytes; they live as long as the view or anything made from it.

        Raises FileNotFoundError. The file may be removed meanwhile without affecting the view.
        """

    def open_parts(self, name: str) -> tuple[memoryview, Source | None]:
        """Open as `open_read`, with a source from which readers fetch missing bytes, or None."""
        return self.open_read(name), None

    def set_cache_limit(self, limit: Callable[[], int]) -> None:
        """Set the function that returns the local disk space, in bytes, for parts of remote files."""
        return None

    def look_again(self, name: str, at_once: bool) -> None:
        """Make the next lookups query a remote store again: of files found missing, and of the file `name`.

        Without `at_once`, does nothing if they were queried a moment ago.
        """
        return None

    def evict(self) -> bool:
        """Remove some local parts of remote files if they exceed the limit; return True if they did."""
        return False

    @abstractmethod
    def create(self, name: str) -> WritableFile:
        """Create an empty file, visible at once. A missing folder is created, and is durable on return.

        Raises FileExistsError if the name is taken, even by a symbolic link: nothing is written through
        links.
        """

    def take_in(self, name: str, source: Directory, source_name: str) -> None:
        """Add a finished, synced file of another directory under a new name, with its data durable on return.

        It is linked if the system can give it a second name, else copied; it stays in `source`. Raises
        FileNotFoundError, or FileExistsError if the name is taken.
        """
        with contextlib.closing(self.create(name)) as file:
            data = source.open_read(source_name)
            for start in range(0, len(data), _COPIED_BYTES):
                interrupts.check()
                file.write(data[start : start + _COPIED_BYTES])
            file.sync()

    @abstractmethod
    def publish(self, temp: str, final: str) -> None:
        """Rename the file `temp` to `final` atomically, replacing nothing.

        Durable after `sync_folder`. On OSError `final` has not appeared. `temp` is usually gone afterwards,
        but a crash, or a failure to remove it, can leave it there as a second name of the same file. Both
        names are in one folder. Raises FileExistsError if `final` is taken.
        """

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a name, durable after `sync_folder`; processes that read the file can continue."""

    def hold(self, name: str) -> object | None:
        """Mark the file as in use, for every process, while the returned object lives.

        None if that is impossible. Writes nothing; raises FileNotFoundError.
        """
        return None

    def is_held(self, name: str) -> bool:
        """Return True if the file is known to be in use. Raises FileNotFoundError."""
        return False

    @abstractmethod
    def sync_folder(self, folder: str = "") -> None:
        """Make all creations and removals of names in `folder` ("" = the top) so far durable."""

    def sync_file(self, name: str) -> None:
        """Make the data of a finished file durable. Raises FileNotFoundError."""
        return None

    @property
    def boot(self) -> str:
        """Return an id of the machine's boot: until it changes, everything that was written is visible."""
        return ""

    @abstractmethod
    def lock_writer(self, timeout_s: float | None = 0.0) -> WriterLock:
        """Take the one lock for writers, waiting at most `timeout_s` seconds (None: no limit).

        Call it where Ctrl-C is deferred until the caller can release the lock.
        It excludes other processes as well as other threads and other holders in this process. Raises
        LockedError with the holder's process id if known.
        """


# ---- Errors of the operating system

# What to do about them.
_ADVICE = {
    errno.ENOSPC: "free some space on the device and try again",
    errno.EDQUOT: "the disk quota is used up: free some space and try again",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f), or use a file system that allows larger files",
    errno.EIO: "the device reports a fault: check the system log, and have a backup ready",
    errno.EROFS: "the file system is read-only: open the database with read_only=True",
    errno.EACCES: "get permission to access it, or open the database with read_only=True",
    errno.EPERM: "get permission to access it, or open the database with read_only=True",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "the whole system has too many files open: close some",
    errno.ENOMEM: "out of memory, or too many maps (vm.max_map_count): close some databases",
    errno.ENOENT: "it was removed: restore it from a backup",
    errno.ELOOP: "replace the link by the file or folder itself, or move the link away",
    errno.ENOTDIR: "a folder is expected here: move the other file away",
    errno.ENOLCK: "the file system does not support locks: keep the database on a local disk",
}

# Advice for work that only reads, as the first word of its description shows.
_READING = ("open", "read", "list", "look")
_ADVICE_TO_READERS = {
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "get permission to access it",
    errno.EPERM: "get permission to access it",
}


def storage_error(error: OSError, doing: str, path: str) -> StorageError:
    """Return the error: what could not be done (`doing` follows "cannot"), to what, why, and what to do."""
    reason = error.strerror or str(error)
    advice = _ADVICE.get(error.errno or 0)
    if doing.partition(" ")[0] in _READING:
        advice = _ADVICE_TO_READERS.get(error.errno or 0, advice)
    return StorageError(f"{path}: cannot {doing}: {reason}" + (f"; {advice}" if advice else ""), path=path)


@contextlib.contextmanager
def storage_errors(doing: str, path: str) -> Iterator[None]:
    """Convert any OSError in the block to the StorageError that explains it."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, doing, path) from error
